"""What a table of predictions and real runs says."""

import fcntl
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from advisor import engines
from advisor.errors import InputError
from advisor.evaluate import needed_memory
from advisor.knobs import Setting
from advisor.real import Library, Server
from advisor.validation import (
    SUITES,
    Case,
    Configuration,
    Progress,
    Row,
    Suite,
    add,
    agreement,
    failures,
    fill,
    read,
    renew,
    rivalries,
    shipped,
    wrong_winners,
)
from advisor.validation.agreement import spearman
from advisor.validation.run import as_in_table, host
from tests.support.fake_core import FakeCore, RunError, SpecError

SUITE = SUITES["rocksdb"]
_BOTH = ("predicted", "real")


def row(configuration: str, source: str, value: float, repeat: int = 1, **other: str) -> Row:
    product = "RocksDB 10.4.2" if source == "real" else ""
    given = {
        "case": "overwrite",
        "work": "w1",
        "settings": "a1",
        "metric": "ops_per_s",
        "core": "" if product else "0.1.0",
        "host": "m",
        **other,
    }
    return Row(
        configuration=configuration,
        source=source,
        repeat=repeat,
        value=value,
        product=product,
        **given,
    )


def test_ranks_are_compared_and_ties_share_theirs() -> None:
    assert spearman([1, 2, 3], [10, 20, 300]) == pytest.approx(1.0)
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1.0)
    # Ranks 0, 1.5, 1.5, 3 and 0, 1, 2, 3.
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9487, abs=1e-4)
    assert spearman([1, 2], [1, 2]) is None
    assert spearman([1, 1, 1], [1, 2, 3]) is None


def test_the_usual_and_the_worst_ratio_are_of_geometric_means() -> None:
    rows = [row("a", "predicted", 200), row("a", "real", 100), row("a", "real", 400, 2)]
    rows += [row("b", "predicted", 100), row("b", "real", 400), row("only real", "real", 1)]
    (found,) = agreement(rows)
    assert (found.case, found.metric, found.configurations) == ("overwrite", "ops_per_s", 2)
    assert found.median_ratio == pytest.approx((1.0 + 0.25) / 2)
    assert found.worst_ratio == pytest.approx(0.25)
    assert found.spearman is None


def test_a_wrong_winner_loses_more_than_a_tenth_and_the_noise() -> None:
    sides = {"a": (300, 100), "b": (200, 140), "c": (100, 138)}
    rows = [row(name, "predicted", predicted) for name, (predicted, _) in sides.items()]
    rows += [row(name, "real", real) for name, (_, real) in sides.items()]
    rows += [row("a", "real", 101, 2), row("a", "real", 99, 3)]
    (found,) = wrong_winners(rows)
    assert (found.predicted.configuration, found.predicted.predicted) == ("a", pytest.approx(300))
    assert (found.real.configuration, found.real.real) == ("b", pytest.approx(140))
    assert found.loss == pytest.approx(1 - 100 / 140, abs=1e-3)
    assert found.is_wrong
    noisy = [*rows, row("b", "real", 60, 2), row("b", "real", 300, 3)]
    assert not wrong_winners(noisy)[0].is_wrong


def test_less_is_better_where_the_metric_says_so() -> None:
    paced = {"case": "paced", "metric": "write_amp"}
    rows = [row("a", "predicted", 2, **paced), row("b", "predicted", 4, **paced)]
    rows += [row("a", "real", 3, **paced), row("b", "real", 5, **paced)]
    (found,) = wrong_winners(rows)
    assert (found.predicted.configuration, found.real.configuration) == ("a", "a")
    assert not found.is_wrong


