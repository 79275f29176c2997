"""What settings need of memory, and how much cache a budget leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from advisor import engines, memory
from advisor.engines.lsm import MYROCKS_SERVER_BYTES
from advisor.engines.server import CONNECTION_BYTES, SERVER_BYTES
from advisor.imports.connections import Connections, read_connections
from advisor.knobs import ENGINES, Engine, Settings, catalogue
from advisor.memory import Load
from advisor.recommend.budget import budget_lines, crowded
from tests.support.problems import problem

MIB, GIB = 1 << 20, 1 << 30


def load(**where: int) -> Load:
    return replace(Load(clients=0, data_bytes=GIB, keys=1_000_000, has_tables=False), **where)


def parts(engine: Engine, settings: Settings, **where: int) -> dict[str, int]:
    found = memory.memory_parts(engine, settings, load(**where))
    return {part.name: part.bytes for part in found}


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_name_knobs_of_their_engine_and_add_up(engine: Engine) -> None:
    where = load(clients=8, keys=10_000_000)
    found = memory.memory_parts(engine, {}, where)
    assert {knob for part in found for knob in part.knobs} <= set(catalogue(engine))
    assert found[0].knobs == (engines.of(engine).cache_knob,)
    assert len({part.name for part in found}) == len(found)
    assert memory.memory_bytes(engine, {}, where) == sum(part.bytes for part in found)


def test_memory_of_the_lsm_is_the_sum_of_its_rules() -> None:
    settings = {
        "block_cache": GIB,
        "write_buffer_size": 64 << 20,
        "max_write_buffer_number": 4,
        "filter_policy": "bloomfilter:10:false",
    }
    found = parts("lsm", settings, data_bytes=40 * GIB, keys=100_000_000)
    assert found["block cache"] == GIB
    assert found["memtables"] == 256 << 20
    assert found["filters"] == 125_000_000
    assert found["indexes"] == 40 * GIB // 4096 * 28


def test_filters_and_indexes_in_the_cache_cost_nothing_besides() -> None:
    settings = {"filter_policy": "bloomfilter:10:false", "cache_index_and_filter_blocks": True}
    found = parts("lsm", settings, keys=10_000_000)
    assert (found["filters"], found["indexes"]) == (0, 0)


def test_only_direct_reads_of_compactions_need_buffers_for_what_they_read_ahead() -> None:
    def compactions(**settings: object) -> int:
        return parts("lsm", {"max_background_jobs": 8, **settings})["compactions"]

    direct = compactions(use_direct_reads=True)
    # Six threads, each with a compaction of four files of level 0 and one below.
    further = compactions(use_direct_reads=True, compaction_readahead_size=3 << 20)
    assert further - direct == 6 * 5 * MIB
    assert compactions(compaction_readahead_size=64 << 20) == compactions() < direct
    more = compactions(use_direct_reads=True, level0_file_num_compaction_trigger=12)
    assert more - direct == 6 * 8 * (2 << 20)


def test_what_builds_a_filter_keeps_a_hash_of_every_key_of_its_file() -> None:
    def compactions(keys: int) -> int:
        settings = {"filter_policy": "bloomfilter:16:false", "max_background_jobs": 1}
        return parts("lsm", settings, keys=keys, data_bytes=640 << 20)["compactions"]

    assert compactions(20_000_000) - compactions(10_000_000) == 1_000_000 * (8 + 2)


def test_no_part_of_small_data_is_larger_than_the_data_makes_it() -> None:
    settings = {"filter_policy": "bloomfilter:10:false", "target_file_size_base": 1 << 40}
    found = parts("lsm", settings, keys=10_000, data_bytes=MIB)
    assert found["compactions"] < 3 * MIB


def test_filters_without_the_last_level_take_a_tenth() -> None:
    def filters(hits: bool) -> int:
        settings = {"filter_policy": "bloomfilter:10:false", "optimize_filters_for_hits": hits}
        return parts("lsm", settings, keys=8_000)["filters"]

    assert (filters(False), filters(True)) == (10_000, 1_000)


def test_memory_of_the_btree_follows_pool_log_buffer_and_clients() -> None:
    settings = {"innodb_buffer_pool_size": GIB, "innodb_log_buffer_size": 16 << 20}

    def total(clients: int) -> int:
        return sum(parts("btree", settings, clients=clients).values())

    alone = round(1.08 * GIB) + (16 << 20) + SERVER_BYTES
    assert total(0) == pytest.approx(alone * 17 / 16, abs=1)
    assert total(10) - total(0) == pytest.approx(10 * CONNECTION_BYTES * 17 / 16, abs=1)


def test_an_lsm_of_tables_has_the_memory_of_a_server_and_its_connections() -> None:
    alone, served = (parts("lsm", {}, clients=8, has_tables=tables) for tables in (False, True))
    more = {name: size for name, size in served.items() if name not in alone}
    assert more == {"server": MYROCKS_SERVER_BYTES, "connections": 8 * CONNECTION_BYTES}
    same = alone.keys() - {memory.RESERVE}
    assert {name: served[name] for name in same} == {name: alone[name] for name in same}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_full_memory_keeps_a_reserve(engine: Engine) -> None:
    where = load(clients=8, data_bytes=64 * GIB, keys=10_000_000)
    size = memory.largest_cache(engine, {}, where, budget=16 * GIB)
    assert size is not None
    found = memory.memory_parts(engine, {engines.of(engine).cache_knob: size}, where)
    assert found[-1].name == "reserve"
    assert 0.058 * 16 * GIB < found[-1].bytes < 0.06 * 16 * GIB


@pytest.mark.parametrize("engine", ENGINES)
def test_the_largest_cache_fills_the_budget_and_no_more(engine: Engine) -> None:
    where = load(clients=8, keys=10_000_000)
    size = memory.largest_cache(engine, {}, where, budget=4 * GIB)
    assert size is not None
    used = memory.memory_bytes(engine, {engines.of(engine).cache_knob: size}, where)
    assert 4 * GIB - 2 * memory.MIB <= used <= 4 * GIB
    assert memory.largest_cache(engine, {}, where, budget=1 << 20) is None


CROWDED = "[mysqld]\nmax_connections = 800\nsort_buffer_size=8M\njoin_buffer_size=1M\n"


def test_connections_take_what_their_buffers_may_take(tmp_path: Path) -> None:
    path = tmp_path / "my.cnf"
    path.write_text(CROWDED)
    known = read_connections(path)
    assert known is not None
    assert (known.count, known.each_bytes) == (800, (9 << 20) + (724 << 10))
    path.write_text("[mysqld]\nsort_buffer_size=8M\n")
    assert read_connections(path) is None


def test_connections_that_do_not_fit_beside_the_rest_are_not_safe() -> None:
    profile = problem(memory="16GiB", clients=16)
    known = Connections(800, 10 << 20)
    pool = {"innodb_buffer_pool_size": 12 * GIB}
    crowd = memory.memory_parts("btree", pool, profile.memory_load)
    assert "max_connections=800 of up to 10MiB each may take 7.81GiB" in crowded(
        profile, crowd, known
    )
    assert crowded(profile, crowd, Connections(80, 10 << 20)) == ""


def test_the_lines_of_a_budget_add_up_to_the_memory() -> None:
    profile = problem(memory="4GiB")
    found = [memory.Part("a", ("block_cache",), GIB), memory.Part("reserve", (), GIB)]
    assert budget_lines(profile, found) == [
        ("a", "1GiB", "block_cache"),
        ("reserve", "1GiB", "for what the other lines do not know"),
        ("together", "2GiB", "of 4GiB"),
        ("left", "2GiB", ""),
    ]
    assert budget_lines(problem(memory="1GiB"), found)[-1] == ("missing", "1GiB", "")
