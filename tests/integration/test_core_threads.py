"""The core belongs to no thread: any may load it, use it beside another, be cancelled, and end."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
STUDIES = int(os.environ.get("TUNEBENCH_THREAD_STUDIES", "6"))
"""`make soak` asks for 500."""


def test_studies_come_and_go_on_threads_that_begin_and_end(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "tests.support.coming_and_going", str(STUDIES), str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    endings = json.loads(told.stdout)
    assert sum(endings.values()) == STUDIES
    assert endings.get("finished", 0) > 0
