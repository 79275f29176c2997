"""The claims of the posts, each a small test over the scorecard's simulated figures.

A test that lacks a figure answers None. Claims that a simulation cannot decide at all are listed
with the reason, so that none is passed over in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from advisor.published import insert_benchmark, linkbench, memtable, point_queries, tpcc
from advisor.published.experiment import label
from advisor.published.tables import Claim, claims

Values = Mapping[str, float | None]
"""Simulated figures by the name of their row."""

NEAR = 0.2
"""How far off a ratio may be that a post gives as `about`."""
WAF_NEAR = 0.15
"""How far off a flash write amplification may be."""


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds in the simulation; None where that cannot be said, and why."""

    claim: Claim
    holds: bool | None
    why: str = ""


def judge(identifier: str, values: Values) -> Verdict:
    """The verdict on one claim."""
    claim = claims()[identifier]
    if identifier in UNDECIDABLE:
        return Verdict(claim, None, UNDECIDABLE[identifier])
    holds = TESTS[identifier](values)
    missing = "its runs gave no figures"
    return Verdict(claim, holds, missing if holds is None else REMARKS.get(identifier, ""))


def _test(test: Callable[..., bool], *rows: str) -> Callable[[Values], bool | None]:
    """The test over these rows' figures, or None where one of them is missing."""

    def over(values: Values) -> bool | None:
        figures = [values.get(row) for row in rows]
        return None if None in figures else test(*figures)

    return over


def _all(*tests: Callable[[Values], bool | None]) -> Callable[[Values], bool | None]:
    """False if one fails, None if none fails and one has no answer."""

    def over(values: Values) -> bool | None:
        answers = [test(values) for test in tests]
        if False in answers:
            return False
        return None if None in answers else True

    return over


def _between(low: float, high: float, *rows: str) -> Callable[[Values], bool | None]:
    return _test(lambda *figures: all(low <= figure <= high for figure in figures), *rows)


def _near(wanted: float, row: str, share: float = NEAR) -> Callable[[Values], bool | None]:
    return _between(wanted * (1 - share), wanted * (1 + share), row)


def _at_least(low: float, row: str) -> Callable[[Values], bool | None]:
    return _test(lambda figure: figure >= low, row)


def _descending(*rows: str) -> Callable[[Values], bool | None]:
    """Strictly from the first to the last."""
    return _test(
        lambda *figures: all(one > two for one, two in pairwise(figures)),
        *rows,
    )


def _of(metric: str, *runs: str) -> tuple[str, ...]:
    return tuple(label(metric, run) for run in runs)


def _linkbench(metric: str, *runs: str) -> Callable[[Values], bool | None]:
    return _descending(*_of(metric, *runs))


ROCKS, NONE, ZLIB = "myrocks", "innodb.none", "innodb.zlib"


def _smallest(metric: str, run: str, *others: str) -> Callable[[Values], bool | None]:
    return _all(*(_linkbench(metric, other, run) for other in others))


def _largest(metric: str, run: str, *others: str) -> Callable[[Values], bool | None]:
    return _all(*(_linkbench(metric, run, other) for other in others))


def _disk(name: str, clients: int = linkbench.DISK_USUAL) -> str:
    return linkbench.at_clients(name, clients)


def _disk_series(metric: str, name: str) -> tuple[str, ...]:
    return _of(metric, *(_disk(name, clients) for clients in linkbench.DISK_CLIENTS))


def _tpcc(metric: str, engine: str) -> tuple[str, ...]:
    return _of(metric, *(tpcc.at_cache(engine, size) for size in tpcc.CACHES_GB))


def _flat(first: float, *rest: float) -> bool:
    """No level is more than a fifth above the first."""
    return max(rest) <= first * (1 + NEAR)


def _rising(*figures: float) -> bool:
    return all(two > one for one, two in pairwise(figures))


def _falling(*figures: float) -> bool:
    """Down to within noise: no step up of more than 2%."""
    steps = pairwise(figures)
    return figures[-1] < figures[0] and all(two <= 1.02 * one for one, two in steps)


def _peaks_at(place: int) -> Callable[..., bool]:
    return lambda *figures: figures.index(max(figures)) == place


