"""What the tests of the terminal share: the workbench over a scripted session, and pictures of it
as text."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from textual.app import App
from textual.css.query import NoMatches
from textual.pilot import Pilot
from textual.widgets import Input

from tests.terminal.fake_session import FakeSession
from tui.app import Workbench

SIZE = (120, 34)


@pytest.fixture(autouse=True)
def own_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the results of whoever runs it."""
    path = tmp_path / "results.duckdb"
    monkeypatch.setenv("TUNEBENCH_RESULTS", str(path))
    return path


@pytest.fixture(autouse=True)
def still_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)


@pytest.fixture(autouse=True)
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials follow one another, so that a test can tell the running one from those to come."""
    monkeypatch.setattr("advisor.search.runner._cores", lambda: 1)


@pytest.fixture
def session() -> Iterator[FakeSession]:
    yield FakeSession()


@pytest.fixture
def workbench(session: FakeSession) -> Workbench:
    return Workbench(session)


def text_of(app: App[None]) -> str:
    """The screen as a terminal would show it, without colours."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait for what another thread brings about; the patience only bounds a failing test.

    A widget that is not there yet counts as not yet.
    """
    for _ in range(500):
        with suppress(NoMatches):
            if holds():
                return
        await pilot.pause(0.01)
    raise AssertionError(f"did not happen; the screen shows\n{text_of(pilot.app)}")


async def picture(pilot: Pilot[None]) -> str:
    """The screen as text, once the footer is there and nothing moves any more.

    A table fits its columns to their texts when it is idle, which on a busy machine takes more than
    one look.
    """
    await until(pilot, lambda: "palette" in text_of(pilot.app))
    looks: list[str] = []
    for _ in range(500):
        await pilot.pause()
        await pilot.pause(0.05)
        looks = [*looks[-4:], text_of(pilot.app)]
        if len(looks) == 5 and len(set(looks)) == 1:
            return looks[-1]
    raise AssertionError(f"the screen does not rest:\n{looks[-2]}\n{looks[-1]}")


def environment(**changes: str) -> dict[str, str]:
    """The environment of a command started as a process."""
    own = {name: value for name, value in os.environ.items() if name != "LINES"}
    return {**own, "COLUMNS": "100", **changes}
