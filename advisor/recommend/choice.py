"""What the trials of a study decide: the winner, proven in runs of its own, and what is left of its
changes.

Given stored trials the same choice is made again, so whatever is decided here is decided from
trials that were there when it was decided first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from advisor import engines, knobs
from advisor.errors import WorkError
from advisor.goal import Goal
from advisor.knobs import Engine, Settings
from advisor.recommend.bench import StudyBench
from advisor.recommend.limits import farther, keeps
from advisor.recommend.nearness import settled
from advisor.recommend.selection import Selected, Unit, select
from advisor.recommend.verdict import compare
from advisor.search import Candidate, Study
from advisor.search.ranking import WORTH, best, candidates, ranked
from advisor.search.rules import rules
from advisor.search.seeds import best_rule
from advisor.trial import ANSWERING

PROOF_RUNS = 2
"""Runs besides the search that the winner and its base need before they are compared."""

CONTENDERS = 3
"""Settings that may prove themselves, one after the other, until one keeps the goal's limits."""

RESERVE_PART, RESERVE = 4, (3, 12)
"""One part in so many of the runs that are left, within these bounds, is kept for the final runs of
the answer."""
RESERVE_PART_OF_LONG, RESERVE_OF_LONG = 2, (5, 15)
"""The same where lines are looked at in short runs. A round of final runs is of the file, the
result, the winner, the base and the best rule."""

Benches = dict[Engine, StudyBench]


@dataclass(frozen=True)
class Choice:
    """What the trials of a study decide."""

    goal: Goal
    """By which they do."""
    order: list[Candidate]
    winner: Candidate
    base: Settings
    selected: Selected
    bench: StudyBench
    rule: str = ""
    """The rule of thumb that the settings are, because it beat what the search found; empty if they
    are no rule's."""


