"""What one operation of a workload asks of an engine, on average: which key spaces there are, how
often each is read, scanned and written, and how unevenly.

The shares are those of the core's workloads (`rust_core/src/workload/`), which follow the original
programs; each function names its own. A workload without a description here has no first tier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from advisor.profile import Profile

Codec = str
"""`none`, `fast` (LZ4, Snappy), `zstd` or `zlib`."""


@dataclass(frozen=True, kw_only=True)
class Keys:
    """One key space: a table or an index. What is asked for together, such as the links of a node,
    is one item. Counts of reads and writes are those of one operation, at full size."""

    items: float
    item_bytes: float
    """Keys and values of all its rows."""
    row_bytes: float
    """Key and value of one row: what a write writes."""
    key_bytes: float
    skew: float = 0.0
    """Zipf's shape; 0 where all items are asked for as often."""
    gathered: bool = False
    """Whether items that are asked for often lie side by side; else they are scattered."""
    is_index: bool = False
    """Whether its rows are entries of a secondary index."""
    in_order: bool = False
    """Whether it was loaded in the order of its keys."""
    gets: float = 0.0
    """Rows asked for that exist."""
    absent_gets: float = 0.0
    seeks: float = 0.0
    seek_rows: float = 1.0
    """Rows that a seek returns."""
    overwrites: float = 0.0
    """Rows written that were there: also entries that move within their item."""
    changed_bytes: float = 0.0
    """Bytes in which a row that is overwritten differs from the one before."""
    inserts: float = 0.0
    """New rows, among the others."""
    appends: float = 0.0
    """New rows, behind the others."""
    unread: float = 0.0
    """Items written whose place was not looked up before by a get of the same operation."""

    @property
    def rows_per_item(self) -> float:
        return self.item_bytes / self.row_bytes

    @property
    def data_bytes(self) -> float:
        return self.items * self.item_bytes

    @property
    def writes(self) -> float:
        """Rows written."""
        return self.overwrites + self.inserts + self.appends

    @property
    def visits(self) -> float:
        """How often an item is looked for in a B-tree."""
        return self.gets + self.absent_gets + self.seeks + self.unread


@dataclass(frozen=True, kw_only=True)
class Demand:
    """One operation of a workload."""

    spaces: tuple[Keys, ...]
    compressed: Mapping[Codec, float]
    """Bytes that blocks of its rows compress to, per byte."""
    commits: float
    """Transactions that write."""
    statements: float = 0.0
    """Of a SQL server, that read or change rows."""
    transaction_controls: float = 0.0
    """BEGINs and COMMITs."""

    @property
    def has_tables(self) -> bool:
        return self.statements > 0

    @property
    def data_bytes(self) -> float:
        return sum(space.data_bytes for space in self.spaces)

    @property
    def user_bytes(self) -> float:
        """Keys and values that an operation writes."""
        return sum(space.writes * space.row_bytes for space in self.spaces)

    @property
    def writes(self) -> float:
        """Rows that an operation writes."""
        return sum(space.writes for space in self.spaces)


YCSB_SHARES: Mapping[str, Mapping[str, float]] = {
    "A": {"reads": 0.5, "updates": 0.5},
    "B": {"reads": 0.95, "updates": 0.05},
    "C": {"reads": 1.0},
    "D": {"reads": 0.95, "inserts": 0.05},
    "E": {"inserts": 0.05, "scans": 0.95},
    "F": {"reads": 0.5, "read-modify-writes": 0.5},
}
"""`workload/ycsb.rs`: the operations of each core workload."""

_LINKBENCH = (
    "add_link", "delete_link", "update_link", "count_link", "multiget_link", "get_link_list",
    "add_node", "update_node", "delete_node", "get_node",
)  # fmt: skip
LINKBENCH_SHARES: Mapping[str, Mapping[str, float]] = {
    mix: {name: percent / 100 for name, percent in zip(_LINKBENCH, percents, strict=True)}
    for mix, percents in {
        "facebook": (8.99, 2.99, 8.01, 4.89, 0.53, 50.71, 2.57, 7.37, 1.01, 12.93),
        "fork2020": (5.35, 0.98, 4.76, 4.28, 12.15, 22.57, 2.61, 3.06, 0.25, 43.99),
    }.items()
}
"""`workload/linkbench/mod.rs`, rounded to hundredths of a percent."""


def demand(profile: Profile) -> Demand | None:
    """What an operation of a profile's workload asks for; None if no formula knows the workload."""
    workload = profile.workload
    form = _FORMS.get(workload.kind)
    if form is None:
        return None
    defaults = {name: option.default for name, option in workload.info.parameters.items()}
    return form({**defaults, **workload.parameters}, float(profile.units), profile.clients)


def _codecs(fast: float, zstd: float, zlib: float) -> dict[Codec, float]:
    return {"none": 1.0, "snappy": fast, "lz4": fast, "zstd": zstd, "zlib": zlib}


