"""What a study recommends: the engine, the settings, and for every line what it buys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from advisor import dialects, knobs
from advisor.dialects import About, Line
from advisor.errors import InputError, WorkError
from advisor.goal import Goal
from advisor.knobs import Engine, Setting, Settings
from advisor.noise import Noise, Spread
from advisor.profile import Profile
from advisor.recommend import wording
from advisor.recommend.ablation import Finding, Pruned, Unit, as_decided, prune
from advisor.recommend.bench import StudyBench
from advisor.recommend.leftover import Ruled, leftover
from advisor.recommend.nearness import settled
from advisor.recommend.verdict import Comparison, EngineVerdict, compare, engine_verdict
from advisor.search import Candidate, Study
from advisor.search.ranking import best, candidates, noise_of, ranked
from advisor.search.rules import machine, rules
from advisor.sizes import format_factor
from advisor.steadiness import NOT_YET
from advisor.trial import Clock, Trial

COMPARED_METRICS = ("ops_per_s", "p99_us", "write_kb_per_op", "reads_per_op", "space_amp")
"""The columns of "default against recommended"."""
PROOF_RUNS = 2
"""Runs besides the search that the winner and its base need before they are compared."""
FINAL_RUNS = 3
"""Such runs that the recommended settings should have in the end."""

Basis = Literal["defaults", "current settings"]


@dataclass(frozen=True)
class Change:
    """One line of the recommendation that differs from what the user has."""

    knob: str
    current: Setting
    recommended: Setting
    evidence: str
    """`measured: …`, `simulated: …` or `rule: …`."""
    cost: float | None = None
    """What reverting it alone loses of the goal's metric, relatively; absent if that was not
    measured."""


@dataclass(frozen=True)
class Dropped:
    """A change that the search made and that buys nothing: it went back."""

    knob: str
    tried: Setting
    kept: Setting
    reason: str


@dataclass(frozen=True)
class Column:
    """One column of the comparison table."""

    title: str
    engine: Engine
    settings: Settings
    metrics: Mapping[str, Spread]
    runs: int


@dataclass(frozen=True)
class Recommendation:
    """The answer of a study."""

    study: str
    profile: Profile
    goal: Goal
    clock: Clock
    scale: float
    engine: Engine
    settings: Mapping[str, Setting]
    """Complete, in full-size units."""
    current: Mapping[str, Setting]
    """What the changes are counted from: the user's settings of this engine, or its defaults."""
    basis: Basis
    changes: tuple[Change, ...]
    dropped: tuple[Dropped, ...]
    columns: tuple[Column, ...]
    """Defaults, the user's settings if given, and the recommended ones last."""
    gain: Comparison | None
    """The recommended settings against `current`; absent if there is no change or no run of
    those."""
    verdict: EngineVerdict | None
    """Absent when the study looked at one engine."""
    noise: Noise
    broken: tuple[str, ...]
    """Limits that even the best settings do not keep."""
    notes: tuple[str, ...]
    trials: tuple[Trial, ...]

    def lines(self, dialect: str | None = None) -> list[Line]:
        """The lines to write: every change, and, for a dialect, also what its product would do
        otherwise by default."""
        if dialect and dialects.engine_of(dialect) != self.engine:
            accepted = ", ".join(dialects.for_engine(self.engine))
            raise InputError("dialect", None, f"{dialect}, not a file of {self.engine}", accepted)
        default = knobs.defaults(self.engine)
        silent = dialects.product_defaults(dialect) if dialect else default
        changed = {change.knob: change for change in self.changes}
        found = []
        for name, knob in knobs.catalogue(self.engine).items():
            value = self.settings[name]
            if name in changed:
                evidence = changed[name].evidence
            elif value != default[name]:
                evidence = "rule: as you have it now, and no other value was better"
            elif value != silent[name] and not knob.durability:
                evidence = "rule: as in the trials; the product's own default differs"
            else:
                continue
            found.append(Line(name, value, default[name], self.current[name], evidence))
        return found

    def about(self) -> About:
        """What the head of a written file says."""
        return About(profile=self.profile.name, clock=self.clock)

    def write(self, dialect: str) -> str:
        """The text of a product's configuration file. Raises `InputError` if the dialect is of the
        other engine."""
        return dialects.write(dialect, self.lines(dialect), self.about())


