"""A recommendation keeps what pays, takes the rest back, and claims no more than was measured."""

import statistics
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from advisor import dialects, imports, knobs, report
from advisor.errors import InputError, WorkError
from advisor.evaluate import largest_cache
from advisor.evidence import Evidence
from advisor.handover import usual_dialect
from advisor.knobs import Engine, Setting
from advisor.recommend import Recommendation, recommend
from advisor.recommend.bench import FINAL_SEEDS
from advisor.recommend.recommendation import WITHHELD
from advisor.search import VERDICT_RUNS, Question, Study
from advisor.search.seeds import best_rule
from advisor.store import Store
from advisor.verify import contenders
from tests.support.fake_core import UNIT_BYTES, FakeCore, RunError, hit_ratio
from tests.support.problems import GIB, problem, study
from tests.support.whole_studies import KnobCore

MIB = 1 << 20
MATTERS = {"block_cache", "filter_policy", "compression", "max_background_jobs"}
# These leave more memory to the cache.
MATTERS |= {"cache_index_and_filter_blocks", "optimize_filters_for_hits"}


def run(folder: Path, **given: object) -> tuple[Study, Recommendation]:
    found = study(folder, **given)  # type: ignore[arg-type]
    found.run()
    return found, recommend(found)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Recommendation]:
    return run(tmp_path_factory.mktemp("study"), trials=160, core=FakeCore(noise=0.005))


def test_what_matters_is_kept_with_its_measured_cost(
    done: tuple[Study, Recommendation],
) -> None:
    _, found = done
    kept = {change.knob: change for change in found.changes}
    for knob in ("block_cache", "filter_policy"):
        assert kept[knob].evidence.startswith("measured: buys +")
        assert kept[knob].evidence.endswith("in company")
        assert (kept[knob].alone or 0) > 0.15
        assert (kept[knob].company or 0) > 0.15


def test_changes_that_buy_nothing_go_back(done: tuple[Study, Recommendation]) -> None:
    _, found = done
    assert found.dropped
    assert not {change.knob for change in found.changes} - MATTERS
    for dropped in found.dropped:
        assert found.settings[dropped.knob] == dropped.kept == found.current[dropped.knob]
        told = ("within noise", "too little for a line", "the settings are as good")
        assert any(words in dropped.reason for words in told)


def test_dropping_costs_no_more_than_noise(done: tuple[Study, Recommendation]) -> None:
    made, found = done
    best = made.best()
    assert best is not None
    recommended = found.columns[-1].metrics["ops_per_s"].median
    assert recommended > 0.9 * best.metrics()["ops_per_s"]


def test_the_engines_are_compared_with_noise(done: tuple[Study, Recommendation]) -> None:
    _, found = done
    assert found.verdict is not None and found.verdict.winner == "lsm"
    assert found.verdict.comparison is not None and not found.verdict.comparison.within_noise
    assert "lsm wins over btree: +" in found.verdict.text and "noise ±" in found.verdict.text


def test_defaults_stand_beside_the_recommended_settings(
    done: tuple[Study, Recommendation],
) -> None:
    study, found = done
    titles = [column.title for column in found.columns]
    assert titles[0].startswith("rule: ") and titles[1:] == ["default", "recommended"]
    assert found.columns[1].settings == study.question.defaults("lsm")
    assert found.gain is not None and found.gain.gain > 1.0


def test_stored_trials_tell_the_same_without_a_run(done: tuple[Study, Recommendation]) -> None:
    made, found = done
    core = FakeCore()
    again = recommend(Study.load("test", made._store, core=core), measure=False)
    assert core.specs == []
    assert (again.settings, again.changes, again.dropped) == (
        found.settings,
        found.changes,
        found.dropped,
    )


def test_the_bounds_hold_for_search_and_ablation_together(
    done: tuple[Study, Recommendation],
) -> None:
    made, _ = done
    assert 77 < len(made.trials) <= 160


@pytest.mark.parametrize("dialect", dialects.for_engine("lsm"))
def test_the_file_carries_the_evidence(done: tuple[Study, Recommendation], dialect: str) -> None:
    _, found = done
    text = found.write(dialect)
    assert "measured: buys +" in text
    assert "max_background_jobs" in text


