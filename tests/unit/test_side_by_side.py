"""Work side by side, answered in the order in which it was asked for."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from advisor.search.side_by_side import in_order


def test_answers_come_in_order_whoever_ends_first() -> None:
    later = threading.Event()

    def work(job: int) -> int:
        # The first can only end after the second has.
        if job == 0:
            assert later.wait(10)
        else:
            later.set()
        return job * job

    heads: list[int] = []
    with ThreadPoolExecutor(2) as threads:

        def begin(job: int) -> Future[int]:
            return threads.submit(work, job)

        answers = in_order(iter(range(5)), begin, 2, waits_for=heads.append)
        assert list(answers) == [(job, job * job) for job in range(5)]
    assert heads == [0, 1, 2, 3, 4]


def test_what_is_asked_for_knows_all_answers_but_those_under_way() -> None:
    taken: list[int] = []
    known: list[int] = []

    def asked() -> Iterator[int]:
        for job in range(6):
            known.append(len(taken))
            yield job

    with ThreadPoolExecutor(2) as threads:
        for job, _ in in_order(asked(), lambda job: threads.submit(abs, job), 3):
            taken.append(job)
    assert known == [0, 0, 0, 1, 2, 3]


def test_an_error_abandons_what_is_under_way_and_nothing_goes_on() -> None:
    dropped = threading.Event()
    running: list[int] = []

    def work(job: int) -> int:
        if job == 0:
            raise ValueError("broken")
        running.append(job)
        assert dropped.wait(10)
        running.remove(job)
        return job

    with ThreadPoolExecutor(2) as threads:
        answers = in_order(
            iter(range(9)), lambda job: threads.submit(work, job), 4, abandon=dropped.set
        )
        with pytest.raises(ValueError, match="broken"):
            list(answers)
        assert dropped.is_set() and not running