WRITES = tuple(label("write_kb_per_op", name, ROCKS) for name in (NONE, ZLIB))
DEVICE_WRITES = tuple(label("device_write_kb_per_op", name, ROCKS) for name in (NONE, ZLIB))
SIZES = {name: label("database_bytes", name, ROCKS) for name in (NONE, ZLIB)}
RATES = {name: label("ops_per_s", ROCKS, name) for name in (NONE, ZLIB)}
HALF_OF_CLIENTS = linkbench.DISK_CLIENTS.index(max(linkbench.DISK_CLIENTS) // 2)
"""The post says that InnoDB is saturated at low concurrency, not at which: here at half of the most
clients."""
INNODB_INSERTS = ("innodb.none", "innodb.zlib")
MANY = insert_benchmark.in_threads
ZU = tuple(point_queries.at_clients(name, 64) for name in ("inno-z-8", "inno-u-8"))
INNO_U = [point_queries.at_clients("inno-u-8", count) for count in (32, 64)]
SATURATED = tuple(_of("ops_per_s", *INNO_U))
CPU_PERCENT = (67 - 3, 73 + 3)
"""The published range, give or take what a rounded percentage hides."""

TESTS: Mapping[str, Callable[[Values], bool | None]] = {
    # LinkBench for seven days
    "A1": _between(8, 14, *WRITES),
    "A2": _at_least(1.5, RATES[ZLIB]),
    "A3": _all(_near(2.0, SIZES[ZLIB]), _near(3.1, SIZES[NONE])),
    "A6": _test(lambda figure: figure > 1, label("speed_up", ZLIB)),
    "A7": _smallest("reads_per_op", ROCKS, NONE, ZLIB),
    "A8": _linkbench("read_kb_per_op", NONE, ROCKS, ZLIB),
    "A9": _largest("reads_per_s", ROCKS, NONE, ZLIB),
    "A10": _between(100, 200, *_of("write_mb_per_s", NONE, ZLIB)),
    "A12": _all(*(_linkbench("read_mb_per_s", one, ZLIB) for one in (NONE, ROCKS))),
    # The insert benchmark
    "B1": _test(
        lambda rocks, *innodb: rocks > 2 * max(innodb),
        *_of("ops_per_s", "myrocks.def", *INNODB_INSERTS),
    ),
    "B2": _all(
        _at_least(0.95, label("last_over_average", "myrocks.def")),
        _between(0.5, 0.65, *_of("last_over_average", *INNODB_INSERTS)),
    ),
    "B3": _descending(
        label("ops_per_s", "myrocks.opt", "myrocks.def"),
        label("ops_per_s", MANY("myrocks.opt"), MANY("myrocks.def")),
    ),
    "B4": _all(
        _test(lambda gain: gain > 1, label("ops_per_s", MANY("myrocks.def"), "myrocks.def")),
        _near(1.0, label("ops_per_s", MANY("innodb.none"), "innodb.none")),
    ),
    "B5": _descending(*_of("stall_s", "myrocks.opt", "myrocks.def")),
    # LinkBench on a disk array
    "D1": _all(
        _near(3.02, label("loaded_bytes", _disk(NONE), _disk(ROCKS))),
        _near(1.98, label("loaded_bytes", _disk(ZLIB), _disk(ROCKS))),
    ),
    "D2": _test(lambda size: 40e9 / size < 0.5, label("loaded_bytes", _disk(ROCKS))),
    "D3": _largest("load_ops_per_s", _disk(ROCKS), _disk(NONE), _disk(ZLIB)),
    "D4": _test(
        lambda *figures: (
            figures[-1] < max(figures)
            and linkbench.DISK_CLIENTS[figures.index(max(figures))] <= linkbench.DISK_USUAL
        ),
        *_disk_series("load_ops_per_s", ROCKS),
    ),
    "D5": _all(
        _test(_rising, *_disk_series("ops_per_s", ROCKS)),
        _test(_flat, *_disk_series("ops_per_s", NONE)[HALF_OF_CLIENTS:]),
    ),
    # The memtable sweep
    "E4": _all(
        _test(lambda best: best == 2, memtable.BEST),
        _test(
            lambda one, two, *rest: one < two and rest[-1] < two,
            *_of("ops_per_s", *map(memtable.at_megabytes, memtable.MEGABYTES)),
        ),
    ),
    # Flash write amplification
    "F1": _all(
        *(
            _between(waf - WAF_NEAR, waf + WAF_NEAR, label("flash_waf", name))
            for name, waf in ((ROCKS, 1.03), (ZLIB, 1.375), (NONE, 1.655))
        )
    ),
    "F2": _all(_between(8, 11, *WRITES), _between(11, 18, *DEVICE_WRITES)),
    "F3": _test(
        lambda *figures: all(figure >= 1 for figure in figures),
        *_of("flash_waf", ROCKS, NONE, ZLIB),
    ),
    # LinkBench for a day
    "G1": _linkbench("load_ops_per_s", NONE, ROCKS, ZLIB),
    "G2": _test(lambda size: size > 2, SIZES[ZLIB]),
    "G3": _all(_near(10.4, WRITES[0]), _near(8.4, WRITES[1])),
    "G4": _all(
        _smallest("p99_us", ROCKS, NONE, ZLIB),
        _largest("ops_per_s", ROCKS, NONE, ZLIB),
        _largest("max_us", ROCKS, NONE, ZLIB),
    ),
    "G5": _smallest("reads_per_op", ROCKS, NONE, ZLIB),
    # The memory sweep
    "H1": _test(lambda spread: spread < 1.10, tpcc.FLATNESS),
    "H2": _all(
        _near(7.02, tpcc.GROWTH),
        _test(
            lambda *figures: max(figures) / min(figures) < 1.02, *_tpcc("ops_per_s", "innodb")[-3:]
        ),
    ),
    "H3": _all(
        _between(50, 60, tpcc.CROSSOVER),
        _near(
            1.3,
            tpcc.LEAD,
        ),
    ),
    "H4": _near(4.95, tpcc.ADVANTAGE),
    "H5": _all(
        _test(lambda spread: spread <= 1.04, tpcc.SPREAD),
        _test(_falling, *_tpcc("write_kb_per_op", "innodb")),
    ),
    "H6": _all(
        _test(_falling, *_tpcc("read_kb_per_op", "innodb")),
        _test(_falling, *_tpcc("read_kb_per_op", "myrocks")),
        _test(
            lambda inno5, inno100, rocks5, rocks100: inno5 * rocks100 > rocks5 * inno100,
            *_of("read_kb_per_op", "innodb at 5 GB", "innodb at 100 GB"),
            *_of("read_kb_per_op", "myrocks at 5 GB", "myrocks at 100 GB"),
        ),
    ),
    "H7": _test(_peaks_at(tpcc.CACHES_GB.index(50)), *_tpcc("write_mb_per_s", "innodb")),
    "H8": _between(*CPU_PERCENT, *_tpcc("cpu_percent", "myrocks")),
    "H9": _test(lambda share: share < 10, label("cpu_percent", "innodb at 5 GB")),
    "H10": _near(90 / 21, tpcc.SIZE),
    "H11": _near(1.55, label("peak_over_start", "myrocks at 100 GB")),
    # Point queries
    "I5": _all(
        _near(349 / 740, label("database_bytes", *ZU)),
        _between(0.69, 0.75, label("ops_per_s", *ZU)),
    ),
    "I6": _test(lambda at32, at64: at64 <= at32 * (1 + NEAR), *SATURATED),
}

UNDECIDABLE: Mapping[str, str] = {
    "A4": "it compares two experiments: see linkbench-24h beside linkbench-7day",
    "A5": "a report does not count the rows of the tables",
    "A11": "arithmetic on A1: 1.5 times its ratios; F2 has what was measured",
    "B6": "InnoDB 5.6 and 5.7 are one model",
    "B7": "a description of the set-up",
    "D6": "a warning about the length of runs",
    "E1": "the LinkBench load in bulk mode is not replayed",
    "E2": "the LinkBench load is not replayed with its single loader of nodes",
    "E3": "the LinkBench load in bulk mode is not replayed",
    "E5": "a mechanism: reports count comparisons as work, but no figure is published",
    "G6": "a mechanism: single deletes are not modelled apart",
    "G7": "an example of arithmetic",
    "G8": "a definition",
    "H12": "seconds shrink with the data, so a replay has no one-second rates to compare",
    "H13": "a description of the set-up: the replay keeps the binary log that it tells of",
    "H14": "a description of the set-up",
    "I1": "TokuMX and MongoDB are not modelled",
    "I2": "TokuMX and MongoDB are not modelled",
    "I3": "TokuMX is not modelled",
    "I4": "TokuMX is not modelled",
    "I7": "TokuMX and MongoDB are not modelled",
    "I8": "TokuMX is not modelled",
    "I9": "TokuMX and MongoDB are not modelled",
    "I10": "MongoDB is not modelled",
    "I11": "MongoDB is not modelled",
    "I12": "a warning about the published row count",
}

REMARKS: Mapping[str, str] = {
    "A9": "the post does not name its card: on one that reads 3 pages at once instead of 10,"
    " or 5 and writes 500 MB/s, it holds",
    "D3": "judged on the disk array; its half about flash is G1",
    "G4": "its maxima are those of an hour's 100 million requests, of which a replay has 300,000",
    "H8": "the published share holds the client, which the cost of a statement stands for",
    "H10": "judged by 90 / 21; MyRocks without compression is not run"
    "; MariaDB 10.11, loaded by the same script, has 4.9",
}
"""Where a test covers less than the claim says, or an assumption decides."""