def test_the_head_of_a_file_tells_a_run_of_exactly_its_lines(tmp_path: Path) -> None:
    made, found = run(tmp_path, question=Question(problem(), engines=("btree",)), trials=50)
    assert found.settings["innodb_page_size"] == 4096
    file = found.files["mariadb-10.11"]
    read = imports.read(write(tmp_path / "my.cnf", found.write("mariadb-10.11")))
    standing = {**found.current, **read.settings["btree"]}
    assert standing["innodb_page_size"] == found.current["innodb_page_size"] == 16384
    assert standing == dict(file.settings)
    same = [t for t in made.trials if t.finished and dict(t.settings) == standing]
    base = [t for t in made.trials if t.finished and t.settings == found.current]
    assert same and file.gain is not None and found.gain is not None
    rates = [statistics.median(t.metrics["ops_per_s"] for t in runs) for runs in (same, base)]
    assert file.gain.gain == pytest.approx(rates[0] / rates[1] - 1, abs=0.03)
    assert file.gain.gain < found.gain.gain
    head = found.write("mariadb-10.11").split("[mariadbd]")[0]
    assert f"As it stands: {file.gain.words(found.goal)}" in head
    assert "With what it leaves to you (innodb_page_size = 4KiB" in head


def test_a_file_that_loses_as_it_stands_waits_as_a_whole(tmp_path: Path) -> None:
    question = Question(problem(), engines=("btree",))
    made, found = run(tmp_path, question=question, trials=50)
    file = found.files["mariadb-10.11"]
    assert file.changes and file.left_out and not file.loses
    base = next(t for t in made.trials if t.finished and t.settings == found.current)
    store = Store(tmp_path / "results.duckdb")
    for factor, settings in [(0.5, file.settings), (1.0, found.current)] * 3:
        metrics = {**base.metrics, "ops_per_s": factor * base.metrics["ops_per_s"]}
        final = replace(base, id=str(uuid4()), role="final", settings=settings, metrics=metrics)
        store.add_trial(final, made.name)
    again = recommend(study(tmp_path, question=question, trials=50), measure=False)
    assert again.settings == found.settings and again.changes
    text = again.write("mariadb-10.11")
    read = imports.read(write(tmp_path / "my.cnf", text))
    assert {**found.current, **read.settings["btree"]} == dict(found.current)
    assert "As it stands: nothing that was tried: it leaves the defaults" in text
    assert f"waits: {WITHHELD}" in text


@pytest.mark.parametrize("trials", [8, 12])
def test_a_run_is_kept_for_the_file_as_it_stands(tmp_path: Path, trials: int) -> None:
    made, found = run(tmp_path, question=Question(problem(), engines=("btree",)), trials=trials)
    assert found.changes and found.standing is not None
    assert found.standing.gain is not None
    assert len(made.trials) <= trials


def test_a_final_run_that_fails_is_made_again_and_told(tmp_path: Path) -> None:
    failed: set[str] = set()

    def once(spec: Mapping[str, Any]) -> None:
        settings = repr(sorted(spec["options"].items()))
        if spec["seed"] > FINAL_SEEDS and settings not in failed:
            failed.add(settings)
            raise RunError("given up")

    core = FakeCore(noise=0.005, fail=once)
    made, found = run(tmp_path, trials=160, core=core)
    assert failed
    finals = [trial for trial in made.trials if trial.role == "final" and trial.finished]
    again = [trial for trial in finals if trial.settings == found.settings]
    assert len({trial.seed for trial in again}) == len(again) >= VERDICT_RUNS
    assert found.gain is not None and found.gain.gain > 1.0
    assert "a final run of lsm failed: given up" in found.notes


def test_a_file_that_was_not_run_says_so(tmp_path: Path) -> None:
    made = study(tmp_path, question=Question(problem(), engines=("btree",)), trials=12)
    made.run()
    text = recommend(made, measure=False).write("mariadb-10.11")
    assert "As it stands: not measured" in text