def _ycsb(given: Mapping[str, Any], records: float, clients: int) -> Demand:
    """`workload/ycsb.rs`: a record is one value, whose update reads it and replaces one field. Its
    letters hold about 6 bits in 8 and repeat nowhere."""
    kinds = ("reads", "updates", "inserts", "scans", "read-modify-writes")
    shares = YCSB_SHARES[given["mix"]]
    reads, updates, inserts, scans, both = (shares.get(kind, 0.0) for kind in kinds)
    row = 23.0 + given["fields"] * given["field_bytes"]
    space = Keys(
        items=records,
        item_bytes=row,
        row_bytes=row,
        key_bytes=23,
        skew=given["zipf_shape"],
        gets=reads + updates + 2 * both,
        seeks=scans,
        seek_rows=(1 + given["scan_most"]) / 2,
        overwrites=updates + both,
        changed_bytes=given["field_bytes"],
        inserts=inserts,
        unread=inserts,
    )
    codecs = _codecs(1.0, 0.8, 0.8)
    return Demand(spaces=(space,), compressed=codecs, commits=updates + inserts + both)


def _db_bench(given: Mapping[str, Any], keys: float, clients: int) -> Demand:
    """`workload/db_bench.rs`. Random fills come to overwrite as they go; they are taken at their
    end. Values repeat so that they compress to their ratio; letters hold 6.6 bits in 8."""
    benchmark = given["benchmark"]
    writes = {"fillseq": 1.0, "fillrandom": 1.0, "overwrite": 1.0}.get(benchmark, 0.0)
    reads = {"readrandom": 1.0}.get(benchmark, 0.0)
    if benchmark == "readwhilewriting":
        # The writer is one of the clients, and none of them waits for another.
        writes, reads = 1.0 / clients, 1.0 - 1.0 / clients
    row = float(given["key_bytes"] + given["value_bytes"])
    appends = benchmark == "fillseq"
    space = Keys(
        items=keys,
        item_bytes=row,
        row_bytes=row,
        key_bytes=given["key_bytes"],
        in_order=appends or given["load_order"] == "sequential",
        gets=reads,
        seeks=1.0 if benchmark == "seekrandom" else 0.0,
        seek_rows=1.0 + given["seek_nexts"],
        overwrites=0.0 if appends else writes,
        changed_bytes=given["value_bytes"],
        appends=writes if appends else 0.0,
        unread=0.0 if appends else writes,
    )
    ratio = min(1.0, given["compression_ratio"] + 0.05)
    codecs = _codecs(ratio, 0.85 * ratio, 0.85 * ratio)
    return Demand(spaces=(space,), compressed=codecs, commits=writes / given["batch"])


def _key_value(given: Mapping[str, Any], keys: float, clients: int) -> Demand:
    """`workload/key_value.rs`: the share of zeros compresses away."""
    kinds = ("reads", "overwrites", "inserts", "scans")
    total = sum(given[kind] for kind in kinds) or 1
    reads, overwrites, inserts, scans = (given[kind] / total for kind in kinds)
    row = float(given["key_bytes"] + given["value_bytes"])
    hashed = given["key_order"] == "hashed"
    space = Keys(
        items=keys,
        item_bytes=row,
        row_bytes=row,
        key_bytes=given["key_bytes"],
        skew=given["zipf_shape"] if given["distribution"] == "zipfian" else 0.0,
        in_order=not hashed and given["load_order"] == "sequential",
        gets=reads * (1 - given["absent_share"]),
        absent_gets=reads * given["absent_share"],
        seeks=scans,
        seek_rows=1.0 + given["seek_nexts"],
        overwrites=overwrites,
        changed_bytes=given["value_bytes"],
        inserts=inserts if hashed else 0.0,
        appends=0.0 if hashed else inserts,
        unread=overwrites + (inserts if hashed else 0.0),
    )
    left = 1.0 - given["compressible_share"] * given["value_bytes"] / row
    return Demand(
        spaces=(space,), compressed=_codecs(left, left, left), commits=overwrites + inserts
    )


