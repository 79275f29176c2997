"""From the trials of a study to its answer: what is chosen, proven and said of it."""

from __future__ import annotations

from dataclasses import replace

from advisor import dialects, knobs
from advisor.goal import Goal
from advisor.imports.connections import read_connections
from advisor.knobs import Engine, Settings
from advisor.recommend.bench import StudyBench
from advisor.recommend.choice import (
    best_of_others,
    choose,
    choose_leader,
    given,
    look_at_lines,
    unless_overtaken,
)
from advisor.recommend.chosen import Choice, finals_of_most, first_of_enough
from advisor.recommend.evidence import Finding, evidence, reason
from advisor.recommend.floors import notes_of_base
from advisor.recommend.judging import Judging, judging, judging_of
from advisor.recommend.known_errors import NOTHING_KNOWN, KnownErrors
from advisor.recommend.leftover import Ruled, leftover
from advisor.recommend.limits import close_notes
from advisor.recommend.proof import Proof, alternatives, rule_of_thumb
from advisor.recommend.recommendation import (
    SQUEEZED,
    Basis,
    Change,
    Column,
    Dropped,
    Rebuild,
    Recommendation,
)
from advisor.recommend.standing import standing
from advisor.recommend.verdict import EngineVerdict, compare, engine_verdict, has_products
from advisor.search import Candidate, Study
from advisor.search.ranking import ranked
from advisor.sizes import format_factor
from advisor.steadiness import NOT_YET
from advisor.trial import Clock


def recommend(
    study: Study,
    *,
    measure: bool = True,
    engine: Engine | None = None,
    dialect: str | None = None,
    known: KnownErrors = NOTHING_KNOWN,
) -> Recommendation:
    """The recommendation of a study, finished or not; with `engine`, the best of that engine.
    `known` is how far such predictions were off on real engines.

    With `measure`, what is left of the study's bounds is first spent on what single changes buy (if
    too few runs told what they do together, on final runs of that before), and on final runs of the
    result and of the file of `dialect` as it stands (without one, of the product that the engine
    stands for) beside what they are compared with and the best of the other engine, and without
    `engine` on looks at what single changes of that buy; stored trials then decide. Raises
    `WorkError` if no trial has finished.
    """
    own = judging(study, engine)
    if measure:
        with study.alone():
            leader = choose_leader(study, own.goal, engine, may_run=True)
            if leader.selected.untold is not None:
                _proof(study, leader, engine, dialect, known).run_untold()
                leader = choose_leader(study, own.goal, engine, may_run=True)
            chosen = unless_overtaken(study, leader, engine, may_run=True)
            _prove(study, chosen, engine, dialect, known)
            again = choose(study, own.goal, engine, may_run=True)
            if again.selected.settings != chosen.selected.settings:
                _prove(study, again, engine, dialect, known)
    best = choose(study, judging(study).goal, None, may_run=False)
    chosen = best if engine is None else choose(study, own.goal, engine, may_run=False)
    verdict = _verdict(study, best, known)
    return _on_front(_explain(study, chosen, verdict, dialect, known), own)


def _prove(
    study: Study, chosen: Choice, engine: Engine | None, dialect: str | None, known: KnownErrors
) -> None:
    """The final runs of a choice; before the last of them the looks at its rival's lines."""
    proof = _proof(study, chosen, engine, dialect, known)
    proof.run_for_verdict()
    if engine is None and proof.rival is not None:
        look_at_lines(study, chosen.goal, proof.rival.engine)
    proof.run_further()


def _proof(
    study: Study, chosen: Choice, engine: Engine | None, dialect: str | None, known: KnownErrors
) -> Proof:
    drafted = _explain(study, chosen, None, dialect, known)
    return Proof(study, chosen, drafted, looks_at_other=engine is None)


def recommend_given(
    study: Study,
    engine: Engine,
    settings: Settings,
    *,
    dialect: str | None = None,
    known: KnownErrors = NOTHING_KNOWN,
) -> Recommendation:
    """The recommendation of settings that trials of the study measured and someone else picked.
    Raises `WorkError` if none did."""
    own = judging(study)
    best = choose(study, own.goal, None, may_run=False)
    chosen = given(study, own.goal, engine, settings)
    verdict = _verdict(study, best, known)
    return _on_front(_explain(study, chosen, verdict, dialect, known), own)


def recommend_member(
    study: Study,
    number: int,
    *,
    dialect: str | None = None,
    known: KnownErrors = NOTHING_KNOWN,
) -> Recommendation:
    """The recommendation of another member of a study's front, as it was measured: nothing is taken
    back of it, and it has no final runs. Raises `InputError` for a number that is none."""
    own = judging_of(study, number)
    assert own.member is not None, "a number names a member"
    chosen = given(study, own.goal, own.member.engine, own.member.settings)
    best = choose(study, own.goal, None, may_run=False)
    found = _explain(study, chosen, _verdict(study, best, known), dialect, known)
    return replace(_on_front(found, own), as_measured=True)


