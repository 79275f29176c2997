"""The LSM in closed form: levels, what is rewritten in them, what a read looks at.

After Monkey (Dayan et al. 2017), Dostoevsky (2018), Endure (Huynh et al. 2022) and what of them
holds for RocksDB's leveled compaction with dynamic levels; docs/analytic.md has the formulas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log

import numpy as np

from advisor.analytic import codecs
from advisor.analytic.columns import Columns, Numbers
from advisor.analytic.compaction import compacted, distinct, levels_of, runs_before, space_amp
from advisor.analytic.demand import Demand
from advisor.analytic.machine import KB, Resources, with_cold_work
from advisor.analytic.popularity import Lru, pages
from advisor.engines.lsm import INDEX_ENTRY_BYTES, background_threads
from advisor.knobs import Setting

ALONE, SERVED = "rocksdb", "myrocks"
"""Whose calls a workload of keys makes, and one of tables."""
KNOWS = (
    "write_buffer_size",
    "level0_file_num_compaction_trigger",
    "level0_slowdown_writes_trigger",
    "delayed_write_rate",
    "max_bytes_for_level_base",
    "max_bytes_for_level_multiplier",
    "level_compaction_dynamic_level_bytes",
    "max_background_jobs",
    "compaction_pri",
    "compaction_readahead_size",
    "compression",
    "bottommost_compression",
    "block_size",
    "filter_policy",
    "optimize_filters_for_hits",
    "block_cache",
    "cache_index_and_filter_blocks",
    "use_direct_reads",
)
"""The knobs that these formulas look at."""

LOG_RECORD_BYTES = 12.0
MEMTABLE_ENTRY_BYTES = 50.0
"""Beside key and value: sequence number, lengths, links of the skip list, rounding of the arena."""
PAGE_BYTES = 4096.0
JOURNAL_KB = 12.0
"""Of a synced log that grows: docs/model.md, journal."""
WRITE_KB = 1024.0
"""A job writes a table in pieces of 1 MiB."""
MERGE_COMPARES = 4.0
"""Of an entry, among the inputs of a compaction."""


def resources(
    settings: Columns, demand: Demand, prices: Mapping[str, float], free: Numbers, clients: int
) -> Resources:
    """What an operation needs under each of the settings; `free` is the memory that they leave, in
    which the operating system keeps pages of files that are not read directly."""
    s = settings
    free = np.where(s.number("use_direct_reads") > 0, 0.0, free)
    memtable = s.number("write_buffer_size")
    block = s.number("block_size")
    upper, last = _codecs(s)
    ratio_upper, ratio_last = _ratio(upper, demand), _ratio(last, demand)
    share = _row_share(demand)
    merged = distinct(demand)

    flushed = memtable * share
    trigger = s.number("level0_file_num_compaction_trigger")
    data = np.full(s.count, demand.data_bytes)
    levels = levels_of(s, data * ratio_last)
    wrote = compacted(s, levels, flushed, trigger, merged, ratio_upper, ratio_last)

    false_positive = s.each("filter_policy", _false_positives)
    level0 = trigger / 2.0 if demand.user_bytes else np.zeros(s.count)
    probed = level0 + levels.count - 1.0
    caches = _Caches.of(s, demand, free, ratio_last)

    present = sum(space.gets for space in demand.spaces)
    absent = sum(space.absent_gets for space in demand.spaces)
    seeks = sum(space.seeks for space in demand.spaces)
    bare_last = s.number("optimize_filters_for_hits")
    last_absent = np.where(bare_last > 0, 1.0, false_positive)
    passed = absent * last_absent
    in_vain, in_memtable = runs_before(levels, flushed, level0, merged, ratio_last)
    probes = false_positive * (present * in_vain + absent * probed)
    follow = sum(space.seeks * space.seek_rows * space.row_bytes / block for space in demand.spaces)
    looked_at = caches.found + (follow + passed) * caches.mean_miss
    above = probes + seeks * probed
    reads = looked_at + above * caches.upper_miss
    blocks = present * (1.0 - in_memtable) + seeks + follow + passed + above
    unzipped = caches.cpu_miss * blocks

    stored_kb = (block * ratio_last / KB + PAGE_BYTES / KB).clip(PAGE_BYTES / KB)
    readahead = s.number("compaction_readahead_size").clip(64 * KB)
    entries = demand.writes
    row = demand.user_bytes / entries if entries else 1.0
    job_entries = wrote.raw_kb * KB / row
    threads = s.each("max_background_jobs", _compactions)
    block_rows = block / _mean_row(demand)

    get_ns = (
        prices["call"]
        + prices["point_read"]
        + prices["memtable_step"] * np.log2(memtable / (row + MEMTABLE_ENTRY_BYTES) + 2.0)
        + (1.0 + in_vain) * np.where(false_positive < 1.0, prices["filter_probe"], 0.0)
    )
    block_ns = (
        2 * prices["cache_lookup"]
        + prices["compare"] * np.log2(data / block / 8.0 + 2.0)
        + prices["compare"] * np.log2(block_rows + 2.0)
        + prices["record"] * np.minimum(block_rows, 16.0) / 2
    )
    miss_ns = (
        prices["storage_call"]
        + 2 * prices["page_touch"]
        + block * ratio_last * (prices["checksum_byte"] + prices["storage_read_byte"])
        + codecs.unzip_ns(last, block, prices)
    )
    seek_ns = prices["call"] + prices["range_start"]
    rows_scanned = sum(space.seeks * space.seek_rows for space in demand.spaces)
    step_ns = prices["iterator_step"] + prices["record"] + prices["range_step"]
    put_ns = (
        prices["memtable_step"] * 1.3 * np.log2(memtable / (row + MEMTABLE_ENTRY_BYTES) + 2.0)
        + prices["record"]
        + prices["key_change"]
        + row * (prices["copy_byte"] + prices["checksum_byte"] + prices["storage_write_byte"])
    )
    tables = [space for space in demand.spaces if not space.is_index]
    added = sum(space.inserts + space.appends for space in tables)
    changed = sum(space.overwrites for space in tables)
    commit_ns = prices["call"] + prices["commit"] + prices["storage_write"]
    client_ns = (
        prices["operation"]
        + demand.statements * prices["statement"]
        + demand.transaction_controls * prices["transaction_control"]
        + (present + absent) * get_ns
        + blocks * block_ns
        + unzipped * miss_ns
        + reads * prices["storage_wait"]
        + seeks * seek_ns
        + rows_scanned * step_ns
        + entries * put_ns
        + (added * prices["row_insert"] + changed * prices["row_change"]) * demand.has_tables
        + demand.commits * commit_ns
    )
    job_ns = (
        job_entries
        * (2 * prices["record"] + MERGE_COMPARES * prices["compare"] + prices["merged_entry"])
        + wrote.upper_raw_kb * KB / block * _recoded(upper, block, demand, prices)
        + wrote.last_raw_kb * KB / block * _recoded(last, block, demand, prices)
        + wrote.raw_kb * KB * prices["merged_byte"]
        + (wrote.kb + wrote.read_kb) * KB * prices["checksum_byte"]
        + wrote.kb * KB * prices["storage_write_byte"]
    )
    # A compaction of level 0 takes all of the base level, and no other runs beside it.
    merging_kb = (flushed * trigger + levels.sizes[0] / ratio_last) / KB
    room = s.number("level0_slowdown_writes_trigger") - trigger
    room_kb = room.clip(0.0) * flushed / KB
    syncs = demand.commits * s.each("sync", float)
    # Who waits for a sync meanwhile is served by it too.
    grouped = syncs / max(1.0, clients * demand.commits / 2)
    logged = 1.0 - s.number("disable_wal")
    log_kb = (demand.user_bytes + demand.commits * LOG_RECORD_BYTES) / KB * logged
    index = (INDEX_ENTRY_BYTES + _filter_bytes(s, demand) * block_rows) / (block * ratio_last)
    return Resources(
        client_cpu_us=with_cold_work(client_ns, reads, prices) / 1e3,
        job_cpu_us=job_ns / 1e3,
        reads=reads,
        read_kb=reads * stored_kb,
        job_reads=wrote.read_kb * KB / readahead,
        job_read_kb=wrote.read_kb,
        log_kb=log_kb + grouped * (JOURNAL_KB + PAGE_BYTES / KB),
        log_syncs=syncs,
        job_writes=wrote.kb / WRITE_KB,
        job_write_kb=wrote.kb,
        job_threads=threads,
        job_of=merging_kb / wrote.raw_kb.clip(1e-9),
        room_of=room_kb / max(demand.user_bytes / KB, 1e-9),
        slowed_per_us=s.each("delayed_write_rate", _delayed_rate)
        / 1e6
        / max(demand.user_bytes, 1e-9),
        user_kb=demand.user_bytes / KB,
        space_amp=space_amp(levels) * ratio_last * (1.0 + index),
        round_trips=demand.statements + demand.transaction_controls,
        round_trip_us=prices["round_trip"] / 1e3,
    )


@dataclass(frozen=True)
class _Caches:
    """What the block cache and the operating system's page cache leave to the device."""

    found: Numbers
    """Reads of the last level for an operation."""
    mean_miss: Numbers
    upper_miss: Numbers
    """Part of the reads above the last level that goes to the device."""
    cpu_miss: Numbers
    """Part of the lookups that the block cache does not answer."""

    @classmethod
    def of(cls, s: Columns, demand: Demand, free: Numbers, ratio: Numbers) -> _Caches:
        """The page cache keeps blocks compressed, and counts as the uncompressed bytes that it
        holds (cost-models.md 3)."""
        cache = s.number("block_cache")
        block = s.number("block_size")
        in_cache = s.number("cache_index_and_filter_blocks") > 0
        index = demand.data_bytes / block * INDEX_ENTRY_BYTES
        index = index + _filter_bytes(s, demand) * demand.data_bytes / _mean_row(demand)
        cache = np.where(in_cache, cache - np.minimum(index, 0.9 * cache), cache)
        held = cache + free.clip(0.0) / ratio
        requests = [space.gets + space.absent_gets + space.seeks for space in demand.spaces]
        total = sum(requests)
        found, upper = np.zeros(s.count), np.zeros(s.count)
        mean, own_miss = np.zeros(s.count), np.zeros(s.count)
        if not total:
            return cls(found, mean, upper, own_miss)
        for size in np.unique(block):
            mine = block == size
            spaces = [pages(space, size / space.item_bytes) for space in demand.spaces]
            lru = Lru.of(requests, spaces, float(size))
            time, own_time = lru.time(held[mine]), lru.time(cache[mine])
            for i, space in enumerate(demand.spaces):
                miss = 1.0 - lru.hit_ratio(i, time)
                found[mine] += (space.gets + space.seeks) * miss
                mean[mine] += requests[i] / total * miss
                own_miss[mine] += requests[i] / total * (1.0 - lru.hit_ratio(i, own_time))
            # Blocks of upper levels are a T-th as many, and asked for as often.
            t = s.number("max_bytes_for_level_multiplier")[mine]
            count = demand.data_bytes / size / t
            upper[mine] = np.exp(-total * time / count)
        return cls(found, mean, np.minimum(upper, mean), own_miss)


