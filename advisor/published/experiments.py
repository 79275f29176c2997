"""The experiments that can be replayed, by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

from advisor.errors import InputError
from advisor.published import (
    filters,
    insert_benchmark,
    linkbench_disks,
    linkbench_flash,
    memtable,
    point_queries,
    small_server,
    tpcc,
)
from advisor.published.experiment import Experiment

EXPERIMENTS: Mapping[str, Callable[[], Experiment]] = {
    "linkbench-flash": linkbench_flash.day_and_week,
    "flash-waf": linkbench_flash.flash_waf,
    "linkbench-disk-array": linkbench_disks.disk_array,
    "linkbench-50gb": linkbench_flash.less_memory,
    "linkbench-small-server": small_server.small_server,
    "insert-benchmark": insert_benchmark.disk_array,
    "memtable-sweep": memtable.sweep,
    "bloom-filters": filters.bloom_filters,
    "tpcc-memory-sweep": tpcc.memory_sweep,
    "point-queries-2014": point_queries.innodb_rows,
}


def experiments() -> tuple[Experiment, ...]:
    """All of them, in the order in which they are replayed."""
    return tuple(build() for build in EXPERIMENTS.values())


def experiment(name: str) -> Experiment:
    """The experiment of that name. Raises `InputError`."""
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, EXPERIMENTS, n=3) or list(EXPERIMENTS)
        raise InputError("experiment", None, repr(name), f"one of {', '.join(near)}")
    return EXPERIMENTS[name]()
