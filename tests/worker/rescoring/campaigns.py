"""Rescoring campaigns of a service with one scored entry, started and decided by an organizer."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from scorer.db.tables import AuditEntry, Job
from scorer.lifecycle import Queue
from tests.api.cached_state import CachedState, cached_fixtures
from tests.api.conftest import Service, read_problem
from tests.factories import noise_images
from tests.worker.substitute_extractor import OTHER
from worker.scoring import measure, score

PRIZES = [{"place": 1, "amount": "$500"}]


def rescoring(service: Service, slug: str, path: str = "", **body: Any) -> Any:
    """Send an organizer's request: a POST if it has a body."""
    options = {"json": body} if body else {}
    return service.call("organizer", "POST" if body else "GET", f"/competitions/{slug}/rescoring{path}", **options)


def started(service: Service, slug: str, **body: Any) -> Any:
    answer = rescoring(service, slug, reason="A corrected scorer.", **body)
    assert answer.status_code == 202, answer.text
    return answer.json()


def decide(service: Service, slug: str, campaign: Any, decision: str, **more: Any) -> Any:
    return rescoring(service, slug, f"/{campaign['id']}/decisions", decision=decision, reason=f"{decision}!", **more)


def places(service: Service, slug: str, track: str = "public", **params: Any) -> list[tuple[str, float, str | None]]:
    """(team, FID, measured by) of every place."""
    answer = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard", params={"track": track, **params})
    assert answer.status_code == 200, answer.text
    return [(entry["team"].lower(), entry["fid"], entry["measured_by"]) for entry in answer.json()["entries"]]


def new_version(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[float], float], distance: float | None = None
) -> None:
    """Give workers scorer version 2, which measures a changed FID, and ``distance`` if it is given."""
    monkeypatch.setattr(score, "SCORER_VERSION", "2")

    def measured(*arguments: Any, **named: Any) -> Any:
        numbers = measure.measure(*arguments, **named)
        numbers = replace(numbers, fid=change(numbers.fid))
        if distance is None:
            return numbers
        return replace(
            numbers, nearest=replace(numbers.nearest, distance=np.full_like(numbers.nearest.distance, distance))
        )

    monkeypatch.setattr(score, "measure", measured)


def waiting(service: Service, queue: Queue) -> int:
    with service.context.sessions() as session:
        return session.query(Job).filter_by(queue=queue, state="waiting").count()


def list_ranks(board: list[tuple[str, float, str | None]]) -> dict[str, int]:
    return {team: rank for rank, (team, *_) in enumerate(board, 1)}


def assert_refused_while_published(service: Service, slug: str, campaign: Any) -> None:
    """Switch a campaign, publish the final board, and check that it refuses every change."""
    assert decide(service, slug, campaign, "switch").json()["state"] == "in force"
    service.close(slug, ago=timedelta(days=1))
    service.publish(slug)
    for decision in ("undo", "switch"):
        assert read_problem(decide(service, slug, campaign, decision)) == (409, "published")
    assert read_problem(rescoring(service, slug, f"/{campaign['id']}/preview")) == (409, "published")


def campaign_acts(service: Service) -> list[str]:
    """The actions of campaigns in the audit log."""
    with service.context.sessions() as session:
        actions = [entry.action for entry in session.query(AuditEntry).order_by(AuditEntry.id)]
    return [action for action in actions if action.startswith("rescoring.")]


def replace_private_track(service: Service, slug: str) -> None:
    """Replace the private track's extractor. The preparation must be finished."""
    body = {"extractor": OTHER, "reason": "It separates better.", "tau": 0.125}
    replaced = service.call("organizer", "PUT", f"/competitions/{slug}/private-extractor", json=body)
    assert replaced.is_success, replaced.text


def switch(service: Service, slug: str, campaign: Any, **more: Any) -> None:
    answer = decide(service, slug, campaign, "switch", **more)
    assert (answer.status_code, answer.json().get("state")) == (201, "in force"), answer.text


def undo(service: Service, slug: str, campaign: Any) -> None:
    answer = decide(service, slug, campaign, "undo")
    assert (answer.status_code, answer.json().get("state")) == (201, "taken back"), answer.text


def fetch_preview(service: Service, slug: str, campaign: Any) -> Any:
    """The response to a preview of a campaign's switch or undo."""
    return rescoring(service, slug, f"/{campaign['id']}/preview")


def in_force(service: Service, slug: str, **changes: Any) -> Any:
    """A campaign on the private track that has measured everything and is in force."""
    campaign = started(service, slug, track="private", **changes)
    service.run_jobs(evidence=True)
    switch(service, slug, campaign)
    return campaign


def with_an_entry(service: Service) -> str:
    """A competition with one scored entry."""
    slug = service.competition()
    service.scored("ada", slug, noise_images(11))
    return slug


cached, service = cached_fixtures(with_an_entry)


@pytest.fixture
def slug(cached: CachedState[str]) -> str:
    """The competition's slug."""
    return cached.result