def _row_share(demand: Demand) -> float:
    """Keys and values in the bytes of a memtable."""
    row = demand.user_bytes / demand.writes if demand.writes else 1.0
    return row / (row + MEMTABLE_ENTRY_BYTES)


def _mean_row(demand: Demand) -> float:
    rows = sum(space.items * space.rows_per_item for space in demand.spaces)
    return demand.data_bytes / rows


def _false_positives(policy: Setting) -> float:
    """Monkey: e^(-b ln^2 2) with b bits a key; without a filter every run is looked at."""
    return exp(-_bits(policy) * log(2) ** 2)


def _delayed_rate(rate: Setting) -> float:
    """Bytes per second; 0 stands for RocksDB's own 16 MiB."""
    return float(rate) or 16.0 * KB * KB


def _bits(policy: Setting) -> float:
    match = re.match(r"bloomfilter:([0-9.]+)", str(policy))
    return float(match[1]) if match else 0.0


def _filter_bytes(s: Columns, demand: Demand) -> Numbers:
    """Of each row."""
    t = s.number("max_bytes_for_level_multiplier")
    kept = np.where(s.number("optimize_filters_for_hits") > 0, 1.0 / t, 1.0)
    return s.each("filter_policy", _bits) / 8.0 * kept


def _compactions(jobs: Setting) -> float:
    """Threads for them: flushes have their own, and less to do."""
    return float(background_threads({"max_background_jobs": jobs})[1])


def _codecs(s: Columns) -> tuple[Numbers, Numbers]:
    """Codecs of the upper levels and of the last one, by their places in `_CODECS`."""
    upper = s.each("compression", lambda name: codecs.place(name))
    own = s.each(
        "bottommost_compression",
        lambda name: -1 if name == "kDisableCompressionOption" else codecs.place(name),
    )
    return upper, np.where(own < 0, upper, own)


def _recoded(
    codec: Numbers, block: Numbers, demand: Demand, prices: Mapping[str, float]
) -> Numbers:
    """Nanoseconds of a block that a compaction reads and writes."""
    return codecs.unzip_ns(codec, block, prices) + codecs.zip_ns(codec, block, demand, prices)


def _ratio(codec: Numbers, demand: Demand) -> Numbers:
    """Stored over uncompressed bytes: a block stays as it is unless an eighth is saved."""
    ratio = codecs.ratio(codec, demand)
    return np.where(ratio <= 0.875, ratio, 1.0)