def choose(study: Study, goal: Goal, engine: Engine | None, *, may_run: bool) -> Choice:
    """The choice among all candidates, or those of one engine, by a goal of one objective. Raises
    `WorkError` if there are none."""
    searched = [trial for trial in study.evidence if trial.role not in ANSWERING]
    eligible = [trial for trial in searched if engine in (None, trial.engine)]
    order = ranked(candidates(eligible), goal)
    if not order:
        raise WorkError(f"study {study.name}: {_nothing_measured(study, goal, engine)}")
    favourite = best(eligible, goal)
    if favourite is not None:
        order = [favourite, *(one for one in order if one is not favourite)]
    benches = {one: StudyBench(study, goal, one, may_run=may_run) for one in study.engines}
    part, (low, high) = RESERVE_PART, RESERVE
    if study.rung_below:
        part, (low, high) = RESERVE_PART_OF_LONG, RESERVE_OF_LONG
    spare = min(high, max(low, study.runs_left() // part))
    winner = _winner(study, goal, order, benches, spare)
    base = study.question.base(winner.engine)
    units = _by_importance(study, winner, base)
    bench = benches[winner.engine]
    if study.rung_below:
        short = StudyBench(study, goal, winner.engine, may_run=may_run, looks=True)
        selected = select(winner.settings, base, units, goal, short, spare, bench)
    else:
        selected = select(winner.settings, base, units, goal, bench, spare)
    chosen = Choice(goal, order, winner, base, selected, bench)
    return _unless_outdone(study, goal, _unless_too_short(chosen))


def best_of_others(study: Study, goal: Goal, engine: Engine) -> Candidate | None:
    """What a study would recommend first of any other engine by a goal of one objective; if nothing
    of it keeps the limits, the nearest to it."""
    searched = [t for t in study.evidence if t.role not in ANSWERING and t.engine != engine]
    order = ranked(candidates(searched), goal)
    return best(searched, goal) or next(iter(order), None)


def _unless_too_short(chosen: Choice) -> Choice:
    """The choice, or all changes of the winner, where final runs of both show that some of those
    that went were needed: which lines matter is looked at in short runs."""
    goal, bench, winner = chosen.goal, chosen.bench, chosen.winner
    mine, whole = bench.finals(chosen.selected.settings), bench.finals(winner.settings)
    if not chosen.selected.findings or mine is None or whole is None:
        return chosen
    found = compare(goal, bench.noises()[goal.metric], whole, mine)
    if found is None or not found.decides or found.gain <= max(found.bound, WORTH):
        return chosen
    findings = tuple(
        replace(one, fate="needed") if one.fate == "dropped" else one
        for one in chosen.selected.findings
    )
    return replace(chosen, selected=Selected(winner.settings, findings))


def _unless_outdone(study: Study, goal: Goal, chosen: Choice) -> Choice:
    """The choice, or the best rule of thumb, where this was better in final runs of both, or was
    alone shown to be better than the base: nobody should be told to take less than what the table
    beside it shows."""
    bench = chosen.bench
    rule = best_rule(study.question, study.looks, chosen.winner.engine, goal)
    mine = bench.finals(chosen.selected.settings)
    its = None if rule is None else bench.finals(rule.settings)
    if rule is None or mine is None or its is None or not its.feasible(goal):
        return chosen
    base = bench.finals(chosen.base)

    def edge(one: Candidate, other: Candidate | None) -> float:
        """What is gained beyond noise; below 0 where nothing is shown."""
        found = compare(goal, bench.noises()[goal.metric], one, other) if other else None
        return -1.0 if found is None or not found.decides else found.gain - found.bound

    is_alone = edge(mine, base) <= 0.0 < edge(its, base) and ranked([mine, its], goal)[0] is its
    if edge(its, mine) <= 0.0 and not is_alone:
        return chosen
    kept = Selected(rule.settings, ())
    return replace(chosen, winner=its, selected=kept, rule=rule.rule)


def given(study: Study, goal: Goal, engine: Engine, settings: Settings) -> Choice:
    """The choice of settings that were tried, as someone else made it: nothing is taken back.
    Raises `WorkError` for settings that no trial measured."""
    bench = StudyBench(study, goal, engine, may_run=False)
    winner = bench.all_runs(settings)
    if winner is None:
        raise WorkError(f"study {study.name}: no trial has measured the settings that were picked")
    base = study.question.base(engine)
    return Choice(goal, [winner], winner, base, Selected(winner.settings, ()), bench)


def settle(bench: StudyBench, wanted: list[Settings], runs: int, spare: int) -> None:
    """Repeats settings side by side until each has so many runs besides the search, or none is left
    but those to `spare`."""
    made = -1
    distinct = [one for place, one in enumerate(wanted) if one not in wanted[:place]]
    while True:
        known = [candidate for candidate in map(bench.known, distinct) if candidate is not None]
        repeats = [candidate.repeats for candidate in known]
        if min(repeats, default=runs) >= runs or sum(repeats) == made:
            return
        made = sum(repeats)
        short = [candidate.settings for candidate in known if candidate.repeats == min(repeats)]
        bench.measure(short, spare=spare)


def _nothing_measured(study: Study, goal: Goal, engine: Engine | None) -> str:
    metric, others = goal.metric, len(study.trials)
    if engine is None or not others:
        return f"no trial has measured {metric} yet"
    others -= sum(trial.engine == engine for trial in study.trials)
    tried = "1 trial was" if others == 1 else f"{others} trials were"
    return f"no trial of {engine} has measured {metric} yet; {tried} of another engine"


def _winner(
    study: Study, goal: Goal, order: list[Candidate], benches: Benches, spare: int
) -> Candidate:
    """The first of the order that keeps the limits, with a margin of noise, in runs of its own too:
    the best of many noisy trials looks better than it is. Then the first that keeps them at all.
    After some disappointments, what was repeated anyway or the base; if nothing keeps the limits,
    the nearest to it."""

    def is_safe(candidate: Candidate) -> bool:
        return keeps(goal, benches[candidate.engine].noises(), candidate)

    def is_feasible(candidate: Candidate) -> bool:
        return candidate.feasible(goal)

    feasible = [candidate for candidate in order if is_feasible(candidate)]
    tried: list[Candidate] = []
    for is_good in (is_safe, is_feasible) if goal.limits else (is_feasible,):
        good = [candidate for candidate in feasible if is_good(candidate)]
        for candidate in good[:CONTENDERS]:
            proven = _proven(study, goal, candidate, benches[candidate.engine], spare)
            if is_good(proven) and (proven.repeats or not tried):
                return proven
            tried.append(proven)
    rest = [candidate for candidate in feasible[CONTENDERS:] if candidate.repeats]
    rest += [base for base in _bases(study, order, benches) if is_feasible(base)]
    others = [candidate for candidate in order if not is_feasible(candidate)]
    nearest = next(iter(rest), None) or ranked([*tried, *others], goal)[0]
    return _proven(study, goal, nearest, benches[nearest.engine], spare)


def _bases(study: Study, order: list[Candidate], benches: Benches) -> list[Candidate]:
    """What the candidates were compared with when they were proven."""
    engines = dict.fromkeys(candidate.engine for candidate in order)
    known = [benches[engine].known(study.question.base(engine)) for engine in engines]
    return [base for base in known if base is not None]


def _proven(study: Study, goal: Goal, found: Candidate, bench: StudyBench, spare: int) -> Candidate:
    """The candidate with the runs that it and its base need before they are compared."""
    base = study.question.base(found.engine)
    found = _without_near_misses(found, base, bench, goal, spare)
    settle(bench, [found.settings, base], PROOF_RUNS, spare)
    return bench.known(found.settings) or found


def _without_near_misses(
    found: Candidate, base: Settings, bench: StudyBench, goal: Goal, spare: int
) -> Candidate:
    """The candidate with the current value wherever its own hardly differs, measured as such if a
    run is left; unless a limit of the goal tells the two apart."""
    settings = settled(found.settings, base, lambda given: bench.lawful(given) == given)
    if settings == found.settings:
        return found
    if bench.known(settings) is None:
        bench.measure([settings], spare=spare)
    if (measured := bench.known(settings)) is None:
        return replace(found, settings=settings)
    return found if farther(goal, bench.noises(), measured, found) else measured


def _by_importance(study: Study, winner: Candidate, base: Settings) -> list[Unit]:
    """The changes, the most important first; a knob goes with the changed one that bounds it.

    With few trials the shares are rough, and what all good trials have in common gets none. So the
    cache goes first, and it counts how many of the rules of thumb set a knob.
    """
    share = study.importance(winner.engine)
    catalogue = knobs.catalogue(winner.engine)
    units: dict[str, list[str]] = {}
    for name in catalogue:
        if winner.settings[name] == base[name]:
            continue
        root, above = name, catalogue[name].at_least
        while above is not None and winner.settings[above] != base[above]:
            root, above = above, catalogue[above].at_least
        units.setdefault(root, []).append(name)
    known = rules(winner.engine)

    def usual(name: str) -> float:
        return sum(name in rule.stated for rule in known) / max(1, len(known))

    def weight(root: str) -> tuple[bool, float]:
        heaviest = max(share.get(name, 0.0) + usual(name) for name in units[root])
        return root == engines.of(winner.engine).cache_knob, heaviest

    return [tuple(units[root]) for root in sorted(units, key=weight, reverse=True)]
