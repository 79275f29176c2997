"""`tune`: a study in one line, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from advisor import dialects, handover, html
from advisor.api.asked import (
    Current,
    asked_clock,
    asked_engines,
    asked_profile,
    asked_settings,
    source_of,
)
from advisor.api.finals import MINUTES, asked_finals, have_judged
from advisor.errors import InputError
from advisor.evidence import Evidence
from advisor.html import Plot, charts
from advisor.knobs import Engine, catalogue, durability_knobs
from advisor.profile import Profile
from advisor.recommend import Recommendation, about_engine, about_settings, warning
from advisor.robust import RADIUS, RUNS, Neighbour, Robustness
from advisor.robust import robust as run_robust
from advisor.search import Bounds, Event, Question, Study
from advisor.search.cluster import connected
from advisor.search.front import Front
from advisor.store import Store, StudySummary

if TYPE_CHECKING:
    import duckdb


class Tuned:
    """A study that has run, and its answer. Notebooks show it."""

    def __init__(self, study: Study, store: Store) -> None:
        self._study = study
        self._store = store

    @property
    def name(self) -> str:
        """What the study is called in the results file: `advisor.study(name)` finds it again."""
        return self._study.name

    def recommend(self, dialect: str | None = None, *, member: int | None = None) -> Recommendation:
        """The engine, the settings and what each change buys, from the stored trials. With a
        `dialect`, the best of the engine that it is a file of, and what that file does as it
        stands. With a `member`, that number of the front."""
        own = handover.own_file(self._study)
        return handover.advice_for(self._study, dialect, own, measure=False, member=member)

    def front(self) -> Front:
        """Of a goal with several objectives: the settings of which none is better in all. Its
        `members` have number, engine, settings and metrics; `recommended()` is one of them.
        Raises `InputError` for a study with one objective."""
        if not self._study.goal.others:
            found = f"a goal with one objective, {self._study.goal}"
            raise InputError("front", None, found, "a study whose goal has several objectives")
        return self._study.front()

    def explain(self) -> str:
        """The answer in words: the engine, the settings, and a line for each change."""
        r = self.recommend()
        known = catalogue(r.engine)
        lines = [f"Warning: {loud}." if (loud := warning(r)) else ""]
        lines += [f"Engine: {about_engine(r)}.", f"Settings: {about_settings(r)}."]
        for one in r.changes:
            shown = (
                f"{known[one.knob].show(one.current)} -> {known[one.knob].show(one.recommended)}"
            )
            lines.append(f"  {one.knob}: {shown}  ({one.evidence})")
        return "\n".join(line for line in lines if line)

    def export(
        self,
        dialect: str,
        path: str | Path | None = None,
        *,
        member: int | None = None,
        force: bool = False,
    ) -> str:
        """The settings, or those of another `member` of the front by its number, as the file of a
        product, such as `mysql-8.4` or `rocksdb-10.4`: the text, which is also written to `path`,
        with `report.md` and `report.html` beside it. Where the study began with a file of that
        product, it is that file with the changes in it.

        Raises `InputError` for an unknown dialect, and for a file that is there, without `force`.
        """
        advice = self.recommend(dialect, member=member)
        own = handover.own_file(self._study)
        if path is not None:
            handover.write_files(advice, dialect, Path(path), own, force=force)
        return advice.write(dialect, own)

    def robust(
        self,
        *,
        radius: float = RADIUS,
        runs: int = RUNS,
        minutes: float | None = None,
        on_point: Callable[[int, int, Neighbour], None] = lambda number, of, point: None,
    ) -> Robustness:
        """Runs the recommended settings and their rivals at the neighbours of what was asked: half
        the memory, twice the data, four times the clients, and the mixes of operations within a
        `radius` of its own. The answer has the robust `choice`; `advisor.robust.sentences` tell
        it, and reports from now on do. `on_point` is told which point runs, its number and of how
        many.

        Raises `InputError` for a study that was not simulated.
        """
        with self._study.alone():
            return run_robust(
                self._study,
                self._store,
                radius=radius,
                runs=runs,
                minutes=minutes,
                on_point=on_point,
            )

    def report(self, path: str | Path, *, force: bool = False) -> None:
        """Writes the whole report: one page of HTML, or Markdown where the name ends in `.md`.
        Raises `InputError` for a file that is there, without `force`."""
        handover.write_report(self.recommend(), Path(path), force=force)

    def trials(self) -> duckdb.DuckDBPyRelation:
        """Every trial with its settings and metrics, as a relation of DuckDB: `.df()`, `.pl()` and
        `.arrow()` give what pandas, polars and pyarrow take where these are installed,
        `.filter("p99_us < 5000")` and the like go on. The columns are those of the view `run`."""
        return self._store.relation(
            "SELECT * FROM run WHERE study = $study ORDER BY number", {"study": self.name}
        )

    def importance(self, engine: Engine | None = None) -> dict[str, float]:
        """The share of each knob in reaching good scores, of the recommended engine where none is
        named; empty with too few trials."""
        return self._study.importance(engine or self.recommend().engine)

    def plot_history(self) -> Plot:
        """The goal's metric of every trial. Plots need the extra `report`, are shown by notebooks,
        and go to a file with `.save("history.svg")`."""
        return self._plot("history", charts.history)

    def plot_front(self) -> Plot:
        """The settings that were tried by the first two objectives, and the front of each engine
        among them."""
        return self._plot("front", charts.front)

    def plot_changes(self) -> Plot:
        """What each recommended line buys, on its own and beside the others."""
        return self._plot("changes", charts.gains)

    def plot_importance(self) -> Plot:
        """Which knobs reach good scores."""
        return self._plot("importance", charts.importance)

    def plot_latency(self) -> Plot:
        """The 99th percentile by operation, before and after."""
        return self._plot("latency", charts.latency)

    def plot_bytes(self) -> Plot:
        """What bytes were written for, before and after."""
        return self._plot("bytes", charts.written)

    def plot_run(self, metric: str = "ops_per_s") -> Plot:
        """A metric of the intervals over the run, before and after."""
        return self._plot(metric, partial(charts.over_time, metric=metric))

    def _plot(self, what: str, draw: Callable[[Evidence], Plot | None]) -> Plot:
        drawn = draw(self._evidence())
        if drawn is None:
            found = f"a study of {len(self._study.trials)} trials that measured none of it"
            raise InputError(what, None, found, "a study with more trials")
        return drawn

    def _evidence(self) -> Evidence:
        return Evidence.of(self.recommend(), self._store)

    def _repr_html_(self) -> str:
        return html.fragment(self._evidence())

    def __repr__(self) -> str:
        return f"<study {self.name}: {len(self._study.trials)} trials>"


def tune(
    profile: str | Path | Profile,
    *,
    memory: str | int | None = None,
    data: str | int | None = None,
    clients: int | None = None,
    hardware: str | None = None,
    goal: str | None = None,
    engine: str | None = None,
    current: Current | None = None,
    trials: int | None = None,
    minutes: float | None = None,
    seconds: float | None = None,
    scale: float | None = None,
    clock: str | None = None,
    durability: bool = False,
    rebuild: bool = False,
    cold: bool = False,
    dialect: str | None = None,
    seed: int = 1,
    name: str | None = None,
    results: str | Path | None = None,
    cluster: str | None = None,
    finalists: int | None = None,
    finalist_minutes: float = MINUTES,
    rocksdb: str | Path | None = None,
    server: str | Path | None = None,
    watcher: Callable[[Event], None] | None = None,
) -> Tuned:
    """Searches for the best engine and settings, and says what each line of them buys.

    Example:
        study = advisor.tune(
            "linkbench", memory="8GiB", trials=200,
            goal="maximize ops_per_s subject to p99_us <= 5000",
        )
        print(study.explain())
        study.export("mysql-8.4", "my.cnf")

    Args:
        profile: A shipped profile by its name, such as `linkbench`, `ycsb-a` or `fillrandom`, the
            path of a TOML file, or a `Profile`.
        memory: Memory that the engine may use in all, as `"8GiB"` or in bytes; like the next ones,
            in place of the profile's.
        data: Logical size of the data, as `"100GiB"` or in bytes.
        clients: Concurrent clients.
        hardware: The machine: a shipped name such as `nvme-2024`, `this-machine`, or a file.
        goal: One metric to maximize or minimize, or several (`"maximize ops_per_s, minimize
            write_kb_per_op"`), and limits on others.
        engine: `"lsm"`, `"btree"` or `"both"`.
        current: What the user has now: a my.cnf or OPTIONS file, or settings by the engine's own
            knob names. The search starts there, and changes are counted from there.
        trials: Stop after so many trials. Without it and `minutes`, 100.
        minutes: Stop after so many minutes.
        seconds: Length of the measured phase of a trial.
        scale: Size of the copy on which trials run, of the full size; chosen if absent.
        clock: `"simulated"` (virtual time on the profile's hardware) or `"measured"` (this
            machine); simulated if absent, unless the profile's hardware is this machine.
        durability: Also search settings that may lose commits in a crash.
        rebuild: Also search what takes a rebuild of the data that `current` describes, such as
            another page size.
        cold: Begin without what earlier studies of like questions found best.
        dialect: The product whose file is wanted, such as `mysql-8.4`: trials are of that server,
            and the file is measured as it stands.
        seed: Seed of all random numbers: the same simulated question gets the same answer,
            after the same earlier studies.
        name: What the study is called; one of the same name and question is resumed. A new name is
            made if absent.
        results: The DuckDB file that keeps every trial; the user's usual one if absent.
        cluster: A Dask scheduler whose workers make the simulated trials.
        finalists: So many of the best settings then run on the real engine, which picks. Where
            none here runs the engine that won, the recommendation stays that of the search.
        finalist_minutes: What they may take.
        rocksdb: The shared library of RocksDB, in place of the one that is found.
        server: The mariadbd or mysqld, in place of the one that is found.
        watcher: Told of every trial as it starts and ends (`advisor.search.Event`).

    Returns:
        The study with its answer. Ask it to `recommend()`, `explain()`, `export(dialect, path)`,
        for its `trials()` and `importance()`, its `front()` where there are several objectives, a
        `report(path)`, or plots (`plot_history()`, `plot_front()`, `plot_changes()`,
        `plot_importance()`, `plot_latency()`, `plot_bytes()`, `plot_run()`).

    Raises:
        advisor.errors.InputError: What was asked for cannot be; it says what is accepted.
        advisor.errors.WorkError: No trial finished.
    """
    chosen = asked_profile(
        profile, memory=memory, data=data, clients=clients, hardware=hardware, goal=goal
    )
    engines = asked_engines(engine, chosen)
    store = Store(results)
    store.check()
    question = Question(
        chosen,
        engines=engines,
        current=asked_settings(current, engines),
        opened=durability_knobs(engines) if durability else (),
        clock=asked_clock(clock, chosen),
        seed=seed,
        seconds=seconds,
        scale=scale,
        rebuild=rebuild,
        cold=cold,
        wanted=dialects.engine_of(dialect) if dialect is not None else None,
        dialect=dialect,
        source=source_of(current),
    )
    if cluster is not None and question.clock != "simulated":
        raise InputError("cluster", None, f"a {question.clock} study", "a simulated one")
    finals = asked_finals(finalists, finalist_minutes, rocksdb, server, question)
    with connected(cluster) as afar:
        made = Study(
            name or store.free_name(chosen.name),
            question,
            store,
            bounds=Bounds(trials, minutes),
            watcher=watcher,
            afar=afar,
        )
        with made.alone():
            made.run()
            advice = handover.advice_for(made, dialect, handover.own_file(made))
            if finals is not None:
                have_judged(finals, made, advice, store)
    return Tuned(made, store)


def study(name: str, *, results: str | Path | None = None) -> Tuned:
    """A stored study by its name. Raises `InputError` if there is none."""
    store = Store(results)
    return Tuned(Study.load(name, store), store)


def studies(*, results: str | Path | None = None) -> list[StudySummary]:
    """What is stored, the newest first."""
    return Store(results).studies()