def test_products_are_compared_at_all_settings_on_the_same_work_and_machine() -> None:
    def table(sides: Mapping[str, tuple[float, float]], **where: str) -> list[Row]:
        told = {"case": "linkbench", **where}
        return [
            row(name, source, value, **told)
            for name, values in sides.items()
            for source, value in zip(("predicted", "real"), values, strict=True)
        ]

    innodb = table({"small pool": (100, 100), "full pool": (200, 400)})
    myrocks = table({"squeezed": (200, 180), "textbook": (110, 105)})
    (found,) = rivalries(myrocks, innodb)
    assert (found.case, found.metric, len(found.ratios)) == ("linkbench", "ops_per_s", 4)
    assert (found.first.predicted, found.first.real) == (pytest.approx(2.0), pytest.approx(1.8))
    # 2.0 for 1.8, 1.0 for 0.45, 1.1 for 1.05 and 0.55 for 0.26.
    assert found.near == 0.5
    # 1.05 has no winner, 1.0 is none for one that is 0.45.
    assert (found.told, found.wrong) == (3, 0)
    assert rivalries(table({"a": (9, 9)}, work="other"), innodb) == []
    assert rivalries(table({"a": (9, 9)}, host="other"), innodb) == []
    wrong = table({"squeezed": (99, 180)})
    (found,) = rivalries(wrong, innodb)
    assert (found.told, found.wrong) == (2, 1)


def test_failures_are_the_wrong_winners_by_all_metrics_the_worst_first() -> None:
    sides = {
        "ops_per_s": {"a": (300, 100), "b": (200, 140)},
        "write_amp": {"a": (2, 9), "b": (4, 3)},
        "space_amp": {"a": (1, 1), "b": (2, 2)},
    }
    rows = [
        row(name, source, value, repeat, metric=metric)
        for metric, cells in sides.items()
        for name, values in cells.items()
        for source, value in zip(("predicted", "real"), values, strict=True)
        for repeat in (1, 2, 3)
    ]
    assert [(one.metric, round(one.loss, 2)) for one in failures(rows)] == [
        ("write_amp", 2.0),
        ("ops_per_s", 0.29),
    ]
    assert [one.metric for one in wrong_winners(rows)] == ["ops_per_s"]


def test_rows_survive_the_file_and_a_strange_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    add(path, [row("a", "real", 1234.5)])
    add(path, [row("a", "predicted", 0.25)])
    assert read(path) == [row("a", "real", 1234.5), row("a", "predicted", 0.25)]
    head = path.read_text().splitlines(keepends=True)[0]
    path.write_text(path.read_text() + "overwrite,w,a,a1,real,x,ops_per_s,1,,,m\n")
    with pytest.raises(InputError, match=":4: found"):
        read(path)
    path.write_text(head + "overwrite,w,a,a1,guessed,1,ops_per_s,1,,,m\n")
    with pytest.raises(InputError, match="guessed"):
        read(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="accepted: case, work, configuration"):
        read(path)


