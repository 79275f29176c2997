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
from advisor.recommend.ablation import SPARE_FOR_RESULT, Pruned, Unit, as_decided, prune
from advisor.recommend.bench import StudyBench
from advisor.recommend.limits import Noises, farther
from advisor.recommend.nearness import settled
from advisor.search import Candidate, Study
from advisor.search.ranking import best, candidates, noise_of, ranked
from advisor.search.rules import machine, rules

PROOF_RUNS = 2
"""Runs besides the search that the winner and its base need before they are compared."""

CONTENDERS = 3
"""Settings that may prove themselves, one after the other, until one keeps the goal's limits."""


@dataclass(frozen=True)
class Choice:
    """What the trials of a study decide."""

    order: list[Candidate]
    winner: Candidate
    base: Settings
    noises: Noises
    pruned: Pruned
    bench: StudyBench


def choose(study: Study, engine: Engine | None, *, may_run: bool) -> Choice:
    """The choice among all candidates, or those of one engine. Raises `WorkError` if there are
    none."""
    # The ablation's own trials must not change how it is judged when it is read again.
    searched = [trial for trial in study.trials if trial.role != "ablation"]
    eligible = [trial for trial in searched if engine in (None, trial.engine)]
    order = ranked(candidates(eligible), study.goal)
    if not order:
        raise WorkError(f"study {study.name}: {_nothing_measured(study, engine)}")
    favourite = best(eligible, study.goal)
    if favourite is not None:
        order = [favourite, *(one for one in order if one is not favourite)]
    noises = _noises(study.goal, candidates(searched))
    winner = _winner(study, order, noises, may_run=may_run)
    base = study.question.base(winner.engine)
    bench = StudyBench(study, winner.engine, may_run=may_run)
    units = _by_importance(study, winner, base)
    pruned = prune(winner, base, units, study.goal, noises, bench)
    return Choice(order, winner, base, noises, pruned, bench)


def given(study: Study, engine: Engine, settings: Settings) -> Choice:
    """The choice of settings that were tried, as someone else made it: nothing is taken back.
    Raises `WorkError` for settings that no trial measured."""
    bench = StudyBench(study, engine, may_run=False)
    winner = bench.known(settings)
    if winner is None:
        raise WorkError(f"study {study.name}: no trial has measured the settings that were picked")
    searched = [trial for trial in study.trials if trial.role != "ablation"]
    noises = _noises(study.goal, candidates(searched))
    pruned = Pruned(winner.settings, ())
    return Choice([winner], winner, study.question.base(engine), noises, pruned, bench)


def settle(bench: StudyBench, wanted: list[Settings], runs: int, spare: int = 0) -> None:
    """Repeats settings in turns until each has so many runs besides the search, or none is left but
    those to `spare`."""
    while True:
        known = [candidate for candidate in map(bench.known, wanted) if candidate is not None]
        short = [candidate for candidate in known if candidate.repeats < runs]
        if not short:
            return
        least = min(short, key=lambda candidate: candidate.repeats)
        if bench.measure(least.settings, spare=spare) is None:
            return


def _nothing_measured(study: Study, engine: Engine | None) -> str:
    metric, others = study.goal.metric, len(study.trials)
    if engine is None or not others:
        return f"no trial has measured {metric} yet"
    others -= sum(trial.engine == engine for trial in study.trials)
    tried = "1 trial was" if others == 1 else f"{others} trials were"
    return f"no trial of {engine} has measured {metric} yet; {tried} of another engine"


def _noises(goal: Goal, found: list[Candidate]) -> Noises:
    return {metric: noise_of(found, metric) for metric in goal.metrics}


def _winner(study: Study, order: list[Candidate], noises: Noises, *, may_run: bool) -> Candidate:
    """The first of the order that keeps the limits in runs of its own too: the best of many noisy
    trials looks better than it is. After some disappointments, what was repeated anyway or the
    base; if nothing keeps the limits, the nearest to it."""
    goal = study.goal
    feasible = [candidate for candidate in order if candidate.feasible(goal)]
    tried = []
    for candidate in feasible[:CONTENDERS]:
        tried.append(_proven(study, candidate, noises, may_run=may_run))
        if tried[-1].feasible(goal) and (tried[-1].repeats or len(tried) == 1):
            return tried[-1]
    rest = [candidate for candidate in feasible[CONTENDERS:] if candidate.repeats]
    rest += [base for base in _bases(study, order) if base.feasible(goal)]
    others = [candidate for candidate in order if not candidate.feasible(goal)]
    nearest = next(iter(rest), None) or ranked([*tried, *others], goal)[0]
    return _proven(study, nearest, noises, may_run=may_run)


def _bases(study: Study, order: list[Candidate]) -> list[Candidate]:
    """What the candidates were compared with when they were proven."""
    engines = dict.fromkeys(candidate.engine for candidate in order)
    known = [
        StudyBench(study, engine, may_run=False).known(study.question.base(engine))
        for engine in engines
    ]
    return [as_decided(base) for base in known if base is not None]


def _proven(study: Study, found: Candidate, noises: Noises, *, may_run: bool) -> Candidate:
    """The candidate with the runs that it and its base need before they are compared."""
    bench = StudyBench(study, found.engine, may_run=may_run)
    base = study.question.base(found.engine)
    found = _without_near_misses(found, base, bench, study.goal, noises)
    settle(bench, [found.settings, base], PROOF_RUNS, spare=SPARE_FOR_RESULT)
    return as_decided(bench.known(found.settings) or found)


def _without_near_misses(
    found: Candidate, base: Settings, bench: StudyBench, goal: Goal, noises: Noises
) -> Candidate:
    """The candidate with the current value wherever its own hardly differs, measured as such if a
    run is left; unless a limit of the goal tells the two apart."""
    settings = settled(found.settings, base, lambda given: bench.lawful(given) == given)
    if settings == found.settings:
        return found
    measured = bench.known(settings) or bench.measure(settings, spare=SPARE_FOR_RESULT)
    if measured is None:
        return replace(found, settings=settings)
    return found if farther(goal, noises, _first_seen(measured), found) else measured


def _first_seen(candidate: Candidate) -> Candidate:
    """The candidate as the search left it, or as its first run in the ablation showed it."""
    searched = [trial for trial in candidate.trials if trial.role != "ablation"]
    return replace(candidate, trials=tuple(searched or candidate.trials[:1]))


def _by_importance(study: Study, winner: Candidate, base: Settings) -> list[Unit]:
    """The changes, the most important first; a knob goes with the changed one that bounds it.

    With few trials the shares are rough, and what all good trials have in common gets none. So
    knobs that rules of thumb move, the cache above all, stand before the others.
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
    usual = set().union(*(rule.changes for rule in rules(winner.engine, machine(study.profile))))

    def weight(root: str) -> tuple[bool, bool, float]:
        heaviest = max(share.get(name, 0.0) for name in units[root])
        return root == engines.of(winner.engine).cache_knob, root in usual, heaviest

    return [tuple(units[root]) for root in sorted(units, key=weight, reverse=True)]
