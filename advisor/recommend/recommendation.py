"""What a study recommends: the engine, the settings, and for every line what it buys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from advisor import dialects, knobs, patch
from advisor.dialects import About, Line
from advisor.errors import InputError
from advisor.goal import Goal
from advisor.imports.connections import Connections, read_connections
from advisor.knobs import Engine, Setting, Settings
from advisor.memory_need import needed_parts
from advisor.noise import Noise, Spread
from advisor.profile import Profile
from advisor.recommend import wording
from advisor.recommend.ablation import Finding, as_decided
from advisor.recommend.bench import StudyBench
from advisor.recommend.budget import BudgetLine, budget_lines, crowded
from advisor.recommend.choice import Choice, choose, given, settle
from advisor.recommend.leftover import Ruled, leftover
from advisor.recommend.standing import Standing, standing
from advisor.recommend.verdict import Comparison, EngineVerdict, compare, engine_verdict
from advisor.search import Candidate, Study
from advisor.search.ranking import ranked
from advisor.sizes import format_factor
from advisor.steadiness import NOT_YET
from advisor.trial import Clock, Trial

COMPARED_METRICS = ("ops_per_s", "p99_us", "write_kb_per_op", "reads_per_op", "space_amp")
"""The columns of "default against recommended"."""
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
    """Of all engines of the study, whichever was asked for here; absent if it looked at one."""
    noise: Noise
    broken: tuple[str, ...]
    """Limits that even the best settings do not keep."""
    notes: tuple[str, ...]
    trials: tuple[Trial, ...]
    results: Path | None = None
    """Where the study is stored, if that is not the usual file."""
    files: Mapping[str, Standing] = field(default_factory=dict)
    """What the file of each dialect of the engine does as it stands."""
    dialect: str = ""
    """The dialect whose file was measured first: what the headline is about."""
    connections: Connections | None = None
    """What the user's server admits, if its file says so."""
    real: tuple[str, ...] = ()
    """What the product itself did with these settings at the end of the search, in sentences; empty
    if it was not asked."""
    refuted: str = ""
    """Why they should not be taken, by the product itself; empty if nothing speaks against them."""

    def lines(
        self, dialect: str | None = None, has: Mapping[str, Setting] | None = None
    ) -> list[Line]:
        """The lines to write: every change, and, for a dialect, also what its product would do
        otherwise, by default or with a file whose settings are `has`."""
        if dialect and dialects.engine_of(dialect) != self.engine:
            accepted = ", ".join(dialects.for_engine(self.engine))
            raise InputError("dialect", None, f"{dialect}, not a file of {self.engine}", accepted)
        default = knobs.defaults(self.engine)
        silent = has or (dialects.product_defaults(dialect) if dialect else default)
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
            found.append(Line(name, value, silent[name], self.current[name], evidence))
        return found

    @property
    def memory(self) -> list[BudgetLine]:
        """What the settings need, line by line, against the profile's memory."""
        return budget_lines(self.profile, needed_parts(self.profile, self.engine, self.settings))

    @property
    def crowding(self) -> str:
        """Why the server's connections may not fit beside the settings; empty if they do."""
        parts = needed_parts(self.profile, self.engine, self.settings)
        return crowded(self.profile, parts, self.connections)

    @property
    def standing(self) -> Standing | None:
        """What the file of `dialect` does as it stands."""
        return self.files.get(self.dialect)

    def about(self, dialect: str) -> About:
        """What the head of a written file says."""
        return About(self.profile.name, self.clock, (*self.file_words(dialect), *self.real))

    def file_words(self, dialect: str) -> list[str]:
        """What the file does as it stands, and apart from it what all of it would do."""
        file = self.files.get(dialect)
        if file is None:
            return []
        told = [f"As it stands: {file.words(self.goal, self.basis)}."]
        if file.left_out:
            catalogue = knobs.catalogue(self.engine)
            names = ", ".join(f"{knob} = {catalogue[knob].show(v)}" for knob, v in file.left_out)
            whole = self.gain.words(self.goal) if self.gain else "not measured"
            told.append(f"With what it leaves to you ({names}): {whole}.")
        return told

    def write(self, dialect: str, over: Path | None = None) -> str:
        """The text of a product's configuration file, or of the user's own file with the changes in
        it, where `over` is one of the dialect. Raises `InputError` if the dialect is of the other
        engine."""
        if over is not None and patch.fits(over, dialect):
            lines = self.lines(dialect, patch.settings_of(over, dialect))
            return patch.patched(over, dialect, lines, self.about(dialect))
        return dialects.write(dialect, self.lines(dialect), self.about(dialect))


def recommend(
    study: Study,
    *,
    measure: bool = True,
    engine: Engine | None = None,
    dialect: str | None = None,
) -> Recommendation:
    """The recommendation of a study, finished or not; with `engine`, the best of that engine.

    With `measure`, what is left of the study's bounds is first spent on reverting changes, on
    repeating the result, and on the file of `dialect` as it stands (without one, of the engine's
    usual dialect); stored trials then decide. Raises `WorkError` if no trial has finished.
    """
    if measure:
        with study.alone():
            chosen = choose(study, engine, may_run=True)
            _measure_files(chosen, _explain(study, chosen, None, dialect))
    best = choose(study, None, may_run=False)
    chosen = best if engine is None else choose(study, engine, may_run=False)
    return _explain(study, chosen, _verdict(study, best), dialect)


