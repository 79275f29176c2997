"""What calls of the real RocksDB, MyRocks and InnoDB cost beyond this core's own work: the figures
of `profiles/calls/`. Not a test: it measures CPU time, of db_bench and of mariadbd under sysbench,
where these are installed.

CPU time is that of the thread that serves the client, so that programs beside it disturb little; of
several repetitions the least counts. Differences between statements give the costs of calls:

    point_read    a joined row less a row that is only summed
    range_step    ranges of 100 and of 10 rows
    range_start   a range of 10 rows, less a statement and its steps
    key_change    updates of an indexed and of another column: a key out, a key in
    row_change    a row of an update of many, less its step and its key
    sorted_row, sorted_result
                  ranges that are ordered or distinct, the mean of both, less ranges that are not
    row_insert    a row of an INSERT of many, less the look for its key and its two keys
    commit        an update of one row, less everything above
    statement     a point select, less its point read
    transaction_control
                  half of a BEGIN and a COMMIT with nothing between them
    zipped_byte, unzipped_byte: see `zlib_bytes`

Of this the core's own charge for the same call is taken off, at its default costs. They are those
of another processor: `speed` is how much longer than here the core's own work takes there.

    python -m tests.calibration.server_calls [RAW.json]

On a machine that is not idle even the least of some repetitions is too much; RAW.json keeps the
least of all runs that were given it.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from advisor.core import load, run
from advisor.hardware import hardware
from advisor.knobs import Engine
from advisor.scale import machine_spec
from advisor.spec import Report
from tests.calibration.zlib_bytes import PAGE_BYTES, zlib_ns
from tests.real import mariadb_server

MIB = 1 << 20
REPETITIONS = 3
ROWS = 100_000
VALUE_BYTES = 190
"""About those of a row of sysbench, for which db_bench and the core's own runs stand in."""
SHAPES = Path(__file__).with_suffix(".lua")
Costs = dict[str, float]


def threads_ns(pid: int) -> dict[str, tuple[str, int]]:
    """The name and the CPU time of each thread of a process."""
    found = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (thread / "comm").read_text().strip()
            found[thread.name] = (name, int((thread / "schedstat").read_text().split()[0]))
        except OSError:
            continue  # The thread ended meanwhile.
    return found


# --- the core's own engines ---

OWN: Mapping[Engine, Mapping[str, Any]] = {
    "lsm": {"block_cache": 1024 * MIB, "filter_policy": "bloomfilter:10"},
    "btree": {"innodb_buffer_pool_size": 1024 * MIB, "innodb_flush_log_at_trx_commit": 2},
}
FILL_MEMTABLE = 4 * MIB
NO_COMPACTION = {
    "disable_wal": True,
    "disable_auto_compactions": True,
    "level0_file_num_compaction_trigger": 1_000,
    "level0_slowdown_writes_trigger": 10_000,
    "level0_stop_writes_trigger": 10_000,
}
COMPACTED = {
    "disable_wal": True,
    "write_buffer_size": 8 * MIB,
    "target_file_size_base": 8 * MIB,
    "max_bytes_for_level_base": 32 * MIB,
    "compression": "kLZ4Compression",
}
OVERWRITTEN = 300_000
"""Rows: as RocksDB's memtable of 64 MB in the server, the core's fills up about once."""
FILLED = 1_000_000
"""Keys of a fill: with their values four times the first level of `COMPACTED`."""


def own(engine: Engine, benchmark: str, operations: int, measured: bool, **more: Any) -> Report:
    """One of the core's own runs, on its default costs or measured."""
    spec: dict[str, Any] = {
        "engine": engine,
        "options": {**OWN[engine], **more.pop("options", {})},
        "workload": {
            "kind": "db_bench",
            "benchmark": benchmark,
            "keys": ROWS,
            "value_bytes": VALUE_BYTES,
            **more,
        },
        "operations": operations,
        "clients": 1,
        "seed": 1,
    }
    if benchmark in ("readrandom", "seekrandom", "overwrite"):
        spec["workload"]["load_order"] = "sequential"
    if not measured:
        machine = machine_spec(hardware("nvme-2024")) | {"cost": {}}
        return run({**spec, "clock": "simulated", "hardware": machine})
    with tempfile.TemporaryDirectory(prefix="tunebench-") as folder:
        return run({**spec, "directory": f"{folder}/run"})