def test_two_processes_do_not_fill_one_table(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with path.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process that fills it"):
            fill(path, SUITE, Library("lib.so"), cases=SUITE.cases, configurations=())


def test_machines_share_a_table_and_run_but_the_first_settings_each(tmp_path: Path) -> None:
    first, second, third = SUITE.configurations()[:3]
    case, path = SUITE.cases[0], tmp_path / "table.csv"
    there = {**_of(case), "host": "another"}
    elsewhere = [
        replace(real, product="RocksDB 0.0" if real.product else "")
        for one in (first, second)
        for source in _BOTH
        for real in [row(one.name, source, 1.0, settings=one.digest, **there)]
    ]
    add(path, elsewhere)
    fill(
        path,
        SUITE,
        Library("lib.so"),
        cases=[case],
        configurations=(first, second, third),
        machine="nvme-2024",
        core=FakeCore(),
    )
    rows = read(path)
    assert rows[: len(elsewhere)] == elsewhere
    here = {(row.configuration, row.source, row.repeat) for row in rows[len(elsewhere) :]}
    assert here == {
        *((first.name, "real", repeat) for repeat in (1, 2, 3)),
        (third.name, "real", 1),
        (first.name, "predicted", 1),
        (third.name, "predicted", 1),
    }


def test_another_version_of_the_product_is_refused(tmp_path: Path) -> None:
    path, one = tmp_path / "table.csv", SUITE.configurations()[0]
    add(path, [row(one.name, "real", 1.0, **_of(SUITE.cases[0]))])
    with pytest.raises(InputError, match=r"product: found .* accepted: RocksDB 10.4.2 as in"):
        fill(
            path,
            SUITE,
            Library("lib.so"),
            cases=SUITE.cases[:1],
            configurations=[one],
            machine="nvme-2024",
            core=FakeCore(),
        )


def test_settings_are_compared_on_one_machine() -> None:
    # Each machine orders its settings as predicted, and all of the other are twice as fast.
    slow = {"a": (90, 100), "b": (110, 120), "c": (120, 130)}
    fast = {"d": (260, 200), "e": (280, 220), "f": (300, 240)}
    rows = [
        row(name, source, value, host=host)
        for host, table in (("slow", slow), ("fast", fast))
        for name, pair in table.items()
        for source, value in zip(("predicted", "real"), pair, strict=True)
    ]
    (found,) = agreement(rows)
    assert (found.configurations, found.spearman) == (6, pytest.approx(1.0))
    # The machine on which the predicted winner loses is told of.
    rows += [row("g", "predicted", 50, host="slow"), row("g", "real", 400, host="slow")]
    (winner,) = wrong_winners(rows)
    assert (winner.host, winner.real.configuration) == ("slow", "g")
    (found,) = agreement(rows)
    assert found.spearman == pytest.approx((4 * -0.2 + 3 * 1.0) / 7)


def _of(case: Case) -> dict[str, str]:
    """A row of the case on the machine of these tests."""
    return {"case": case.name, "work": case.digest(SUITE), "host": host("nvme-2024")}


def test_settings_that_are_refused_do_not_end_the_others(tmp_path: Path) -> None:
    def refuses(spec: Mapping[str, object]) -> None:
        raise SpecError("options.block_size", "1", "more")

    told: list[str] = []
    made = fill(
        tmp_path / "table.csv",
        SUITE,
        Library("lib.so"),
        cases=SUITE.cases[:2],
        configurations=SUITE.configurations()[1:2],
        machine="nvme-2024",
        on_failure=lambda progress, why: told.append(progress.source),
        core=FakeCore(fail=refuses),
    )
    assert (made, told) == (6, ["real"] * 6)


def test_what_has_real_runs_is_predicted_behind_them(tmp_path: Path) -> None:
    told: list[str] = []
    table = tmp_path / "table.csv"
    made = fill(
        table,
        SUITE,
        Library("lib.so"),
        cases=SUITE.cases[:2],
        configurations=SUITE.configurations()[1:2],
        machine="nvme-2024",
        on_progress=lambda progress: told.append(progress.source),
        core=FakeCore(),
    )
    assert (made, told) == (8, ["real"] * 6 + ["predicted"] * 2)
    assert {(row.case, row.source) for row in read(table)} == {
        (case.name, source) for case in SUITE.cases[:2] for source in ("real", "predicted")
    }


def test_settings_that_the_product_has_not_are_told_and_not_run(tmp_path: Path) -> None:
    suite, core = SUITES["innodb"], FakeCore()
    lacking = Configuration("lacking", {**suite.configurations()[0].settings, **_LACKING})
    told: list[str] = []
    fill(
        tmp_path / "table.csv",
        suite,
        Server("mariadbd", "innodb", "mariadb-10.11"),
        cases=suite.cases[:1],
        configurations=[lacking],
        machine="nvme-2024",
        on_failure=lambda progress, why: told.append(why),
        core=core,
    )
    assert not core.specs
    assert set(told) == {
        "innodb_compression_algorithm: the product accepts one of none, zlib, lz4, snappy"
    }


_LACKING: dict[str, Setting] = {"innodb_compression_algorithm": "zstd"}


def test_other_work_under_the_same_name_is_another_cell(tmp_path: Path) -> None:
    rows = [row("a", "predicted", 2.0), row("a", "real", 1.0, work="of old")]
    assert agreement(rows) == []


def test_predictions_are_made_anew_for_what_has_real_runs_alone(tmp_path: Path) -> None:
    first, second = SUITE.configurations()[:2]
    case = SUITE.cases[0]

    def of(configuration: Configuration, source: str, value: float, **other: str) -> Row:
        known = {"settings": configuration.digest, **_of(case)}
        return row(configuration.name, source, value, **(known | other))

    real = of(first, "real", 100.0)
    elsewhere = of(first, "predicted", 3.0, **_of(SUITE.cases[1]))
    path = tmp_path / "table.csv"
    add(
        path,
        [
            of(first, "predicted", 1.0),
            real,
            elsewhere,
            of(second, "real", 5.0, settings="others"),
            of(second, "predicted", 2.0),
        ],
    )
    core = FakeCore(noise=0.0)
    told: list[Progress] = []
    made = renew(path, SUITE, cases=[case], machine="nvme-2024", on_progress=told.append, core=core)
    assert made == 1
    assert [(one.configuration, one.source) for one in told] == [(first.name, "predicted")]
    rows = read(path)
    assert [row for row in rows if row.source == "real"] == [
        real,
        of(second, "real", 5.0, settings="others"),
    ]
    assert elsewhere in rows
    (prediction,) = [
        row
        for row in rows
        if row.case == case.name and row.source == "predicted" and row.metric == "ops_per_s"
    ]
    assert prediction.configuration == first.name
    assert prediction.value > 1000.0, "of the fake core, not of the table"


def test_a_prediction_that_fails_is_told_and_real_runs_stay(tmp_path: Path) -> None:
    (first, *_), case = SUITE.configurations(), SUITE.cases[0]
    path = tmp_path / "table.csv"
    real = row(first.name, "real", 7.0, settings=first.digest, **_of(case))
    add(path, [real])

    def fails(spec: Mapping[str, object]) -> None:
        raise RunError("no room")

    told: list[str] = []
    core = FakeCore(fail=fails)
    assert not renew(
        path,
        SUITE,
        cases=[case],
        machine="nvme-2024",
        on_failure=lambda progress, why: told.append(why),
        core=core,
    )
    assert read(path) == [real]
    assert len(told) == 1


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_every_configuration_fits_the_memory_of_every_case(suite: Suite) -> None:
    configurations = suite.configurations()
    assert len(configurations) >= 16
    assert len({one.digest for one in configurations}) == len(configurations)
    for case in suite.cases:
        profile = case.profile(suite, "nvme-2024")
        for one in configurations:
            opened = {**one.settings, **engines.of(suite.engine).direct_io}
            needed = needed_memory(profile, suite.engine, opened)
            assert needed <= profile.memory_bytes, one.name


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_what_ships_is_of_the_cases_and_settings_that_are_declared(suite: Suite) -> None:
    cases = {case.name for case in suite.cases}
    names = {one.name for one in suite.configurations()}
    rows = shipped(suite.file)
    assert {row.case for row in rows} <= cases
    assert {row.configuration for row in rows} <= names
    runs = [(*row.run, row.host, row.metric) for row in rows]
    assert len(runs) == len(set(runs)), "a run stands twice"


def test_a_machine_is_known_again_by_a_probe_of_another_hour() -> None:
    table = "A processor, 2 cores, read_latency_us 75, sync_us 60"
    assert as_in_table({table}, table.replace("75", "62").replace("60", "54")) == table
    assert as_in_table(set(), table) == table
    for other in (table.replace("75", "40"), table.replace("2 cores", "4 cores"), "A processor"):
        assert as_in_table({table}, other) == other


def test_a_machine_is_named_by_figures_that_its_drive_has() -> None:
    assert "read_latency_us" in host("nvme-2024")
    assert "read_latency_us" not in host("disk-array-2016")


def test_predictions_are_not_made_anew_for_a_machine_that_ran_nothing(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    add(path, [row("a", "real", 1.0)])
    with pytest.raises(InputError, match=r"machine: found .* accepted: m as in the table"):
        renew(path, SUITE, cases=SUITE.cases, machine="nvme-2024", core=FakeCore())


def test_predictions_of_another_machine_stay(tmp_path: Path) -> None:
    one, case = SUITE.configurations()[0], SUITE.cases[0]
    path = tmp_path / "table.csv"
    known = {"settings": one.digest, **_of(case)}
    there = [row(one.name, source, 1.0, **(known | {"host": "m"})) for source in _BOTH]
    add(path, [*there, row(one.name, "real", 2.0, **known)])
    assert renew(path, SUITE, cases=[case], machine="nvme-2024", core=FakeCore()) == 1
    assert read(path)[:2] == there
