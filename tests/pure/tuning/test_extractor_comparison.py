"""The state of an extractor's comparison while its jobs run."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy.orm import Session

from scorer.db import tuning as rows
from scorer.db.tables import Preparation
from scorer.submissions.labels import LabelInfo
from scorer.tuning import extractor_comparison


def test_a_job_that_ends_during_the_read_is_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last job ends after the distances are read. The comparison must not be reported as complete without it."""
    unfinished = True

    def distances(*_: Any) -> Mapping[int, float]:
        nonlocal unfinished
        unfinished = False
        return {}

    monkeypatch.setattr(rows, "distances", distances)
    monkeypatch.setattr(rows, "is_measuring", lambda *_: unfinished)
    monkeypatch.setattr(rows, "failure_messages", lambda *_: [])
    monkeypatch.setattr(extractor_comparison, "newest_job", lambda *_, **__: None)
    preparation = Preparation(id=1, extractor="tiny@1", finished_at=datetime(2026, 3, 1, tzinfo=UTC))
    labels = {7: LabelInfo("ae", memorising=True)}

    def state() -> str:
        return extractor_comparison._compared(Session(), preparation, labels, present=False).state

    assert state() == "measuring"
    assert state() == "incomplete"