def own_ns(engine: Engine, measured: bool) -> Costs:
    """CPU time of the core's own calls, the client's part left in."""

    def cost(benchmark: str, operations: int, **more: Any) -> float:
        once = range(REPETITIONS if measured else 1)
        reports = (own(engine, benchmark, operations, measured, **more) for _ in once)
        return min(1e3 * float(one["metrics"]["cpu_us_per_op"]) for one in reports)

    return {
        "read": cost("readrandom", 300_000),
        "seek": cost("seekrandom", 200_000, seek_nexts=0),
        "seek 100": cost("seekrandom", 30_000, seek_nexts=100),
        "write 1": cost("overwrite", OVERWRITTEN, batch=1),
        "write 8": cost("overwrite", OVERWRITTEN, batch=8),
    }


def calls_of(runs: Costs, client_ns: float) -> Costs:
    """Costs of calls from those of runs of one thread."""
    key = (8 * runs["write 8"] - runs["write 1"]) / 7
    return {
        "point_read": runs["read"] - client_ns,
        "range_start": runs["seek"] - client_ns,
        "range_step": (runs["seek 100"] - runs["seek"]) / 100,
        "key_change": key,
        "commit": runs["write 1"] - key - client_ns,
    }


def own_fill_ns() -> Costs:
    """Default cost of keys put into memtables of `FILL_MEMTABLE`, in batches of 1 and of 8."""
    options = NO_COMPACTION | {"write_buffer_size": FILL_MEMTABLE}
    cost = {}
    for batch in (1, 8):
        report = own("lsm", "fillrandom", FILLED, False, keys=FILLED, batch=batch, options=options)
        # The client never waits for the jobs, whose CPU time is not asked about here.
        assert report["metrics"]["stall_s"] == 0
        cost[f"write {batch}"] = 1e9 / float(report["metrics"]["ops_per_s"])
    return cost


def own_merged_ns(kinds: Mapping[str, float]) -> float:
    """Default cost of an entry that a flush or compaction takes in: what a fill that compacts does
    beyond one that only fills memtables of the same size."""
    options = COMPACTED | {"filter_policy": "bloomfilter:10"}
    report = own("lsm", "fillrandom", FILLED, False, keys=FILLED, batch=100, options=options)
    work: Mapping[str, int] = report["work"]
    of_clients = {
        "call",
        "operation",
        "memtable_step",
        "cache_miss",
        "memory_miss",
        "merged_entry",
    }
    of_jobs = {name: units for name, units in work.items() if name not in of_clients}
    of_jobs["record"] -= FILLED
    return sum(units * kinds[name] for name, units in of_jobs.items()) / work["merged_entry"]


# --- RocksDB by itself ---

SWITCHED_KIB = (64, 128, 256, 512)


def db_bench(folder: Path, benchmarks: str, *more: str) -> tuple[float, str]:
    """CPU time of the thread that runs the benchmarks, and what db_bench printed."""
    command = ["db_bench", f"--db={folder}", f"--benchmarks={benchmarks}", "--threads=1"]
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([*command, *more], stdout=out, stderr=subprocess.STDOUT)
        seen: dict[str, tuple[str, int]] = {}
        while process.poll() is None:
            try:
                seen |= threads_ns(process.pid)
            except OSError:
                break
            time.sleep(0.004)
        assert process.wait() == 0
        out.seek(0)
        text = out.read()
    seen.pop(str(process.pid), None)
    return float(sum(ns for name, ns in seen.values() if not name.startswith("rocksdb"))), text


