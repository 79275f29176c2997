"""The bridge to the Rust core: start a run, watch it, stop it, and get its report.

Everything above this file sees the dictionaries of `spec.py` and this library's own errors. The
core is found through the `Core` protocol, so that a test hands in a closed-form one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, cast

from advisor.errors import InputError, TunebenchError, WorkError
from advisor.spec import Interval, Report, Spec

POLL_SECONDS = 0.1


class CoreRun(Protocol):
    """One run of the core, as `advisor._core.Run` offers it."""

    def start(self) -> None: ...
    def poll(self) -> list[Interval]: ...
    def cancel(self) -> None: ...
    def wait(self, timeout_s: float | None = None) -> bool: ...
    @property
    def finished(self) -> bool: ...
    def report(self) -> Report: ...


class Core(Protocol):
    """What this library asks of `advisor._core`."""

    VERSION: str
    SpecError: type[Exception]
    RunError: type[Exception]
    RunCancelled: type[Exception]

    def Run(self, spec: Spec) -> CoreRun: ...
    def work_kinds(self) -> list[dict[str, Any]]: ...
    def probe_turning(self) -> float: ...


class Cancelled(TunebenchError):
    """A run was stopped because its caller asked for it."""


class DiskFull(WorkError):
    """The disk under a run is full: going on would fail again."""


def load() -> Core:
    """The compiled core. Raises `WorkError` when it is not built."""
    try:
        from advisor import _core
    except ImportError as error:
        raise WorkError(f"the compiled core cannot be loaded: {error}") from error
    return cast(Core, _core)


def run(
    spec: Spec,
    *,
    on_interval: Callable[[Interval], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    core: Core | None = None,
) -> Report:
    """Carries out one run and returns its report.

    `on_interval` is called in this thread for every interval; `cancelled` is asked about ten times
    a second. Raises `InputError` for a spec that the core refuses, `DiskFull` or `WorkError` for a
    run that failed, and `Cancelled`.
    """
    core = core or load()
    try:
        return _carry_out(core.Run(spec), on_interval, cancelled)
    except core.SpecError as error:
        raise _refusal(error) from error
    except core.RunCancelled as error:
        raise Cancelled("the run was cancelled") from error
    except core.RunError as error:
        raise _failure(error) from error


def _carry_out(
    run: CoreRun,
    on_interval: Callable[[Interval], None] | None,
    cancelled: Callable[[], bool] | None,
) -> Report:
    run.start()
    try:
        ended = False
        while not ended:
            ended = run.wait(POLL_SECONDS)
            for interval in run.poll():
                if on_interval is not None:
                    on_interval(interval)
            if not ended and cancelled is not None and cancelled():
                _end(run)
                ended = True
    except BaseException:
        # Its threads would go on writing into a directory that is about to be removed.
        _end(run)
        raise
    return run.report()


def _end(run: CoreRun) -> None:
    """Ends a run at once. An interrupt does not shorten that: it is as good as over."""
    run.cancel()
    ended = False
    while not ended:
        with suppress(KeyboardInterrupt):
            ended = run.wait(None)


def _refusal(error: Exception) -> InputError:
    field, found, accepted = error.args
    return InputError("run", field, found, accepted)


def _failure(error: Exception) -> WorkError:
    message = str(error.args[0]) if error.args else str(error)
    disk_is_full = len(error.args) > 1 and bool(error.args[1])
    return DiskFull(message) if disk_is_full else WorkError(message)
