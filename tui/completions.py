"""What a shell may complete: the names that an option or argument can take.

The shell asks in the middle of a line: nothing here writes, waits long, or says that it failed.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress

import typer

PATIENCE_SECONDS = 0.2


def profiles(incomplete: str) -> Iterator[str]:
    """Shipped profiles. Files are the shell's own."""
    from advisor.data import data_path

    names = (path.stem for path in data_path("profiles").glob("*.toml"))
    return _beginning(incomplete, sorted(names))


def machines(incomplete: str) -> Iterator[str]:
    """The user's own hardware and the shipped one."""
    from advisor.data import data_path
    from advisor.hardware import user_folder

    folders = (user_folder(), data_path("profiles", "hardware"))
    names = {path.stem for folder in folders for path in folder.glob("*.toml")}
    return _beginning(incomplete, sorted(names))


def settings(incomplete: str) -> Iterator[tuple[str, str]]:
    """`KNOB=` with what the knob does; behind it, the values of a knob that has few."""
    from advisor.errors import TunebenchError
    from advisor.knobs import ENGINES, Knob, catalogue

    knobs: dict[str, Knob] = {}
    with suppress(TunebenchError):
        knobs = {name: knob for engine in ENGINES for name, knob in catalogue(engine).items()}
    name, equals, _ = incomplete.partition("=")
    if not equals:
        offered = [(f"{knob.name}=", knob.text) for knob in knobs.values()]
    elif name in knobs:
        choices = (True, False) if knobs[name].type == "switch" else knobs[name].choices or ()
        offered = [(f"{name}={knobs[name].show(choice)}", "") for choice in choices]
    else:
        offered = []
    return (one for one in offered if one[0].startswith(incomplete))


def dialects(incomplete: str) -> Iterator[str]:
    """Products and versions that a recommendation can be written for."""
    from advisor.dialects import for_engine
    from advisor.knobs import ENGINES

    return _beginning(incomplete, (name for engine in ENGINES for name in for_engine(engine)))


def studies(ctx: typer.Context, incomplete: str) -> list[str]:
    """The studies of the results file that the line names, the newest first."""
    from advisor.errors import TunebenchError
    from advisor.store import Store

    with suppress(TunebenchError):
        store = Store(ctx.params.get("results"), patience_s=PATIENCE_SECONDS)
        return list(_beginning(incomplete, (study.name for study in store.studies())))
    return []


def sweeps(ctx: typer.Context, incomplete: str) -> list[str]:
    """The sweeps of the results file that the line names, the newest first."""
    from advisor.errors import TunebenchError
    from advisor.store import Store

    with suppress(TunebenchError):
        store = Store(ctx.params.get("results"), patience_s=PATIENCE_SECONDS)
        return list(_beginning(incomplete, (sweep.name for sweep in store.sweeps())))
    return []


def stored(ctx: typer.Context, incomplete: str) -> list[str]:
    """The studies and then the sweeps of the results file that the line names."""
    return [*studies(ctx, incomplete), *sweeps(ctx, incomplete)]


def tags(ctx: typer.Context, incomplete: str) -> list[str]:
    """The tags in the results file that the line names."""
    from advisor.errors import TunebenchError
    from advisor.store import Store

    with suppress(TunebenchError):
        store = Store(ctx.params.get("results"), patience_s=PATIENCE_SECONDS)
        return list(_beginning(incomplete, store.tags()))
    return []


def experiments(incomplete: str) -> Iterator[str]:
    """Published experiments."""
    from advisor.published import experiments

    return _beginning(incomplete, (one.name for one in experiments()))


def _beginning(incomplete: str, names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if name.startswith(incomplete))
