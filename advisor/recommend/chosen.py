"""A choice: what the trials of a study decide, as far as they do by now."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.goal import Goal
from advisor.knobs import Settings
from advisor.recommend.bench import StudyBench
from advisor.recommend.leftover import leftover
from advisor.recommend.selection import Selected
from advisor.search import VERDICT_RUNS, Candidate, Study


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


def first_of_enough(*runs: Candidate | None) -> Candidate | None:
    """The first of these that has as many runs as a verdict takes."""
    return next((one for one in runs if one and len(one.trials) >= VERDICT_RUNS), None)


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
