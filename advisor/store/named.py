"""What a name stands for, and how a sweep or a single run is removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from advisor.store import rows

if TYPE_CHECKING:
    import duckdb

Kind = Literal["study", "sweep", "run"]
MOST_MEANT = 2
"""Runs of a prefix that are looked at: with a second one it names none."""


@dataclass(frozen=True)
class Named:
    """What is stored under a name."""

    kind: Kind
    key: str
    """The name of a study or a sweep, the whole id of a run."""
    trials: int
    """Runs that are deleted with it: those of a sweep that no study made."""


_OWN_RUNS = (
    "SELECT trial FROM sweep_run JOIN trial ON trial.id = sweep_run.trial "
    "WHERE sweep_run.sweep = $key AND trial.study IS NULL"
)
_ALONE = (
    "study IS NULL AND id NOT IN (SELECT trial FROM sweep_run UNION ALL SELECT trial FROM "
    "verification UNION ALL SELECT trial FROM robust_run)"
)


def meant(connection: duckdb.DuckDBPyConnection, name: str) -> list[Named]:
    """A study or a sweep of this name, else the single runs whose id begins so, two at most."""
    counts: tuple[tuple[Kind, str], ...] = (
        ("study", "SELECT count(*) FROM trial WHERE study = $key"),
        ("sweep", f"SELECT count(*) FROM ({_OWN_RUNS})"),
    )
    for kind, count in counts:
        if connection.execute(f"SELECT 1 FROM {kind} WHERE name = ?", [name]).fetchall():
            ((trials,),) = connection.execute(count, {"key": name}).fetchall()
            return [Named(kind, name, int(trials))]
    found = connection.execute(
        f"SELECT id::VARCHAR FROM trial WHERE {_ALONE} AND starts_with(id::VARCHAR, ?) "
        f"ORDER BY id LIMIT {MOST_MEANT}",
        [name.lower()],
    ).fetchall()
    return [Named("run", str(id_), 1) for (id_,) in found]


def delete(connection: duckdb.DuckDBPyConnection, named: Named) -> None:
    """Removes a sweep or a run with its runs and tags inside the transaction of the caller. The
    studies in which a sweep searched its steps stay."""
    own = _OWN_RUNS if named.kind == "sweep" else "SELECT $key::UUID"
    rows.delete_trials(connection, own, {"key": named.key})
    connection.execute("DELETE FROM tag WHERE study = ?", [named.key])
    if named.kind == "sweep":
        for table, column in (("sweep_run", "sweep"), ("sweep_point", "sweep"), ("sweep", "name")):
            connection.execute(f"DELETE FROM {table} WHERE {column} = ?", [named.key])
