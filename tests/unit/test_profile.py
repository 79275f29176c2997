from pathlib import Path

import pytest

from advisor import profile
from advisor.data import data_path
from advisor.errors import InputError
from advisor.options import workload_kinds
from advisor.workload import Workload, kinds

GOOD = """\
text = "A test."
data = "1GiB"
memory = "128MiB"
clients = 4
hardware = "this-machine"
goal = "minimize p99_us subject to space_amp <= 2"
engines = ["btree"]

[workload]
kind = "db_bench"
benchmark = "overwrite"
value_bytes = 1000
"""


def test_every_shipped_profile_loads() -> None:
    found = profile.shipped()
    of_keys = {"ycsb-a", "ycsb-b", "ycsb-e", "fillrandom", "readwhilewriting"}
    assert of_keys | {"linkbench", "tpcc"} == set(found)
    for name, one in found.items():
        assert one.name == name
        assert one.text
        assert profile.load(name) == one


def test_every_shipped_machine_loads_and_names_its_source() -> None:
    machines = profile.shipped_hardware()
    assert len(machines) >= 4
    assert all(machine.source for machine in machines.values())
    assert machines["sata-ssd-2018"].cpu_cores == 56


def test_the_bundled_linkbench_is_20_gib_in_4_gib() -> None:
    linkbench = profile.load("linkbench")
    assert (linkbench.data_bytes, linkbench.memory_bytes) == (20 << 30, 4 << 30)
    assert linkbench.clients == 16
    assert linkbench.units == (20 << 30) // 800


def test_a_profile_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    mine = profile.load(path)
    assert (mine.name, mine.engines, mine.data_bytes) == ("mine", ("btree",), 1 << 30)
    assert str(mine.goal) == "minimize p99_us subject to space_amp <= 2"
    assert mine.workload.spec(mine.data_bytes) == {
        "kind": "db_bench",
        "benchmark": "overwrite",
        "keys": (1 << 30) // 1016,
        "value_bytes": 1000,
    }


def test_every_shipped_profile_says_which_machine_it_means() -> None:
    for name, found in profile.shipped().items():
        assert ("on this machine" if found.hardware.detect else "on a ") in found.text, name


def test_clients_default_to_what_is_usual_for_the_workload(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace("clients = 4\n", ""))
    assert profile.load(path).clients == kinds()["db_bench"].clients


def test_options_override_a_profile() -> None:
    changed = profile.load("linkbench").with_changes(data="8GiB", memory="1GiB", clients=2)
    assert (changed.data_bytes, changed.memory_bytes, changed.clients) == (8 << 30, 1 << 30, 2)
    assert changed.workload == profile.load("linkbench").workload


@pytest.mark.parametrize(
    ("old", "new", "where", "found", "accepted"),
    [
        ('data = "1GiB"', 'data = "big"', "data", "'big'", "a size"),
        ('data = "1GiB"', "data = -5", "data", "-5", "a size"),
        ('data = "1GiB"', 'data = "0"', "data", "'0'", "a size"),
        ('data = "1GiB"', "data = true", "data", "True", "a size"),
        ('data = "1GiB"\n', "", "data", "nothing", "required"),
        ("clients = 4", "clients = 0", "clients", "0", "greater than or equal to 1"),
        ("clients = 4", 'clients = "4"', "clients", "'4'", "integer"),
        ("this-machine", "my-machine", "hardware", "'my-machine'", "this-machine"),
        ("minimize p99_us", "maximize p99_us", "goal", "'maximize'", "minimize p99_us"),
        ("space_amp <= 2", "space <= 2", "goal", "'space'", "space_amp"),
        ('["btree"]', '["rocksdb"]', "engines", "'rocksdb'", "lsm or btree"),
        ('["btree"]', "[]", "engines", "[]", "a list of lsm and btree"),
        ('text = "A', 'txet = "A', "txet", "an unknown field", "workload, data, memory"),
        ("db_bench", "dbbench", "workload", "'dbbench'", "db_bench"),
        ("overwrite", "overwirte", "workload", "'overwirte'", "fillseq"),
        ("value_bytes", "value_size", "workload", "'value_size'", "value_bytes"),
        ("= 1000", "= -1", "workload", "-1 for value_bytes", "from 0 to"),
        ("value_bytes = 1000", "keys = 10", "workload", "keys", "the profile's data"),
    ],
)
def test_a_wrong_value_is_one_line_with_its_place(
    tmp_path: Path, old: str, new: str, where: str, found: str, accepted: str
) -> None:
    assert old in GOOD
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError) as caught:
        profile.load(path)
    error = caught.value
    assert (error.source, error.where) == (str(path), where)
    assert found in error.found
    assert accepted in error.accepted
    assert "\n" not in str(error)


