"""The `tunebench` command: what is called, how it fails, and nothing that is slow to import.

Commands import the library inside their functions, so that `tunebench --help` answers at once.
"""

import os
import signal
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tui import leaving
from tui.commands.compare import compare
from tui.commands.doctor import doctor
from tui.commands.export import export
from tui.commands.import_ import import_
from tui.commands.profiles import profiles
from tui.commands.published import published
from tui.commands.results import results
from tui.commands.robust import robust
from tui.commands.run import run
from tui.commands.sweep import sweep
from tui.commands.tune import tune
from tui.commands.validation import validation
from tui.commands.verify import verify
from tui.options import RESULTS


class _PlainFailures(TyperGroup):
    """Turns the library's errors into one line on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        from advisor.errors import InputError, TunebenchError

        try:
            return super().invoke(ctx)
        except TunebenchError as error:
            typer.echo(f"tunebench: {_one_line(error)}", err=True)
            raise typer.Exit(2 if isinstance(error, InputError) else 1) from error
        except KeyboardInterrupt as interrupt:
            typer.echo("tunebench: interrupted", err=True)
            raise typer.Exit(leaving.INTERRUPTED) from interrupt


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


app = typer.Typer(
    name="tunebench",
    cls=_PlainFailures,
    help="Tune storage engines by measuring: LSM and B-tree settings for your workload.",
    epilog="Exit codes: 0 done, 1 the work failed, 2 the input was wrong, 130 interrupted, "
    "129 hung up, 143 terminated.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run)
app.command()(tune)
app.command()(sweep)
app.command()(export)
app.command(name="import")(import_)
app.command()(results)
app.command()(compare)
app.command()(profiles)
app.command()(verify)
app.command()(robust)
app.command()(validation)
app.command()(published)
app.command()(doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"tunebench {version('tunebench')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def open_workbench(
    ctx: typer.Context,
    results: RESULTS = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Tune storage engines by measuring. Without a command, the full-screen workbench opens."""
    if ctx.invoked_subcommand is not None:
        if results is not None:
            command = typer.main.get_group(app).commands[ctx.invoked_subcommand]
            if not any(one.name == "results" for one in command.params):
                raise typer.BadParameter(f"{ctx.invoked_subcommand} takes no --results")
            ctx.default_map = {ctx.invoked_subcommand: {"results": str(results)}}
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        from advisor.errors import InputError

        raise InputError(
            "tunebench", None, "no terminal", "a terminal, or a command: see `tunebench --help`"
        )
    from tui.apart import ApartSession
    from tui.app import run_workbench

    run_workbench(ApartSession(results))


def main() -> None:
    """The console script. Even a defect of tunebench ends in one line, not in a traceback."""
    leaving.on_signals((signal.SIGHUP, signal.SIGTERM), leaving.Exit())
    try:
        app()
    except Exception as error:
        if os.environ.get("TUNEBENCH_TRACEBACK"):
            raise
        sys.stderr.write(
            f"tunebench: {type(error).__name__}: {_one_line(error)}"
            " (a defect; TUNEBENCH_TRACEBACK=1 shows where)\n"
        )
        sys.exit(1)
