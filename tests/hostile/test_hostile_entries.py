"""Hostile ONNX files through the whole path, from the upload to the board: each ends with a reason, and costs nobody
else anything."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from scorer.db.tables import Job
from scorer.generators.limits import CHECK_LIMITS
from tests.api.conftest import Service
from tests.api.conftest import service as service  # noqa: PLC0414 - a fixture is found by its name here
from tests.hostile.entries import RUNNING, SIDE, hostile_entry
from tests.hostile.input import Fate
from tests.hostile.report import ENTRIES
from tests.linear_generators import honest_generator
from worker.scoring import generators

pytestmark = [pytest.mark.heavy, pytest.mark.usefixtures("one_day")]
LIMITS = replace(CHECK_LIMITS, cpu_seconds=30)


def judge_entries(service: Service, seeds: range) -> list[dict[str, Any]]:
    """Submit the entries of these seeds and run their jobs. Returns the kind, outcome and reason of each."""
    slug = service.competition(
        entries="generator", draws={"public": 1, "private": 1, "minutes": 1}, image_count=200, image_size=SIDE,
        daily_limit=None, rejected_limit=1000,
    )  # fmt: skip
    judged = []
    for seed in seeds:
        hostile = hostile_entry(seed)
        answer = service.submit("ada", slug, hostile.content, file_name="g.onnx")
        if answer.status_code == 202:
            service.run_jobs(evidence=True)
            seen = service.call("ada", "GET", f"/submissions/{answer.json()['id']}").json()
            outcome, reason = seen["status"], seen["reason"]
        else:
            outcome, reason = "refused", answer.json()["title"]
        assert outcome in {"refused", "rejected", "scored"}, (seed, hostile.kind, outcome, reason)
        assert outcome == "scored" or reason, (seed, hostile.kind)
        assert hostile.fate is Fate.EITHER or (outcome == "scored") == (hostile.fate is Fate.ACCEPTED), (
            seed, hostile.kind, outcome, reason,
        )  # fmt: skip
        judged.append({"kind": hostile.kind, "outcome": outcome, "reason": reason})
    honest = service.submit("bob", slug, honest_generator(1, SIDE), file_name="g.onnx").json()["id"]
    service.run_jobs(evidence=True)
    assert service.call("bob", "GET", f"/submissions/{honest}").json()["status"] == "scored"
    with service.context.sessions() as session:
        assert {job.state for job in session.query(Job)} == {"done"}
    return judged


@pytest.mark.timeout(900)
def test_hostile_entries_end_with_a_reason(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "CHECK_LIMITS", LIMITS)
    judge_entries(service, range(len(RUNNING)))


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_200_hostile_entries(
    service: Service, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, Any], None]
) -> None:
    monkeypatch.setattr(generators, "CHECK_LIMITS", LIMITS)
    record_property(ENTRIES, judge_entries(service, range(200)))
