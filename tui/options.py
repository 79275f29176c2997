"""The options of the commands, each written once so that it means the same everywhere.

A command lists an option only when it honours it.
"""

from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from tui import completions

DAY_SECONDS = 86400.0
YEAR_MINUTES = 525600.0
MINUTES_OF_A_VERDICT = 15.0
MINUTES_OF_A_SERVERS_VERDICT = 25.0
"""What runs on a real engine take until a verdict stands, where nobody says."""
LARGEST_SEED = 2**63 - 1


def factor(text: str) -> float:
    """A factor above 0 and at most 1, as a fraction or as a decimal number."""
    try:
        found = float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        found = 0.0
    if not 0.0 < found <= 1.0:
        raise typer.BadParameter(f"{text!r} is no factor from above 0 to 1, such as 1/40")
    return found


class EngineChoice(StrEnum):
    """What `--engine` accepts where one engine or both can be searched."""

    lsm = "lsm"
    btree = "btree"
    both = "both"


class OneEngine(StrEnum):
    """What `--engine` accepts where exactly one engine runs."""

    lsm = "lsm"
    btree = "btree"


class RunEngine(StrEnum):
    """What `--engine` accepts where one of our engines or a real one runs."""

    lsm = "lsm"
    btree = "btree"
    rocksdb = "rocksdb"
    innodb = "innodb"
    myrocks = "myrocks"