def recommend(
    study: Study, *, measure: bool = True, engine: Engine | None = None
) -> Recommendation:
    """The recommendation of a study, finished or not; with `engine`, the best of that engine alone,
    which then carries no verdict.

    With `measure`, what is left of the study's bounds is first spent on reverting changes and on
    repeating the result; stored trials then decide. Raises `WorkError` if no trial has finished.
    """
    if measure:
        chosen = _choose(study, engine, may_run=True)
        _settle(chosen.bench, [chosen.pruned.settings], FINAL_RUNS)
    engines = study.engines if engine is None else (engine,)
    return _explain(study, _choose(study, engine, may_run=False), engines)


@dataclass(frozen=True)
class _Choice:
    """What the trials of a study decide."""

    order: list[Candidate]
    winner: Candidate
    base: Settings
    noise: Noise
    pruned: Pruned
    bench: StudyBench


def _choose(study: Study, engine: Engine | None, *, may_run: bool) -> _Choice:
    goal = study.goal
    # The ablation's own trials must not change how it is judged when it is read again.
    searched = [trial for trial in study.trials if trial.role != "ablation"]
    eligible = [trial for trial in searched if engine in (None, trial.engine)]
    order = ranked(candidates(eligible), goal)
    if not order:
        raise WorkError(f"study {study.name}: no trial has measured {goal.metric} yet")
    winner = best(eligible, goal) or order[0]
    noise = noise_of(candidates(searched), goal.metric)
    base = study.question.base(winner.engine)
    bench = StudyBench(study, winner.engine, may_run=may_run)
    winner = _without_near_misses(winner, base, bench)
    # The best of many noisy trials looks better than it is: it proves itself in runs of its own.
    _settle(bench, [winner.settings, base], PROOF_RUNS)
    winner = as_decided(bench.known(winner.settings) or winner)
    pruned = prune(winner, base, _by_importance(study, winner, base), goal, noise, bench)
    return _Choice(order, winner, base, noise, pruned, bench)


def _without_near_misses(winner: Candidate, base: Settings, bench: StudyBench) -> Candidate:
    """The winner with the current value wherever its own hardly differs, measured as such if a run
    is left."""
    settings = settled(winner.settings, base, lambda given: bench.lawful(given) == given)
    if settings == winner.settings:
        return winner
    measured = bench.known(settings) or bench.measure(settings)
    return measured or replace(winner, settings=settings)


def _explain(study: Study, chosen: _Choice, engines: tuple[Engine, ...]) -> Recommendation:
    goal, clock, winner = study.goal, study.question.clock, chosen.winner
    base, noise, pruned, bench = chosen.base, chosen.noise, chosen.pruned, chosen.bench
    final = bench.known(pruned.settings) or winner
    ruled = leftover(study.profile, winner.engine, pruned.settings)
    known_base = bench.known(base)
    changes = _changes(chosen, ruled, goal, clock)
    return Recommendation(
        study=study.name,
        profile=study.profile,
        goal=goal,
        clock=clock,
        scale=study.scale,
        engine=winner.engine,
        settings={**pruned.settings, **{rule.knob: rule.value for rule in ruled}},
        current=dict(base),
        basis="current settings" if winner.engine in study.question.current else "defaults",
        changes=changes,
        dropped=tuple(
            _dropped(finding, winner, base)
            for finding in pruned.findings
            if finding.fate == "dropped"
        ),
        columns=tuple(
            _columns(bench.known(study.question.defaults(winner.engine)), known_base, final)
        ),
        gain=compare(goal, noise, final, known_base) if known_base and changes else None,
        verdict=engine_verdict(goal, noise, [winner, *chosen.order], engines),
        noise=noise,
        broken=tuple(str(limit) for limit in goal.broken(final.metrics())),
        notes=tuple(_notes(study, final)),
        trials=study.trials,
    )


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
        return root == knobs.CACHE_KNOB[winner.engine], root in usual, heaviest

    return [tuple(units[root]) for root in sorted(units, key=weight, reverse=True)]


def _settle(bench: StudyBench, wanted: list[Settings], runs: int) -> None:
    """Repeats settings in turns until each has so many runs besides the search, or none is left."""
    while True:
        known = [candidate for candidate in map(bench.known, wanted) if candidate is not None]
        short = [candidate for candidate in known if candidate.repeats < runs]
        if not short:
            return
        least = min(short, key=lambda candidate: candidate.repeats)
        if bench.measure(least.settings) is None:
            return