def test_what_a_rebuild_would_buy_is_told_and_not_done(tmp_path: Path) -> None:
    current: dict[Engine, dict[str, Setting]] = {"btree": {"innodb_buffer_pool_size": GIB}}
    question = Question(problem(), engines=("btree",), current=current)
    made, found = run(tmp_path, question=question, trials=120, core=FakeCore(noise=0.005))
    searched = [trial for trial in made.trials if trial.role != "final"]
    assert {trial.settings["innodb_page_size"] for trial in searched} == {16384}
    assert found.settings["innodb_page_size"] == 16384
    (told,) = [one for one in found.rebuilds if one.knob == "innodb_page_size"]
    assert told.value == 4096 and told.gain is not None
    assert told.gain.gain == pytest.approx(0.1, abs=0.03)
    text = report.markdown(Evidence(found))
    assert "a rebuild of the data with innodb_page_size = 4KiB would buy: +" in text


def test_a_rebuild_that_is_allowed_is_made(tmp_path: Path) -> None:
    current: dict[Engine, dict[str, Setting]] = {"btree": {"innodb_buffer_pool_size": GIB}}
    question = Question(problem(), engines=("btree",), current=current, rebuild=True)
    _, found = run(tmp_path, question=question, trials=120, core=FakeCore(noise=0.005))
    assert found.settings["innodb_page_size"] == 4096
    assert found.rebuilds == ()


def test_squeezed_defaults_are_the_base_where_the_products_do_not_fit(tmp_path: Path) -> None:
    question = Question(problem(memory="192MiB", data="64MiB"), engines=("lsm",))
    made, found = run(tmp_path, question=question, trials=40)
    assert found.basis == "defaults squeezed into the memory"
    assert [t.outcome for t in made.trials if t.role == "default"] == ["finished"]
    assert found.gain is not None
    evidence = {line.knob: line.evidence for line in found.lines()}
    kept = set(evidence) - {change.knob for change in found.changes}
    assert {evidence[knob] for knob in kept} <= {"rule: the default does not fit the memory"}


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_products_own_default_is_overruled(tmp_path: Path) -> None:
    _, found = run(tmp_path, question=Question(problem(), engines=("lsm",)))
    lines = {line.knob: line for line in found.lines("myrocks-mariadb-10.11")}
    assert lines["level_compaction_dynamic_level_bytes"].value is True
    assert lines["level_compaction_dynamic_level_bytes"].evidence.startswith("rule")
    assert "level_compaction_dynamic_level_bytes" not in {line.knob for line in found.lines()}


def test_a_file_of_the_other_engine_is_refused(done: tuple[Study, Recommendation]) -> None:
    _, found = done
    with pytest.raises(InputError):
        found.write("mariadb-10.11")


def test_the_difference_is_told_against_the_users_settings(tmp_path: Path) -> None:
    current = {"block_cache": 1 * GIB, "filter_policy": "bloomfilter:10:false"}
    question = Question(problem(), engines=("lsm",), current={"lsm": current})
    _, found = run(tmp_path, question=question)
    assert found.basis == "current settings"
    assert found.current["block_cache"] == GIB
    assert [column.title for column in found.columns][-3:] == ["default", "current", "recommended"]
    written = {line.knob: line for line in found.lines()}
    assert written["block_cache"].current == GIB
    assert written["filter_policy"].current == "bloomfilter:10:false"
    assert found.verdict is None


def test_settings_that_do_not_fit_are_compared_squeezed_into_the_memory(tmp_path: Path) -> None:
    current = {"block_cache": 1 * GIB, "filter_policy": "bloomfilter:6:false"}
    small = problem(memory="192MiB", data="64MiB")
    question = Question(small, engines=("lsm",), current={"lsm": current})
    made, found = run(tmp_path, question=question, trials=60, core=FakeCore(noise=0.005))
    base = made.question.compared("lsm")
    assert base["filter_policy"] == current["filter_policy"]
    assert base["block_cache"] < 192 * MIB
    titles = [column.title for column in found.columns]
    assert titles[-2:] == ["current, squeezed", "recommended"]
    assert "default" not in titles and "current" not in titles
    assert found.current["block_cache"] == GIB
    assert found.gain is not None and found.gain.gain > 0.0
    over = "the current settings squeezed into the memory"
    assert f"against {over}" in found.file_words("myrocks-mariadb-10.11")[0]
    first = contenders(made, found, runners_up=0, lines=False)[0]
    assert (first.name, first.settings) == ("current, squeezed", dict(base))


