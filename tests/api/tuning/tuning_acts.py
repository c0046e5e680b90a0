"""Competitions to tune, and actions of their organizers: thresholds, shown tracks, labels."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from scorer.db.tables import Job, PickSet, Ruling, Submission
from tests.api.conftest import Service
from tests.bulk_rows import EntryRow, add_rows
from tests.factories import make_competition, noise_images, set_tau

MEDALS = {"gold": 3, "silver": 8, "bronze": 15}


def random_competition(service: Service, seed: int = 1, entries: int = 80) -> str:
    """Create a competition with all kinds of entries: labelled, unlabelled, tied,
    copied, waived, disqualified, picked."""
    rng = np.random.default_rng(seed)
    now = datetime.now(UTC)
    labels = [None, None, "legitimate", "mgan", "sup", "aug", "other"]
    rows = []
    for index in range(entries):
        label = labels[rng.integers(len(labels))]
        numbers = {
            kind: (
                float(rng.choice([10.0, 20.0, 20.000001, 30.5, float(rng.uniform(5, 90))])),
                0.0 if index % 20 == 19 else float(np.round(rng.normal(0.4 if label == "legitimate" else 0.3, 0.1), 2)),
            )
            for kind in ("public", "private")
        }
        numbers = {kind: (fid, abs(distance)) for kind, (fid, distance) in numbers.items()}
        rows.append(EntryRow(f"Team {rng.integers(30)}", numbers, label, minute=int(rng.integers(0, 5))))
    with service.context.sessions.begin() as session:
        state = make_competition(session, now, medals=MEDALS, closes_at=now + timedelta(days=1))
        refs = add_rows(session, state, rows, now - timedelta(days=1))
        # Without picks, the best public entries count on the private track, so it needs public scores.
        set_tau(session, state, "public", 0.2, now - timedelta(hours=1))
        for place, kind in ((3, "waive"), (4, "disqualify"), (5, "waive"), (6, "disqualify"), (7, "disqualify")):
            session.add(
                Ruling(
                    submission_ref=refs[place],
                    kind=kind,
                    reason="because",
                    memorising=place % 2 == 0,
                    author_id=state.competition.created_by,
                    created_at=now,
                )
            )
        team = session.get_one(Submission, refs[-1]).team_id
        own = [entry.ref for entry in session.query(Submission).filter_by(team_id=team)]
        session.add(
            PickSet(team_id=team, submission_refs=own[-1:], author_id=state.competition.created_by, created_at=now)
        )
        return state.competition.slug


def path(slug: str, kind: str = "private") -> str:
    return f"/competitions/{slug}/tracks/{kind}/thresholds"


def choose(service: Service, slug: str, kind: str = "private", **body: Any) -> Any:
    return service.call("organizer", "POST", path(slug, kind), json={"method": "manual", "reason": "because", **body})


def add_shown_track(
    service: Service, slug: str, name: str, metric: str = "fid", extractor: str = "tiny", **body: Any
) -> Any:
    wanted = {"name": name, "metric": metric, "extractor": extractor, **body}
    return service.call("organizer", "POST", f"/competitions/{slug}/shown-tracks", json=wanted)


def added_shown_track(
    service: Service, slug: str, name: str, metric: str = "fid", extractor: str = "tiny", **body: Any
) -> Any:
    answer = add_shown_track(service, slug, name, metric, extractor, **body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def measure(service: Service) -> None:
    """Run all jobs except evidence, which would run first."""
    with service.context.sessions.begin() as session:
        session.query(Job).filter_by(queue="evidence", state="waiting").update({"state": "cancelled"})
    service.run_jobs()


def near(seed: int) -> Any:
    """Return images close to the training images of the service's competitions."""
    return np.clip(noise_images(1, 40, 16)[seed : seed + 8].astype(int) + 20, 0, 255).astype(np.uint8)


def label(service: Service, slug: str, entry: Any, name: str) -> None:
    answer = service.call(
        "organizer", "PUT", f"/competitions/{slug}/submissions/{entry['id']}/label", json={"label": name}
    )
    assert answer.is_success, answer.text
