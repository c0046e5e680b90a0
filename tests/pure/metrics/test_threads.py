"""Parallel parts: results in order, one BLAS thread per part, and no part started after a stop."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from scorer.metrics.threads import map_parts


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    with threadpool_limits(2):
        yield


def test_results_are_in_order_and_parts_run_in_parallel() -> None:
    both = threading.Barrier(2)

    def part(number: int) -> tuple[int, int]:
        both.wait(timeout=60)  # waits until two parts run at the same time
        return number, max(blas_threads())

    assert list(map_parts(part, range(4))) == [(0, 1), (1, 1), (2, 1), (3, 1)]
    assert max(blas_threads()) == 2


def test_a_stop_cancels_the_remaining_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """This happens when a public score waits and progress raises."""
    done = list[int]()
    cancelled = threading.Semaphore(0)
    cancel = Future.cancel

    def counting_cancel(future: Future[int]) -> bool:
        cancelled.release()
        return cancel(future)

    monkeypatch.setattr(Future, "cancel", counting_cancel)

    def part(number: int) -> int:
        if number:
            for _ in range(50):
                cancelled.acquire(timeout=60)  # until all are cancelled
            cancelled.release(50)
        done.append(number)
        return number

    results = map_parts(part, range(50))
    assert next(results) == 0
    results.close()
    assert len(done) <= 3
    assert max(blas_threads()) == 2


def test_an_error_of_a_part_is_raised_to_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        list(map_parts(lambda number: 1 // number, [1, 0, 1]))
    assert max(blas_threads()) == 2
