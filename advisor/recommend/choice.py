"""What the trials of a study decide: the winner, proven in runs of its own, and what is left of its
changes.

Given stored trials the same choice is made again, so whatever is decided here is decided from
trials that were there when it was decided first.
"""

from __future__ import annotations

from dataclasses import replace

from advisor.errors import WorkError
from advisor.goal import Goal
from advisor.knobs import Engine, Settings
from advisor.recommend.bench import StudyBench
from advisor.recommend.chosen import Choice, finals_of_most, first_of_enough
from advisor.recommend.limits import farther, keeps
from advisor.recommend.lines import RESERVE_OF_RESULT, Lines
from advisor.recommend.nearness import settled
from advisor.recommend.revision import (
    is_overtaken,
    unless_denied,
    unless_outdone,
    unless_told,
    unless_too_short,
)
from advisor.recommend.selection import Selected
from advisor.search import VERDICT_RUNS, Candidate, Study
from advisor.search.ranking import WORTH, best, candidates, loss, ranked
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

Benches = dict[Engine, StudyBench]


def choose(study: Study, goal: Goal, engine: Engine | None, *, may_run: bool) -> Choice:
    """The choice among all candidates, or those of one engine, by a goal of one objective. Raises
    `WorkError` if there are none."""
    chosen = choose_leader(study, goal, engine, may_run=may_run)
    return unless_overtaken(study, chosen, engine, may_run=may_run)


def choose_leader(study: Study, goal: Goal, engine: Engine | None, *, may_run: bool) -> Choice:
    """The choice of what leads, though what is left of it may not. Raises as `choose`."""
    order = _order(study, goal, engine)
    part, (low, high) = RESERVE_PART, RESERVE
    if study.rung_below:
        part, (low, high) = RESERVE_PART_OF_LONG, RESERVE_OF_LONG
        low += len(study.engines) > 1
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
    lines = Lines(study, goal, winner.engine, bench, spare, proof_spare, may_run)
    selected = lines.select(winner.settings, base, bench)
    chosen = unless_told(Choice(goal, order, winner, base, compared, selected, bench), lines)
    return unless_outdone(study, unless_denied(study, unless_too_short(chosen, lines)), lines)


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


def unless_overtaken(
    study: Study, chosen: Choice, engine: Engine | None, *, may_run: bool
) -> Choice:
    """The choice of the leader or, unless one engine was asked for, that of the other engine where
    this is better: it may be where nothing is left of the leader's changes, and where final runs of
    both show it. Its base has to have been run, since it may be all that is left of it. A front has
    members of several engines, of which one was chosen."""
    goal = chosen.goal
    rival = best_of_others(study, goal, chosen.winner.engine)
    if engine is not None or rival is None or study.goal.others:
        return chosen
    its = StudyBench(study, goal, rival.engine, may_run=False)
    if chosen.selected.settings == chosen.compared:
        if not _is_better(study, given(study, goal, rival.engine, rival.settings), chosen):
            return chosen
    else:
        mine, best = finals_of_most(study, chosen), its.finals(rival.settings)
        if not is_overtaken(goal, chosen.bench.noise_of_finals(), mine, best):
            return chosen
    order = _order(study, goal, rival.engine)
    has_finals = its.finals(study.question.compared(rival.engine)) is not None
    spare = RESERVE_OF_RESULT if has_finals else 2 * VERDICT_RUNS
    other = _choice(study, goal, order, spare, spare + _for_lines(study, order[0]), may_run)
    base_was_run = other.bench.shown(other.compared) is not None
    if not base_was_run or not _is_better(study, other, chosen):
        return chosen
    return replace(other, order=[*other.order, *(one for one in chosen.order if one not in order)])


def _is_better(study: Study, one: Choice, other: Choice) -> bool:
    """Whether what is left of one choice is better than what is left of another, by runs of the
    same kind: final ones, where both have enough of them."""
    goal = one.goal
    finals = [_finals_left(study, choice) for choice in (one, other)]
    runs = finals if all(finals) else [_runs_left(choice) for choice in (one, other)]
    mine, its = runs
    if mine is None or its is None or ranked([mine, its], goal)[0] is its:
        return False
    metric = goal.metric
    gain = -loss(goal, its.metrics()[metric], mine.metrics()[metric])
    return gain > WORTH or not its.feasible(goal)


def _finals_left(study: Study, chosen: Choice) -> Candidate | None:
    """Final runs of what is left of a choice, as many as a verdict takes; until that has its own,
    the winner's stand for it."""
    found = [finals_of_most(study, chosen)]
    if chosen.selected.settings != chosen.compared:
        found.append(chosen.bench.finals(chosen.winner.settings))
    return first_of_enough(*found)


def _runs_left(chosen: Choice) -> Candidate | None:
    """The other runs of it; until it has any, the winner's stand for it."""
    bench, settings = chosen.bench, chosen.selected.settings
    own = bench.all_runs(settings)
    if own is None and settings != chosen.compared:
        return bench.all_runs(chosen.winner.settings)
    return own


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