def test_a_goal_for_an_operation_that_the_workload_has_not_names_those_it_has(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace("space_amp <= 2", "p99_us[put] <= 5ms"))
    assert profile.load(path).goal.operations == {"put"}
    path.write_text(GOOD.replace("space_amp <= 2", "p99_us[get] <= 5ms"))
    with pytest.raises(InputError) as caught:
        profile.load(path)
    told = str(caught.value)
    assert "a goal for the operation 'get'" in told
    assert "one that db_bench makes: put" in told
    assert "\n" not in told


def test_operations_depend_on_the_parameters() -> None:
    kind = {"kind": "insert_benchmark"}
    assert Workload.model_validate(kind).operations == ("insert",)
    scanned = Workload.model_validate({**kind, "query_clients": 2, "secondary_indexes": 2})
    assert scanned.operations == ("insert", "query_market", "query_register")


def test_a_syntax_error_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace("clients = 4", "clients = "))
    with pytest.raises(InputError) as caught:
        profile.load(path)
    assert caught.value.where == "4"


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        profile.load(path)


def test_an_unknown_name_is_answered_with_what_ships() -> None:
    with pytest.raises(InputError, match=r"'linkbnch'.*linkbench"):
        profile.load("linkbnch")


@pytest.mark.parametrize(
    ("table", "good"),
    [
        ({"kind": "linkbench", "mix": "fork2020"}, True),
        ({"kind": "linkbench", "mix": "mine"}, False),
        ({"kind": "db_bench", "sync": True}, True),
        ({"kind": "db_bench", "sync": 1}, False),
        ({"kind": "db_bench", "batch": 2.5}, False),
        ({"kind": "db_bench", "compression_ratio": 1}, True),
        ({"kind": "ycsb", "fields": True}, False),
        ({"kind": "ycsb", "records": 5}, False),
        ({"mix": "A"}, False),
        ("ycsb", False),
    ],
)
def test_parameters_are_checked_by_their_kind(table: object, good: bool) -> None:
    if good:
        Workload.model_validate(table)
    else:
        with pytest.raises(ValueError, match="validation error"):
            Workload.model_validate(table)


@pytest.mark.parametrize(
    ("table", "unit_bytes", "keys"),
    [
        ({"kind": "linkbench"}, 800, 11),
        ({"kind": "db_bench", "value_bytes": 400}, 416, 1),
        ({"kind": "key_value", "key_bytes": 20, "value_bytes": 1000}, 1020, 1),
        ({"kind": "ycsb", "fields": 5}, 523, 1),
        ({"kind": "insert_benchmark"}, 88, 4),
        ({"kind": "insert_benchmark", "data_bytes": 200}, 278, 4),
        ({"kind": "sysbench", "tables": 4}, 784, 8),
    ],
)
def test_a_size_of_data_is_units_and_keys(
    table: dict[str, object], unit_bytes: int, keys: int
) -> None:
    workload = Workload.model_validate(table)
    assert workload.unit_bytes == unit_bytes
    assert workload.units(1000 * unit_bytes) == 1000
    assert workload.keys(1000 * unit_bytes) == 1000 * keys
    assert workload.spec(1000 * unit_bytes)[workload.info.sized_by] == 1000


def test_the_core_has_the_same_workloads() -> None:
    in_core = workload_kinds()
    files = {path.stem for path in data_path("profiles", "workloads").glob("*.toml")}
    assert set(kinds()) == set(in_core) == files
    for name, kind in kinds().items():
        assert {*kind.parameters, kind.sized_by} == set(in_core[name].parameters)
        parts = {part for product in (*kind.unit_bytes, *kind.unit_keys) for part in product}
        counts = {part for part in parts if isinstance(part, str)} | set(kind.divided)
        assert all(kind.parameters[count].type == "integer" for count in counts)


def test_data_files_are_found_beside_the_package() -> None:
    assert data_path("profiles", "engines", "lsm.toml").is_file()
    with pytest.raises(FileNotFoundError, match=r"profiles/nothing\.toml"):
        data_path("profiles", "nothing.toml")


@pytest.mark.parametrize("machine", ["disk-array-2016", "cloud-volume", "this-machine"])
@pytest.mark.parametrize(
    "goal", ["maximize ops_per_s subject to drive_years >= 5", "minimize erases"]
)
def test_a_goal_that_no_trial_would_measure_is_refused(machine: str, goal: str) -> None:
    found = profile.load("linkbench").with_changes(hardware="nvme-2024", goal=goal)
    with pytest.raises(InputError, match=f"{found.goal.metrics[-1]} on {machine}"):
        found.with_changes(hardware=machine)
