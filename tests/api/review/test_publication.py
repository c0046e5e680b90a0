"""Publication through the API and the command line."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from scorer.db.tables import Job
from scorer.jobs import leases
from scorer.lifecycle import Queue
from tests.api.cli_runner import command
from tests.api.conftest import Service
from tests.api.review.reviewed_competition import fail_private
from tests.factories import make_zip, noise_images

__all__ = ["command"]  # pytest finds the fixture by its name in this module


def points(service: Service, slug: str) -> dict[str, Any]:
    answer = service.call("organizer", "GET", f"/competitions/{slug}/publication")
    assert answer.status_code == 200, answer.text
    return {point["name"]: point for point in answer.json()["points"]}


def test_a_running_job_is_shown_with_its_worker(service: Service, command: Any) -> None:
    """An operator who drains a worker needs its name and sees when its job has ended."""
    slug = service.competition()
    entry = service.submit("ada", slug, make_zip(noise_images(1))).json()["id"]
    assert re.fullmatch(
        r"check: 1 waiting, the oldest since [-\d]{10} \d\d:\d\d UTC; 0 running\n", command("job", "show")
    )
    with service.context.sessions.begin() as session:
        now, lease = service.context.now(), timedelta(minutes=1)
        claim = leases.claim_job(session, Queue.CHECK, holder="h", worker="gpu-1:4711", now=now, lease=lease)
    assert claim is not None
    running = f"running: job {claim.job.id} check {slug} {entry} (attempt 1) on gpu-1:4711: "
    assert running in command("job", "show")
    command("worker", "drain", "gpu-1", "--reason", "a new driver")
    paused = r"paused: worker gpu-1 since [-\d]{10} \d\d:\d\d UTC by \w+: a new driver"
    assert re.search(paused, command("job", "show"))


def test_the_checklist_and_jobs_need_a_role(service: Service) -> None:
    where = f"/competitions/{service.competition()}/publication"
    for who, status in ((None, 401), ("ada", 403)):
        assert service.call(who, "GET", where).status_code == status
        assert service.call(who, "POST", f"{where}/requeue").status_code == status
        assert service.call(who, "GET", "/admin/jobs").status_code == status
        assert service.call(who, "POST", "/admin/jobs/requeue", json={}).status_code == status
    assert service.call("organizer", "GET", "/admin/jobs").status_code == 403


def test_a_board_with_failed_jobs_is_fixed_and_published(service: Service, command: Any) -> None:
    slug = service.competition(review_days=0, appeal_days=0)
    where = f"/competitions/{slug}/publication"
    entry = service.scored("ada", slug, noise_images(10))["id"]
    assert points(service, slug)["closed"]["count"] == 1
    close = {"closes_at": (datetime.now(UTC) - timedelta(seconds=1)).isoformat()}
    assert service.call("organizer", "PATCH", f"/competitions/{slug}", json=close).status_code == 200
    service.submit("ada", slug, b"")

    # The entry has a private measurement, so a failed job counts only if it is the newest.
    job = fail_private(service, entry)
    checklist = points(service, slug)
    assert (checklist["failed-jobs"]["count"], checklist["failed-jobs"]["concerns"][0]["words"]) == (
        1,
        "the disk was full",
    )
    listed = service.call("admin", "GET", "/admin/jobs").json()
    assert [(job_view["id"], job_view["error"], job_view["track"]) for job_view in listed["failed"]] == [
        (job, "the disk was full", "private")
    ]
    assert re.search(
        rf"failed: job {job} score {slug} private {entry} \(attempt 3\) on \S+:\d+: the disk was full",
        command("job", "show"),
    ), "the line names the worker, because one machine may be broken"
    assert "1 Nobody's" not in command("competition", "checklist", slug, code=1)

    refused = service.call("organizer", "POST", where, json={"published": True, "reason": "now"})
    assert refused.status_code == 409
    assert refused.json()["type"].endswith("open-points")
    assert "No private job has failed: 1 open" in refused.json()["faults"]
    assert service.call("organizer", "POST", f"{where}/requeue").json() == {"requeued": 1}
    with service.context.sessions() as session:
        assert session.get_one(Job, job).state == "waiting"
    with service.context.sessions.begin() as session:
        session.get_one(Job, job).state = "done"
    body = {"label": "legitimate"}
    service.call("organizer", "PUT", f"/competitions/{slug}/submissions/{entry}/label", json=body)
    assert [name for name, point in points(service, slug).items() if not point["passed"]] == []
    seen = service.call("organizer", "GET", where).json()["version"]
    assert f"--after {seen}" in command("competition", "checklist", slug)
    tau = {"method": "manual", "tau": 0.001, "reason": "another tau"}
    assert service.call("organizer", "POST", f"/competitions/{slug}/tracks/private/thresholds", json=tau).is_success
    act = {"published": True, "reason": "All is done.", "after": seen}
    moved = service.call("organizer", "POST", where, json=act)
    assert (moved.status_code, moved.json()["type"]) == (409, "urn:kennel:problem:board-has-moved")
    assert "published" in command("competition", "publish", slug, "--reason", "All is done.")
    assert service.call(None, "GET", f"/competitions/{slug}/leaderboard?track=private").status_code == 200
    assert "withdrawn" in command("competition", "withdraw", slug, "--reason", "A mistake.")
    history = service.call("organizer", "GET", where).json()["history"]
    assert [(act["published"], act["final"], act["by"]) for act in history] == [
        (False, True, "admin"),
        (True, True, "admin"),
    ]


def test_jobs_can_be_requeued_one_by_one_or_together(service: Service, command: Any) -> None:
    slug = service.competition()
    entries = [service.scored("ada", slug, noise_images(seed))["id"] for seed in (10, 11, 12)]
    failed = [fail_private(service, entry) for entry in entries]
    assert command("job", "requeue", str(failed[0])) == "Jobs restarted: 1.\n"
    assert command("job", "requeue", "--competition", slug) == "Jobs restarted: 2.\n"
    assert command("job", "requeue") == "Jobs restarted: 0.\n"
    again = service.call("admin", "POST", "/admin/jobs/requeue", json={"job": failed[0]})
    assert (again.status_code, again.json()["type"]) == (409, "urn:kennel:problem:not-stuck")
    log = service.call("admin", "GET", "/admin/audit", params={"action": "job.requeued"}).json()["entries"]
    assert [(entry["actor"], entry["subject"]) for entry in log] == [("admin", f"job:{failed[0]}")]
