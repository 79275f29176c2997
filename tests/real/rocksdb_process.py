"""A process of its own that fills a RocksDB through rocksdict and says how much memory it took.

`python -m tests.real.rocksdb_process '{"settings": {...}, ...}'` prints bytes: the highest resident
set less that before the database was opened. The allocator is glibc's as it comes: every thread
has an arena, which `MALLOC_ARENA_MAX` would change.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from advisor import knobs
from advisor.knobs import Settings

KEY_BYTES = 16
BATCH = 100
STEP = 32


def resident_bytes(
    settings: Settings, *, clients: int, data_bytes: int, value_bytes: int, times: float
) -> int:
    """What RocksDB takes with these settings: random writes of `times` the data, reads until the
    cache is full, and once more what fills all memtables."""
    job = {
        "settings": dict(settings),
        "clients": clients,
        "keys": data_bytes // (KEY_BYTES + value_bytes),
        "value_bytes": value_bytes,
        "times": times,
    }
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.real.rocksdb_process", json.dumps(job), folder],
            capture_output=True,
            text=True,
            env={name: value for name, value in os.environ.items() if "MALLOC" not in name},
        )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def _options(settings: dict[str, Any]) -> Any:
    import rocksdict

    table = rocksdict.BlockBasedOptions()
    table.set_block_cache(rocksdict.Cache(settings["block_cache"]))
    table.set_block_size(settings["block_size"])
    if settings["filter_policy"] != "nullptr":
        table.set_bloom_filter(int(settings["filter_policy"].split(":")[1]), False)
    table.set_cache_index_and_filter_blocks(settings["cache_index_and_filter_blocks"])
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(table)
    options.set_write_buffer_size(settings["write_buffer_size"])
    options.set_max_write_buffer_number(settings["max_write_buffer_number"])
    options.set_min_write_buffer_number_to_merge(settings["min_write_buffer_number_to_merge"])
    options.set_max_background_jobs(settings["max_background_jobs"])
    options.set_level_zero_file_num_compaction_trigger(
        settings["level0_file_num_compaction_trigger"]
    )
    options.set_max_bytes_for_level_base(settings["max_bytes_for_level_base"])
    options.set_target_file_size_base(settings["target_file_size_base"])
    options.set_compaction_readahead_size(settings["compaction_readahead_size"])
    options.set_use_direct_reads(settings["use_direct_reads"])
    codecs = {"kNoCompression": "none", "kLZ4Compression": "lz4", "kZSTD": "zstd"}
    codec = getattr(rocksdict.DBCompressionType, codecs[settings["compression"]])
    options.set_compression_type(codec())
    return options


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no {name} in /proc/self/status")


def _in_threads(count: int, action: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=action, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _main(job: dict[str, Any], folder: str) -> None:
    import numpy
    import rocksdict

    settings = {**knobs.defaults("lsm"), **job["settings"]}
    clients, keys, value_bytes = job["clients"], job["keys"], job["value_bytes"]
    noise = os.urandom(1 << 20)
    options = _options(settings)
    numpy.random.default_rng(0).integers(0, keys, BATCH)
    before = _status("VmRSS")
    database = rocksdict.Rdict(folder, options)

    def write(number: int, rows: int) -> None:
        source = numpy.random.default_rng(number)
        for _ in range(rows // clients // BATCH):
            batch = rocksdict.WriteBatch(raw_mode=True)
            for key in source.integers(0, keys, BATCH).tolist():
                at = key * 7919 % (len(noise) - value_bytes)
                batch.put(b"%016d" % key, noise[at : at + value_bytes])
            database.write(batch)

    # In step, as clients on cores of their own are: one that reads alone for a time slice would put
    # the blocks of that time into its arena, and the next one into its own.
    in_step = threading.Barrier(clients)

    def read(number: int) -> None:
        source = numpy.random.default_rng(100 + number)
        blocks = settings["block_cache"] // settings["block_size"]
        for _ in range(3 * blocks // clients // STEP):
            in_step.wait()
            for key in source.integers(0, keys, STEP).tolist():
                database.get(b"%016d" % key)

    memtables = settings["write_buffer_size"] * (settings["max_write_buffer_number"] + 1)

    def all_of_it(number: int) -> None:
        write(number, int(keys * job["times"]))
        read(number)
        write(number, memtables // (KEY_BYTES + value_bytes))

    _in_threads(clients, all_of_it)
    print(_status("VmHWM") - before)


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]), sys.argv[2])