def recommend_given(
    study: Study, engine: Engine, settings: Settings, *, dialect: str | None = None
) -> Recommendation:
    """The recommendation of settings that trials of the study measured and someone else picked.
    Raises `WorkError` if none did."""
    best = choose(study, None, may_run=False)
    return _explain(study, given(study, engine, settings), _verdict(study, best), dialect)


def _measure_files(chosen: Choice, drafted: Recommendation) -> None:
    """Runs the file of the dialect as it stands, then it and the result in turns, then the files of
    the other dialects, as far as the bounds go."""
    changed = [file for file in drafted.files.values() if file.changes]
    mine = [file.settings for file in changed if file.dialect == drafted.dialect]
    for settings in mine:
        _measure_once(chosen.bench, settings)
    settle(chosen.bench, [chosen.pruned.settings, *mine], FINAL_RUNS)
    for file in changed:
        _measure_once(chosen.bench, file.settings)


def _measure_once(bench: StudyBench, settings: Settings) -> None:
    if bench.known(settings) is None:
        bench.measure(settings)


def _verdict(study: Study, best: Choice) -> EngineVerdict | None:
    """Of the engines, from all runs of their candidates. Only a simulated machine can speak for
    products."""
    benches = {engine: StudyBench(study, engine, may_run=False) for engine in study.engines}
    known = [benches[one.engine].known(one.settings) or one for one in best.order]
    order = ranked(map(as_decided, known), study.goal)
    noise = best.noises[study.goal.metric]
    found = engine_verdict(study.goal, noise, [best.winner, *order], study.engines, study.trials)
    is_simulated = study.question.clock == "simulated"
    spoken_for = study.profile.hardware.products if is_simulated else ()
    lsm = "myrocks" if study.profile.workload.info.has_tables else "rocksdb"
    is_of_products = {lsm, "innodb"} <= set(spoken_for)
    return found if found is None or is_of_products else found.of_own_engines()


def _explain(
    study: Study, chosen: Choice, verdict: EngineVerdict | None, dialect: str | None
) -> Recommendation:
    goal, clock, winner = study.goal, study.question.clock, chosen.winner
    base, pruned, bench = chosen.base, chosen.pruned, chosen.bench
    noise = chosen.noises[goal.metric]
    final = bench.known(pruned.settings) or winner
    ruled = leftover(study.profile, winner.engine, pruned.settings)
    known_base = bench.known(base)
    changes = _changes(chosen, ruled, goal, clock)
    found = Recommendation(
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
        verdict=verdict,
        noise=noise,
        broken=tuple(str(limit) for limit in goal.broken(final.metrics())),
        notes=tuple(_notes(study, final)),
        trials=study.trials,
        results=study.results,
    )
    source = study.question.source
    files = {
        dialect: standing(dialect, found.lines(dialect), base, goal, noise, bench)
        for dialect in dialects.for_engine(winner.engine)
    }
    return replace(
        found,
        files=files,
        dialect=dialect if dialect in files else next(iter(files)),
        connections=read_connections(source) if source is not None else None,
    )


def _changes(
    chosen: Choice, ruled: tuple[Ruled, ...], goal: Goal, clock: Clock
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
        evidence = _evidence(finding, chosen.winner, goal, clock)
        if rule := by_rule.pop(knob, None):
            value, evidence = rule.value, f"{evidence}; {rule.reason}"
        made.append(Change(knob, chosen.base[knob], value, evidence, cost))
    made.sort(key=lambda change: -(change.cost or 0.0))
    made += [
        Change(rule.knob, chosen.base[rule.knob], rule.value, f"rule: {rule.reason}")
        for rule in by_rule.values()
    ]
    return tuple(made)


def _evidence(finding: Finding, winner: Candidate, goal: Goal, clock: Clock) -> str:
    if finding.fate == "unlawful":
        return "rule: its old value does not go with the other changes and the memory"
    if finding.fate == "unmeasured" or finding.cost is None or finding.bound is None:
        return f"{clock}: with the other changes, not measured on its own"
    if finding.broken:
        kept = winner.feasible(goal)
        verb = "breaks" if kept else "goes farther beyond"
        return f"{clock}: reverting it {verb} {', '.join(str(limit) for limit in finding.broken)}"
    reverting = "reverting it"
    if finding.together > 1:
        reverting = f"reverting it with {finding.together - 1} others"
    if not winner.score(goal) and finding.score:
        told = wording.metric(goal.metric, finding.score)
        return f"{clock}: {reverting} took {goal.metric} from 0 to {told}"
    noise = wording.percent(finding.bound)
    cost = wording.percent(finding.cost)
    return f"{clock}: {reverting} cost {cost} {goal.metric} (noise ±{noise})"


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
    if finding.nearer:
        reason = f"{told}, nearer to {', '.join(str(limit) for limit in finding.nearer)}"
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
    machine = study.profile.hardware
    if study.question.clock == "simulated" and machine.detect and not machine.drive:
        notes.append(
            "the drive of this machine was not measured: that of the simulation is assumed, as the "
            "machine's file says"
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
