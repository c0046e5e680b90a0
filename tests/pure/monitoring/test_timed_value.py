"""A value that is read again only after some seconds."""

from itertools import count

import pytest

from scorer.jobs.queue_metrics import TimedValue


def test_it_is_read_again_once_it_is_too_old() -> None:
    now = 0.0
    readings = count()
    value = TimedValue(lambda: next(readings), 5.0, clock=lambda: now)
    assert [value.get(), value.get()] == [0, 0]
    now = 4.9
    assert value.get() == 0
    now = 5.0
    assert [value.get(), value.get()] == [1, 1]


def test_an_error_is_not_kept() -> None:
    answers = iter([None, 7])

    def read() -> int:
        answer = next(answers)
        if answer is None:
            raise ValueError("away")
        return answer

    value = TimedValue(read, 5.0)
    with pytest.raises(ValueError, match="away"):
        value.get()
    assert value.get() == 7
