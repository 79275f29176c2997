"""How long a flash drive bears the settings that an advice compares: bytes written a day, drive
writes per day, and years until its rated cycles are used.

The view `endurance` of the results file counts them run by run; here are their medians, and words
for what there is and why there is nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from advisor.hardware import Flash
from advisor.knobs import Engine
from advisor.recommend import wording
from advisor.recommend.recommendation import Column, Recommendation
from advisor.sizes import format_size
from advisor.store import Store

TITLES: Mapping[str, str] = {
    "rate_per_s": "ops/s",
    "written_bytes_per_day": "written a day",
    "drive_writes_per_day": "drive writes a day",
    "years": "years",
}
"""The figures by their columns of the view."""


@dataclass(frozen=True)
class Wear:
    """What one of the settings does to the drive."""

    title: str
    engine: Engine
    figures: Mapping[str, float]
    """By the names of `TITLES`: operations per second that are counted with, bytes a day, times the
    capacity a day, and years. Medians."""
    trials: tuple[str, ...]
    """Ids of the runs that they are of."""


@dataclass(frozen=True)
class Endurance:
    """Of all settings that are compared; without any there is a reason."""

    rows: tuple[Wear, ...]
    how: str
    """At which rate, and what the drive is."""
    why_not: str = ""


def endurance(advice: Recommendation, store: Store) -> Endurance:
    """Of the columns of an advice and of the best of the other engine. Raises `InputError` where
    the results cannot be read."""
    why_not = _why_not(advice)
    if why_not:
        return Endurance((), "", why_not)
    known = store.endurance(advice.study)
    columns = [*advice.columns, *([advice.rival] if advice.rival is not None else [])]
    rows = tuple(wear for column in columns if (wear := _wear(column, known)) is not None)
    if not rows:
        return Endurance((), "", "no run that is compared wrote to the drive")
    is_paced = any(known[trial]["is_paced"] for row in rows for trial in row.trials)
    return Endurance(rows, _how(advice, rows[0], is_paced=is_paced))


def wear_cells(wear: Wear) -> tuple[str, ...]:
    """The figures as people read them, in the order of `TITLES`."""
    rate, written, times, years = (wear.figures[name] for name in TITLES)
    return (
        wording.metric("ops_per_s", rate),
        format_size(round(written)),
        f"{times:.3g}",
        wording.metric("drive_years", years),
    )


def _wear(column: Column, known: Mapping[str, Mapping[str, float]]) -> Wear | None:
    trials = tuple(trial.id for trial in column.trials if trial.id in known)
    if not trials:
        return None
    figures = {name: statistics.median(known[trial][name] for trial in trials) for name in TITLES}
    return Wear(column.title, column.engine, figures, trials)


def _why_not(advice: Recommendation) -> str:
    machine = advice.profile.hardware
    if machine.detect:
        return "how the drive of this machine wears is not known"
    if advice.clock != "simulated":
        return f"no wear is counted in {advice.clock} runs"
    if not isinstance(machine.device, Flash):
        return f"{machine.name} has no flash drive that wears"
    return ""


def _how(advice: Recommendation, first: Wear, *, is_paced: bool) -> str:
    machine = advice.profile.hardware
    assert isinstance(machine.device, Flash), "nothing else has rows"
    rate = wording.metric("ops_per_s", first.figures["rate_per_s"])
    at = (
        f"at the {rate} requests per second that the profile holds its clients to, reached or not"
        if is_paced
        else "at the rate that each reached, since the profile holds its clients to none"
    )
    drive = (
        f"{format_size(machine.device.capacity_bytes)} with "
        f"{machine.device.rated_cycles:,.0f} rated cycles, as {machine.name} says"
    )
    return f"{at}; a drive of {drive}"
