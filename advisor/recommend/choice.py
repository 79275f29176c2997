"""What the trials of a study decide: the winner, proven in runs of its own, and what is left of its
changes.

Given stored trials the same choice is made again, so whatever is decided here is decided from
trials that were there when it was decided first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from advisor import engines, knobs
from advisor.errors import WorkError
from advisor.goal import Goal
from advisor.knobs import Engine, Settings
from advisor.recommend.bench import FinalRuns, StudyBench
from advisor.recommend.evidence import Finding
from advisor.recommend.leftover import leftover
from advisor.recommend.limits import farther, keeps
from advisor.recommend.nearness import settled
from advisor.recommend.selection import Bench, Selected, Unit, restore, select
from advisor.recommend.verdict import VERDICT_LEVEL, compare
from advisor.search import VERDICT_RUNS, Candidate, Study
from advisor.search.ranking import WORTH, best, candidates, loss, ranked
from advisor.search.rules import rules
from advisor.search.seeds import best_rule
from advisor.trial import ANSWERING

PROOF_RUNS = 2
"""Runs besides the search that the winner and its base need before they are compared."""

CONTENDERS = 3
"""Settings that may prove themselves, one after the other, until one keeps the goal's limits."""

RESERVE_PART, RESERVE = 4, (3, 14)
"""One part in so many of the runs that are left, within these bounds, is kept for the final runs of
the answer."""
RESERVE_PART_OF_LONG, RESERVE_OF_LONG = 2, (4, 18)
"""The same where lines are looked at in short runs. A round of final runs is of the file, the
result, the winner, the base, the best rule and the best of the other engine; four runs are the
fewest of which a verdict is made, on the result and its base, and one more makes it one on the
engines."""

LINES_PART = 2
"""One part in so many of the runs that are left, at most, is kept for a look at each change: the
proof of all of them together does without."""

OTHER_PART = 4
"""One part in so many of the runs that are left, at most, is kept for a look at each change of the
engine that does not lead."""
LOOKS_OF_OTHER = 3
"""At each change of the engine that does not lead, at most: one without it, and two that tell
whether all may go that were not missed."""

RESERVE_OF_RESULT = 3
"""Kept for the final runs of another result, when all others have had theirs."""

Benches = dict[Engine, StudyBench]


@dataclass(frozen=True)
class Choice:
    """What the trials of a study decide."""

    goal: Goal
    """By which they do."""
    order: list[Candidate]
    winner: Candidate
    base: Settings
    """What is changed."""
    compared: Settings
    """What gains are over: the base, where it fits the memory."""
    selected: Selected
    bench: StudyBench
    rule: str = ""
    """The rule of thumb that the settings are of, because it beat what the search found; empty if
    they are no rule's."""


