"""What is put into the results file and what is asked of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.atomic import write_by
from advisor.errors import InputError
from advisor.files import exists
from advisor.store import export, file, named, rows, schema, sweeps, tags
from advisor.store.lease import leased
from advisor.store.named import Named
from advisor.store.records import (
    RobustPoint,
    RobustRun,
    RobustSession,
    StudyRecord,
    StudySummary,
    Table,
    VerifiedRun,
)
from advisor.store.relation import copied
from advisor.store.sweeps import SweepPoint, SweepRecord
from advisor.trial import THIS_MACHINE, Trial

if TYPE_CHECKING:
    import duckdb
    import pyarrow


_READING = ("SELECT", "EXPLAIN", "PRAGMA", "MULTI")
"""Kinds of DuckDB's statements; a PIVOT is a MULTI."""
MOST_LETTERS = 200
"""Of the name of a study or a sweep, and of a tag."""


class Store:
    """The results file at `path`; the file is made at the first write."""

    def __init__(
        self, path: Path | str | None = None, *, patience_s: float = file.PATIENCE_SECONDS
    ) -> None:
        self.path = Path(path) if path is not None else file.default_path()
        self._patience_s = patience_s

    def check(self) -> None:
        """Raises `InputError` if nothing can be stored here, before work whose results it is to
        keep."""
        file.check(self.path, self._patience_s)

    def add_study(self, record: StudyRecord) -> None:
        """Stores a new study. Raises `InputError` if the name is taken, or is none."""
        _check_name("--study", record.name)
        with file.writing(self.path, self._patience_s) as connection:
            self._free(connection, record.name)
            with connection.appender("study") as studies:
                studies.append_row(
                    record.name,
                    datetime.now(UTC).replace(tzinfo=None),
                    record.workload,
                    record.goal,
                    list(record.engines),
                    record.clock,
                    record.seed,
                    json.dumps(record.identity, sort_keys=True),
                    record.core_version,
                    record.host,
                )

    def delete_study(self, name: str) -> int:
        """Removes a study with all its trials, in one transaction, and returns how many those were.
        Raises `InputError` if there is none of this name, or if a process is running it."""
        self._known(name)
        with leased(self.path, name), file.writing(self.path, self._patience_s) as connection:
            return rows.delete(connection, name)

    def study(self, name: str) -> StudyRecord | None:
        """The study of this name."""
        return next(iter(self._records("name = ?", [name])), None)

    def studies_of(self, workload: str) -> list[StudyRecord]:
        """The studies of a kind of workload, the newest first."""
        return self._records("workload = ? ORDER BY created DESC, name", [workload])

    def _records(self, which: str, parameters: Sequence[object]) -> list[StudyRecord]:
        found = self._read(
            "SELECT name, workload, goal, engines, clock, seed, identity, core_version, host, "
            f"created FROM study WHERE {which}",
            parameters,
        )
        return [
            StudyRecord(
                name=row[0],
                workload=row[1],
                goal=row[2],
                engines=tuple(row[3]),
                clock=row[4],
                seed=row[5],
                identity=json.loads(row[6]),
                core_version=row[7],
                host=row[8],
                created=row[9].isoformat(timespec="seconds"),
            )
            for row in found
        ]

    def studies(self) -> list[StudySummary]:
        """All studies, the newest first."""
        found = self._read(
            "SELECT s.name, s.created, s.workload, s.goal, s.engines, s.clock, count(t.id), "
            "max(t.started), (SELECT arg_max(trial.product, trial.started) FROM verification "
            "JOIN trial ON trial.id = verification.trial WHERE verification.study = s.name "
            "AND verification.round > 0 AND trial.outcome = 'finished'), "
            "(SELECT list(tag.name ORDER BY tag.name) FROM tag WHERE tag.study = s.name) "
            "FROM study s LEFT JOIN trial t ON t.study = s.name "
            "GROUP BY ALL ORDER BY s.created DESC",
            [],
        )
        return [
            StudySummary(
                name=row[0],
                created=row[1].isoformat(timespec="seconds"),
                workload=row[2],
                goal=row[3],
                engines=tuple(row[4]),
                clock=row[5],
                trials=row[6],
                last_trial=row[7].isoformat(timespec="seconds") if row[7] else None,
                verified=row[8],
                tags=tuple(row[9] or ()),
            )
            for row in found
        ]

    def named(self, name: str) -> Named:
        """The study or the sweep of this name, else the single run whose id begins so. Raises
        `InputError` if there is none, or more than one."""
        found: list[Named] = []
        if exists(self.path):
            with file.reading(self.path, self._patience_s) as connection:
                found = named.meant(connection, name)
        if len(found) != 1:
            what = f"no study, sweep or run {name!r}"
            if found:
                what = f"more than one run whose id begins with {name!r}"
            accepted = "the name of a stored study or sweep, or the beginning of a run's id"
            raise InputError(self.path, None, what, accepted)
        return found[0]

    def delete(self, name: str) -> Named:
        """Removes a study, a sweep or a single run with all it measured, in one transaction, and
        returns what it was. Raises `InputError` as `named` does, or if a process is making it."""
        meant = self.named(name)
        if meant.kind == "study":
            return replace(meant, trials=self.delete_study(meant.key))
        with (
            leased(self.path, meant.key, meant.kind),
            file.writing(self.path, self._patience_s) as connection,
        ):
            named.delete(connection, meant)
        return meant

    def tag(self, what: str, name: str) -> tuple[str, ...]:
        """Tags a study, a sweep or a single run, and returns its tags. Raises `InputError` as
        `named` does, or for a tag that could not be typed."""
        if not name.strip() or len(name) > MOST_LETTERS or not name.isprintable():
            accepted = f"1 to {MOST_LETTERS} letters that can be printed"
            raise InputError("--tag", None, repr(name), accepted)
        key = self.named(what).key
        with file.writing(self.path, self._patience_s) as connection:
            tags.add(connection, key, name)
            return tags.of(connection, key)

    def untag(self, what: str, name: str) -> tuple[str, ...]:
        """Takes a tag off a study, a sweep or a single run, and returns those that are left. Raises
        `InputError` as `named` does, or if it has no such tag."""
        key = self.named(what).key
        had = self.tags(key)
        if name not in had:
            accepted = f"a tag of {what}: {', '.join(had) or 'it has none'}"
            raise InputError("--untag", None, repr(name), accepted)
        with file.writing(self.path, self._patience_s) as connection:
            tags.remove(connection, key, name)
            return tags.of(connection, key)

    def tags(self, key: str | None = None) -> tuple[str, ...]:
        """The tags of a study or a sweep by its name, of a run by its id, or of all, in
        alphabetical order."""
        if not exists(self.path):
            return ()
        with file.reading(self.path, self._patience_s) as connection:
            return tags.all_of(connection) if key is None else tags.of(connection, key)

    def tags_by_key(self) -> Mapping[str, tuple[str, ...]]:
        """The tags of all that has some: studies and sweeps by name, runs by id."""
        if not exists(self.path):
            return {}
        with file.reading(self.path, self._patience_s) as connection:
            return tags.by_key(connection)

    def export(self, path: Path, name: str | None = None, *, force: bool = False) -> int:
        """Writes the trials of a study or a sweep, a single run, or all that are stored, to a
        .parquet or .csv file: a row for each, metrics and settings as columns. Returns how many.
        Raises `InputError` for another name, an existing file without `force`, and as `named`
        does."""
        kind = export.format_of(path)
        self._there()
        meant = None if name is None else self.named(name)

        def write(connection: duckdb.DuckDBPyConnection, beside: Path) -> int:
            return export.write(connection, meant, beside, kind)

        return self._write(path, force, write)

    def export_query(self, text: str, path: Path, *, force: bool = False) -> int:
        """Writes the answer to one query, as `sql`, to a .parquet or .csv file, and returns how
        many rows there are. Raises `InputError` as both do."""
        kind = export.format_of(path)
        self._there()

        def write(connection: duckdb.DuckDBPyConnection, beside: Path) -> int:
            with _worded(connection):
                query = _only_query(connection, text).query
                return export.write_query(connection, export.bare(query), beside, kind)

        return self._write(path, force, write)

    def _write(
        self, path: Path, force: bool, write: Callable[[duckdb.DuckDBPyConnection, Path], int]
    ) -> int:
        """Has a table written beside a file that it then becomes."""
        count = 0

        def written(beside: Path) -> None:
            nonlocal count
            with file.reading(self.path, self._patience_s, into=beside) as connection:
                count = write(connection, beside)

        write_by(path, written, force)
        return count

    def add_trial(self, trial: Trial, study: str | None = None) -> Trial:
        """Stores a trial as `add_trials` does."""
        return self.add_trials([trial], study)[0]

    def add_trials(self, trials: Sequence[Trial], study: str | None = None) -> list[Trial]:
        """Stores trials with all they measured in one transaction, and returns them with their
        numbers in the study: the next ones, but for those that have one."""
        stored = []
        with file.writing(self.path, self._patience_s) as connection:
            for trial in trials:
                numbered = trial if trial.number else trial.numbered(_next(connection, study))
                rows.append(connection, numbered, study)
                stored.append(numbered)
        return stored

    def add_verified(
        self, trial: Trial, study: str, session: str, place: int, contender: str, round_: int
    ) -> Trial:
        """Stores a run of a contender of a verification, by its place and name; round 0 is what was
        predicted."""
        with file.writing(self.path, self._patience_s) as connection:
            rows.append(connection, trial, None)
            with connection.appender("verification") as appender:
                appender.append_row(session, study, place, contender, round_, trial.id)
        return trial

    def verified_session(self, study: str) -> str | None:
        """The newest verification of a study in which the real engine finished a run of the base of
        comparison."""
        found = self._read(
            "SELECT verification.session FROM verification "
            "JOIN trial ON trial.id = verification.trial WHERE verification.study = ? "
            "AND verification.place = 0 AND verification.round > 0 AND trial.outcome = 'finished' "
            "ORDER BY trial.started DESC LIMIT 1",
            [study],
        )
        return str(found[0][0]) if found else None

    def verified_runs(self, session: str) -> list[VerifiedRun]:
        """The runs of a verification, by place and round."""
        rows = self._read(
            "SELECT trial, place, contender, round FROM verification WHERE session = ? "
            "ORDER BY place, round",
            [session],
        )
        trials = self._trials("id IN (SELECT trial FROM verification WHERE session = ?)", [session])
        by_id = {trial.id: trial for trial in trials}
        return [
            VerifiedRun(place, contender, number, by_id[str(trial)])
            for trial, place, contender, number in rows
        ]

    def add_final(self, session: str, study: str, place: int) -> None:
        """Stores which contender of a verification the real engine picked for a study."""
        with file.writing(self.path, self._patience_s) as connection:
            connection.execute(
                "INSERT INTO final VALUES (?, ?, ?, now()::TIMESTAMPTZ AT TIME ZONE 'UTC')",
                [session, study, place],
            )

    def final(self, study: str) -> tuple[str, int] | None:
        """The newest session in which a real engine picked for a study, and the place that it
        picked."""
        found = self._read(
            "SELECT session, place FROM final WHERE study = ? ORDER BY decided DESC LIMIT 1",
            [study],
        )
        return (str(found[0][0]), int(found[0][1])) if found else None

    def add_robust(
        self, session: str, study: str, place: int, candidate: str, point: int, again: bool,
        trial: Trial,
    ) -> None:  # fmt: skip
        """Stores a run of a candidate at a point of a session, by its place and name; `again` where
        it was made after the choice."""
        with file.writing(self.path, self._patience_s) as connection:
            rows.append(connection, trial, None)
            with connection.appender("robust_run") as appender:
                appender.append_row(session, study, place, candidate, point, again, trial.id)

    def add_robust_point(self, session: str, number: int, point: RobustPoint) -> None:
        """Stores a point at which all candidates of a session ran; 0 is what was asked."""
        profile = json.dumps(point.profile, sort_keys=True)
        with (
            file.writing(self.path, self._patience_s) as connection,
            connection.appender("robust_point") as appender,
        ):
            appender.append_row(session, number, point.name, point.divergence, profile)

    def end_robust(self, study: str, session: RobustSession) -> None:
        """Stores the end of a session, whose points are stored."""
        with (
            file.writing(self.path, self._patience_s) as connection,
            connection.appender("robustness") as appender,
        ):
            created = datetime.now(UTC).replace(tzinfo=None)
            appender.append_row(
                session.session, study, created, session.radius, session.no_mix, session.ending
            )

    def robust_session(self, study: str) -> RobustSession | None:
        """The newest session of a study that came to an end."""
        found = self._read(
            "SELECT session::VARCHAR, radius, no_mix, ending FROM robustness WHERE study = ? "
            "ORDER BY created DESC LIMIT 1",
            [study],
        )
        return RobustSession(*found[0]) if found else None

    def robust_points(self, session: str) -> list[RobustPoint]:
        """The points of a session, what was asked first."""
        found = self._read(
            "SELECT name, divergence, profile FROM robust_point WHERE session = ? ORDER BY point",
            [session],
        )
        return [RobustPoint(name, far, json.loads(profile)) for name, far, profile in found]

    def robust_runs(self, session: str) -> list[RobustRun]:
        """The runs of a session at its points, by candidate, point and seed."""
        found = self._read(
            "SELECT place, candidate, point, again, trial FROM robust_run "
            "JOIN robust_point USING (session, point) WHERE session = ?",
            [session],
        )
        trials = self._trials("id IN (SELECT trial FROM robust_run WHERE session = ?)", [session])
        by_id = {trial.id: trial for trial in trials}
        runs = [
            RobustRun(place, candidate, point, again, by_id[str(trial)])
            for place, candidate, point, again, trial in found
        ]
        return sorted(runs, key=lambda run: (run.place, run.point, run.again, run.trial.seed))

    def add_sweep(self, sweep: SweepRecord) -> None:
        """Stores a new sweep. Raises `InputError` if the name is taken, or is none."""
        _check_name("--sweep", sweep.name)
        with file.writing(self.path, self._patience_s) as connection:
            self._free(connection, sweep.name)
            sweeps.add(connection, sweep)

    def add_swept(
        self,
        sweep: str,
        point: SweepPoint,
        labels: tuple[str, str | None],
        trials: tuple[Trial, ...],
    ) -> None:
        """Stores a point of a sweep with its runs, in one transaction; `labels` are its values as
        people write them, on the axis and on the second one of a map."""
        with file.writing(self.path, self._patience_s) as connection:
            sweeps.add_point(connection, sweep, point, labels, trials)

    def sweep(self, name: str) -> SweepRecord | None:
        """The sweep of this name."""
        return next((one for one in self.sweeps() if one.name == name), None)

    def sweep_points(self, name: str) -> list[tuple[SweepPoint, tuple[Trial, ...]]]:
        """The points of a sweep with their runs, in the order in which they were made."""
        if not exists(self.path):
            return []
        with file.reading(self.path, self._patience_s) as connection:
            return sweeps.points(connection, name)

    def free_name(self, stem: str) -> str:
        """The stem with the next number that no study and no sweep has."""
        taken = {sweep.name for sweep in self.sweeps()}
        taken |= {study.name for study in self.studies()}
        return next(name for number in count(1) if (name := f"{stem}-{number}") not in taken)

    def sweeps(self) -> list[SweepRecord]:
        """All sweeps, the newest first."""
        if not exists(self.path):
            return []
        with file.reading(self.path, self._patience_s) as connection:
            return sweeps.records(connection)

    def endurance(self, study: str) -> dict[str, dict[str, float]]:
        """The rows of the view `endurance` of a study, by the id of their trial."""
        names = (
            "is_paced", "rate_per_s", "written_bytes_per_day", "drive_writes_per_day", "years",
        )  # fmt: skip
        found = self._read(
            f"SELECT trial::VARCHAR, {', '.join(names)} FROM endurance WHERE study = ?", [study]
        )
        return {trial: dict(zip(names, row, strict=True)) for trial, *row in found}

    def verified_ratios(self, product: str) -> list[tuple[str, float, float]]:
        """Metric, predicted and real ratio to the base of comparison, of every contender of every
        verification on a product. Predictions of another machine than the one that ran are left
        out: their errors are not the model's."""
        return [
            (metric, predicted, real)
            for metric, predicted, real in self._read(
                "SELECT metric, predicted_ratio, real_ratio FROM verified WHERE place > 0 "
                "AND starts_with(product, ?) AND predicted_ratio > 0 AND real_ratio > 0 "
                "AND predicted_on = ?",
                [product, THIS_MACHINE],
            )
        ]

    def trials(self, study: str | None, *, intervals: bool = True) -> list[Trial]:
        """The trials of a study in order; `None` asks for single runs. Who shows no intervals need
        not read them: a day has 864,000."""
        which = "study IS NOT DISTINCT FROM ? ORDER BY number"
        return self._trials(which, [study], intervals=intervals)

    def intervals(self, trials: Sequence[str]) -> dict[str, tuple[Mapping[str, Any], ...]]:
        """The intervals of stored trials, by their ids; of those alone that have any."""
        if not trials or not exists(self.path):
            return {}
        with file.reading(self.path, self._patience_s) as connection:
            return dict(rows.intervals(connection, trials))

    def runs(self, limit: int = 50) -> list[Trial]:
        """The latest trials of all studies and single runs, the newest first."""
        return self._trials("true ORDER BY started DESC, number DESC LIMIT ?", [limit])

    def trial(self, id_prefix: str) -> Trial:
        """The trial whose id begins so. Raises `InputError` if there is none, or more than one."""
        found = self._trials("starts_with(id::VARCHAR, ?) ORDER BY id LIMIT 2", [id_prefix.lower()])
        if len(found) != 1:
            what = "no trial" if not found else "more than one trial"
            raise InputError(
                self.path, None, f"{what} whose id begins with {id_prefix!r}", "the id of one trial"
            )
        return found[0]

    def best(self, study: str, metric: str, *, maximize: bool = True) -> Trial | None:
        """The finished trial of a study with the best value of one metric, constraints not looked
        at."""
        order = "DESC" if maximize else "ASC"
        found = self._trials(
            "study = ? AND id IN (SELECT trial FROM trial_metric WHERE metric = ?) "
            "ORDER BY (SELECT any_value(value) FROM trial_metric WHERE metric = ? AND trial = id) "
            f"{order} LIMIT 1",
            [study, metric, metric],
        )
        return found[0] if found else None

    def sql(self, text: str, *, most: int | None = None) -> Table:
        """The answer to one query, or its first rows. The query can read this file and nothing
        else, and change nothing. Raises `InputError`, which names the tables."""
        self._there()
        with (
            file.reading(self.path, self._patience_s) as connection,
            _asked(connection, text) as answer,
        ):
            columns = tuple(column[0] for column in answer.description or ())
            found = answer.fetchall() if most is None else answer.fetchmany(most)
            return Table(columns, tuple(found))

    def query(self, text: str) -> duckdb.DuckDBPyRelation:
        """The answer to one query, as `sql`, as a relation, which holds a copy of the rows and not
        the file."""
        self._there()
        with (
            file.reading(self.path, self._patience_s) as connection,
            _asked(connection, text) as answer,
        ):
            return copied(answer)

    def arrow(self, text: str) -> pyarrow.Table:
        """The answer to one query, as `sql`, as a table of Arrow. Raises `InputError` where pyarrow
        is not installed."""
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise InputError("arrow", None, "no pyarrow", "pip install pyarrow") from error
        return self.query(text).to_arrow_table()

    def relation(self, query: str, parameters: Mapping[str, object]) -> duckdb.DuckDBPyRelation:
        """The rows of a query of this library as a relation, which holds a copy of them. Raises
        `InputError` if there is no file."""
        self._there()
        with file.reading(self.path, self._patience_s) as connection:
            return copied(connection.execute(query, dict(parameters)))

    def tables(self) -> Table:
        """Every table and view that a query can read, with its columns and their types."""
        import duckdb

        with duckdb.connect() as connection:
            schema.migrate(connection, 0)
            return Table(("table", "column", "type"), tuple(schema.columns(connection)))

    def _free(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        """Raises `InputError` if a study or a sweep has this name."""
        for kind in ("study", "sweep"):
            query = f"SELECT 1 FROM {kind} WHERE name = ?"
            if connection.execute(query, [name]).fetchall():
                raise InputError(self.path, name, f"a {kind} of this name", "a new name")

    def _there(self) -> None:
        if not exists(self.path):
            raise InputError(self.path, None, "no results yet", "a results file")

    def _known(self, study: str) -> None:
        if self.study(study) is None:
            raise InputError(self.path, None, f"no study {study!r}", "the name of a stored study")

    def _read(self, query: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        if not exists(self.path):
            return []
        with file.reading(self.path, self._patience_s) as connection:
            return connection.execute(query, parameters).fetchall()

    def _trials(
        self, which: str, parameters: Sequence[object], *, intervals: bool = True
    ) -> list[Trial]:
        if not exists(self.path):
            return []
        with file.reading(self.path, self._patience_s) as connection:
            return rows.fetch(connection, which, parameters, with_intervals=intervals)


def _next(connection: duckdb.DuckDBPyConnection, study: str | None) -> int:
    """The number of one more trial of a study."""
    taken = connection.execute(
        "SELECT coalesce(max(number), 0) + 1 FROM trial WHERE study IS NOT DISTINCT FROM ?",
        [study],
    ).fetchall()
    return int(taken[0][0])


@contextmanager
def _asked(connection: duckdb.DuckDBPyConnection, text: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A query that has run, and whose rows are fetched in the block."""
    with _worded(connection):
        yield connection.execute(_only_query(connection, text))


@contextmanager
def _worded(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """What DuckDB says against a query of the user's, in one line."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        message = str(error).split("\n\nLINE ")[0]
        raise InputError("--sql", None, message, _accepted(connection)) from error


def _check_name(option: str, name: str) -> None:
    if not name.strip() or len(name) > MOST_LETTERS:
        raise InputError(option, None, f"a name of {len(name)} letters", f"1 to {MOST_LETTERS}")
    if not name.isprintable():
        raise InputError(option, None, repr(name), "letters that can be printed")


def _only_query(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    """The one statement of the text, if it reads. Results of an older version are asked in memory,
    where DuckDB would let them be changed."""
    if text.encode(errors="ignore").decode() != text:
        raise InputError("--sql", None, "bytes that are not UTF-8", _accepted(connection))
    found = connection.extract_statements(text)
    if len(found) != 1:
        what = f"{len(found)} queries" if found else "no query"
        raise InputError("--sql", None, what, _accepted(connection))
    kind = found[0].type.name
    if kind not in _READING:
        raise InputError("--sql", None, f"a statement of the kind {kind}", _accepted(connection))
    return found[0]


def _accepted(connection: duckdb.DuckDBPyConnection) -> str:
    tables = ", ".join(dict.fromkeys(table for table, _, _ in schema.columns(connection)))
    return f"one query that only reads: {tables} (results --tables shows their columns)"
