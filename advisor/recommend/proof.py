"""The final runs: the answer beside what it is compared with, with seeds that no decision saw.

What is printed is what these runs say, never the best score that a search met: the best of many
noisy trials looks better than it is. They have a role of their own, `final`, and are compared with
one another alone, so that they may be of another kind than the trials of the search.
"""

from __future__ import annotations

from collections.abc import Sequence

from advisor.goal import Goal
from advisor.knobs import Engine, Settings
from advisor.recommend.bench import StudyBench
from advisor.recommend.choice import Choice, best_of_others
from advisor.recommend.recommendation import Recommendation
from advisor.search import VERDICT_RUNS, Candidate, Study
from advisor.search.rules import rules
from advisor.search.seeds import Seed, best_rule

FINAL_RUNS = 3
"""Final runs of the answer and of each of those beside it."""

Wanted = tuple[StudyBench, list[Settings]]
"""Settings of one engine."""


def prove(
    study: Study, chosen: Choice, drafted: Recommendation, engine: Engine | None = None
) -> None:
    """Runs the file of the dialect as it stands, what it is compared with, the best rule of thumb,
    the result, the winner that it is a part of and the defaults in turns, as far as the bounds go,
    and unless one `engine` was asked for the best of the other; in the first round also what a
    rebuild would change, in the end the files of the other dialects. Where the bounds do not go as
    far as a verdict on all of them, the file, its base and the result have theirs first, and
    the best of the other engine where they go as far."""
    bench, own = chosen.bench, chosen.winner.engine
    changed = [file for file in drafted.files.values() if file.changes]
    rebuilt = [settings for _, settings in alternatives(study, chosen)]
    result = chosen.selected.settings
    rival = best_of_others(study, chosen.goal, own) if engine is None else None
    others: list[Wanted] = []
    if rival is not None:
        others = [(StudyBench(study, chosen.goal, rival.engine, may_run=True), [rival.settings])]
    wanted = [result]
    if result != chosen.base:
        rule = rule_of_thumb(study, chosen.goal, own)
        mine = [file.settings for file in changed if file.dialect == drafted.dialect]
        wanted = [*mine, chosen.base, *([rule.settings] if rule else []), result]
        wanted += [chosen.winner.settings] if study.rung_below else []
        wanted.append(study.question.defaults(own))
        few = [*mine, chosen.base, result]
        if not _are_left(study, few, rival):
            few = [*(mine or [result]), chosen.base]
        if not _are_left(study, wanted, rival):
            first = others if _are_left(study, few, rival) else []
            for number in range(VERDICT_RUNS):
                _run(study, [(bench, few), *first], number)
    elif not rebuilt and rival is None:
        return
    for number in range(FINAL_RUNS):
        now = [*wanted, *rebuilt] if number == 0 else wanted
        _run(study, [(bench, now), *others], number)
    _run(study, [(bench, [file.settings for file in changed])], 0)


def _run(study: Study, wanted: Sequence[Wanted], number: int) -> None:
    """One more final run, side by side, of those that had only so many. One that fails is made once
    more, with another seed: an answer shall not turn on whether a run was given up."""
    for one in (number, FINAL_RUNS + number):
        due = [
            bench.final_run(settings, one)
            for bench, given in wanted
            for settings in _due(bench, given, number)
        ]
        if due and study.runs_left():
            study.measure(due, "final")


def _due(bench: StudyBench, wanted: list[Settings], number: int) -> list[Settings]:
    """Those that have at most so many final runs."""
    due: list[Settings] = []
    for settings in wanted:
        known = bench.finals(settings)
        is_short = len(known.trials if known else ()) <= number
        if is_short and settings not in due and bench.lawful(settings) == settings:
            due.append(settings)
    return due


def _are_left(study: Study, wanted: Sequence[Settings], rival: Candidate | None) -> bool:
    """Whether the bounds go as far as a verdict on all of these and the rival."""
    return study.runs_left() >= VERDICT_RUNS * (len(wanted) + (rival is not None))


def rule_of_thumb(study: Study, goal: Goal, engine: Engine) -> Seed | None:
    """The rule of thumb that did best in the search."""
    return best_rule(study.question, study.looks, engine, goal)


def alternatives(study: Study, chosen: Choice) -> list[tuple[str, Settings]]:
    """What rules of thumb would set if the data might be rebuilt: the knob, and the result with
    it."""
    engine, settings = chosen.winner.engine, chosen.selected.settings
    found: dict[tuple[str, object], Settings] = {}
    fixed = study.question.fixed(engine)
    for rule in rules(engine):
        for name in rule.stated.keys() & fixed:
            made = rule.settings(study.profile, settings)
            other = made and chosen.bench.lawful({**settings, name: made[name]})
            if other and other[name] != settings[name]:
                found[name, other[name]] = other
    return [(name, other) for (name, _), other in found.items()]
