"""LinkBench on a PCIe flash card: for a day and for a week, with garbage collection of a card 72%
full, and with a third of the memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from advisor.published.engines import FAST_FLUSHING, STATEMENT_CAVEAT, innodb
from advisor.published.experiment import (
    HOUR,
    Experiment,
    Phase,
    RowPlan,
    Run,
    compared,
    label,
    measured,
)
from advisor.published.linkbench import (
    BOTH_INNODB,
    CAVEATS,
    COMPRESSED,
    NONE,
    ROCKS,
    STEADY_CAVEAT,
    ZLIB,
    graph,
    linkbench_myrocks,
)
from advisor.published.tables import Figure, figure

IDS = 1_000_000_000
MEMORY_GB = 144
CLIENTS = 20
OPERATIONS_PER_S = 20_000
"""The order of size, for the budget alone; the posts show the rate only in charts."""
SECONDS = 6.0
LEAST_OPERATIONS = 300_000
"""A day and more of the card's posts: fewer show levels of MyRocks that still fill."""
SCORED_HOURS = 4
"""The posts report single hours, which differ by a third; the last hours together do not."""

CONFIGURATIONS = (
    linkbench_myrocks(MEMORY_GB),
    innodb(NONE, MEMORY_GB, **FAST_FLUSHING),
    innodb(ZLIB, MEMORY_GB, **COMPRESSED, **FAST_FLUSHING),
)
NAMES = (ROCKS, *BOTH_INNODB)
WHOLE_KEYS = "myrocks with whole keys in its filters"

METRICS = (
    "ops_per_s",
    "write_kb_per_op",
    "read_kb_per_op",
    "reads_per_op",
    "reads_per_s",
    "read_mb_per_s",
    "write_mb_per_s",
    "flash_waf",
    "p99_us",
    "max_us",
    "loaded_bytes",
    "load_ops_per_s",
    "database_bytes",
    "speed_up",
)


def without_log(name: str) -> str:
    """The name of a run whose server keeps no binary log."""
    return f"{name} without a binary log"


def _runs(hours: float, fill_to: float | None = None) -> tuple[Run, ...]:
    phase = Phase(warmup_s=(hours - SCORED_HOURS) * HOUR, seconds=SCORED_HOURS * HOUR)
    return tuple(Run(one.name, one, CLIENTS, phase, fill_to=fill_to) for one in CONFIGURATIONS)


def _rows(*names: str) -> tuple[RowPlan, ...]:
    return tuple(measured(metric, run) for metric in METRICS for run in names)


def _over_myrocks(
    metric: str, published: Callable[[str], Figure] | None = None
) -> tuple[RowPlan, ...]:
    """A metric of both InnoDBs over that of MyRocks."""
    return tuple(
        compared(metric, name, ROCKS, None if published is None else published(name))
        for name in BOTH_INNODB
    )


def _in_seven_days(row: RowPlan) -> RowPlan:
    """The same figure of the replay, beside what the post about a week says of it."""
    return replace(row, metric=f"{row.metric} in seven days")


def day_and_week() -> Experiment:
    """24 hours on PCIe flash, and seven days: one replay, since it lasts until nothing changes."""
    day, week = "linkbench-ssd-24h", "linkbench-7day"
    config = {NONE: "innodb57.none", ZLIB: "innodb57.zlib"}
    written = "storage_write_bytes_per_txn_ratio_vs_myrocks"

    def after_a_day(name: str) -> Figure:
        return figure(day, written, compression=name.split(".")[1])

    def after_a_week(name: str) -> Figure:
        return figure(week, written, config=config[name], x1_value=168)

    size_of_a_day = figure(day, "db_size_ratio_vs_myrocks", compression="zlib")
    sizes = {
        NONE: figure(week, "db_size_ratio_vs_myrocks", note="body figure"),
        ZLIB: figure(week, "db_size_ratio_vs_myrocks", compression="zlib"),
    }
    runs = _runs(24)
    rocks = runs[0]
    whole_keys = rocks.configuration.but(prefix_extractor="nullptr")
    return Experiment(
        name="linkbench-flash",
        text="LinkBench for a day and for a week, a billion ids on PCIe flash, 20 clients",
        sources=("MC-2016-01-14", "MC-2016-01-28", "MC-2016-01-19a"),
        hardware="pcie-flash-2016",
        seconds=SECONDS,
        least_operations=LEAST_OPERATIONS,
        **graph(IDS),
        operations=OPERATIONS_PER_S * 24 * HOUR,
        runs=(
            *runs,
            *(replace(run, name=without_log(run.name), keeps_binary_log=False) for run in runs),
            replace(rocks, name=WHOLE_KEYS, configuration=whole_keys),
        ),
        rows=(
            *_over_myrocks("write_kb_per_op", after_a_day),
            *(
                _in_seven_days(compared("write_kb_per_op", name, ROCKS, after_a_week(name)))
                for name in BOTH_INNODB
            ),
            *(
                compared("write_kb_per_op", without_log(name), without_log(ROCKS))
                for name in BOTH_INNODB
            ),
            *_over_myrocks("iostat_write_kb_per_op"),
            *_over_myrocks("device_write_kb_per_op"),
            compared("database_bytes", NONE, ROCKS, sizes[NONE]),
            compared("database_bytes", ZLIB, ROCKS, size_of_a_day),
            _in_seven_days(compared("database_bytes", ZLIB, ROCKS, sizes[ZLIB])),
            *_over_myrocks("loaded_bytes"),
            compared("ops_per_s", ROCKS, ZLIB, figure(week, "tps_ratio_vs_innodb_zlib")),
            compared("ops_per_s", ROCKS, NONE),
            *(compared(metric, ROCKS, WHOLE_KEYS) for metric in ("read_amp", "reads_per_op")),
            measured("upper_levels_share", ROCKS),
            *(measured("leaf_fill", name) for name in BOTH_INNODB),
            *_rows(*NAMES),
        ),
        claims=(
            *(f"G{number}" for number in range(1, 9)),
            *(f"A{number}" for number in range(1, 13)),
            *("C1", "C2", "C3", "C5", "C8", "C10"),
        ),
        caveats=(
            *CAVEATS,
            STEADY_CAVEAT,
            "a week is replayed no longer than a day: it would take ten times as many requests as"
            " are affordable. So both posts stand beside one replay, and what a week adds is not in"
            " it: rows, and pages that fragment further",
            "the hour-167 ratios are a third above those of hour 168, which stand here",
        ),
    )


