"""Work side by side, answered in the order in which it was asked for."""

import threading
from collections.abc import Iterator, Sequence
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


def test_what_ends_behind_a_slow_piece_is_taken_in_at_once() -> None:
    taken_in: list[int] = []
    seen = threading.Event()

    def take_in(ended: Sequence[tuple[int, int]]) -> list[int]:
        taken_in.extend(job for job, _ in ended)
        if len(taken_in) == 3:
            seen.set()
        return [answer + 1 for _, answer in ended]

    def work(job: int) -> int:
        # The first only ends once all that were begun beside it are taken in.
        assert job or seen.wait(10)
        return job

    with ThreadPoolExecutor(2) as threads:
        answers = in_order(
            iter(range(4)), lambda job: threads.submit(work, job), 4, take_in=take_in
        )
        assert list(answers) == [(job, job + 1) for job in range(4)]
    assert taken_in == [1, 2, 3, 0]


@pytest.mark.parametrize("ending", ["nobody takes more", "the first raises"])
def test_nothing_that_ended_is_lost(ending: str) -> None:
    taken_in: list[int] = []
    others_ended = threading.Event()

    def work(job: int) -> int:
        if job == 1 and ending == "the first raises":
            assert others_ended.wait(10)
            raise ValueError("broken")
        if job == 3:
            others_ended.set()
        return job

    def take_in(ended: Sequence[tuple[int, int]]) -> list[int]:
        taken_in.extend(job for job, _ in ended)
        return [answer for _, answer in ended]

    with ThreadPoolExecutor(1 if ending == "nobody takes more" else 2) as threads:
        answers = in_order(
            iter(range(4)), lambda job: threads.submit(work, job), 4, take_in=take_in
        )
        assert next(answers) == (0, 0)
        if ending == "nobody takes more":
            assert others_ended.wait(10)
            answers.close()  # type: ignore[attr-defined]
        else:
            with pytest.raises(ValueError, match="broken"):
                next(answers)
    assert sorted({*taken_in, 3}) == ([0, 1, 2, 3] if ending == "nobody takes more" else [0, 2, 3])