PROFILE = Annotated[
    str,
    typer.Argument(
        metavar="PROFILE",
        help="A shipped profile (see `tunebench profiles`) or a profile file.",
        autocompletion=completions.profiles,
        show_default=False,
    ),
]
ENGINE = Annotated[
    OneEngine | None,
    typer.Option(
        "--engine", help="The engine to run; without it the profile's own.", show_default=False
    ),
]
ADVICE_ENGINE = Annotated[
    OneEngine | None,
    typer.Option(
        "--engine",
        help="Whose settings run on the real engine; without it those of the engine that is "
        "recommended.",
        show_default=False,
    ),
]
RUN_ENGINE = Annotated[
    RunEngine | None,
    typer.Option(
        "--engine",
        help="The engine to run: one of ours, the real RocksDB, or a server's real InnoDB or "
        "MyRocks; without it the profile's own.",
        show_default=False,
    ),
]
ROCKSDB = Annotated[
    Path | None,
    typer.Option(
        "--rocksdb",
        metavar="PATH",
        help="The real RocksDB: a librocksdb.so, or a rocksdbjni .jar; the system's without it.",
        show_default=False,
    ),
]
SERVER = Annotated[
    Path | None,
    typer.Option(
        "--server",
        metavar="PATH",
        help="The real server: a mariadbd or mysqld; the system's without it.",
        show_default=False,
    ),
]
DIRECTORY = Annotated[
    Path | None,
    typer.Option(
        "--directory",
        metavar="DIR",
        help="Where the files of real runs go, on the disk to be judged; the system's folder for "
        "temporary files without it.",
        show_default=False,
    ),
]
FINALISTS = Annotated[
    int | None,
    typer.Option(
        "--finalists",
        min=1,
        max=20,
        help="End the search on the real RocksDB, which picks among this many of its best "
        "settings; those found best stay unless others are detectably better there.",
        show_default=False,
    ),
]
FINALIST_MINUTES = Annotated[
    float | None,
    typer.Option(
        "--finalist-minutes",
        min=0.01,
        max=YEAR_MINUTES,
        help="What the finalists may take after the search; without it "
        f"{MINUTES_OF_A_VERDICT:g}, or {MINUTES_OF_A_SERVERS_VERDICT:g} on a server.",
        show_default=False,
    ),
]
ENGINES = Annotated[
    EngineChoice | None,
    typer.Option("--engine", help="The engines to search; the profile says which without it."),
]
SET = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KNOB=VALUE",
        help="A current setting by its name, over those of --from; repeatable.",
        autocompletion=completions.settings,
        show_default=False,
    ),
]
DATA = Annotated[
    str | None,
    typer.Option("--data", metavar="SIZE", help="Size of the data, in place of the profile's."),
]
MEMORY = Annotated[
    str | None,
    typer.Option(
        "--memory", metavar="SIZE", help="Memory for the engine, in place of the profile's."
    ),
]
HARDWARE = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        metavar="NAME",
        help="Hardware, in place of the profile's: a shipped name, one of your own (`doctor "
        "--calibrate` makes this-machine), or a file.",
        autocompletion=completions.machines,
    ),
]
SCALE = Annotated[
    float | None,
    typer.Option(
        "--scale",
        metavar="FACTOR",
        parser=factor,
        help="Size of the copy that trials run on, of the full size, such as 1/40; the smallest "
        "one of a search, whose best climb to larger ones. Without it the profile decides.",
        show_default=False,
    ),
]
CLIENTS = Annotated[
    int | None,
    typer.Option("--clients", min=1, help="Concurrent clients, in place of the profile's."),
]
SECONDS = Annotated[
    float | None,
    typer.Option(
        "--seconds", min=0.05, max=DAY_SECONDS, help="Length of the measured phase of each run."
    ),
]
RUN_SECONDS = Annotated[
    float,
    typer.Option("--seconds", min=0.05, max=DAY_SECONDS, help="Length of the measured phase."),
]
TRIALS = Annotated[
    int | None,
    typer.Option("--trials", min=1, help="Stop the search after this many trials."),
]
MINUTES = Annotated[
    float | None,
    typer.Option("--minutes", min=0.01, max=YEAR_MINUTES, help="Stop after this many minutes."),
]
CLUSTER = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="A Dask scheduler whose workers make the simulated trials, such as "
        "tcp://10.0.0.1:8786.",
        show_default=False,
    ),
]
SIMULATE = Annotated[
    bool | None,
    typer.Option(
        "--simulate/--measure",
        help="Run under the virtual clock on the profile's hardware, or on this machine. Without "
        "either: measured on this machine, unless all of it was calibrated.",
    ),
]
SEED = Annotated[
    int,
    typer.Option(
        "--seed", min=0, max=LARGEST_SEED, help="Seed of the random numbers of a run or search."
    ),
]
STUDY = Annotated[
    str | None,
    typer.Option(
        "--study",
        metavar="NAME",
        help="Name of the study; an existing one is resumed.",
        autocompletion=completions.studies,
    ),
]
FROM = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="FILE", help="The current settings: a my.cnf or an OPTIONS file."
    ),
]
TO = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="DIALECT",
        help="The product and version to write for, such as mariadb-10.11.",
        autocompletion=completions.dialects,
    ),
]
OUTPUT = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="The file to write.")
]
RESULTS = Annotated[
    Path | None,
    typer.Option("--results", metavar="FILE", help="The DuckDB file that holds all results."),
]
GOAL = Annotated[
    str | None,
    typer.Option(
        "--goal",
        metavar="GOAL",
        help='What to reach, such as "maximize ops_per_s subject to p99_us <= 5000". A percentile '
        'may be that of one operation: "p99_us[get_node] <= 5ms". Several objectives make a front: '
        '"maximize ops_per_s, minimize write_kb_per_op".',
    ),
]
FRONT = Annotated[
    int | None,
    typer.Option(
        "--front",
        metavar="NUMBER",
        help="Another member of the front, by its number in the report.",
        show_default=False,
    ),
]
DURABILITY = Annotated[
    bool,
    typer.Option("--durability", help="Also search settings that may lose commits in a crash."),
]
REBUILD = Annotated[
    bool,
    typer.Option(
        "--rebuild",
        help="Also search what takes a rebuild of the data whose settings --from gives, such as "
        "another page size. Without it the report says what a rebuild would buy.",
    ),
]
COLD = Annotated[
    bool,
    typer.Option("--cold", help="Begin without what earlier studies of like questions found best."),
]
FORCE = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Go on where a file exists that would be written over, or where a file of settings "
        "describes another engine than the model.",
    ),
]
JSON = Annotated[
    bool, typer.Option("--json", help="One JSON document on stdout, and nothing else there.")
]