def _linkbench(given: Mapping[str, Any], ids: float, clients: int) -> Demand:
    """`workload/linkbench/`: the operations' shares, whether what they ask for exists, and the
    sizes of workloads.md, section 1. An item is all that one id has in a table. Ratios of
    compression: 425 bytes of 800 remain with zlib in MyRocks (there); zstd as zlib, and LZ4
    between, are assumptions."""
    add, delete, update, count, multiget, lists, add_node, change, drop, node = LINKBENCH_SHARES[
        given["mix"]
    ].values()
    put = add + update
    new = 0.95 * add + 0.1 * update
    entries = add + update + 0.9 * delete
    moved = 0.9 * (update + delete)
    counted = new + 0.9 * delete
    link, entry = 42.0 + given["link_data_median"] * 1.6, 46.0 + given["link_data_median"] * 1.6
    node_row = 28.0 + given["node_data_median"] * 1.6
    links = Keys(
        items=ids,
        item_bytes=4.4 * link,
        row_bytes=link,
        key_bytes=28,
        skew=0.8,
        in_order=True,
        gets=update + 0.9 * delete + 0.5 * 2.6 * multiget,
        absent_gets=add + 0.1 * delete + 0.5 * 2.6 * multiget,
        overwrites=put - new + 0.9 * delete,
        changed_bytes=30,
        inserts=new,
    )
    index = Keys(
        items=ids,
        item_bytes=4.4 * entry,
        row_bytes=entry,
        key_bytes=41,
        skew=0.8,
        in_order=True,
        is_index=True,
        seeks=lists,
        seek_rows=2.2,
        overwrites=entries - new + moved,
        changed_bytes=entry,
        inserts=new,
        unread=entries,
    )
    counts = Keys(
        items=ids,
        item_bytes=40,
        row_bytes=40,
        key_bytes=20,
        skew=0.8,
        in_order=True,
        gets=count + counted,
        overwrites=counted,
        changed_bytes=16,
    )
    nodes = Keys(
        items=ids,
        item_bytes=node_row,
        row_bytes=node_row,
        key_bytes=12,
        skew=0.61,
        in_order=True,
        gets=node + change + drop,
        overwrites=change + drop,
        changed_bytes=node_row - 12,
        appends=add_node,
    )
    return Demand(
        spaces=(links, index, counts, nodes),
        compressed=_codecs(0.7, 0.53, 0.53),
        commits=put + delete + add_node + change + drop,
        # An add of a link that is there takes one more, as does one of a link that was hidden.
        statements=1.0 + put + 2 * delete,
        transaction_controls=2 * (put + delete),
    )


def _insert_benchmark(given: Mapping[str, Any], rows: float, clients: int) -> Demand:
    """`workload/insert_benchmark.rs`: a row is appended, and an entry goes to a random place of
    each index. Ratios of compression: assumptions; half of the column data is random."""
    row = 21.0 + given["data_bytes"]
    table = Keys(
        items=rows,
        item_bytes=row,
        row_bytes=row,
        key_bytes=8,
        in_order=True,
        appends=1.0,
        absent_gets=1.0 if given["unique_check"] else 0.0,
    )
    entries = tuple(
        Keys(
            items=rows,
            item_bytes=19.0,
            row_bytes=19.0,
            key_bytes=19,
            is_index=True,
            inserts=1.0,
            unread=1.0,
        )
        for _ in range(given["secondary_indexes"])
    )
    return Demand(
        spaces=(table, *entries),
        compressed=_codecs(0.6, 0.45, 0.45),
        commits=1.0 / given["rows_per_commit"],
        statements=1.0 / given["rows_per_commit"],
    )


def _sysbench(given: Mapping[str, Any], rows: float, clients: int) -> Demand | None:
    """`workload/sysbench.rs`: workloads.md, section 3. Digits compress to about 0.47 with zlib and
    0.62 with LZ4 (there, recalled); zstd as zlib is an assumption."""
    gets, ranges, index_updates, other_updates, replaced, inserts, statements = {
        "oltp_point_select": (1, 0, 0, 0, 0, 0, 1),
        "oltp_read_only": (10, 4, 0, 0, 0, 0, 14),
        "oltp_read_write": (10, 4, 1, 1, 1, 0, 18),
        "oltp_write_only": (0, 0, 1, 1, 1, 0, 4),
        "oltp_update_index": (0, 0, 1, 0, 0, 0, 1),
        "oltp_update_non_index": (0, 0, 0, 1, 0, 0, 1),
        "oltp_insert": (0, 0, 0, 0, 0, 1, 1),
        "oltp_delete": (0, 0, 0, 0, 1, 0, 1),
    }[given["script"]]
    uneven = given["distribution"] != "uniform"
    updates = index_updates + other_updates
    table = Keys(
        items=rows * given["tables"],
        item_bytes=188.0,
        row_bytes=188.0,
        key_bytes=8,
        # The hottest hundredth of sysbench's special ids gets 76% of the draws, as Zipf's 0.99
        # gives it.
        skew=0.99 if uneven else 0.0,
        gathered=uneven,
        in_order=True,
        gets=gets + updates + replaced,
        seeks=ranges,
        seek_rows=given["range_size"],
        overwrites=updates + 2 * replaced,
        changed_bytes=120,
        appends=inserts,
    )
    moved = 2 * (index_updates + replaced)
    index = Keys(
        items=rows * given["tables"],
        item_bytes=12.0,
        row_bytes=12.0,
        key_bytes=12,
        is_index=True,
        overwrites=moved,
        changed_bytes=12,
        inserts=inserts,
        unread=moved + inserts,
    )
    writes = updates + replaced + inserts > 0
    return Demand(
        spaces=(table, index),
        compressed=_codecs(0.62, 0.47, 0.47),
        commits=float(writes),
        statements=statements,
        transaction_controls=2.0 if statements > 1 else 0.0,
    )


_FORMS: Mapping[str, Callable[[Mapping[str, Any], float, int], Demand | None]] = {
    "db_bench": _db_bench,
    "insert_benchmark": _insert_benchmark,
    "key_value": _key_value,
    "linkbench": _linkbench,
    "sysbench": _sysbench,
    "ycsb": _ycsb,
}
