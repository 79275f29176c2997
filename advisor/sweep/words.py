"""A sweep in sentences, and what it takes to get the same numbers again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from advisor.sizes import format_factor, format_size
from advisor.sweep.answer import Point, Sweep
from advisor.sweep.asked import Place
from advisor.sweep.cell import cells

NO_CROSSING = "no engine overtakes the other"


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
    what noise there was, and what did not run. Engines have their `titles`, or their names."""
    asked, named = sweep.asked, titles or {}
    told = _counted(sweep, named) if asked.across is not None else []
    told += _crossings(sweep, named)
    if sweep.noise.degrees:
        noise = sweep.noise.bound(asked.runs, asked.runs)
        told.append(f"differences below {100 * noise:.1f} % are within noise")
    told += _errors(sweep, named)
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
        *((f"{named.get(one, one)} alone ran in", found.count(("alone", one))) for one in engines),
        ("neither ran in", found.count(("neither", None))),
        ("not run:", found.count(("missing", None))),
    ]
    told = ", ".join(f"{what} {count}" for what, count in parts if count)
    return [f"of {len(found)} cells {told}"]


def _crossings(sweep: Sweep, named: Mapping[str, str]) -> list[str]:
    """In a map, every line with its crossings, and then those that have none."""
    asked, found = sweep.asked, sweep.crossovers()
    told = [asked.crossing(one, named) for one in found]
    if len(asked.engines) != 2:
        return told
    if asked.across is None:
        return told or [f"{NO_CROSSING} between these values"]
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


def _errors(sweep: Sweep, named: Mapping[str, str]) -> list[str]:
    failed = [point for point in sweep.points if point.error]
    if sweep.asked.across is None:
        last = {point.error: point for point in failed}
        return [f"{_whose(sweep, point, named)}: {error}" for error, point in last.items()]
    counts = Counter((point.engine, point.error) for point in failed)
    first = {(point.engine, point.error): point for point in reversed(failed)}
    return [
        f"{_whose(sweep, first[key], named)}: {key[1]}"
        + (f"; so in {count} cells" if count > 1 else "")
        for key, count in counts.items()
    ]


def _whose(sweep: Sweep, point: Point, named: Mapping[str, str]) -> str:
    engine = named.get(point.engine, point.engine)
    return f"{engine} at {sweep.asked.where(point.place)}"


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
