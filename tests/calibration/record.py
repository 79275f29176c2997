"""Makes the recorded tables: `python -m tests.calibration.record [--minutes N] [--candidates N]`.

Settings are drawn at random from the space of a study and tried for each table in turn, so that all
tables have as many whenever the time is over. What a table has is not made again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest

from advisor.evaluate import Setup, evaluate
from advisor.knobs import Engine, Settings
from advisor.search import Bounds, Question
from advisor.search.fit import space_of
from advisor.search.seeds import seeds
from advisor.trial import Trial, settings_key
from tests.support.draws import draws
from tests.support.recorded import TABLES, profile_of, recorded, scale_of, table_path, write

LOOK_SECONDS, PART = 0.8, 0.2
"""Virtual seconds of a look of a study without bounds, and the part of them and of its operations
that a row is measured for. On half of a study's data that touches each byte 0.4 times as often."""
SEED = 1
AT_ONCE = 2
PATIENCE_S = 120.0
"""Of this machine's time, which others may use too."""
KEPT_EVERY = 120
"""Rows after which the tables are written."""

Table = tuple[str, Engine]


@dataclass(frozen=True)
class Wanted:
    """One row of a table."""

    table: Table
    setup: Setup
    settings: Settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=35.0)
    parser.add_argument("--candidates", type=int, default=500)
    asked = parser.parse_args()
    ends = time.monotonic() + 60.0 * asked.minutes
    made = {table: known(table) for table in TABLES}

    def tried(one: Wanted) -> Trial | None:
        if time.monotonic() >= ends:
            return None
        return evaluate(
            one.setup, one.table[1], one.settings, seed=SEED, most_wall_seconds=PATIENCE_S
        )

    wanted = list(rows(asked.candidates, made))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        found = threads.map(tried, wanted)
        for number, (one, trial) in enumerate(zip(wanted, found, strict=True), start=1):
            if trial is None:
                break
            made[one.table].append(trial)
            if number % KEPT_EVERY == 0:
                keep(made)
                print(f"{number} of {len(wanted)}", flush=True)
    keep(made)
    for (workload, engine), trials in made.items():
        done = sum(one.finished for one in trials)
        print(workload, engine, f"{done} of {len(trials)} finished")


def known(table: Table) -> list[Trial]:
    """The rows that a table has."""
    return list(recorded(*table)) if table_path(*table).exists() else []


def rows(count: int, made: Mapping[Table, Sequence[Trial]]) -> Iterator[Wanted]:
    """What the tables lack of so many rows each, in turns."""
    tables = []
    for workload, engine in TABLES:
        profile = profile_of(workload)
        scale = scale_of(profile)
        question = Question(profile, engines=(engine,), clock="simulated").settled(Bounds(), None)
        drawn = draws(space_of(question, engine, seeds(question), scale), count, SEED)
        setup = Setup(profile, scale, LOOK_SECONDS, "simulated", times=PART)
        done = {settings_key(engine, one.settings) for one in made[workload, engine]}
        lacking = [one for one in drawn if settings_key(engine, one) not in done]
        tables.append([Wanted((workload, engine), setup, one) for one in lacking])
    turns = zip_longest(*tables)
    return (one for turn in turns for one in turn if one is not None)


def keep(made: Mapping[Table, Sequence[Trial]]) -> None:
    """Writes the tables as far as they are."""
    for (workload, engine), trials in made.items():
        if trials:
            write(table_path(workload, engine), trials)


if __name__ == "__main__":
    main()
