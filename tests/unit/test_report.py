"""The report says what was asked, measured, changed and left open."""

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from advisor import knobs, report
from advisor.evidence import Evidence
from advisor.noise import Noise, Spread
from advisor.recommend import (
    Change,
    Column,
    Comparison,
    Dropped,
    EngineVerdict,
    Rebuild,
    Recommendation,
    about_settings,
)
from advisor.scale import Scale
from advisor.verify import Compared, Contender, Sizing, Verification
from tests.support.problems import problem, trial

MIB = 1 << 20
BASE = knobs.defaults("lsm")
BEST = {**BASE, "block_cache": 3072 * MIB, "filter_policy": "bloomfilter:10:false"}


def recommendation() -> Recommendation:
    profile = problem(goal="maximize ops_per_s subject to p99_us <= 5000")
    measured = {
        "ops_per_s": Spread(12000.0, 11800.0, 12100.0, 3),
        "p99_us": Spread(1650.5, 1600.0, 1700.0, 3),
        "space_amp": Spread(1.1, 1.1, 1.1, 3),
    }
    return Recommendation(
        study="graph",
        profile=profile,
        goal=profile.goal,
        clock="measured",
        scale=1 / 320,
        engine="lsm",
        settings=BEST,
        current=BASE,
        basis="defaults",
        changes=(
            Change(
                "block_cache",
                BASE["block_cache"],
                BEST["block_cache"],
                "measured: buys +60% ops_per_s (noise ±3.0%) on its own, +41% ops_per_s (noise "
                "±3.0%) in company",
                0.6,
                0.41,
            ),
            Change(
                "filter_policy",
                BASE["filter_policy"],
                BEST["filter_policy"],
                "rule: with the other changes; no run was left to measure it on its own",
            ),
        ),
        dropped=(
            Dropped(
                "block_size",
                16384,
                4096,
                "without it and 2 others the settings are as good: +0.5% ops_per_s (noise ±2.7%)",
            ),
        ),
        columns=(
            Column("default", "lsm", BASE, measured, 3),
            Column(
                "recommended", "lsm", BEST, measured | {"ops_per_s": Spread(3e4, 3e4, 3e4, 1)}, 1
            ),
        ),
        gain=Comparison(1.5, 0.03, 3),
        rebuilds=(Rebuild("block_size", 4096, 65536, Comparison(0.2, 0.03, 1)),),
        verdict=EngineVerdict(
            "lsm",
            Comparison(1.0, 0.027, 3),
            "lsm wins over btree: +100% ops_per_s (noise ±2.7%), 30,000 against 15,000",
        ),
        noise=Noise(0.011, 8),
        broken=(),
        notes=("every trial ran at 1/320 of the data",),
        trials=(
            trial(number=1, role="default", settings=BASE),
            trial(number=2, role="rule", rule="filters and nothing else", settings=BEST),
            trial(
                number=3, engine="btree", outcome="failed", metrics={}, error="corruption | in x"
            ),
        ),
    )


def test_the_report_of_a_study(snapshot: SnapshotAssertion) -> None:
    assert report.markdown(Evidence(recommendation())) == snapshot


def test_what_a_simulated_flash_device_wrote_is_compared_too() -> None:
    found = recommendation()
    years = {"drive_years": Spread(4.25, 4.25, 4.25, 1)}
    columns = tuple(
        replace(column, metrics={**column.metrics, **years}) for column in found.columns
    )
    assert "drive_years" not in report.markdown(Evidence(found))
    text = report.markdown(Evidence(replace(found, columns=columns)))
    assert "| drive_years (years) | 4.25 | 4.25 |" in text


def test_what_a_real_engine_said_stands_beside_what_was_predicted() -> None:
    found = recommendation()
    sides = (("defaults", BASE, 100.0, 200.0), ("recommended", BEST, 150.0, 400.0))
    compared = [
        Compared(
            Contender(name, "lsm", settings),
            (trial(settings=settings, metrics={"ops_per_s": predicted}, hardware="nvme-2024"),),
            tuple(
                trial(seed=seed, metrics={"ops_per_s": real * seed}, product="RocksDB 10.4.2")
                for seed in (1, 2, 3)
            ),
            None,
        )
        for name, settings, real, predicted in sides
    ]
    sizing = Sizing.of(found.profile, Scale(1 / 64), 3_000)
    verified = Verification.of("graph", "", found.profile, compared, sizing, None)
    text = report.markdown(Evidence(replace(found, real=("It stayed.",)), verified=verified))
    section = text.split("## On RocksDB 10.4.2 itself")[1].split("## ")[0]
    assert "| ops_per_s (ops/s) | 181.7 | 1.50x [1.50 to 1.50] | 2.00x |" in section
    assert "It stayed." in section
    work = "3,000 operations of each run from settled to settled"
    assert f"320MiB of data (1/64 of the profile's), {work}, 3 rounds" in section
    assert "predicted for nvme-2024" in section
    assert "- recommended: better" in section
    assert "earlier recommendation" not in section
    other = replace(found, settings={**BEST, "block_size": 65536})
    assert "They are of an earlier recommendation" in report.markdown(
        Evidence(other, verified=verified)
    )


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([], ""),
        ([0.0, 0.0], "▁▁"),
        ([0.0, 5.0, 10.0], "▁▅█"),
        ([1.0] * 1000, "█" * report.SPARK_WIDTH),
    ],
)
def test_sparklines_start_at_zero(values: list[float], drawn: str) -> None:
    assert report.sparkline(values) == drawn


def test_a_report_says_how_far_the_closed_forms_are_off() -> None:
    sizes = (8, 64, 512, 2048, 3072)
    looks = tuple(
        trial(
            settings={**BASE, "block_cache": size * MIB},
            metrics={"ops_per_s": 1000.0 * 1.5**i, "p99_us": 900.0},
            role="analytic" if i == 4 else "search",
        )
        for i, size in enumerate(sizes)
    )
    text = report.markdown(Evidence(replace(recommendation(), trials=looks)))
    line = next(line for line in text.splitlines() if line.startswith("| Closed forms, lsm"))
    assert "in the median" in line and "at worst" in line
    assert line.endswith("1 proposal tried |")


def test_few_runs_are_not_told_as_a_change_that_buys_nothing() -> None:
    ended = replace(recommendation(), changes=(), untold=Comparison(0.06, 0.08, 2))
    assert about_settings(ended) == (
        "keep the defaults; too few runs to tell: the best that was tried, "
        "within noise: +6.0% ops_per_s (noise ±8.0%)"
    )