def _on_front(found: Recommendation, own: Judging) -> Recommendation:
    return replace(found, front=own.front, member=own.member)


def _verdict(study: Study, best: Choice, known: KnownErrors) -> EngineVerdict | None:
    """Of the engines, from final runs of each one's best where these are enough, which were not
    chosen for what they say: of what is left of it, or until that has its own of all its changes;
    for the rival all that were made after it was found may do. Else from all runs of their
    candidates."""
    goal = best.goal
    benches = {one: StudyBench(study, goal, one, may_run=False) for one in study.engines}
    runs = [benches[one.engine].all_runs(one.settings) or one for one in best.order]
    winner = benches[best.winner.engine].all_runs(best.winner.settings) or best.winner
    # One that looked best once is no rival to one that was looked at again.
    rivals = sorted(ranked(runs, goal), key=lambda one: not one.repeats)
    order = [winner, *rivals]
    rival = best_of_others(study, goal, winner.engine)
    if rival is not None:
        its = benches[rival.engine]
        finals = [
            first_of_enough(finals_of_most(study, best), best.bench.finals(best.winner.settings)),
            first_of_enough(its.finals(rival.settings), its.later(rival.settings)),
        ]
        order = [*filter(None, finals), *order] if all(finals) else order
    found = engine_verdict(
        goal,
        best.bench.noise_of_finals(),
        order,
        study.engines,
        study.evidence,
        lambda one: benches[one.engine].smaller(one),
        known,
        lambda engine: benches[engine].noises(),
    )
    profile, clock = study.profile, study.question.clock
    is_of_products = has_products(clock, profile.hardware, profile.workload.info)
    return found if found is None or is_of_products else found.of_own_engines()


def _explain(
    study: Study,
    chosen: Choice,
    verdict: EngineVerdict | None,
    dialect: str | None,
    known: KnownErrors,
) -> Recommendation:
    goal, engine, bench = chosen.goal, chosen.winner.engine, chosen.bench
    base, settings = chosen.base, chosen.selected.settings
    noise = bench.noise_of_finals()
    shown = bench.shown(settings) or chosen.winner
    pair = bench.side_by_side(settings, chosen.compared)
    ruled = leftover(study.profile, engine, settings)
    changes = _changes(chosen, ruled, goal, study.question.clock, shown.feasible(goal))
    found = Recommendation(
        study=study.name,
        profile=study.profile,
        goal=goal,
        clock=study.question.clock,
        scale=study.scale,
        engine=engine,
        settings={**settings, **{rule.knob: rule.value for rule in ruled}},
        current=dict(base),
        basis=_basis(study, engine),
        changes=changes,
        dropped=_dropped(chosen, goal),
        columns=tuple(_columns(study, chosen, shown)),
        gain=compare(goal, noise, *pair, bench.smaller, known=known) if changes and pair else None,
        verdict=verdict,
        noise=noise,
        broken=tuple(str(limit) for limit in goal.broken(shown.metrics())),
        notes=(
            *close_notes(goal, bench.noises(), shown),
            *_notes(study, shown),
            *(notes_of_base(*pair) if pair else ()),
        ),
        trials=study.trials,
        rebuilds=tuple(_rebuilds(study, chosen, known)),
        results=study.results,
        rival=_rival(study, goal, engine),
        untold=chosen.selected.untold.gain if chosen.selected.untold else None,
        known=known,
    )
    source = study.question.source
    files = {
        dialect: standing(dialect, found.lines(dialect), chosen, noise, known)
        for dialect in dialects.for_engine(engine)
    }
    # Nobody shall be handed lines that were seen to lose against what there is.
    lost = tuple(name for name, file in files.items() if file.loses)
    found = replace(found, withheld=lost)
    files |= {name: standing(name, found.lines(name), chosen, noise, known) for name in lost}
    usual = (dialect, study.question.dialect_of(engine), *files)
    return replace(
        found,
        files=files,
        dialect=next(name for name in usual if name in files),
        connections=read_connections(source) if source is not None else None,
    )


def _basis(study: Study, engine: Engine) -> Basis:
    if engine in study.question.current:
        return "current settings"
    is_squeezed = study.question.is_squeezed(engine)
    return "defaults squeezed into the memory" if is_squeezed else "defaults"


