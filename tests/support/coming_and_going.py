"""Studies of the real core on threads that begin and end, two at a time; some are cancelled.

Run as a program, so that the first of these threads is the one that loads the core:
`python -m tests.support.coming_and_going STUDIES FOLDER`. Prints how many finished and how many
were cancelled, as JSON.
"""

from __future__ import annotations

import json
import random
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from advisor.search import Study

AT_A_TIME = 2
MOST_EVENTS = 24
"""A study of two trials tells about as many: some finish before they are cancelled."""


class Canceller:
    """Cancels a study from a thread of its own, once it has told so many events."""

    def __init__(self, events: int) -> None:
        self._left = events
        self._due = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._wait)

    def watch(self, study: Study) -> None:
        """Begins; a study that has nothing to tell yet may be cancelled at once."""
        self._study = study
        self._thread.start()
        self.count(None)

    def count(self, event: object) -> None:
        """One event more."""
        self._left -= 1
        if self._left < 0:
            self._due.set()

    def end(self) -> None:
        """Lets the thread go."""
        self._over = True
        self._due.set()
        self._thread.join()

    def _wait(self) -> None:
        self._due.wait()
        if not self._over:
            self._study.cancel()


def one_study(number: int, folder: Path, endings: Counter[str]) -> None:
    """A study of two short trials, cancelled at a random event if it gets there."""
    from advisor import profile
    from advisor.search import Bounds, Question, Study
    from advisor.store import Store

    draw = random.Random(number)
    small = profile.load("linkbench").with_changes(data="1GiB", memory="256MiB", clients=4)
    engine = draw.choice(("lsm", "btree"))
    question = Question(small, engines=(engine,), clock="simulated", seed=number, seconds=0.05)
    file = folder / f"{number}.duckdb"
    canceller = Canceller(draw.randrange(MOST_EVENTS))
    study = Study(
        f"study-{number}",
        question,
        Store(file),
        bounds=Bounds(trials=2),
        watcher=canceller.count,
    )
    canceller.watch(study)
    study.run()
    canceller.end()
    endings["finished" if len(study.trials) >= 2 else "cancelled"] += 1
    file.unlink()


def main(studies: int, folder: Path) -> None:
    """Runs them all and prints how they ended."""
    endings: Counter[str] = Counter()
    for first in range(0, studies, AT_A_TIME):
        threads = [
            threading.Thread(target=one_study, args=(number, folder, endings))
            for number in range(first, min(first + AT_A_TIME, studies))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(json.dumps(endings))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
