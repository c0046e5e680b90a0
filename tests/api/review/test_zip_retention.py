"""Kennel deletes the zips of a finished competition and reports it wherever a zip is needed."""

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from deploy.cli import rescore
from scorer.blobs import Blobs
from scorer.db.tables import Job, Submission
from scorer.errors import Conflict
from scorer.lifecycle import Queue
from tests.api.cached_state import CachedState, cached_fixtures
from tests.api.conftest import Service
from tests.factories import noise_images
from tests.web.pages import enter, read
from worker.dispatch import run_next
from worker.maintenance.cleanup import remove_old_zips, remove_orphaned_blobs
from worker.runtime.context import WorkerContext

DAYS = 30
ONE_WINNER = {"gold": 1, "silver": 1, "bronze": 1}


@dataclass
class Finished:
    """A competition with a published board. ``entries`` has the winning entry as ``ada``, the other one as ``bob``."""

    service: Service
    slug: str
    entries: dict[str, str]

    def worker(self, days: float) -> WorkerContext:
        """Return a worker at ``days`` after the publication that keeps zips for ``DAYS``."""
        context = self.service.context
        moment = context.now() + timedelta(days=days)
        settings = context.settings.model_copy(update={"kept_zip_days": DAYS})
        return replace(context, settings=settings, now=lambda: moment)

    def find_zip(self, who: str) -> tuple[str | None, bool]:
        """Return the key of an entry's zip, and whether the store has it."""
        with self.service.context.sessions() as session:
            key = session.query(Submission.blob_key).filter_by(id=self.entries[who]).scalar()
        return key, key is not None and self.service.context.blobs.exists(key)

    def retention(self) -> Any:
        """Return the state of the zips as organizers see it."""
        return self.service.call("organizer", "GET", f"/competitions/{self.slug}/publication").json()["zips"]


def published(service: Service) -> tuple[str, dict[str, str]]:
    """Create a competition and publish its final board."""
    slug = service.competition(medals=ONE_WINNER)
    entries = {who: service.scored(who, slug, noise_images(seed))["id"] for who, seed in (("ada", 10), ("bob", 11))}
    service.run_jobs(evidence=True)
    board = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard?track=private").json()["entries"]
    if board[0]["submission_id"] == entries["bob"]:
        entries = {"ada": entries["bob"], "bob": entries["ada"]}
    service.close(slug)
    service.publish(slug)
    return slug, entries


cached, service = cached_fixtures(published)


@pytest.fixture
def finished(service: Service, cached: CachedState[tuple[str, dict[str, str]]]) -> Finished:
    """A copy of the published competition."""
    return Finished(service, *cached.result)


def test_zips_are_deleted_after_their_days(finished: Finished, monkeypatch: pytest.MonkeyPatch) -> None:
    service = finished.service
    key, _ = finished.find_zip("bob")
    assert key is not None
    assert remove_old_zips(finished.worker(DAYS - 1)) == 0
    assert remove_old_zips(service.context) == 0, "zips stay unless the operator sets a retention time"
    assert finished.retention()["kept_days"] is None
    assert remove_old_zips(finished.worker(DAYS + 1)) == 1
    assert remove_old_zips(finished.worker(DAYS + 1)) == 0
    assert finished.find_zip("ada")[1]
    assert finished.find_zip("bob") == (None, False)
    assert not service.context.blobs.exists(key)
    seen = finished.retention()
    assert (seen["stored"]["zips"], seen["removed"]["zips"]) == (1, 1)
    view = next(
        entry
        for entry in service.call("organizer", "GET", f"/competitions/{finished.slug}/submissions").json()[
            "submissions"
        ]
        if entry["id"] == finished.entries["bob"]
    )
    assert view["zip_removed_at"] is not None
    assert len(view["sha256"]) == 64
    assert view["measurements"], "the scores stay"
    assert service.call("organizer", "GET", f"/submissions/{finished.entries['bob']}/review").status_code == 200

    monkeypatch.setattr(rescore, "load_settings", lambda _: service.context.settings)
    with pytest.raises(Conflict, match="was removed on"):
        rescore.rescore_submission(finished.entries["bob"], data=None, verify=True, progress=lambda *_: None)


def test_organizers_and_teams_see_deleted_zips(finished: Finished) -> None:
    service = finished.service
    service.app.state.settings = finished.worker(0).settings
    enter(service, "organizer")
    page = read(service, f"/competitions/{finished.slug}/publication")
    words = " ".join(page.one("section", **{"aria-labelledby": "zips"}).text.split())
    assert re.search(r"2 zips \(\d+\.\d kB in total\) are stored\.", words)
    assert f"{DAYS} days after publication. Currently this applies to 1 zip (" in words
    seen = finished.retention()
    assert (seen["kept_days"], seen["leaving"]["zips"]) == (DAYS, 1)
    remove_old_zips(finished.worker(DAYS + 1))
    words = " ".join(read(service, f"/competitions/{finished.slug}/publication").text.split())
    assert re.search(r"1 zip \(\d+\.\d kB in total\) has been deleted, most recently ", words)
    page = read(service, f"/submissions/{finished.entries['bob']}")
    assert "zip deleted" in page.text


def test_a_job_that_needs_a_deleted_zip_fails_once_with_the_reason(finished: Finished) -> None:
    remove_old_zips(finished.worker(DAYS + 1))
    with finished.service.context.sessions.begin() as session:
        ref = session.query(Submission.ref).filter_by(id=finished.entries["bob"]).scalar()
        done = session.query(Job).filter_by(submission_ref=ref, queue="evidence").first()
        assert done is not None
        done.state, done.finished_at, done.attempts = "waiting", None, 0
        job = done.id
    run_next(finished.service.context, Queue.EVIDENCE)
    with finished.service.context.sessions() as session:
        failed = session.get_one(Job, job)
        assert (failed.state, failed.attempts) == ("failed", 1)
        assert "was removed on" in (failed.error or "")


def test_a_killed_worker_leaves_no_blob_of_a_deleted_zip(finished: Finished, monkeypatch: pytest.MonkeyPatch) -> None:
    key, _ = finished.find_zip("bob")
    assert key is not None

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Blobs, "delete_all", killed)
        with pytest.raises(KeyboardInterrupt):
            remove_old_zips(finished.worker(DAYS + 1))
    assert finished.find_zip("bob") == (None, False)
    assert finished.service.context.blobs.exists(key)
    remove_orphaned_blobs(finished.worker(DAYS + 1))
    assert not finished.service.context.blobs.exists(key)
    assert finished.find_zip("ada")[1]