def _changes(
    chosen: Choice, ruled: tuple[Ruled, ...], goal: Goal, clock: Clock, is_kept: bool
) -> tuple[Change, ...]:
    """What differs from the base in the end, what buys most first."""
    findings = {finding.knob: finding for finding in chosen.selected.findings}
    by_rule = {rule.knob: rule for rule in ruled}
    made = []
    for knob in knobs.catalogue(chosen.winner.engine):
        value = chosen.selected.settings[knob]
        if value == chosen.base[knob]:
            continue
        finding = findings.get(knob)
        if finding is None or finding.fate == "dropped":
            finding = Finding(knob, "unmeasured" if not findings else "unlawful")
        if value == chosen.compared[knob]:
            finding = Finding(knob, "unlawful")
        told = evidence(finding, goal, clock, is_kept=is_kept)
        if chosen.rule and finding.company is None and finding.alone is None:
            told = f"rule: of {chosen.rule!r}, which beat in final runs what the search found"
        if rule := by_rule.pop(knob, None):
            value, told = rule.value, f"{told}; {rule.reason}"
        alone = finding.alone.gain if finding.alone else None
        company = finding.company.gain if finding.company else None
        made.append(Change(knob, chosen.base[knob], value, told, alone, company))
    made.sort(key=lambda change: -(change.company or 0.0))
    made += [
        Change(rule.knob, chosen.base[rule.knob], rule.value, f"rule: {rule.reason}")
        for rule in by_rule.values()
    ]
    return tuple(made)


def _dropped(chosen: Choice, goal: Goal) -> tuple[Dropped, ...]:
    best, kept = chosen.winner.settings, chosen.selected.settings
    return tuple(
        Dropped(found.knob, best[found.knob], kept[found.knob], reason(found, goal))
        for found in chosen.selected.findings
        if found.fate == "dropped" and kept[found.knob] != best[found.knob]
    )


def _columns(study: Study, chosen: Choice, shown: Candidate) -> list[Column]:
    bench, engine = chosen.bench, chosen.winner.engine
    found: list[tuple[str, Settings]] = []
    if (rule := rule_of_thumb(study, chosen.goal, engine)) is not None:
        found.append((f"rule: {rule.rule}", rule.settings))
    is_own_in_memory = study.question.is_own_in_memory(engine)
    title = "default" if is_own_in_memory else SQUEEZED
    found.append((title, study.question.defaults(engine)))
    if engine in study.question.current and is_own_in_memory:
        found.append(("current", chosen.base))
    columns, told = [], []
    for title, settings in found:
        candidate = bench.shown(settings)
        if candidate is not None and settings not in told:
            columns.append(_column(title, candidate))
            told.append(settings)
    return [*columns, _column("recommended", shown)]


def _column(title: str, candidate: Candidate) -> Column:
    spreads = ((name, candidate.spread(name)) for name in candidate.metrics())
    measured = {name: spread for name, spread in spreads if spread is not None}
    judged = candidate.judged
    return Column(title, candidate.engine, candidate.settings, measured, len(judged), judged)


def _rival(study: Study, goal: Goal, engine: Engine) -> Column | None:
    """The other engine at its best settings, with all runs of them."""
    found = best_of_others(study, goal, engine)
    if found is None:
        return None
    bench = StudyBench(study, goal, found.engine, may_run=False)
    return _column(f"best {found.engine}", bench.all_runs(found.settings) or found)


def _rebuilds(study: Study, chosen: Choice, known: KnownErrors) -> list[Rebuild]:
    """What a rebuild would buy, what buys most first."""
    bench, settings = chosen.bench, chosen.selected.settings
    goal = chosen.goal
    noise = bench.noise_of_finals()
    found = []
    for knob, other in alternatives(study, chosen):
        made, without = bench.finals(other), bench.finals(settings)
        gain = compare(goal, noise, made, without, known=known) if made and without else None
        found.append(Rebuild(knob, settings[knob], other[knob], gain))
    return sorted(found, key=lambda one: -(one.gain.gain if one.gain else -1.0))


def _notes(study: Study, final: Candidate) -> list[str]:
    notes = []
    if study.scale < 1.0:
        notes.append(
            f"what decides ran at {format_factor(study.scale)} of the data, caches, memtables and "
            "logs; sizes here are for the full data"
        )
    if study.rung_below:
        factor = format_factor(study.scale_of_looks)
        notes.append(f"what single lines buy was seen in short runs at {factor} of the data")
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
    failed = [trial for trial in study.trials if trial.outcome == "failed"]
    if failed:
        notes.append(f"{len(failed)} of {len(study.trials)} trials failed")
    finals = (trial for trial in failed if trial.role == "final")
    notes += dict.fromkeys(f"a final run of {one.engine} failed: {one.error}" for one in finals)
    return notes
