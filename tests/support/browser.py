"""A headless Chromium that opens a page, and what it asked for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def found_browser() -> str:
    """The path of one that is installed; skips the test where none is."""
    named = os.environ.get("TUNEBENCH_CHROMIUM", "")
    found = next((path for name in (named, *BROWSERS) if name and (path := shutil.which(name))), "")
    if not found:
        pytest.skip(f"no Chromium here: none of {', '.join(BROWSERS)}")
    return found


def opened(
    browser: str, page: Path, folder: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--disable-background-networking", "--disable-component-update", "--no-first-run",
        f"--user-data-dir={folder / 'browser'}", "--enable-logging=stderr",
        f"--log-net-log={folder / 'net.json'}", *options, page.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)


def requests(folder: Path, page: Path) -> Iterator[str]:
    """What the browser asked for besides the page itself."""
    text = (folder / "net.json").read_text(encoding="utf-8")
    for found in re.findall(r'"url":"([^"]*)"', text):
        if found != page.as_uri() and not found.startswith(("chrome:", "about:", "data:")):
            yield found