def rocksdb_ns(folder: Path) -> Costs:
    """CPU time of runs as in `own_ns`, of a memtable switch, and of an entry taken in by a job."""
    rows = (f"--num={ROWS}", f"--value_size={VALUE_BYTES}", "--bloom_bits=10")
    plain = ("--compression_type=none", "--cache_size=1000000000")
    db_bench(folder, "fillseq,compact", *rows, *plain)

    def cost(benchmark: str, operations: int, *more: str) -> float:
        """Of an operation: a long run less a short one, which open the database alike."""
        asked = (benchmark, *rows, *plain, "--use_existing_db=1", *more)
        found = []
        for _ in range(REPETITIONS):
            short, long = (
                db_bench(folder, *asked, f"--reads={times * operations}")[0] for times in (1, 3)
            )
            found.append((long - short) / (2 * operations))
        return min(found)

    return {
        "read": cost("readrandom", 400_000),
        "seek": cost("seekrandom", 200_000, "--seek_nexts=0"),
        "seek 100": cost("seekrandom", 40_000, "--seek_nexts=100"),
        "write 1": fill_ns(folder, FILLED, 1, FILL_MEMTABLE)[0],
        "write 8": fill_ns(folder, FILLED, 8, FILL_MEMTABLE)[0],
        "memtable_switch": switch_ns(folder),
        "merged_entry": merged_ns(folder),
    }


def fill_ns(
    folder: Path, keys: int, batch: int, memtable: int, value_bytes: int = VALUE_BYTES
) -> tuple[float, float]:
    """CPU time of a key put into memtables of this size, without log and compaction, and how many
    keys a memtable held."""
    found = []
    for _ in range(REPETITIONS):
        shutil.rmtree(folder, ignore_errors=True)
        ns, text = db_bench(
            folder,
            "fillrandom,stats",
            f"--num={keys}",
            f"--batch_size={batch}",
            f"--value_size={value_bytes}",
            f"--write_buffer_size={memtable}",
            "--disable_wal=1",
            "--disable_auto_compactions=1",
            "--level0_slowdown_writes_trigger=100000",
            "--level0_stop_writes_trigger=100000",
            "--compression_type=none",
        )
        found.append(ns / keys)
    flushes = re.search(r"^ *Sum +(\d+)/", text, re.MULTILINE)
    assert flushes, text
    return min(found), keys / int(flushes[1])


def switch_ns(folder: Path) -> float:
    """From fills of small memtables: a key costs `a + b log2(keys) + switch / keys`."""
    import numpy as np

    fills = [fill_ns(folder, 400_000, 8, kib << 10, value_bytes=100) for kib in SWITCHED_KIB]
    costs = np.array([cost for cost, _ in fills])
    terms = np.array([(1.0, math.log2(keys), 1 / keys) for _, keys in fills])
    answer, *_ = np.linalg.lstsq(terms, costs, rcond=None)
    return max(0.0, float(answer[2]))


def merged_ns(folder: Path) -> float:
    """By RocksDB's own account of CPU time and keys of its jobs."""
    shutil.rmtree(folder, ignore_errors=True)
    _, text = db_bench(
        folder,
        "fillrandom,waitforcompaction,stats",
        f"--num={FILLED}",
        f"--value_size={VALUE_BYTES}",
        "--batch_size=100",
        "--disable_wal=1",
        f"--write_buffer_size={8 * MIB}",
        f"--target_file_size_base={8 * MIB}",
        f"--max_bytes_for_level_base={32 * MIB}",
        "--level_compaction_dynamic_level_bytes=1",
        "--compression_type=lz4",
        "--bloom_bits=10",
    )
    whole = re.search(r"^ *Sum +(.*)$", text, re.MULTILINE)
    assert whole, text
    columns = whole[1].split()
    cpu_s, keys = float(columns[-7]), _thousands(columns[-4])
    return 1e9 * cpu_s / (keys + FILLED)


def _thousands(text: str) -> float:
    return float(text.rstrip("KM")) * {"K": 1e3, "M": 1e6}.get(text[-1], 1.0)


# --- a SQL server ---

