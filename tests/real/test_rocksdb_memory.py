"""RocksDB takes the memory that we say it takes, as a process with glibc's allocator."""

from __future__ import annotations

import os
import statistics

import pytest

from advisor import memory
from advisor.knobs import Setting, Settings
from advisor.memory import Load
from tests.real.rocksdb_process import KEY_BYTES, resident_bytes

pytestmark = pytest.mark.real

MIB = 1 << 20
CLIENTS, DATA_BYTES = 4, 160 * MIB
VALUE_BYTES = 400
PROCESSES = 3
SMALL: dict[str, Setting] = {
    "write_buffer_size": MIB,
    "max_bytes_for_level_base": 8 * MIB,
    "target_file_size_base": 8 * MIB,
    "compression": "kNoCompression",
    "block_cache": 32 * MIB,
    "filter_policy": "bloomfilter:10:false",
}
TRIED: dict[str, dict[str, Setting]] = {
    "many jobs on a small budget": {
        "max_background_jobs": 8,
        "level0_file_num_compaction_trigger": 12,
    },
    "direct reads of many files": {
        "level0_file_num_compaction_trigger": 12,
        "use_direct_reads": True,
    },
    "the defaults with a small memtable": {},
    "large memtables": {
        "write_buffer_size": 16 * MIB,
        "max_write_buffer_number": 4,
        "min_write_buffer_number_to_merge": 3,
        "max_bytes_for_level_base": 64 * MIB,
        "target_file_size_base": 64 * MIB,
        "max_background_jobs": 4,
    },
    "a large cache of large blocks": {"block_cache": 96 * MIB, "block_size": 16384},
    "indexes and filters in the cache": {
        "cache_index_and_filter_blocks": True,
        "max_background_jobs": 6,
    },
    "direct reads with little read ahead": {
        "use_direct_reads": True,
        "compaction_readahead_size": 256 * 1024,
        "max_background_jobs": 6,
    },
    "compressed, without filters": {
        "compression": "kZSTD",
        "filter_policy": "nullptr",
        "max_background_jobs": 6,
        "block_cache": 64 * MIB,
    },
}
QUICK = ("many jobs on a small budget", "large memtables")


def said_and_taken(name: str, settings: Settings) -> tuple[int, int]:
    pytest.importorskip("rocksdict", reason="rocksdict is not installed")
    if name not in QUICK and not os.environ.get("TUNEBENCH_VERIFY"):
        pytest.skip("the other settings are for `make verify`")
    keys = DATA_BYTES // (KEY_BYTES + VALUE_BYTES)
    parts = memory.memory_parts("lsm", settings, Load(CLIENTS, DATA_BYTES, keys, has_tables=False))
    said = sum(part.bytes for part in parts if part.name != memory.RESERVE)
    # Which arena a thread allocates from is the scheduler's: one process in thirty is 24% off.
    taken = statistics.median_low(
        resident_bytes(
            settings, clients=CLIENTS, data_bytes=DATA_BYTES, value_bytes=VALUE_BYTES, times=1.5
        )
        for _ in range(PROCESSES)
    )
    print(f"{name}: said {said / MIB:.0f} MiB, took {taken / MIB:.0f} MiB")
    return said, taken


@pytest.mark.parametrize("name", TRIED)
def test_a_process_takes_the_memory_that_is_said(name: str) -> None:
    said, taken = said_and_taken(name, {**SMALL, **TRIED[name]})
    assert taken == pytest.approx(said, rel=0.2)


def test_what_many_threads_read_ahead_is_kept_at_most_by_all_of_them() -> None:
    # An arena gives back what no small block holds, so the whole is a bound and no forecast.
    many = {"max_background_jobs": 8, "level0_file_num_compaction_trigger": 12}
    said, taken = said_and_taken("a bound", {**SMALL, **many, "use_direct_reads": True})
    assert 0.6 * said < taken < said
