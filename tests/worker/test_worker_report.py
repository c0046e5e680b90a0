"""The report of a worker is renewed while its heart beats."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from worker.runtime import worker_report


class Rounds:
    """An event that is set after so many waits, each of which may do something else first."""

    def __init__(self, *meanwhile: Callable[[], object]) -> None:
        self.meanwhile = list(meanwhile)

    def is_set(self) -> bool:
        return not self.meanwhile

    def wait(self, _: float) -> None:
        self.meanwhile.pop(0)()


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done with the report, in order."""
    done: list[str] = []
    monkeypatch.setattr(worker_report, "write_report", lambda *_: done.append("written"))
    monkeypatch.setattr(worker_report, "remove_report", lambda *_: done.append("removed"))
    worker_report.note_heartbeat()
    return done


def report(monkeypatch: pytest.MonkeyPatch, *meanwhile: Callable[[], object]) -> None:
    """Report until all rounds are over."""
    monkeypatch.setattr(worker_report, "_ended", Rounds(*meanwhile))
    settings: Any = None
    worker_report._report(settings, "check@host", ["check"])


def test_a_worker_whose_heart_stands_still_does_not_report(acts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    beat, nothing = worker_report.note_heartbeat, acts.copy
    report(monkeypatch, nothing, nothing, beat, nothing)
    assert acts == ["written", "written", "removed"]


def test_a_report_that_cannot_be_written_is_tried_again(
    acts: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        monkeypatch.setattr(worker_report, "write_report", lambda *_: acts.append("written"))
        raise ConnectionError("no route to host")

    monkeypatch.setattr(worker_report, "write_report", fail)
    with caplog.at_level(logging.WARNING):
        report(monkeypatch, worker_report.note_heartbeat, acts.copy)
    assert acts == ["written", "removed"]
    assert "no route to host" in caplog.text
