"""The claims of the posts, each a small test over the scorecard's simulated figures.

A test that lacks a figure answers None. Claims that a simulation cannot decide at all are listed
with the reason, so that none is passed over in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from advisor.published import (
    filters,
    insert_benchmark,
    linkbench_disks,
    linkbench_flash,
    memtable,
    point_queries,
    tpcc,
)
from advisor.published.experiment import label
from advisor.published.linkbench import BOTH_INNODB, NONE, ROCKS, ZLIB
from advisor.published.predicates import (
    NEAR,
    NOISE,
    Predicate,
    Values,
    ahead_by,
    at_least,
    between,
    descending,
    every,
    falling,
    growing,
    largest,
    more_than,
    near,
    of,
    over,
    peaks_at,
    rising,
    saturated,
    smallest,
)
from advisor.published.tables import Claim, claims

FLASH_WAF = {ROCKS: 1.03, ZLIB: 1.375, NONE: 1.655}
"""Where the post has two versions of InnoDB, their mean."""
WAF_NEAR = (FLASH_WAF[NONE] - FLASH_WAF[ZLIB]) / 2
"""How far off a flash write amplification may be: our choice, so that none is nearer to another
configuration's."""


NO_FIGURES = "its runs gave no figures"
"""Why a claim has no answer that runs could give."""


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
    return Verdict(claim, holds, NO_FIGURES if holds is None else REMARKS.get(identifier, ""))


def _disk(name: str, clients: int = linkbench_disks.USUAL) -> str:
    return linkbench_disks.at_clients(name, clients)


def _disk_series(metric: str, name: str) -> tuple[str, ...]:
    return of(metric, *(_disk(name, clients) for clients in linkbench_disks.CLIENTS))


def _tpcc(metric: str, engine: str) -> tuple[str, ...]:
    return of(metric, *(tpcc.at_cache(engine, size) for size in tpcc.CACHES_GB))