def flash_waf() -> Experiment:
    """Flash write amplification with the card 72% full."""
    config = {ROCKS: "rocksdb.zlib", NONE: "orig5710.none", ZLIB: "orig5710.zlib"}

    def published(metric: str) -> Callable[[str], Figure]:
        return lambda name: figure("flash-waf", metric, config=config[name])

    def derived(metric: str, name: str) -> Figure:
        return figure("derived-ratios", metric, config=config[name])

    def of_the_card(name: str) -> Figure:
        """The table divides by MyRocks as iostat saw it; here both are as the card saw."""
        relative = published("write_kb_per_query_rel_device")
        return Figure(round(relative(name).value / relative(ROCKS).value, 2))

    return Experiment(
        name="flash-waf",
        text="LinkBench for 48 hours with the PCIe flash card filled to 72%",
        sources=("MC-2016-01-15", "MC-2016-01-19a"),
        hardware="pcie-flash-2016",
        seconds=SECONDS,
        least_operations=LEAST_OPERATIONS,
        **graph(IDS),
        operations=OPERATIONS_PER_S * 48 * HOUR,
        runs=_runs(48, fill_to=0.72),
        rows=(
            *(measured("flash_waf", name, published("flash_waf")(name)) for name in NAMES),
            *_over_myrocks("write_kb_per_op", published("write_kb_per_query_rel_iostat")),
            *_over_myrocks("iostat_write_kb_per_op"),
            *_over_myrocks("device_write_kb_per_op", of_the_card),
            *(
                compared("ops_per_s", ROCKS, name, derived("myrocks_tps_ratio", name))
                for name in BOTH_INNODB
            ),
            *(
                measured(metric, name, derived(rate, name))
                for metric, rate in (
                    ("write_mb_per_s", "write_rate_iostat"),
                    ("device_write_mb_per_s", "write_rate_device"),
                )
                for name in NAMES
            ),
            *(measured("database_bytes", name) for name in NAMES),
        ),
        claims=("F1", "F2", "F3", "C6"),
        caveats=(
            *CAVEATS,
            STEADY_CAVEAT,
            "the card's spare area is not published: the least that a device has is assumed",
            "superblocks do not shrink below 64 pages, nor below a doublewrite batch: at this scale"
            " one mixes more of the files of MyRocks than the card's would, which overstates its"
            " amplification, and fewer batches of InnoDB, which understates that of InnoDB",
        ),
    )


def less_memory() -> Experiment:
    """The card's experiment on a server with 50 GB of memory and a fast SSD."""
    table, gigabytes = "linkbench-50gb", 50
    rocks = linkbench_myrocks(gigabytes)
    none = innodb(NONE, gigabytes, **FAST_FLUSHING)
    engines = {ROCKS: "MyRocks", NONE: "InnoDB"}
    rates = {
        name: figure(table, "tps", config="fast-ssd", engine=engine)
        for name, engine in engines.items()
    }
    sizes = {name: figure(table, "db_size", engine=engine) for name, engine in engines.items()}
    ratio = figure(table, "tps_ratio_vs_innodb", config="fast-ssd")
    published = {
        label(metric, run) for metric in ("ops_per_s", "database_bytes") for run in engines
    }
    phase = Phase(warmup_s=(24 - SCORED_HOURS) * HOUR, seconds=SCORED_HOURS * HOUR)
    return replace(
        day_and_week(),
        name="linkbench-50gb",
        text="LinkBench, a billion ids on a fast SSD, 50 GB of memory",
        sources=("MC-2016-11-23",),
        runs=tuple(Run(one.name, one, CLIENTS, phase) for one in (rocks, none)),
        rows=(
            compared("ops_per_s", ROCKS, NONE, ratio),
            *(measured("ops_per_s", name, rate) for name, rate in rates.items()),
            *(
                measured("database_bytes", name, Figure(size.value * 1e9, size.bound))
                for name, size in sizes.items()
            ),
            *(row for row in _rows(*engines) if row.metric not in published),
        ),
        claims=(),
        caveats=(
            "the post names neither processor, settings, clients nor the compression of MyRocks:"
            " all are taken to be those of January, what is assumed of those included",
            "its SSD does more than 100,000 random operations per second: it is taken to be as fast"
            " as the card of January is assumed to be",
            STATEMENT_CAVEAT,
        ),
    )