SERVER = """[mysqld]
skip-log-bin
query_cache_type = 0
innodb_buffer_pool_size = 1G
innodb_log_file_size = 1G
innodb_flush_log_at_trx_commit = 2
"""
MYROCKS = """plugin_load_add = ha_rocksdb
rocksdb_block_cache_size = 1G
rocksdb_flush_log_at_trx_commit = 2
"""


def statements_ns(storage: str) -> Costs:
    """CPU time of the connection's thread, by statement and rows."""
    engine = storage.removeprefix("storage ")
    found: Costs = {}
    with tempfile.TemporaryDirectory(prefix="tunebench-") as place:
        folder = Path(place)
        cnf = folder / "my.cnf"
        cnf.write_text(SERVER + (MYROCKS if engine == "rocksdb" else ""))
        data = mariadb_server.install(folder)
        with mariadb_server.running(cnf, data) as server:
            pid = int((folder / "pid").read_text())
            server.rows("CREATE DATABASE sbtest")
            server.sysbench(
                ROWS, "oltp_point_select", f"--mysql-storage-engine={engine}", "prepare"
            )
            if engine == "rocksdb":
                server.rows("SET GLOBAL rocksdb_force_flush_memtable_and_lzero_now = 1")
                server.rows("SET GLOBAL rocksdb_compact_cf = 'default'")
            server.rows("ANALYZE TABLE sbtest.sbtest1")
            for shape, rows, events in STATEMENTS:
                least = math.inf
                for _ in range(REPETITIONS):
                    before = threads_ns(pid)
                    asked = (f"--events={events}", "--time=0", "--db-ps-mode=disable")
                    drawn = (f"--shape={shape}", f"--rows={rows}")
                    server.sysbench(ROWS, str(SHAPES), *drawn, *asked, "run")
                    # Threads of connections are kept, and no other thread does as much.
                    after = threads_ns(pid)
                    used = (ns - before.get(tid, ("", 0))[1] for tid, (_, ns) in after.items())
                    least = min(least, max(used) / events)
                found[f"{shape} {rows}"] = least
                print(f"{engine} {shape} {rows}: {least:.0f} ns", file=sys.stderr, flush=True)
    return found


STATEMENTS = (
    ("point", 1, 40_000),
    ("range", 10, 30_000),
    ("range", 100, 10_000),
    ("sum", 100, 10_000),
    ("joined", 100, 4_000),
    ("update_one", 1, 20_000),
    ("update", 10, 8_000),
    ("update", 100, 1_500),
    ("update_index", 10, 5_000),
    ("update_index", 100, 800),
    ("insert", 10, 5_000),
    ("insert", 100, 500),
    ("begin_commit", 1, 30_000),
    ("ordered", 10, 20_000),
    ("ordered", 100, 8_000),
    ("distinct", 10, 10_000),
    ("distinct", 100, 5_000),
)


def server_calls_ns(cost: Costs) -> Costs:
    """Costs of calls from those of statements."""
    read = (cost["joined 100"] - cost["sum 100"]) / 100
    step = (cost["range 100"] - cost["range 10"]) / 90
    statement = cost["point 1"] - read
    changed = (cost["update 100"] - cost["update 10"]) / 90
    key = ((cost["update_index 100"] - cost["update_index 10"]) / 90 - changed) / 2
    row = changed - step - key
    inserted = (cost["insert 100"] - cost["insert 10"]) / 90
    sorts = [sort_ns(cost, shape) for shape in ("ordered", "distinct")]
    return {
        "statement": statement,
        "transaction_control": cost["begin_commit 1"] / 2,
        "sorted_result": sum(result for result, _ in sorts) / len(sorts),
        "sorted_row": sum(row for _, row in sorts) / len(sorts),
        "point_read": read,
        "range_start": cost["range 10"] - statement - 10 * step,
        "range_step": step,
        "row_insert": inserted - read - 2 * key,
        "row_change": row,
        "key_change": key,
        "commit": cost["update_one 1"] - statement - read - row - key,
    }


def sort_ns(cost: Costs, shape: str) -> tuple[float, float]:
    """Of a result that is sorted and of each of its rows, beyond a range that is not."""
    few, many = (cost[f"{shape} {rows}"] - cost[f"range {rows}"] for rows in (10, 100))
    row = (many - few) / 90
    return few - 10 * row, row