def test_what_does_not_fit_is_squeezed_where_nothing_buys_anything(tmp_path: Path) -> None:
    small = problem(memory="192MiB", data="64MiB")
    question = Question(small, engines=("lsm",), current={"lsm": {"block_cache": 1 * GIB}})
    made, found = run(tmp_path, question=question, trials=24, core=KnobCore())
    assert dict(found.settings) == dict(made.question.compared("lsm"))
    told = {one.evidence for one in found.changes}
    assert told == {"rule: its old value does not go with the other changes and the memory"}


def test_settings_that_are_good_already_are_kept(tmp_path: Path) -> None:
    current: dict[str, Setting] = {
        "filter_policy": "bloomfilter:10:false",
        "compression": "kLZ4Compression",
        "max_background_jobs": 4,
        "cache_index_and_filter_blocks": True,
    }
    cache = largest_cache(problem(), "lsm", current)
    assert cache is not None
    current["block_cache"] = cache
    question = Question(problem(), engines=("lsm",), current={"lsm": current})
    _, found = run(tmp_path, question=question, core=FakeCore(noise=0.04))
    assert found.changes == ()
    assert found.settings == found.current
    assert found.gain is None
    assert "keep the current settings" in report.markdown(Evidence(found))


def test_a_hair_of_difference_is_not_credited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support import fake_core

    # A rule fills 0.6% more of the memory than the user, and nothing else buys anything.
    filled = largest_cache(problem(), "lsm", {})
    assert filled is not None
    current: dict[str, Setting] = {"block_cache": int(0.982 * filled)}
    full = hit_ratio(filled, {"workload": {"ids": problem().data_bytes // UNIT_BYTES["ids"]}})

    def lsm(spec: Mapping[str, Any]) -> float:
        return 1e4 * min(1.0, hit_ratio(spec["options"]["block_cache"], spec) / full)

    monkeypatch.setattr(fake_core, "lsm", lsm)
    question = Question(problem(), engines=("lsm",), current={"lsm": current})
    made, found = run(tmp_path, question=question, trials=40, core=FakeCore(noise=0.001))
    winner = made.best()
    assert winner is not None and winner.settings["block_cache"] != current["block_cache"]
    assert found.settings["block_cache"] == current["block_cache"]
    assert "block_cache" not in {change.knob for change in found.changes}
    again = recommend(made, measure=False)
    assert (again.settings, again.changes) == (found.settings, found.changes)


def test_engines_that_noise_hides_are_too_close_to_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support import fake_core

    monkeypatch.setattr(fake_core, "lsm", lambda spec: 10_000.0)
    monkeypatch.setattr(fake_core, "btree", lambda spec: 10_000.0)
    _, found = run(tmp_path, core=FakeCore(noise=0.05))
    assert found.verdict is not None and found.verdict.comparison is not None
    assert found.verdict.winner is None
    assert found.verdict.is_open and "too close to call: " in found.verdict.text
    assert all(change.evidence.startswith("rule") for change in found.changes)


def test_what_no_trial_exercises_is_a_rule(tmp_path: Path) -> None:
    question = Question(problem(), engines=("btree",))
    _, found = run(tmp_path, question=question)
    rules = [change for change in found.changes if change.knob == "innodb_log_buffer_size"]
    assert [change.evidence[:5] for change in rules] == ["rule:"]
    assert rules[0].company is None
    assert found.settings["innodb_log_buffer_size"] == 32 * MIB


def test_changes_without_a_run_of_their_own_say_so(tmp_path: Path) -> None:
    made = study(tmp_path, trials=40)
    made.run()
    found = recommend(made, measure=False)
    assert found.changes
    for change in found.changes:
        told = "rule: with the other changes; no run was left to measure it on its own"
        assert change.evidence == told or change.evidence.endswith("on its own")


def test_a_simulated_study_never_claims_to_be_measured(tmp_path: Path) -> None:
    question = Question(problem(), engines=("lsm",), clock="simulated")
    _, found = run(tmp_path, question=question, trials=20)
    assert "measured:" not in found.write("rocksdb-10.4")
    assert all(change.evidence.startswith(("simulated", "rule")) for change in found.changes)


def test_an_unreachable_limit_is_reported_and_the_nearest_settings_recommended(
    tmp_path: Path,
) -> None:
    question = Question(problem(goal="maximize ops_per_s subject to p99_us <= 1"))
    _, found = run(tmp_path, question=question, trials=20)
    assert found.broken == ("p99_us <= 1",)
    assert found.verdict is not None and "no engine reached p99_us <= 1" in found.verdict.text
    assert "**Warning:** no settings kept p99_us <= 1" in report.markdown(Evidence(found))


def test_a_study_without_trials_recommends_nothing(tmp_path: Path) -> None:
    with pytest.raises(WorkError, match="no trial"):
        recommend(study(tmp_path))


@pytest.mark.parametrize("dialect", dialects.names())
def test_the_default_of_every_line_is_that_of_the_product(tmp_path: Path, dialect: str) -> None:
    question = Question(problem(), engines=(dialects.engine_of(dialect),))
    _, found = run(tmp_path, question=question, trials=2)
    # Where the trials' value differs from the product's own, the file says so line by line.
    silent = dialects.product_defaults(dialect)
    moved = {name: value for name, value in found.settings.items() if value != silent[name]}
    lines = {line.knob: line for line in found.lines(dialect)}
    opened = {name for name in moved if not knobs.catalogue(found.engine)[name].durability}
    assert opened <= set(lines)
    assert {name: line.default for name, line in lines.items()} == {
        name: silent[name] for name in lines
    }


def test_mariadb_flushes_neighbours_by_default_and_its_file_says_so(tmp_path: Path) -> None:
    question = Question(problem(), engines=("btree",))
    _, found = run(tmp_path, question=question, trials=2)
    comment, _ = found.write("mariadb-10.11").split("innodb_flush_neighbors=0")
    assert "default 1;" in comment.splitlines()[-1]


def test_a_rule_of_thumb_that_beats_the_answer_in_final_runs_is_the_answer(tmp_path: Path) -> None:
    made, found = run(tmp_path, trials=60)
    rule = best_rule(made.question, made.looks, found.engine)
    assert rule is not None and rule.settings != found.settings
    shown = found.columns[-1]
    better = {**shown.trials[0].metrics, "ops_per_s": 9 * shown.metrics["ops_per_s"].median}
    measured = [(shown.settings, shown.trials[0].metrics), (rule.settings, better)] * 3
    store = Store(tmp_path / "results.duckdb")
    for settings, metrics in measured:
        final = replace(
            shown.trials[0],
            id=str(uuid4()),
            role="final",
            settings=dict(settings),
            metrics=dict(metrics),
        )
        store.add_trial(final, made.name)
    again = recommend(study(tmp_path, trials=60), measure=False)
    assert dict(again.settings) == dict(rule.settings)
    assert f"rule: of {rule.rule!r}" in again.changes[0].evidence
    assert again.columns[-1].metrics["ops_per_s"].median == better["ops_per_s"]


def test_the_file_that_is_run_is_of_the_product_that_the_study_is_about(tmp_path: Path) -> None:
    """Of the LSM over tables MariaDB's MyRocks is, and of no study of its own."""
    slow = KnobCore(worth={"filter_policy": 0.5}, speed={"btree": 0.5}, noise=0.0)
    found = run(tmp_path, trials=40, core=slow)[1]
    assert found.engine == "lsm" and found.dialect == "myrocks-mariadb-10.11"
    assert usual_dialect(found, None, None) == found.dialect
    assert usual_dialect(found, None, tmp_path / "OPTIONS") == "rocksdb-10.4"
    file = found.files[found.dialect]
    assert file.gain is not None and file.runs >= VERDICT_RUNS
    question = Question(problem(), engines=("lsm",))
    alone = run(tmp_path, question=question, trials=10, core=slow, name="alone")[1]
    assert alone.dialect == "rocksdb-10.4"
