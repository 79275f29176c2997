"""Work done side by side, whose answers come back in the order in which it was asked for.

So what is asked for next follows from the answers so far and from how many pieces may be under way,
never from which of them happened to end first. What ended is taken in at once all the same, so that
none of it is lost behind a piece that takes longer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

Job = TypeVar("Job")
Answer = TypeVar("Answer")
_TakeIn = Callable[[Sequence[tuple[Job, Answer]]], Sequence[Answer]]


@dataclass(eq=False)
class _Piece(Generic[Job, Answer]):
    """A job under way."""

    job: Job
    future: Future[Answer]
    taken_in: Answer | None = None


def as_they_are(ended: Sequence[tuple[Job, Answer]]) -> Sequence[Answer]:
    """Takes answers in and does nothing to them."""
    return [answer for _, answer in ended]


def raising(job: object, error: BaseException) -> NoReturn:
    """Recovers nothing."""
    raise error


def in_order(
    asked: Iterator[Job],
    begin: Callable[[Job], Future[Answer]],
    depth: int,
    *,
    waits_for: Callable[[Job], None] = lambda job: None,
    take_in: _TakeIn[Job, Answer] = as_they_are,
    recover: Callable[[Job, BaseException], Answer] = raising,
    abandon: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Job, Answer]]:
    """Each job with its answer, in the order of `asked`, which is drawn from only when fewer than
    `depth` are under way, and knows the answers that were yielded by then.

    `waits_for` is told which job is the next to be answered, `take_in` of the jobs that have ended
    since it was told last, and what it returns for them is yielded. If a job raises, `recover`
    answers or raises when it is its turn. If it raises, or if nobody takes answers any more,
    `abandon` is called, which should end what is under way, and nothing goes on after this has
    returned or raised; what has ended by then is still taken in.
    """
    running: deque[_Piece[Job, Answer]] = deque()
    try:
        while True:
            while len(running) < depth and (job := next(asked, None)) is not None:
                if not running:
                    waits_for(job)
                running.append(_Piece(job, begin(job)))
            if not running:
                return
            head = running[0]
            answer = _answer_of_first(running, take_in, recover)
            running.popleft()
            yield head.job, answer
            if running:
                waits_for(running[0].job)
    finally:
        if running:
            abandon()
            left = [one.future for one in running]
            for future in left:
                future.cancel()
            wait(left)
            _take_in(running, take_in)


def _answer_of_first(
    running: deque[_Piece[Job, Answer]],
    take_in: _TakeIn[Job, Answer],
    recover: Callable[[Job, BaseException], Answer],
) -> Answer:
    """Waits for the first, and takes in whatever ends meanwhile."""
    first = running[0]
    while True:
        waiting = [one.future for one in running if not one.future.done()]
        _take_in(running, take_in)
        if first.taken_in is not None:
            return first.taken_in
        if first.future not in waiting:
            error = CancelledError() if first.future.cancelled() else first.future.exception()
            assert error is not None, "an answer was taken in"
            return take_in([(first.job, recover(first.job, error))])[0]
        wait(waiting, return_when=FIRST_COMPLETED)


def _take_in(running: deque[_Piece[Job, Answer]], take_in: _TakeIn[Job, Answer]) -> None:
    ended = [one for one in running if one.taken_in is None and one.future.done()]
    new = [one for one in ended if not one.future.cancelled() and one.future.exception() is None]
    if new:
        answers = take_in([(one.job, one.future.result()) for one in new])
        for one, answer in zip(new, answers, strict=True):
            one.taken_in = answer
