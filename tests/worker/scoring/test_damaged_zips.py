"""A stored zip that differs from the upload is Kennel's fault and is never scored."""

import pytest

from scorer.db.tables import Job, Submission
from scorer.jobs.retries import OUR_FAULT
from scorer.lifecycle import Queue
from tests.api.conftest import Service
from tests.factories import make_zip, noise_images
from worker.dispatch import run_next
from worker.runtime import decoded_images


def one_bit_flipped(content: bytes) -> bytes:
    """Change one bit in the middle of an image."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def damage(service: Service, content: bytes) -> Submission:
    with service.context.sessions() as session:
        submission = session.query(Submission).one()
    assert submission.blob_key is not None
    service.context.blobs.write(submission.blob_key, content)
    return submission


@pytest.mark.parametrize("content", [one_bit_flipped(make_zip(noise_images(10))), make_zip(noise_images(11))])
@pytest.mark.parametrize("queue", [Queue.CHECK, Queue.SCORE])
def test_a_damaged_zip_costs_the_team_nothing(service: Service, content: bytes, queue: Queue) -> None:
    """A damaged zip and another entry's valid zip are found by the check, and by a score without decoded images."""
    slug = service.competition(rejected_limit=1)
    upload = make_zip(noise_images(10))
    entry = service.submit("ada", slug, upload).json()["id"]
    if queue is Queue.SCORE:
        assert run_next(service.context, Queue.CHECK)
    submission = damage(service, content)
    decoded_images.build_pixels_path(service.context.scratch, entry).unlink(missing_ok=True)
    assert run_next(service.context, queue)
    shown = service.call("ada", "GET", f"/submissions/{entry}").json()
    assert shown["status"] in {"received", "queued"}, "the job is retried"
    with service.context.sessions() as session:
        job = session.query(Job).filter_by(queue=queue).one()
        assert "SHA-256" in (job.error or "")
        assert job.attempts == 1
    damage(service, upload)
    with service.context.sessions.begin() as session:
        session.query(Job).filter_by(queue=queue).update({"due_at": submission.accepted_at})
    service.run_jobs()
    assert service.call("ada", "GET", f"/submissions/{entry}").json()["status"] == "scored", "after the zip is restored"


def test_a_zip_that_stays_damaged_fails_as_a_service_fault(service: Service) -> None:
    slug = service.competition(daily_limit=1)
    entry = service.submit("ada", slug, make_zip(noise_images(10))).json()["id"]
    submission = damage(service, b"rot")
    for _ in range(service.context.settings.max_attempts):
        with service.context.sessions.begin() as session:
            session.query(Job).update({"due_at": submission.accepted_at})
        assert run_next(service.context, Queue.CHECK)
    shown = service.call("ada", "GET", f"/submissions/{entry}").json()
    assert (shown["status"], shown["reason"]) == ("failed", OUR_FAULT)
    assert service.submit("ada", slug, make_zip(noise_images(12))).status_code == 202, (
        "the failed entry counts against no limit"
    )