def choose(study: Study, goal: Goal, engine: Engine | None, *, may_run: bool) -> Choice:
    """The choice among all candidates, or those of one engine, by a goal of one objective. Raises
    `WorkError` if there are none."""
    order = _order(study, goal, engine)
    part, (low, high) = RESERVE_PART, RESERVE
    if study.rung_below:
        part, (low, high) = RESERVE_PART_OF_LONG, RESERVE_OF_LONG
        low += engine is None and len(study.engines) > 1
    spare = min(high, max(low, study.runs_left() // part))
    if engine is None:
        spare += for_other(study, best_of_others(study, goal, order[0].engine))
    return _choice(study, goal, order, spare, spare + _for_lines(study, order[0]), may_run)


def look_at_lines(study: Study, goal: Goal, engine: Engine) -> None:
    """Looks at what single changes of one engine buy, a few times each, and proves nothing: whoever
    takes the file of the engine that does not lead shall read what its lines are good for."""
    order = _order(study, goal, engine)
    left = study.runs_left()
    changes = study.question.changes(engine, order[0].settings)
    spare = max(0, left - study.as_runs(LOOKS_OF_OTHER * changes))
    _choice(study, goal, order, spare, left, may_run=True)


def _order(study: Study, goal: Goal, engine: Engine | None) -> list[Candidate]:
    """The candidates, or those of one engine, what is to be recommended first. Raises `WorkError`
    if there are none."""
    searched = [trial for trial in study.evidence if trial.role not in ANSWERING]
    eligible = [trial for trial in searched if engine in (None, trial.engine)]
    order = ranked(candidates(eligible), goal)
    if not order:
        raise WorkError(f"study {study.name}: {_nothing_measured(study, goal, engine)}")
    favourite = best(eligible, goal)
    if favourite is not None:
        order = [favourite, *(one for one in order if one is not favourite)]
    return order


def _choice(
    study: Study, goal: Goal, order: list[Candidate], spare: int, proof_spare: int, may_run: bool
) -> Choice:
    """The choice of an order; `spare` runs are left for others by the looks at its lines, and
    `proof_spare` by its proof."""
    benches = {one: StudyBench(study, goal, one, may_run=may_run) for one in study.engines}
    winner = _winner(study, goal, order, benches, proof_spare)
    question = study.question
    base, compared = question.base(winner.engine), question.compared(winner.engine)
    bench = benches[winner.engine]
    lines = _Lines(study, goal, winner.engine, bench, spare, proof_spare, may_run)
    selected = lines.select(winner.settings, base, bench)
    chosen = Choice(goal, order, winner, base, compared, selected, bench)
    return _unless_outdone(study, _unless_denied(study, _unless_too_short(chosen, lines)), lines)


@dataclass(frozen=True)
class _Lines:
    """Where single changes are looked at: in short runs where there is a rung for them."""

    study: Study
    goal: Goal
    engine: Engine
    bench: StudyBench
    spare: int
    proof_spare: int
    may_run: bool

    def select(self, best: Settings, base: Settings, proof: Bench) -> Selected:
        """The changes that buy something, if `proof` shows that they do together."""
        bench = self.bench
        if self.study.rung_below:
            bench = StudyBench(self.study, self.goal, self.engine, may_run=self.may_run, looks=True)
        units, spare = self._units(best, base), (self.spare, self.proof_spare)
        return select(best, base, units, self.goal, bench, spare, proof, self._start)

    def restore(self, best: Settings, base: Settings, seen: Sequence[Finding]) -> Selected:
        """The fewest changes that reach the best in runs of the kind that decides."""
        units, spare = self._units(best, base), min(self.spare, RESERVE_OF_RESULT)
        return restore(best, base, units, self.goal, self.bench, seen, spare, self._start)

    @property
    def _start(self) -> Settings:
        return self.study.question.compared(self.engine)

    def _units(self, best: Settings, base: Settings) -> list[Unit]:
        return _by_importance(self.study, self.goal, self.engine, best, base)


def _for_lines(study: Study, winner: Candidate) -> int:
    """Runs that are kept for a look at each change of what will probably win. Where trials bound
    the study a look takes as much as a run that decides, and nothing is told without a proof."""
    if not study.rung_below or study.bounds.minutes is None:
        return 0
    changes = study.question.changes(winner.engine, winner.settings)
    return min(study.as_runs(changes), study.runs_left() // LINES_PART)


def for_other(study: Study, rival: Candidate | None) -> int:
    """Runs that are kept for a look at each change of the best of any other engine."""
    if rival is None:
        return 0
    changes = study.question.changes(rival.engine, rival.settings)
    return min(study.as_runs(changes), study.runs_left() // OTHER_PART)


def best_of_others(study: Study, goal: Goal, engine: Engine) -> Candidate | None:
    """What a study would recommend first of any other engine by a goal of one objective; if nothing
    of it keeps the limits, the nearest to it."""
    searched = [t for t in study.evidence if t.role not in ANSWERING and t.engine != engine]
    order = ranked(candidates(searched), goal)
    return best(searched, goal) or next(iter(order), None)


def _unless_too_short(chosen: Choice, lines: _Lines) -> Choice:
    """The choice, or with some of the winner's changes again, where final runs of both show that
    some of those that went were needed: which lines matter is looked at in short runs."""
    goal, bench = chosen.goal, chosen.bench
    settings, whole = chosen.selected.settings, chosen.winner.settings
    mine, best = bench.finals(settings), bench.finals(whole)
    if not chosen.selected.findings or mine is None or best is None:
        return chosen
    found = compare(goal, bench.noise_of_finals(), best, mine)
    if found is None or not found.decides or found.gain <= max(found.bound, WORTH):
        return chosen
    restored = lines.restore(whole, settings, chosen.selected.findings)
    again = {one.knob: one for one in restored.findings}
    findings = tuple(again.get(one.knob, one) for one in chosen.selected.findings)
    selected = replace(chosen.selected, settings=restored.settings, findings=findings)
    return replace(chosen, selected=selected)


def _unless_denied(study: Study, chosen: Choice) -> Choice:
    """The choice, or none of its changes, where what was told of them together was told in fewer
    runs than that takes, and neither final runs of them, or of the most of them that a file
    carries, nor these with those before bear it out."""
    goal, bench, selected = chosen.goal, chosen.bench, chosen.selected
    mine, base = finals_of_most(study, chosen), bench.finals(chosen.compared)
    if selected.is_proven or mine is None or base is None or selected.settings == chosen.compared:
        return chosen
    noise = bench.noise_of_finals()
    found = compare(goal, noise, mine, base, level=VERDICT_LEVEL)
    if found is None or not found.decides or found.gain > found.bound:
        return chosen
    if farther(goal, {**bench.noises(), goal.metric: noise}, base, mine):
        return chosen
    later = bench.all_later(mine.settings, chosen.compared)
    if later is not None and ranked([*later], goal)[0] is later[0]:
        return chosen
    gone = tuple(
        replace(one, fate="dropped", company=None, together=len(selected.findings))
        for one in selected.findings
    )
    untold = found if found.gain > WORTH else None
    return replace(chosen, selected=Selected(chosen.compared, gone, untold=untold))


def finals_of_most(study: Study, chosen: Choice) -> Candidate | None:
    """The final runs of the settings, or of those that have the most of their changes and no
    other, as a file has that leaves some to its reader; what was run often enough for a verdict
    goes before."""
    settings, base = chosen.selected.settings, chosen.base
    # A file has these too.
    ruled = {one.knob: one.value for one in leftover(study.profile, chosen.winner.engine, settings)}

    def made(one: Candidate) -> tuple[bool, int]:
        changes = sum(one.settings[name] != base[name] for name in base)
        return len(one.trials) >= VERDICT_RUNS, changes

    def is_part(one: Candidate) -> bool:
        is_base = one.settings == base
        values = ((base[name], settings[name], ruled.get(name)) for name in base)
        whole = all(one.settings[name] in known for name, known in zip(base, values, strict=True))
        return whole and is_base == (settings == base)

    return max(filter(is_part, chosen.bench.all_finals()), key=made, default=None)


def _unless_outdone(study: Study, chosen: Choice, lines: _Lines) -> Choice:
    """The choice, or what is needed of the best rule of thumb, where this was better in final runs
    of both, or was alone shown to be better than the base: nobody should be told to take less than
    what the table beside it shows."""
    goal, bench = chosen.goal, chosen.bench
    rule = best_rule(study.question, study.looks, chosen.winner.engine, goal)
    mine = bench.finals(chosen.selected.settings)
    its = None if rule is None else bench.finals(rule.settings)
    if rule is None or mine is None or its is None or not its.feasible(goal):
        return chosen
    base = bench.finals(chosen.compared)

    def edge(one: Candidate, other: Candidate | None) -> float:
        """What is gained beyond noise; below 0 where nothing is shown."""
        if other is None:
            return -1.0
        found = compare(goal, bench.noise_of_finals(), one, other, level=VERDICT_LEVEL)
        return -1.0 if found is None or not found.decides else found.gain - found.bound

    is_alone = edge(mine, base) <= 0.0 < edge(its, base) and ranked([mine, its], goal)[0] is its
    if edge(its, mine) <= 0.0 and not is_alone:
        return chosen
    kept = lines.select(rule.settings, chosen.base, FinalRuns(bench, goal))
    outdone = replace(chosen, winner=its, selected=kept, rule=rule.rule)
    return _unless_too_short(outdone, lines)


def given(study: Study, goal: Goal, engine: Engine, settings: Settings) -> Choice:
    """The choice of settings that were tried, as someone else made it: nothing is taken back.
    Raises `WorkError` for settings that no trial measured."""
    bench = StudyBench(study, goal, engine, may_run=False)
    winner = bench.all_runs(settings) or bench.finals(settings)
    if winner is None:
        raise WorkError(f"study {study.name}: no trial has measured the settings that were picked")
    base, compared = study.question.base(engine), study.question.compared(engine)
    return Choice(goal, [winner], winner, base, compared, Selected(winner.settings, ()), bench)


def settle(bench: StudyBench, wanted: list[Settings], runs: int, spare: int) -> None:
    """Repeats settings side by side until each has so many runs besides the search, or none is left
    but those to `spare`."""
    distinct = [one for place, one in enumerate(wanted) if one not in wanted[:place]]
    made = -1
    while short := [one for one in distinct if _lacks(bench, one, runs)]:
        now = sum(one.repeats for one in map(bench.known, distinct) if one is not None)
        if now == made:
            return
        made = now
        bench.measure(short, spare=spare)


def _lacks(bench: StudyBench, settings: Settings, runs: int) -> bool:
    """Whether settings that can be run have fewer runs besides the search."""
    known = bench.known(settings)
    return bench.lawful(settings) == settings if known is None else known.repeats < runs


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
    known = [benches[engine].known(study.question.compared(engine)) for engine in engines]
    return [base for base in known if base is not None]


def _proven(study: Study, goal: Goal, found: Candidate, bench: StudyBench, spare: int) -> Candidate:
    """The candidate with the runs that it and its base need before they are compared."""
    base, compared = study.question.base(found.engine), study.question.compared(found.engine)
    found = _without_near_misses(found, base, bench, goal, spare)
    settle(bench, [found.settings, compared], PROOF_RUNS, spare)
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
        # Beside a run that the base will need in any case.
        beside = [base] if _lacks(bench, base, PROOF_RUNS) else []
        bench.measure([settings, *beside], spare=spare)
    if (measured := bench.known(settings)) is None:
        return replace(found, settings=settings)
    return found if farther(goal, bench.noises(), measured, found) else measured


def _by_importance(
    study: Study, goal: Goal, engine: Engine, best: Settings, base: Settings
) -> list[Unit]:
    """The changes, the most important first; a knob goes with the changed one that bounds it.

    First is what nothing good lacks: the best of all settings that lack the change loses most
    against the best of all. Of those alike the cache goes first, and then what has most share in
    reaching good scores and is set by most rules of thumb: with few trials the shares are rough.
    """
    share = study.importance(engine)
    catalogue = knobs.catalogue(engine)
    units: dict[str, list[str]] = {}
    for name in catalogue:
        if best[name] == base[name]:
            continue
        root, above = name, catalogue[name].at_least
        while above is not None and best[above] != base[above]:
            root, above = above, catalogue[above].at_least
        units.setdefault(root, []).append(name)
    known = rules(engine)
    seen = [t for t in study.looks if t.engine == engine and t.role not in ANSWERING]
    order = ranked(candidates(seen), goal)

    def usual(name: str) -> float:
        return sum(name in rule.stated for rule in known) / max(1, len(known))

    def missed(names: Sequence[str]) -> float:
        lacking = (one for one in order if all(one.settings[name] == base[name] for name in names))
        found = next(lacking, None)
        if found is None or found.feasible(goal) != order[0].feasible(goal):
            return 1.0
        return loss(goal, order[0].metrics()[goal.metric], found.metrics()[goal.metric])

    def weight(root: str) -> tuple[float, bool, float]:
        heaviest = max(share.get(name, 0.0) + usual(name) for name in units[root])
        return missed(units[root]), root == engines.of(engine).cache_knob, heaviest

    return [tuple(units[root]) for root in sorted(units, key=weight, reverse=True)]