# --- all together ---


def beyond(real: Costs, speed: float, own_calls: Costs) -> Costs:
    """What remains when the core's own charge is taken off, rounded to 10 ns."""
    left = {name: speed * ns - own_calls.get(name, 0.0) for name, ns in real.items()}
    return {name: max(0.0, round(ns, -1)) for name, ns in left.items()}


def measure() -> dict[str, Costs]:
    """Everything that takes time, in nanoseconds."""
    with tempfile.TemporaryDirectory(prefix="tunebench-") as place:
        rocksdb = rocksdb_ns(Path(place) / "db")
    found = {f"own {engine}": own_ns(engine, measured=True) for engine in OWN}
    served = {storage: statements_ns(storage) for storage in SERVED}
    return found | {"rocksdb": rocksdb, "zlib": zlib_ns()} | served


SERVED: Mapping[str, tuple[str, Engine]] = {
    "storage rocksdb": ("myrocks", "lsm"),
    "storage innodb": ("innodb", "btree"),
}


def tables(raw: Mapping[str, Costs]) -> dict[str, Costs]:
    """What calls cost beyond the core's own work, by product."""
    kinds = {kind["name"]: float(kind["ns"]) for kind in load().work_kinds()}
    there = {engine: own_ns(engine, measured=False) for engine in OWN}
    pairs = [(there[one][name], raw[f"own {one}"][name]) for one in OWN for name in there[one]]
    speed = math.exp(sum(math.log(slow / fast) for slow, fast in pairs) / len(pairs))
    print(f"speed {speed:.2f}: {[round(slow / fast, 2) for slow, fast in pairs]}", file=sys.stderr)
    library = raw["rocksdb"]
    bare = calls_of(there["lsm"] | own_fill_ns(), kinds["operation"])
    merged = speed * library["merged_entry"] - own_merged_ns(kinds)
    jobs = {
        "memtable_switch": round(speed * library["memtable_switch"], -1),
        "merged_entry": max(0.0, round(merged, -1)),
    }
    found = {"rocksdb": beyond(calls_of(library, kinds["operation"] / speed), speed, bare) | jobs}
    for storage, (product, engine) in SERVED.items():
        real = server_calls_ns(raw[storage])
        print(product, {name: round(ns) for name, ns in real.items()}, file=sys.stderr)
        found[product] = beyond(real, speed, calls_of(there[engine], kinds["operation"]))
    found["myrocks"] |= jobs
    real = {name: speed * ns for name, ns in raw["zlib"].items()}
    for product, costs in found.items():
        is_page = product == "innodb"
        zipped = real["page in" if is_page else "library in"] - own_zlib_ns(kinds, "compress")
        unzipped = real["library out"] - own_zlib_ns(kinds, "decompress")
        unzipped += real["page out"] if is_page else 0.0
        costs["zipped_byte"] = max(0.0, round(zipped, 1))
        costs["unzipped_byte"] = max(0.0, round(unzipped, 2))
    return found


def own_zlib_ns(kinds: Costs, direction: str) -> float:
    """The core's own charge for a byte of the pages that `zlib_ns` measures."""
    return kinds[f"{direction}_zlib_byte"] + kinds[f"{direction}_zlib_block"] / PAGE_BYTES


def main() -> None:
    """Prints the tables of a file of `profiles/calls/`."""
    raw = measure()
    if len(sys.argv) > 1:
        kept = Path(sys.argv[1])
        before = json.loads(kept.read_text()) if kept.is_file() else {}
        for part, costs in raw.items():
            known: Costs = before.get(part, {})
            raw[part] = {name: min(ns, known.get(name, ns)) for name, ns in costs.items()}
        kept.write_text(json.dumps(raw, indent=1))
    for product, costs in tables(raw).items():
        print(f"\n[{product}]", *(f"{name} = {ns:g}" for name, ns in costs.items()), sep="\n")


if __name__ == "__main__":
    main()
