"""The B-tree in closed form: pages and their fill, what the buffer pool holds, and when a page that
was changed is written.

docs/analytic.md has the formulas and their sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from advisor.analytic import codecs
from advisor.analytic.columns import Columns, Numbers
from advisor.analytic.demand import Demand, Keys
from advisor.analytic.machine import KB, Resources, with_cold_work
from advisor.analytic.popularity import Classes, Lru, pages

ALONE, SERVED = "innodb", "innodb"
"""Whose calls a workload of keys makes, and one of tables."""
KNOWS = (
    "innodb_buffer_pool_size",
    "innodb_page_size",
    "innodb_redo_log_capacity",
    "innodb_doublewrite",
    "innodb_compression_algorithm",
)
"""The knobs that these formulas look at."""

RANDOM_FILL = 0.693
"""ln 2 (Yao 1978)."""
ORDERED_FILL = 15 / 16
"""InnoDB leaves a 16th free in ordered loads."""
PAGE_OVERHEAD = 128.0
ROW_OVERHEAD, ENTRY_OVERHEAD, CHILD_OVERHEAD = 20.0, 8.0, 12.0
"""docs/model.md, B-tree: pages and their changes."""
REDO_RECORD_BYTES = 60.0
"""Beside the bytes that change, redo and undo of a change take 30 to 100 (cost-models.md 2.3)."""
USABLE_REDO = 0.75
"""Of the log's capacity, when pages are flushed for their age: the dirty age limit is 7/8 of what
is about 0.9 of it (docs/model.md, limits of the redo log)."""
BLOCK_BYTES = 512.0
HOLE_BYTES = 4096.0
"""Compressed pages take whole blocks of the file system."""
BATCH_PAGES = 128.0
CHUNK = 4096
"""Settings whose pages are reckoned at once."""


@dataclass(frozen=True)
class _Pages:
    """What an operation does to pages."""

    reads: Numbers
    writes: Numbers
    leaves: float
    """Bytes of all leaves, uncompressed."""
    height: float


def resources(
    settings: Columns, demand: Demand, prices: Mapping[str, float], free: Numbers, clients: int
) -> Resources:
    """What an operation needs under each of the settings. The pool reads past the page cache, so
    free memory serves nothing."""
    s = settings
    page = s.number("innodb_page_size")
    codec = s.each("innodb_compression_algorithm", codecs.place)
    stored = np.ceil(codecs.ratio(codec, demand) * page / HOLE_BYTES) * HOLE_BYTES
    zipped = (codec > 0) & (stored < page)
    stored = np.where(zipped, stored, page)
    redo = _redo_bytes(demand)
    reach = s.number("innodb_redo_log_capacity") * USABLE_REDO / max(redo, 1e-9)

    reads, writes = np.zeros(s.count), np.zeros(s.count)
    leaves, height = np.zeros(s.count), np.zeros(s.count)
    pool = s.number("innodb_buffer_pool_size")
    for size in np.unique(page):
        mine = page == size
        own = _pages(demand, float(size), pool[mine], reach[mine])
        reads[mine], writes[mine] = own.reads, own.writes
        leaves[mine], height[mine] = own.leaves, own.height

    entries = demand.writes
    visits = sum(space.visits for space in demand.spaces)
    seeks = sum(space.seeks for space in demand.spaces)
    gets = sum(space.gets + space.absent_gets for space in demand.spaces)
    scanned = sum(space.seeks * space.seek_rows for space in demand.spaces)
    rows = page / (demand.data_bytes / sum(sp.items * sp.rows_per_item for sp in demand.spaces))
    descent_ns = height * (
        2 * prices["cache_lookup"] + prices["page_touch"] + prices["compare"] * np.log2(rows + 2)
    )
    miss_ns = (
        prices["storage_call"]
        + prices["storage_wait"]
        + 3 * prices["page_touch"]
        + stored * (prices["checksum_byte"] + prices["storage_read_byte"])
        + np.where(zipped, codecs.unzip_ns(codec, page, prices), 0.0)
    )
    tables = [space for space in demand.spaces if not space.is_index]
    added = sum(space.inserts + space.appends for space in tables)
    changed = sum(space.overwrites for space in tables)
    change_ns = prices["tree_change"] + 2 * prices["record"] + prices["key_change"]
    logged = redo * (prices["copy_byte"] + prices["checksum_byte"] + prices["storage_write_byte"])
    commit_ns = prices["tree_transaction"] + prices["commit"] + prices["storage_write"]
    client_ns = (
        prices["operation"]
        + demand.statements * prices["statement"]
        + demand.transaction_controls * prices["transaction_control"]
        + gets * (prices["call"] + prices["point_read"])
        + seeks * (prices["call"] + prices["range_start"])
        + scanned * (prices["iterator_step"] + prices["record"] + prices["range_step"])
        + (visits + entries) * descent_ns
        + reads * miss_ns
        + entries * change_ns
        + (added * prices["row_insert"] + changed * prices["row_change"]) * demand.has_tables
        + demand.commits * (prices["call"] + commit_ns)
        + logged
    )
    doubled = s.number("innodb_doublewrite")
    flush_ns = (
        2 * prices["page_touch"]
        + prices["storage_write"]
        + page * (prices["copy_byte"] + prices["checksum_byte"])
        + stored * prices["storage_write_byte"]
        # One that saves no block has been compressed all the same.
        + codecs.zip_ns(codec, page, demand, prices)
    )
    at_commit = s.number("innodb_flush_log_at_trx_commit")
    syncs = demand.commits * (at_commit == 1)
    grouped = np.where(at_commit == 1, demand.commits / max(1.0, clients * demand.commits / 2), 0.0)
    # Each write ends in a block that the next one writes again.
    log_bytes = redo * 512 / 496 + np.where(at_commit > 0, demand.commits, 0.0) * BLOCK_BYTES
    cleaners = np.minimum(
        s.number("innodb_page_cleaners"),
        np.where(doubled > 0, s.number("innodb_doublewrite_files") + 1.0, 64.0),
    )
    return Resources(
        client_cpu_us=with_cold_work(client_ns, reads, prices) / 1e3,
        job_cpu_us=writes * flush_ns / 1e3,
        reads=reads,
        read_kb=reads * stored / KB,
        job_reads=np.zeros(s.count),
        job_read_kb=np.zeros(s.count),
        log_kb=log_bytes / KB + grouped * BLOCK_BYTES / KB,
        log_syncs=syncs,
        job_writes=writes * (1.0 + 2.0 / BATCH_PAGES * doubled),
        job_write_kb=writes * (stored + page * doubled) / KB,
        # A client that finds no free frame writes pages itself.
        job_threads=cleaners + clients,
        job_of=np.zeros(s.count),
        room_of=np.full(s.count, np.inf),
        slowed_per_us=np.full(s.count, np.inf),
        user_kb=demand.user_bytes / KB,
        space_amp=leaves * stored / page / demand.data_bytes,
        round_trips=demand.statements + demand.transaction_controls,
        round_trip_us=prices["round_trip"] / 1e3,
    )


def _pages(demand: Demand, size: float, pool: Numbers, reach: Numbers) -> _Pages:
    """Reads and writes of pages of one size."""
    spaces = demand.spaces
    per_page = [_items_per_page(space, size) for space in spaces]
    own = [pages(space, count) for space, count in zip(spaces, per_page, strict=True)]
    counts = [space.items / max(1.0, n) for space, n in zip(spaces, per_page, strict=True)]
    leaves = sum(counts) * size
    fan_out = [RANDOM_FILL * size / (space.key_bytes + CHILD_OVERHEAD) for space in spaces]
    inner = sum(n / (f - 1.0) for n, f in zip(counts, fan_out, strict=True)) * size
    lru = Lru.of([space.visits for space in spaces], own, size)
    time = lru.time(pool - np.minimum(inner, 0.5 * pool))
    reads = np.zeros(len(pool))
    for i, space in enumerate(spaces):
        miss = 1.0 - lru.hit_ratio(i, time)
        rows = RANDOM_FILL * size / (space.row_bytes + _overhead(space))
        reads += miss * (space.visits + space.seeks * (space.seek_rows - 1.0) / rows)
    writes = np.concatenate(
        [
            _written(spaces, own, time[i : i + CHUNK], reach[i : i + CHUNK])
            for i in range(0, len(pool), CHUNK)
        ]
    )
    # A page that fills up is split: half of it is a new page, which is written too.
    grown = sum(
        (space.inserts / RANDOM_FILL + space.appends / ORDERED_FILL)
        * (space.row_bytes + _overhead(space))
        / size
        for space in spaces
    )
    weights = [space.visits or 1e-9 for space in spaces]
    depth = [
        1.0 + np.ceil(np.log(max(2.0, n)) / np.log(f)) for n, f in zip(counts, fan_out, strict=True)
    ]
    height = float(np.average(depth, weights=weights))
    return _Pages(reads, writes + grown, leaves, height)


def _written(
    spaces: Sequence[Keys], own: Sequence[Classes], time: Numbers, reach: Numbers
) -> Numbers:
    """Pages written by an operation: one that is changed u times an operation is written
    u / (1 + u tau) times, if what was changed is written tau operations later. It is when its
    first change is about to leave the redo log, or when the page leaves the pool, after
    (e^(l t) - 1) / l operations on average where it is asked for l times an operation."""
    written = np.zeros(len(time))
    for space, classes in zip(spaces, own, strict=True):
        changes = (space.overwrites + space.inserts) * classes.rate
        asked = np.maximum(space.visits * classes.rate, changes).clip(1e-300)
        stay = np.expm1((np.outer(time, asked)).clip(0.0, 500.0)) / asked
        tau = 1.0 / (1.0 / reach[:, None] + 1.0 / stay.clip(1e-9))
        written += (changes / (1.0 + changes * tau)) @ classes.count
    return written


def _items_per_page(space: Keys, size: float) -> float:
    fill = ORDERED_FILL if space.in_order and not space.inserts else RANDOM_FILL
    item = space.item_bytes + space.rows_per_item * _overhead(space)
    return fill * (size - PAGE_OVERHEAD) / item


def _overhead(space: Keys) -> float:
    return ENTRY_OVERHEAD if space.is_index else ROW_OVERHEAD


def _redo_bytes(demand: Demand) -> float:
    """Of an operation."""
    return sum(
        space.overwrites * (space.changed_bytes + REDO_RECORD_BYTES)
        + (space.inserts + space.appends) * (space.row_bytes + REDO_RECORD_BYTES)
        for space in demand.spaces
    )
