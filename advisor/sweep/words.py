"""A sweep in sentences, and what it takes to get the same numbers again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from advisor.knobs import Engine
from advisor.recommend import wording
from advisor.recommend.verdict import OWN_ENGINES, has_products
from advisor.sizes import format_factor, format_size
from advisor.steadiness import NOT_YET
from advisor.sweep.answer import Point, Sweep
from advisor.sweep.asked import Place
from advisor.sweep.best import best
from advisor.sweep.cell import cells

NO_CROSSING = "no engine overtakes the other"
MOST_PLACES = 4
"""Places that a sentence names, where there are more."""


@dataclass(frozen=True)
class Fact:
    """A line of the provenance."""

    title: str
    text: str
    value: object = None
    """The stored one; None for words."""
    key: str = ""
    """Where in the stored question it is, names between dots, or a column of the table `sweep`."""
    trial: str = ""
    """The id of the run whose column `key` it is, where no question states it."""


def sentences(sweep: Sweep, titles: Mapping[str, str] | None = None) -> list[str]:
    """Where the better engine changes, or that it does not, of a map after what its cells come to;
    where each engine reaches its best, what noise there was, and what speaks against the numbers.
    Engines have their `titles`, or their names."""
    asked, named = sweep.asked, titles or {}
    told = _counted(sweep, named) if asked.across is not None else []
    told += _crossings(sweep, named)
    told += _bests(sweep, named)
    told += _noise(sweep)
    told += _gathered(sweep, named, lambda point: point.error)
    told += _gathered(sweep, named, lambda point: point.breaks(sweep.goal))
    told += _gathered(sweep, named, _unsteady)
    are_compared = any(sweep.bound(place) is not None for place in asked.places)
    if are_compared and not _has_products(sweep):
        told.append(OWN_ENGINES[0].lower() + OWN_ENGINES[1:])
    if not sweep.is_whole:
        told.append("interrupted: the steps that are missing were not run")
    return told


def _counted(sweep: Sweep, named: Mapping[str, str]) -> list[str]:
    """Of how many cells each engine has the better."""
    engines = sweep.asked.engines
    if len(engines) != 2:
        return []
    found = [(cell.verdict, cell.engine) for cell in cells(sweep)]
    parts = [
        *((f"{named.get(one, one)} leads in", found.count(("leads", one))) for one in engines),
        ("noise does not tell them apart in", found.count(("even", None))),
        *(
            (f"{named.get(one, one)} alone keeps the limits in", found.count(("keeps", one)))
            for one in engines
        ),
        *((f"{named.get(one, one)} alone ran in", found.count(("alone", one))) for one in engines),
        ("the limits are broken in", found.count(("breaks", None))),
        ("neither ran in", found.count(("neither", None))),
        ("not run:", found.count(("missing", None))),
    ]
    told = ", ".join(f"{what} {count}" for what, count in parts if count)
    return [f"of {len(found)} cells {told}"]


def _crossings(sweep: Sweep, named: Mapping[str, str]) -> list[str]:
    """In a map, every line with its crossings, and then those that have none."""
    asked, found = sweep.asked, sweep.crossovers()
    told = [asked.crossing(one, named) for one in found]
    if len(asked.engines) != 2 or asked.axis.choices:
        return told
    if asked.across is None:
        is_broken = any(point.broken(sweep.goal) for point in sweep.points)
        where = "where both keep the goal's limits" if is_broken else "between these values"
        return told or [f"{NO_CROSSING} {where}"]
    crossed = {one.across for one in found}
    without = [
        line
        for line in asked.across.values
        if line not in crossed and sum(_is_compared(sweep, line)) > 1
    ]
    if without:
        labels = ", ".join(asked.across.label(line) for line in without)
        told.append(f"{asked.across.name} {labels}: {NO_CROSSING}")
    return told


def _is_compared(sweep: Sweep, line: float) -> Iterator[bool]:
    for value in sweep.asked.axis.values:
        yield sweep.gain(Place(value, line)) is not None


def _bests(sweep: Sweep, named: Mapping[str, str]) -> Iterator[str]:
    """At which places each engine reaches its best, where what is swept changes it."""
    asked, metric = sweep.asked, sweep.goal.metric
    highest = "highest" if sweep.goal.direction == "maximize" else "lowest"
    for engine in asked.engines:
        changing = [axis for axis in asked.axes if axis.engine in (None, engine)]
        found = best(sweep, engine) if changing else None
        if found is None:
            continue
        reached = wording.metric(metric, found.score)
        told = (
            f"{named.get(engine, engine)}: {metric} is {highest} at {asked.where(found.place)} "
            f"({reached})"
        )
        near = _enumerated(sweep, [asked.label(place) for place in found.even])
        yield f"{told}, within noise of it at {near}" if near else told


def _noise(sweep: Sweep) -> Iterator[str]:
    """How far apart medians must be; places with fewer runs need more."""
    bounds = [bound for bound in map(sweep.bound, sweep.asked.places) if bound is not None]
    if len(sweep.asked.engines) == 1:
        runs = {len(point.trials) for point in sweep.points if point.trials}
        bounds = [math.log1p(sweep.noise.bound(count, count)) for count in runs]
    if not sweep.noise.degrees or not bounds:
        return
    least, most = (f"{100 * math.expm1(bound):.1f} %" for bound in (min(bounds), max(bounds)))
    if least == most:
        yield f"differences below {most} are within noise"
    else:
        yield f"differences below {least} to {most}, by the runs at a step, are within noise"


def _unsteady(point: Point) -> str:
    return NOT_YET if any(trial.steady is False for trial in point.trials) else ""


def _gathered(
    sweep: Sweep, named: Mapping[str, str], what: Callable[[Point], str]
) -> Iterator[str]:
    """What is to be said of single points, once for each engine, with the places that it is true
    of."""
    places: dict[tuple[Engine, str], list[Place]] = {}
    for point in sweep.points:
        if text := what(point):
            places.setdefault((point.engine, text), []).append(point.place)
    for (engine, text), found in places.items():
        where = sweep.asked.where(found[0])
        where = _enumerated(sweep, [where, *(sweep.asked.label(place) for place in found[1:])])
        yield f"{named.get(engine, engine)} at {where}: {text}"


def _enumerated(sweep: Sweep, labels: Sequence[str]) -> str:
    """The first few places, and how many more there are."""
    between = ", " if sweep.asked.across is None else "; "
    if len(labels) <= MOST_PLACES:
        return between.join(labels)
    shown = labels[: MOST_PLACES - 1]
    return f"{between.join(shown)} and {len(labels) - len(shown)} more"


def _has_products(sweep: Sweep) -> bool:
    asked, profile = sweep.asked, sweep.asked.profile
    return has_products(asked.clock, profile.hardware, profile.workload.info)


def settings_of(sweep: Sweep, titles: Mapping[str, str] | None = None) -> str:
    """With which settings the engines ran."""
    asked, named = sweep.asked, titles or {}
    if asked.retune:
        return f"searched anew at each step, {asked.retune} trials"
    known = ", ".join(named.get(engine, engine) for engine in asked.current)
    rest = "a rule of thumb, its cache filling the memory"
    return f"your settings of {known}, else {rest}" if known else rest


def provenance(sweep: Sweep) -> list[Fact]:
    """What was asked, and on what it ran."""
    asked, profile = sweep.asked, sweep.asked.profile
    data, memory = profile.data_bytes, profile.memory_bytes
    cores = profile.hardware.cpu_cores
    facts = [
        Fact("Profile", profile.name),
        Fact("Workload", profile.workload.kind),
        Fact("Goal", str(sweep.goal)),
        Fact("Clock", asked.clock),
        Fact("Hardware", profile.hardware.name),
        Fact("Cores", str(cores), cores, "profile.hardware.cpu_cores"),
        Fact("Data", format_size(data), data, "profile.data"),
        Fact("Memory", format_size(memory), memory, "profile.memory"),
        Fact("Clients", f"{profile.clients:,}", profile.clients, "profile.clients"),
        Fact("Settings", settings_of(sweep)),
        Fact("Runs of each engine at each step", str(asked.runs), asked.runs, "runs"),
        Fact("Seconds measured", f"{asked.seconds:g}", asked.seconds, "seconds"),
        Fact("First seed", str(asked.seed), asked.seed, "seed"),
    ]
    swept = [axis.name for axis in asked.axes]
    facts = [one for one in facts if one.title.lower() not in swept]
    last = next((trial for point in reversed(sweep.points) for trial in point.trials), None)
    if last is None:
        return facts
    scale = "full size" if last.scale == 1 else format_factor(last.scale)
    return [
        *facts,
        Fact("Scale of the last step", scale, last.scale, "scale", last.id),
        Fact("Core", last.core_version),
        Fact("Host", last.host),
        Fact("Last run begun", f"{last.started[:19]} UTC"),
    ]