WRITES = tuple(label("write_kb_per_op", name, ROCKS) for name in BOTH_INNODB)
DEVICE_WRITES = tuple(label("device_write_kb_per_op", name, ROCKS) for name in BOTH_INNODB)
SIZES = {name: label("database_bytes", name, ROCKS) for name in BOTH_INNODB}
RATES = {name: label("ops_per_s", ROCKS, name) for name in BOTH_INNODB}
FROM_HALF = slice(linkbench_disks.CLIENTS.index(max(linkbench_disks.CLIENTS) // 2), None)
"""The post says that InnoDB is saturated at low concurrency, not at which: here at half of the most
clients."""
INNODB_INSERTS = ("innodb.none", "innodb.zlib")
MANY = insert_benchmark.in_threads
ZU = tuple(point_queries.at_clients(name, 64) for name in ("inno-z-8", "inno-u-8"))
INNO_U = [point_queries.at_clients("inno-u-8", count) for count in (32, 64)]
FRAGMENTED = (1 - 0.5, 1 / 1.33)
"""How full leaves are of a tree that loses a third to a half: whichever the text means, of its
space or beside its data."""
FALSE_POSITIVES = 0.02
"""Of reads of absent keys, what filters may leave: 10 bits a key answer wrongly to 1% (RocksDB's
wiki), asked in one or two places."""
CPU_PERCENTS = [tpcc.published_cpu_percent("myrocks", size) for size in tpcc.CACHES_GB]
CPU_PERCENT = (min(CPU_PERCENTS) - 1, max(CPU_PERCENTS) + 1)
"""The published range, and what its two percentages hide that were rounded and added."""

TESTS: Mapping[str, Predicate] = {
    # LinkBench for seven days
    "A1": between(8, 14, *WRITES),
    "A2": at_least(1.5, RATES[ZLIB]),
    "A3": every(near(2.0, SIZES[ZLIB]), near(3.1, SIZES[NONE])),
    "A6": more_than(1, label("speed_up", ZLIB)),
    "A7": smallest("reads_per_op", ROCKS, NONE, ZLIB),
    "A8": descending(*of("read_kb_per_op", NONE, ROCKS, ZLIB)),
    "A9": largest("reads_per_s", ROCKS, NONE, ZLIB),
    "A10": between(100, 200, *of("write_mb_per_s", NONE, ZLIB)),
    "A12": smallest("read_mb_per_s", ZLIB, NONE, ROCKS),
    # The insert benchmark
    "B1": over(
        lambda rocks, *innodb: rocks > 2 * max(innodb),
        *of("ops_per_s", "myrocks.def", *INNODB_INSERTS),
    ),
    "B2": every(
        at_least(0.95, label("last_over_average", "myrocks.def")),
        between(0.5, 0.65, *of("last_over_average", *INNODB_INSERTS)),
    ),
    "B3": descending(
        label("ops_per_s", "myrocks.opt", "myrocks.def"),
        label("ops_per_s", MANY("myrocks.opt"), MANY("myrocks.def")),
    ),
    "B4": every(
        more_than(1, label("ops_per_s", MANY("myrocks.def"), "myrocks.def")),
        near(1.0, label("ops_per_s", MANY("innodb.none"), "innodb.none")),
    ),
    "B5": descending(*of("stall_s", "myrocks.opt", "myrocks.def")),
    # LSM and B-tree
    "C1": every(
        near(0.1, label("upper_levels_share", ROCKS)),
        between(*FRAGMENTED, label("leaf_fill", NONE)),
    ),
    "C2": near(2.0, label("loaded_bytes", ZLIB, ROCKS)),
    "C4": every(
        over(lambda reads: reads == 0, label("client_reads_per_op", "myrocks.opt")),
        over(
            lambda reads: 0 < reads <= insert_benchmark.SECONDARY_INDEXES,
            label("reads_per_op", "innodb.none"),
        ),
    ),
    "C5": every(*(near(10, row) for row in WRITES)),
    "C6": over(lambda *figures: 18 * (1 - NEAR) <= max(figures) <= 18, *DEVICE_WRITES),
    "C7": over(
        lambda left: left <= FALSE_POSITIVES,
        label(
            "reads_per_op",
            filters.named(filters.ABSENT, filters.WITH),
            filters.named(filters.ABSENT, filters.WITHOUT),
        ),
    ),
    "C8": over(lambda left: left < 1 - NOISE, label("read_amp", ROCKS, linkbench_flash.WHOLE_KEYS)),
    "C9": more_than(1, label("cpu_us_per_op", "myrocks at 100 GB", "innodb at 100 GB")),
    # LinkBench on a disk array
    "D1": every(
        near(3.02, label("loaded_bytes", _disk(NONE), _disk(ROCKS))),
        near(1.98, label("loaded_bytes", _disk(ZLIB), _disk(ROCKS))),
    ),
    "D2": over(lambda size: 40e9 / size < 0.5, label("loaded_bytes", _disk(ROCKS))),
    "D3": largest("load_ops_per_s", _disk(ROCKS), _disk(NONE), _disk(ZLIB)),
    "D4": over(
        lambda *figures: (
            figures[-1] < max(figures)
            and linkbench_disks.CLIENTS[figures.index(max(figures))] <= linkbench_disks.USUAL
        ),
        *_disk_series("load_ops_per_s", ROCKS),
    ),
    "D5": every(
        over(rising, *_disk_series("ops_per_s", ROCKS)),
        over(growing, *_disk_series("ops_per_s", ROCKS)[FROM_HALF]),
        over(saturated, *_disk_series("ops_per_s", NONE)[FROM_HALF]),
    ),
    # The memtable sweep
    "E4": every(
        over(lambda best: best == 2, memtable.BEST),
        over(
            lambda one, two, *rest: one < two and rest[-1] < two,
            *of("ops_per_s", *map(memtable.at_megabytes, memtable.MEGABYTES)),
        ),
    ),
    # Flash write amplification
    "F1": every(
        *(
            between(waf - WAF_NEAR, waf + WAF_NEAR, label("flash_waf", name))
            for name, waf in FLASH_WAF.items()
        )
    ),
    "F2": every(between(8, 11, *WRITES), between(11, 18, *DEVICE_WRITES)),
    "F3": over(
        lambda *figures: all(figure >= 1 for figure in figures),
        *of("flash_waf", ROCKS, NONE, ZLIB),
    ),
    # LinkBench for a day
    "G1": descending(*of("load_ops_per_s", NONE, ROCKS, ZLIB)),
    "G2": more_than(2, SIZES[ZLIB]),
    "G3": every(near(10.4, WRITES[0]), near(8.4, WRITES[1])),
    "G4": every(
        smallest("p99_us", ROCKS, NONE, ZLIB),
        largest("ops_per_s", ROCKS, NONE, ZLIB),
        largest("max_us", ROCKS, NONE, ZLIB),
    ),
    "G5": smallest("reads_per_op", ROCKS, NONE, ZLIB),
    # The memory sweep
    "H1": over(lambda spread: spread < 1.10, tpcc.FLATNESS),
    "H2": every(
        near(7.02, tpcc.GROWTH),
        over(
            lambda *figures: max(figures) / min(figures) < 1 + NOISE,
            *_tpcc("ops_per_s", "innodb")[-3:],
        ),
    ),
    "H3": every(
        between(50, 60, tpcc.CROSSOVER),
        ahead_by(0.3, tpcc.LEAD),
    ),
    "H4": near(4.95, tpcc.ADVANTAGE),
    "H5": every(
        over(lambda spread: spread <= 1.04, tpcc.SPREAD),
        over(falling, *_tpcc("write_kb_per_op", "innodb")),
    ),
    "H6": every(
        over(falling, *_tpcc("read_kb_per_op", "innodb")),
        over(falling, *_tpcc("read_kb_per_op", "myrocks")),
        over(
            lambda inno5, inno100, rocks5, rocks100: inno5 * rocks100 > rocks5 * inno100,
            *of("read_kb_per_op", "innodb at 5 GB", "innodb at 100 GB"),
            *of("read_kb_per_op", "myrocks at 5 GB", "myrocks at 100 GB"),
        ),
    ),
    "H7": over(peaks_at(tpcc.CACHES_GB.index(50)), *_tpcc("write_mb_per_s", "innodb")),
    "H8": between(*CPU_PERCENT, *_tpcc("cpu_percent", "myrocks")),
    "H9": over(lambda share: share < 10, label("cpu_percent", "innodb at 5 GB")),
    "H10": near(90 / 21, tpcc.SIZE),
    "H11": near(1.55, label("peak_over_start", "myrocks at 100 GB")),
    # Point queries
    "I5": every(
        near(349 / 740, label("database_bytes", *ZU)),
        between(0.69, 0.75, label("ops_per_s", *ZU)),
    ),
    "I6": over(lambda at32, at64: at64 <= at32 * (1 + NEAR), *of("ops_per_s", *INNO_U)),
}

UNDECIDABLE: Mapping[str, str] = {
    "A4": "one replay stands for a day and for a week",
    "A5": "rows that a week adds: no replay is as long",
    "A11": "arithmetic on A1: 1.5 times its ratios; F2 has what was measured",
    "B6": "InnoDB 5.6 and 5.7 are one model",
    "B7": "a description of the set-up",
    "C3": "a mechanism: compressed pages take key_block_size each here too, and a report does not"
    " say how much of it they leave empty",
    "C10": "a rule for judging, and no figure: A7, A8, G5 and H6 judge by physical reads",
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

WITHOUT_LOG = "linkbench-flash has what becomes of the ratios without it"

REMARKS: Mapping[str, str] = {
    "A1": f"rests on an assumed binary log: {WITHOUT_LOG}",
    "A9": "the post does not name its card: on one that reads 3 pages at once instead of 10,"
    " or 5 and writes 500 MB/s, it holds",
    "A10": "rests on an assumed card",
    "B2": "rests on the assumed buffer pool, which the secondary indexes just outgrow",
    "B3": "rests on the assumed 32 MB of the smaller memtable",
    "B5": "rests on the assumed 32 MB of the smaller memtable",
    "C1": "judged by what lies above the last level, of which old versions are no more, and by how"
    " full leaves in the pool are: 50 to 75%, as the wording is ambiguous",
    "C2": "judged by LinkBench's synthetic data after the load; no real data is replayed",
    "C4": "judged without unique checks; InnoDB's reads are those that its change buffer leaves",
    "C5": f"judged by bytes, for the writes of an LSM shrink with its files; rests on an assumed"
    f" binary log: {WITHOUT_LOG}",
    "C6": "rests on an assumed binary log and an assumed spare area of the card",
    "C7": "judged by keys of our own; the workloads that spent 30% are not named",
    "C8": "judged by blocks asked for with and without prefixes in the filters; here a list that"
    " reads to the end of its prefix asks the levels without it all the same. bloom-filters has"
    " plain scans",
    "C9": "rests on what calls cost in MariaDB 10.11 on another processor",
    "D3": "judged on the disk array; its half about flash is G1",
    "D4": "rests on an assumed model of the disks",
    "D5": "rests on an assumed model of the disks; `low concurrency` is taken for half of the most"
    " clients, and MyRocks has to gain there what InnoDB may not",
    "E4": "rests on assumed rows of 116 bytes and an assumed machine",
    "F1": "rests on an assumed spare area of the card; judged to within 0.14",
    "F2": "rests on an assumed binary log and an assumed spare area of the card",
    "G3": f"rests on an assumed binary log: {WITHOUT_LOG}",
    "G4": "its maxima are those of an hour's 100 million requests, of which a replay has 300,000",
    "H3": "`about 30%` is judged as 24 to 36%",
    "H8": "judged by the published percents, a point more either way for their rounding; they hold"
    " the client, which the assumed cost of a statement stands for",
    "H9": "rests on the assumed cost of a statement",
    "H10": "judged by 90 / 21; MyRocks without compression is not run"
    "; MariaDB 10.11, loaded by the same script, has 4.9",
    "I5": "rests on assumed 144 GB of memory",
    "I6": "rests on an assumed card; judged by InnoDB without compression alone",
}
"""Where a test covers less than the claim says, or an assumption decides."""
