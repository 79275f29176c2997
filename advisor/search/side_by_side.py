"""Work done side by side, whose answers come back in the order in which it was asked for.

So what is asked for next follows from the answers so far and from how many pieces may be under way,
never from which of them happened to end first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from typing import TypeVar

Job = TypeVar("Job")
Answer = TypeVar("Answer")


def in_order(
    asked: Iterator[Job],
    begin: Callable[[Job], Future[Answer]],
    depth: int,
    *,
    waits_for: Callable[[Job], None] = lambda job: None,
    abandon: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Job, Answer]]:
    """Each job with its answer, in the order of `asked`, which is drawn from only when fewer than
    `depth` are under way, and knows the answers that were taken by then.

    `waits_for` is told which job is the next to be answered. If a job raises, or if nobody takes
    answers any more, `abandon` is called, which should end what is under way, and nothing goes on
    after this has returned or raised.
    """
    running: deque[tuple[Job, Future[Answer]]] = deque()
    try:
        while True:
            while len(running) < depth and (job := next(asked, None)) is not None:
                if not running:
                    waits_for(job)
                running.append((job, begin(job)))
            if not running:
                return
            job, future = running[0]
            answer = future.result()
            running.popleft()
            yield job, answer
            if running:
                waits_for(running[0][0])
    finally:
        if running:
            abandon()
            left = [future for _, future in running]
            for future in left:
                future.cancel()
            wait(left)
