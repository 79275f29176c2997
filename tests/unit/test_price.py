"""What operations cost by the prices of a profile."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from advisor import profile
from advisor.analytic.columns import Columns
from advisor.analytic.model import Model
from advisor.errors import InputError
from advisor.evaluate import Setup, evaluate
from advisor.knobs import defaults
from advisor.price import NEEDS, Price
from advisor.scale import Scale
from advisor.search import Question
from tests.support.fake_core import FakeCore
from tests.support.problems import problem, study
from tui.profile_text import profile_text

GIB = 1 << 30
RENTED = {"memory_gib_hour": 0.004, "core_hour": 0.03}


@dataclass
class Counting(FakeCore):
    """A core that also tells of CPU time."""

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        return {**super()._answer(spec), "cpu_us_per_op": 20.0}


def test_each_price_is_of_what_it_names() -> None:
    metrics = {"ops_per_s": 1000.0, "cpu_us_per_op": 36.0, "write_kb_per_op": 2.0}
    metrics["disk_bytes"] = 10.0 * GIB

    def cost(**prices: float) -> float | None:
        return Price(**prices).cost(metrics, 4 * GIB)

    # A million operations take 1,000 seconds here.
    hours = 1000 / 3600
    assert cost(machine_hour=0.5) == pytest.approx(0.5 * hours)
    assert cost(memory_gib_hour=0.01) == pytest.approx(0.04 * hours)
    assert cost(disk_gib_hour=0.001) == pytest.approx(0.01 * hours)
    assert cost(core_hour=0.1) == pytest.approx(0.1 * 36 / 3600)
    assert cost(written_terabyte=3.0) == pytest.approx(3.0 * 2048e6 / 1e12)
    together = cost(machine_hour=0.5, written_terabyte=3.0)
    assert together == pytest.approx(0.5 * hours + 3.0 * 2048e6 / 1e12)


@pytest.mark.parametrize("name", NEEDS)
def test_nothing_has_a_cost_that_lacks_what_it_is_made_of(name: str) -> None:
    metrics = dict.fromkeys(NEEDS, 5.0)
    price = Price(machine_hour=1.0)
    assert price.cost(metrics, GIB) is not None
    del metrics[name]
    assert price.cost(metrics, GIB) is None
    assert price.cost({**dict.fromkeys(NEEDS, 5.0), "ops_per_s": 0.0}, GIB) is None


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ({}, "without a price"),
        ({"core_hour": 0}, "without a price"),
        ({"core_hour": -1}, "core_hour"),
        ({"core_hour": float("inf")}, "core_hour"),
        ({"core_year": 1}, "core_year"),
    ],
)
def test_a_strange_table_is_refused(table: Mapping[str, float], found: str) -> None:
    with pytest.raises(InputError, match=found):
        problem(price=table)


def test_a_goal_of_costs_needs_prices() -> None:
    with pytest.raises(InputError, match=r"without prices.*\[price\]"):
        problem(goal="minimize cost")
    with pytest.raises(InputError, match="without prices"):
        problem(goal="maximize ops_per_s subject to cost <= 2")
    assert problem(goal="minimize cost", price=RENTED).goal.metric == "cost"


def test_a_profile_keeps_its_prices_when_it_is_written(tmp_path: Path) -> None:
    made = problem(price=RENTED, direct_io=True)
    path = tmp_path / "priced.toml"
    path.write_text(profile_text(made))
    read = profile.load(path)
    assert (read.price, read.direct_io) == (made.price, True)


def test_a_trial_costs_what_its_metrics_say() -> None:
    priced = problem(price=RENTED)
    trial = evaluate(
        Setup(priced, Scale(0.01), 1.0, "simulated", core=Counting()), "lsm", {}, seed=1
    )
    assert priced.price is not None
    assert trial.metrics["disk_bytes"] == pytest.approx(1e8), "of the full size"
    assert trial.metrics["cost"] == priced.price.cost(trial.metrics, priced.memory_bytes)
    bare = evaluate(
        Setup(problem(), Scale(0.01), 1.0, "simulated", core=Counting()), "lsm", {}, seed=1
    )
    assert "cost" not in bare.metrics


def test_the_closed_forms_know_the_cost_of_what_they_predict() -> None:
    priced = problem(price=RENTED)
    model = Model.of(priced, "lsm")
    assert model is not None and priced.price is not None
    columns = Columns.of([defaults("lsm")])
    found = model.predict(columns, np.array([GIB], dtype=np.float64))
    seen = {name: float(values[0]) for name, values in found.items()}
    seen["disk_bytes"] = seen["space_amp"] * priced.data_bytes
    assert seen["cost"] == pytest.approx(priced.price.cost(seen, priced.memory_bytes))


def test_a_study_finds_what_costs_least(tmp_path: Path) -> None:
    question = Question(problem(goal="minimize cost", price=RENTED), engines=("lsm",))
    made = study(tmp_path, question=question, core=Counting(noise=0.0), trials=30)
    made.run()
    cheapest = min(made.trials, key=lambda trial: trial.metrics["cost"])
    fastest = max(made.trials, key=lambda trial: trial.metrics["ops_per_s"])
    assert cheapest.metrics["cost"] == fastest.metrics["cost"], "all else is rented by the hour"
    base = next(trial for trial in made.trials if trial.role == "default")
    assert cheapest.metrics["cost"] < base.metrics["cost"]