def _changes(
    chosen: _Choice, ruled: tuple[Ruled, ...], goal: Goal, clock: Clock
) -> tuple[Change, ...]:
    """What differs from the base in the end, what buys most first."""
    findings = {finding.knob: finding for finding in chosen.pruned.findings}
    by_rule = {rule.knob: rule for rule in ruled}
    made = []
    for knob in knobs.catalogue(chosen.winner.engine):
        value = chosen.pruned.settings[knob]
        if value == chosen.base[knob]:
            continue
        finding = findings.get(knob, Finding(knob, "unmeasured"))
        alone = finding.fate == "kept" and finding.together == 1
        cost = finding.cost if alone else None
        evidence = _evidence(finding, goal, clock)
        if rule := by_rule.pop(knob, None):
            value, evidence = rule.value, f"{evidence}; {rule.reason}"
        made.append(Change(knob, chosen.base[knob], value, evidence, cost))
    made.sort(key=lambda change: -(change.cost or 0.0))
    made += [
        Change(rule.knob, chosen.base[rule.knob], rule.value, f"rule: {rule.reason}")
        for rule in by_rule.values()
    ]
    return tuple(made)


def _evidence(finding: Finding, goal: Goal, clock: Clock) -> str:
    if finding.fate == "unlawful":
        return "rule: its old value does not go with the other changes and the memory"
    if finding.fate == "unmeasured" or finding.cost is None or finding.bound is None:
        return f"{clock}: with the other changes, not measured on its own"
    if finding.broken:
        return f"{clock}: reverting it breaks {', '.join(str(limit) for limit in finding.broken)}"
    told = (
        f"{wording.percent(finding.cost)} {goal.metric} (noise ±{wording.percent(finding.bound)})"
    )
    if finding.together > 1:
        return f"{clock}: reverting it with {finding.together - 1} others cost {told}"
    return f"{clock}: reverting it cost {told}"


def _dropped(finding: Finding, winner: Candidate, base: Settings) -> Dropped:
    cost, bound = finding.cost or 0.0, finding.bound or 0.0
    many = f"with {finding.together - 1} others " if finding.together > 1 else ""
    verb = "cost" if cost >= 0 else "gained"
    told = f"reverting it {many}{verb} {wording.percent(cost)}"
    reason = f"{told}: within noise (±{wording.percent(bound)})"
    if cost > bound:
        reason = f"{told}: too little for a line"
    if cost < -bound:
        reason = told
    return Dropped(finding.knob, winner.settings[finding.knob], base[finding.knob], reason)


def _columns(default: Candidate | None, base: Candidate | None, final: Candidate) -> list[Column]:
    found = []
    if default is not None:
        found.append(_column("default", default))
    if base is not None and (default is None or base.settings != default.settings):
        found.append(_column("current", base))
    found.append(_column("recommended", final))
    return found


def _column(title: str, candidate: Candidate) -> Column:
    spreads = ((name, candidate.spread(name)) for name in candidate.metrics())
    measured = {name: spread for name, spread in spreads if spread is not None}
    return Column(title, candidate.engine, candidate.settings, measured, len(candidate.judged))


def _notes(study: Study, final: Candidate) -> list[str]:
    notes = []
    if study.scale < 1.0:
        notes.append(
            f"every trial ran at {format_factor(study.scale)} of the data, caches, memtables and "
            "logs; sizes here are for the full data"
        )
    notes += final.trials[-1].notes
    unsteady = sum(trial.steady is False for trial in final.trials)
    if unsteady:
        notes.append(
            f"the recommended settings were {NOT_YET} in {unsteady} of their {len(final.trials)} "
            "runs: longer trials (--seconds) would say more"
        )
    rejected = [trial for trial in study.trials if trial.outcome == "rejected"]
    notes += [
        f"the {trial.role} settings of {trial.engine} were not run: {trial.error}"
        for trial in rejected
    ]
    failed = sum(trial.outcome == "failed" for trial in study.trials)
    if failed:
        notes.append(f"{failed} of {len(study.trials)} trials failed")
    return notes
