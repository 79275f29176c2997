"""The memory sweep: sysbench-tpcc on both engines with caches of 5 to 100 GB."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.knobs import Setting
from advisor.published.engines import GIB, KIB, MIB, STATEMENT_CAVEAT
from advisor.published.experiment import (
    Configuration,
    Experiment,
    Phase,
    RowPlan,
    Run,
    compared,
    label,
    measured,
)
from advisor.published.observation import Observed
from advisor.published.tables import Figure, figure
from advisor.spec import BinaryLogSpec

# As the posts write them; the runs were given as many GiB.
CACHES_GB = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
SMALLEST, LARGEST = CACHES_GB[0], CACHES_GB[-1]
CLIENTS = 56
WAREHOUSES = 1_000
WAREHOUSE_BYTES = 62e6
"""The order of size, for the budget alone: the load of one writes 74 MB of keys and values."""
BINARY_LOG: BinaryLogSpec = {
    "sync_binlog": 10_000,
    "max_binlog_size": GIB,
    "binlog_row_image": "MINIMAL",
}
"""Size: the default, which the post does not change."""
ENGINES = ("innodb", "myrocks")
PRODUCTS = {"innodb": "InnoDB", "myrocks": "MyRocks"}
METRICS = ("ops_per_s", "write_kb_per_op", "read_kb_per_op", "write_mb_per_s", "cpu_percent")

CROSSOVER = "cache in GB where InnoDB overtakes MyRocks"
ADVANTAGE = label("ops_per_s", "myrocks at 5 GB", "innodb at 5 GB")
FLATNESS = "largest over smallest ops_per_s of myrocks"
GROWTH = label("ops_per_s", "innodb at 100 GB", "innodb at 5 GB")
LEAD = label("ops_per_s", "innodb at 100 GB", "myrocks at 100 GB")
SIZE = label("loaded_bytes", "innodb at 100 GB", "myrocks at 100 GB")
SPREAD = "largest over smallest write_kb_per_op of myrocks"

# As published with the runs. A gigabyte of the post is taken as 10^9 bytes.
MYROCKS: dict[str, Setting] = {
    "write_buffer_size": 256 * MIB,
    "max_write_buffer_number": 4,
    "target_file_size_base": 32 * MIB,
    "max_bytes_for_level_base": 512 * MIB,
    "level0_file_num_compaction_trigger": 4,
    "level0_slowdown_writes_trigger": 20,
    "level0_stop_writes_trigger": 30,
    "level_compaction_dynamic_level_bytes": True,
    "compaction_pri": "kMinOverlappingRatio",
    "level_compaction_dynamic_file_size": False,  # RocksDB's since 7.8
    "size_based_intra_l0_compaction": False,  # since 9.0
    "high_pri_pool_ratio": 0.0,  # of the server, whatever the library's is
    "compaction_readahead_size": 16 * MIB,
    "max_background_jobs": 8,
    "block_size": 16 * KIB,
    "format_version": 2,  # of the server too
    "filter_policy": "bloomfilter:10:false",
    "whole_key_filtering": False,
    "prefix_extractor": "capped:12",
    "optimize_filters_for_hits": True,
    "cache_index_and_filter_blocks": True,
    "compression": "kLZ4Compression",
    "use_direct_reads": True,
    "use_direct_io_for_flush_and_compaction": True,
    "sync": True,
}
# 5.7 pads its log writes to 8 KiB. The scan depth of 1,024 is that of an instance of the pool, of
# which there are 8. Percona's server has two doublewrite areas for each of them since 5.7.11.
INNODB: dict[str, Setting] = {
    "innodb_page_size": 16 * KIB,
    "innodb_redo_log_capacity": 30 * GIB,
    "innodb_log_buffer_size": 64 * MIB,
    "innodb_log_write_ahead_size": 8 * KIB,
    "innodb_flush_log_at_trx_commit": 1,
    "innodb_doublewrite": True,
    "innodb_doublewrite_files": 16,
    "innodb_server": "mysql",
    "innodb_flush_neighbors": 0,
    "innodb_io_capacity": 2_000,
    "innodb_io_capacity_max": 4_000,
    "innodb_max_dirty_pages_pct": 90.0,
    "innodb_max_dirty_pages_pct_lwm": 10.0,
    "innodb_lru_scan_depth": 8 * 1_024,
    "innodb_page_cleaners": 4,
    "innodb_adaptive_flushing": True,
    "innodb_change_buffering": "all",
}


def at_cache(engine: str, gigabytes: int) -> str:
    """The name of a run with one size of cache."""
    return f"{engine} at {gigabytes} GB"


def memory_sweep() -> Experiment:
    """Both engines at eleven cache sizes."""
    return Experiment(
        name="tpcc-memory-sweep",
        text="sysbench-tpcc, 1000 warehouses, 56 clients, caches of 5 to 100 GB on a SATA SSD",
        sources=("VT-2018-04-30", "VT-2018-raw", "MC-2016-01-19a"),
        hardware="sata-ssd-2018",
        workload={"kind": "tpcc", "stock_level": "looped"},
        units=WAREHOUSES,
        sized_by="warehouses",
        data_bytes=WAREHOUSES * WAREHOUSE_BYTES,
        operations=5_000 * 3_600,
        runs=tuple(_run(engine, size) for engine in ENGINES for size in CACHES_GB),
        rows=(
            RowPlan(CROSSOVER, _crossover, figure("derived-ratios", "tps_crossover_cache")),
            *(
                compared(
                    "ops_per_s",
                    at_cache("myrocks", size),
                    at_cache("innodb", size),
                    figure("derived-ratios", "tps_ratio_myrocks_over_innodb", x1_value=size),
                )
                for size in CACHES_GB
            ),
            *(
                compared(
                    "ops_per_s",
                    at_cache(engine, LARGEST),
                    at_cache(engine, SMALLEST),
                    figure(
                        "derived-ratios", "tps_vs_5gb", engine=PRODUCTS[engine], x1_value=LARGEST
                    ),
                )
                for engine in ENGINES
            ),
            compared(
                "ops_per_s", at_cache("innodb", LARGEST), at_cache("myrocks", LARGEST), _lead()
            ),
            RowPlan(FLATNESS, _flatness, _published_flatness()),
            compared(
                "loaded_bytes",
                at_cache("innodb", LARGEST),
                at_cache("myrocks", LARGEST),
                figure("derived-ratios", "size_ratio_vs_myrocks_lz4"),
            ),
            measured(
                "peak_over_start",
                at_cache("myrocks", LARGEST),
                figure("derived-ratios", "datadir_peak_over_start"),
            ),
            compared(
                "cpu_us_per_op",
                at_cache("myrocks", LARGEST),
                at_cache("innodb", LARGEST),
                _cpu_ratio(),
            ),
            RowPlan(SPREAD, _spread),
            *(
                measured(metric, at_cache(engine, size), _published(metric, engine, size))
                for metric in METRICS
                for engine in ENGINES
                for size in CACHES_GB
            ),
            *(measured("p99_us", at_cache(engine, LARGEST)) for engine in ENGINES),
            *(
                measured("database_bytes", at_cache(engine, LARGEST), Figure(size * 1e9, "approx"))
                for engine, size in (("innodb", 90.0), ("myrocks", 26.0))
            ),
        ),
        claims=(*(f"H{number}" for number in range(1, 15)), "C9"),
        seconds=20.0,
        binary_log=BINARY_LOG,
        caveats=(
            "a few warehouses stand for a thousand, so clients do not wait for one another's rows:"
            " they would meet hundreds of times as often as in the post",
            "the script of that month on the sysbench of the post read nearly all stock levels from"
            " one row; so does the replay (`stock_level` of the workload)",
            "the adaptive hash index, which was on, is not modelled: in a MariaDB 10.2 with half of"
            " the data in its pool it takes 6 to 8% of the pool",
            "InnoDB's redo is that of MariaDB 10.11, which logs updates with fewer bytes than 5.7",
            STATEMENT_CAVEAT,
        ),
    )


def _run(engine: str, gigabytes: int) -> Run:
    cache: dict[str, Setting]
    if engine == "myrocks":
        cache = {"block_cache": gigabytes * GIB}
        one = Configuration(engine, "lsm", MYROCKS | cache)
    else:
        cache = {"innodb_buffer_pool_size": gigabytes * GIB}
        one = Configuration(engine, "btree", INNODB | cache)
    return Run(at_cache(engine, gigabytes), one, CLIENTS, Phase(warmup_s=2_000, seconds=1_600))


def _published(metric: str, engine: str, gigabytes: int) -> Figure | None:
    columns: dict[str, str | float] = {"engine": PRODUCTS[engine], "x1_value": gigabytes}
    if metric == "ops_per_s":
        return figure("tpcc-memory-sweep", "tps", **columns)
    if metric == "cpu_percent":
        return Figure(published_cpu_percent(engine, gigabytes))
    if metric == "write_mb_per_s":
        return Figure(figure("tpcc-memory-sweep", "write_rate", **columns).value * KIB / 1e6)
    per_transaction = {"write_kb_per_op": "write_kb_per_txn", "read_kb_per_op": "read_kb_per_txn"}
    return figure("derived-ratios", per_transaction[metric], **columns)


def _series(seen: Observed, metric: str, engine: str) -> Sequence[float] | None:
    values = [seen.of(metric, at_cache(engine, size)) for size in CACHES_GB]
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def _crossover(seen: Observed) -> float | None:
    """Linear between the two grid points where the sign of the difference changes for good."""
    innodb, myrocks = (_series(seen, "ops_per_s", engine) for engine in ENGINES)
    if innodb is None or myrocks is None:
        return None
    ahead = [own - other for own, other in zip(innodb, myrocks, strict=True)]
    for place in range(len(ahead) - 1, 0, -1):
        if ahead[place - 1] < 0 <= ahead[place]:
            share = -ahead[place - 1] / (ahead[place] - ahead[place - 1])
            low, high = CACHES_GB[place - 1], CACHES_GB[place]
            return low + share * (high - low)
    return None


def published_cpu_percent(engine: str, gigabytes: int) -> float:
    """User and system time of all hardware threads."""
    columns: dict[str, str | float] = {"engine": PRODUCTS[engine], "x1_value": gigabytes}
    user = figure("tpcc-memory-sweep", "cpu_us", **columns)
    return user.value + figure("tpcc-memory-sweep", "cpu_sys", **columns).value


def _published_rate(engine: str, gigabytes: int) -> float:
    return figure("tpcc-memory-sweep", "tps", engine=PRODUCTS[engine], x1_value=gigabytes).value


def _lead() -> Figure:
    innodb, myrocks = (_published_rate(engine, LARGEST) for engine in ENGINES)
    return Figure(round(innodb / myrocks, 2))


def _published_flatness() -> Figure:
    rates = [_published_rate("myrocks", size) for size in CACHES_GB]
    return Figure(round(max(rates) / min(rates), 3))


def _cpu_ratio() -> Figure:
    """Processor time of a transaction in MyRocks over that in InnoDB: percent over rate."""
    innodb, myrocks = (
        published_cpu_percent(engine, LARGEST) / _published_rate(engine, LARGEST)
        for engine in ENGINES
    )
    return Figure(round(myrocks / innodb, 2))


def _flatness(seen: Observed) -> float | None:
    return _over(_series(seen, "ops_per_s", "myrocks"))


def _spread(seen: Observed) -> float | None:
    return _over(_series(seen, "write_kb_per_op", "myrocks"))


def _over(series: Sequence[float] | None) -> float | None:
    return None if series is None or not min(series) else max(series) / min(series)
