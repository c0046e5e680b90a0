"""Evidence from a recorded score to a row, computed by the worker's code after the score, with reproducible results."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, select
from threadpoolctl import threadpool_limits

from deploy.demo.generators import Pixels, half_copied, mirrored
from deploy.standalone.ephemeral import Servers
from scorer.db import competitions
from scorer.db.evidence.shared_images import load_hashes_key
from scorer.db.jobs import failed_jobs
from scorer.db.jobs.job_queue import newest_job
from scorer.db.newest_rows import newest_row
from scorer.db.submissions import submissions
from scorer.db.tables import Evidence, Job, Measurement, Submission
from scorer.evidence import records
from scorer.extractors.tiny import Tiny
from scorer.jobs import leases, sweeps
from scorer.lifecycle import Queue, Status
from tests.api.conftest import Service, running_service
from tests.conftest import fresh_settings
from tests.factories import make_zip
from tests.worker.evidence.photographs import COUNT, HELD_OUT, REFERENCES, SIZE, TRAINING, photographs
from worker.dispatch import run_next
from worker.evidence import evidence_job
from worker.evidence.analysis import AnalysedEntry
from worker.evidence.methods import TEST_METHODS
from worker.evidence.report import compute_evidence
from worker.runtime import preemption
from worker.runtime.preemption import Preempted
from worker.scoring import feature_cache, reference_features

ENTRIES = {
    "honest": photographs(4, COUNT),
    "half": half_copied(TRAINING, COUNT, np.random.default_rng(0), rank=60),
    "mirrored": mirrored(TRAINING, COUNT, np.random.default_rng(0)),
    "collapsed": np.concatenate([photographs(5, 20)] * 6),
    "twins": np.concatenate([photographs(6, COUNT // 2), photographs(6, COUNT // 2)[:, :, ::-1]]),
}


@pytest.fixture(scope="module")
def service(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests, on one thread, which is fastest for products this small."""
    folder = tmp_path_factory.mktemp("evidence")
    with threadpool_limits(1), fresh_settings(servers, folder) as settings, running_service(settings) as running:
        yield running


@pytest.fixture(scope="module")
def slug(service: Service) -> str:
    return service.competition(REFERENCES, image_count=COUNT, image_size=SIZE)


@pytest.fixture(scope="module")
def examined(service: Service, slug: str) -> dict[str, dict[str, Evidence]]:
    """By entry and track: the evidence, after scoring."""
    for name, images in ENTRIES.items():
        answer = service.submit("ada", slug, make_zip(images), note=name)
        assert answer.status_code == 202, answer.text
    service.run_jobs(evidence=True)
    with service.context.sessions() as session:
        entries = {submission.note: submission.ref for submission in session.scalars(select(Submission))}
        return {name: both(service, ref) for name, ref in entries.items()}


def both(service: Service, ref: int) -> dict[str, Evidence]:
    with service.context.sessions() as session:
        submission = session.get_one(Submission, ref)
        tracks = competitions.load_tracks(session, submission.competition_id)
        newest = {
            kind: newest_row(session, Evidence, submission_ref=ref, track_id=track.id) for kind, track in tracks.items()
        }
        assert all(newest.values())
        session.expunge_all()
        return {kind: row for kind, row in newest.items() if row is not None}


def finding(evidence: Evidence, name: str) -> dict[str, Any]:
    (row,) = (finding for finding in evidence.findings if finding["name"] == name)
    return row


# Findings


def test_every_number_has_its_unit_direction_and_sentence(
    examined: dict[str, dict[str, Evidence]],
) -> None:
    expected = [(test.test, *number) for test in TEST_METHODS for number in test.quantities]
    for evidence in (examined["honest"]["public"], examined["half"]["private"]):
        quantities = [
            (finding["test"], finding["name"], finding["unit"], finding["direction"]) for finding in evidence.findings
        ]
        assert quantities == expected
        assert all(finding["sentence"].endswith(".") for finding in evidence.findings)
        lacking = {finding["name"] for finding in evidence.findings if finding["value"] is None}
        # The extractor is not CLIP and has no classifier; images are too few or too small.
        assert lacking == {"cmmd", "inception_score", "fid_infinity", "hash_copies"}


def test_an_honest_entry_shows_no_signs(examined: dict[str, dict[str, Evidence]]) -> None:
    for evidence in examined["honest"].values():
        assert evidence.z_u_p is not None
        assert evidence.z_u_p > 0.01
        assert evidence.copied_cells == 0
        assert evidence.partly_copied_p is not None
        assert evidence.partly_copied_p > 0.01
        assert evidence.near_copies_p is not None
        assert evidence.near_copies_p > 0.01
        assert evidence.repeats_p is not None
        assert evidence.repeats_p > 0.01
        assert (evidence.identical, evidence.mirrored_twins) == (0, 0)


def test_half_a_zip_of_copies_is_found(examined: dict[str, dict[str, Evidence]]) -> None:
    """Single images show it even if the mean does not, and the pairs are the actual images."""
    for evidence in examined["half"].values():
        assert evidence.partly_copied_share is not None
        assert 0.5 <= evidence.partly_copied_share < 0.7
        assert evidence.partly_copied_p is not None
        assert evidence.partly_copied_p < 1e-4
        assert "copies, even if the entry as a whole does not" in finding(evidence, "partly_copied")["sentence"]
        assert finding(evidence, "pixel_copies")["value"] == 0.5
        assert finding(evidence, "distance_25")["value"] == 0.0 < finding(evidence, "distance_75")["value"]
        pairs = evidence.details["partly_copied"]
        assert len(pairs) == 12
        assert {pair["distance"] for pair in pairs} == {0.0}
        for pair in pairs:  # the actual images
            row, column = (int(Path(pair[side]).stem) for side in ("generated", "reference"))
            assert np.array_equal(ENTRIES["half"][row], TRAINING[column])


def test_mirrored_copies_are_distinguished_from_upright_ones(examined: dict[str, dict[str, Evidence]]) -> None:
    evidence = examined["mirrored"]["public"]
    assert evidence.near_copies_share == 1.0
    assert evidence.near_copies_mirrored == COUNT
    assert all(pair["mirrored"] and pair["distance"] == 0.0 for pair in evidence.details["near_copies"])
    assert evidence.partly_copied_share is not None
    assert evidence.partly_copied_share < 0.1
    assert f"{COUNT} of them mirrored" in finding(evidence, "near_copies")["sentence"]


def test_a_collapsed_generator_is_found(examined: dict[str, dict[str, Evidence]]) -> None:
    evidence = examined["collapsed"]["public"]
    assert (evidence.identical, evidence.mirrored_twins, evidence.repeats_share) == (COUNT, 0, 1.0)
    assert len(evidence.details["identical"][0]) == 6
    assert evidence.details["repeats"][0][2] == 0.0
    assert "in 20 groups, the largest with 6 images" in finding(evidence, "identical")["sentence"]
    twins = examined["twins"]["public"]
    assert (twins.identical, twins.mirrored_twins) == (0, COUNT)


def test_cells_are_shown_with_their_images(examined: dict[str, dict[str, Evidence]]) -> None:
    evidence = examined["half"]["public"]
    cells = evidence.details["cells"]
    assert sum(cell["generated"] for cell in cells) == COUNT
    assert sum(cell["copied"] for cell in cells) == evidence.copied_cells
    assert evidence.copied_cells
    for cell in cells:
        assert len(cell["examples"]) == min(6, cell["generated"])
        assert [example["distance"] for example in cell["examples"]] == sorted(
            example["distance"] for example in cell["examples"]
        )
    assert evidence.copied_cells_share == sum(cell["generated"] for cell in cells if cell["copied"]) / COUNT
    # Named by SHA-256, as in the closest pairs.
    assert all(len(example["reference"].split("/")[0]) == 8 for cell in cells for example in cell["examples"])


# When evidence is computed


def jobs(service: Service, ref: int) -> list[tuple[str, str]]:
    """The queues and states of an entry's jobs, oldest first."""
    with service.context.sessions() as session:
        return [
            (job.queue, job.state)
            for job in session.scalars(select(Job).where(Job.submission_ref == ref).order_by(Job.id))
        ]


def submitted(service: Service, slug: str, images: Pixels, *, who: str = "bob") -> int:
    """Submit an entry, compute only its public score, and return its ref."""
    answer = service.submit(who, slug, make_zip(images))
    assert answer.status_code == 202, answer.text
    assert run_next(service.context, Queue.CHECK)
    assert run_next(service.context, Queue.SCORE)
    with service.context.sessions() as session:
        return submissions.submission_by_id(session, answer.json()["id"]).ref  # type: ignore[union-attr]


def public(service: Service, ref: int) -> Evidence | None:
    with service.context.sessions() as session:
        submission = session.get_one(Submission, ref)
        public = competitions.load_tracks(session, submission.competition_id)["public"]
        return newest_row(session, Evidence, submission_ref=ref, track_id=public.id)


def test_evidence_comes_after_all_scores(service: Service, slug: str, examined: Any) -> None:
    """A worker of the evidence queue does scores first, including private ones. The team sees the entry as scored."""
    ref = submitted(service, slug, photographs(7, COUNT))
    assert jobs(service, ref) == [("check", "done"), ("score", "done"), ("evidence", "waiting"), ("score", "waiting")]
    assert run_next(service.context, Queue.EVIDENCE)
    assert jobs(service, ref)[2:4] == [("evidence", "waiting"), ("score", "done")]
    with service.context.sessions() as session:
        submission = session.get_one(Submission, ref)
        assert submission.status == Status.SCORED
        # The images are not needed, because features are cached.
        assert not (service.context.scratch / "pixels" / f"{submission.id}.npy").exists()
    service.run_jobs(evidence=True)
    assert [state for _, state in jobs(service, ref)] == ["done"] * 5
    assert list((service.context.blobs._folder or Path()).glob(f"{feature_cache.FOLDER}/*/*")) == []


def test_a_worker_that_does_not_score_leaves_scores_to_others(
    service: Service, slug: str, examined: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A public score neither precedes nor interrupts this worker's evidence, because scores are slow without a GPU."""
    ref = submitted(service, slug, photographs(8, COUNT))
    assert run_next(service.context, Queue.SCORE)
    answer = service.submit("eve", slug, make_zip(photographs(9, COUNT)))
    assert run_next(service.context, Queue.CHECK)
    monkeypatch.setattr(preemption, "PREEMPT_AFTER", timedelta(0))
    context = replace(service.context, queues=[Queue.EVIDENCE])
    while run_next(context, Queue.EVIDENCE):
        pass
    assert jobs(service, ref)[2] == ("evidence", "done")
    with service.context.sessions() as session:
        waiting = submissions.submission_by_id(session, answer.json()["id"])
        assert waiting is not None
        assert waiting.status == Status.QUEUED
    monkeypatch.undo()
    service.run_jobs(evidence=True)


def test_evidence_yields_to_a_public_score(
    service: Service, slug: str, examined: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It yields in the middle of a test, and the interrupted attempt does not count."""
    ref = submitted(service, slug, photographs(8, COUNT))
    assert run_next(service.context, Queue.SCORE)
    answer = service.submit("eve", slug, make_zip(photographs(9, COUNT)))
    monkeypatch.setattr(preemption, "PREEMPT_AFTER", timedelta(0))

    def arrives(*arguments: Any, **named: Any) -> Any:
        run_next(service.context, Queue.CHECK)
        return compute_evidence(*arguments, **named)

    monkeypatch.setattr(evidence_job, "compute_evidence", arrives)
    assert run_next(service.context, Queue.EVIDENCE)
    assert jobs(service, ref)[2] == ("evidence", "waiting")
    monkeypatch.undo()
    with service.context.sessions() as session:
        waiting = submissions.submission_by_id(session, answer.json()["id"])
        assert waiting is not None
        assert waiting.status == Status.QUEUED
        job = newest_job(session, submission_ref=ref, track_id=job_track(service, ref), queue=Queue.EVIDENCE)
        assert job is not None
        assert (job.attempts, job.stage) == (0, None)
    assert run_next(service.context, Queue.EVIDENCE)  # the waiting score
    with service.context.sessions() as session:
        assert session.get_one(Submission, waiting.ref).status == Status.SCORED
    service.run_jobs(evidence=True)
    assert public(service, ref) is not None


def job_track(service: Service, ref: int) -> int:
    with service.context.sessions() as session:
        submission = session.get_one(Submission, ref)
        return competitions.load_tracks(session, submission.competition_id)["public"].id


def test_perceptual_hashes_come_from_the_check(
    service: Service, slug: str, examined: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are computed again only if they are lost."""
    ref = submitted(service, slug, photographs(10, COUNT))
    with service.context.sessions() as session:
        key = load_hashes_key(session, ref)
    assert key is not None
    stored = np.random.default_rng(0).integers(0, 2**32, (10, COUNT), np.uint32)
    reference_features.write_array(service.context, key, stored)
    seen = []

    def spied(entry: AnalysedEntry, *arguments: Any, **named: Any) -> Any:
        seen.append(np.array(entry.perceptual_hashes))
        return compute_evidence(entry, *arguments, **named)

    monkeypatch.setattr(evidence_job, "compute_evidence", spied)
    service.run_jobs(evidence=True)
    assert len(seen) == 2
    assert all(np.array_equal(features, stored[2:].T) for features in seen)
    service.context.blobs.delete(key)
    measured_again(service, ref, job_track(service, ref))
    service.run_jobs(evidence=True)
    assert seen[2].shape == (COUNT, 8)
    assert not seen[2].any()  # too small


def test_a_killed_attempt_is_repeated_with_the_same_result(
    service: Service, slug: str, examined: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With cached features, without, and after another measurement: the same bits, and one row per job."""
    ref = submitted(service, slug, ENTRIES["half"])
    with service.context.sessions() as session:
        submission = session.get_one(Submission, ref)
        track = job_track(service, ref)

    def killed(*_: object, **__: object) -> Any:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(records, "record_evidence", killed)
        while ("evidence", "running") not in jobs(service, ref):
            try:
                run_next(service.context, Queue.EVIDENCE)
            except SystemExit:
                break
    assert jobs(service, ref)[2] == ("evidence", "running")
    now = service.context.now()
    with service.context.sessions.begin() as session:
        for job in session.scalars(select(Job).where(Job.state == "running")):
            job.lease_until = now - timedelta(seconds=1)
    with service.context.sessions.begin() as session:
        assert sweeps.free_expired(session, now=now, max_attempts=3) == 1
    assert public(service, ref) is None
    feature_cache.delete_features(service.context, submission, track, identity="tiny@1")
    service.run_jobs(evidence=True)
    first = public(service, ref)
    assert first is not None
    measured_again(service, ref, track)
    service.run_jobs(evidence=True)
    second = public(service, ref)
    assert second is not None
    assert (second.id > first.id, second.measurement_id > first.measurement_id) == (True, True)
    same = examined["half"]["public"]
    for other in (first, second):
        assert (other.seed, other.findings, other.details) == (same.seed, same.findings, same.details)
        assert other.authenticity_p == same.authenticity_p
    with service.context.sessions() as session:
        count = select(func.count()).where(Evidence.submission_ref == ref, Evidence.track_id == track)
        assert session.scalar(count) == 2


def measured_again(service: Service, ref: int, track: int) -> None:
    with service.context.sessions.begin() as session:
        submission = session.get_one(Submission, ref)
        leases.add_job(
            session, Queue.SCORE, submission=submission, track_id=track, private=True, now=service.context.now()
        )
    before = count_measurements(service, ref, track)
    assert run_next(service.context, Queue.SCORE)
    assert count_measurements(service, ref, track) == before + 1


def count_measurements(service: Service, ref: int, track: int) -> int:
    with service.context.sessions() as session:
        counted = select(func.count()).where(Measurement.submission_ref == ref, Measurement.track_id == track)
        return int(session.scalar(counted) or 0)


def test_features_of_references_resume_after_an_interruption(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Features of mirrored training images take as long as those of the images, so they are cached in pieces."""
    monkeypatch.setattr(reference_features, "IMAGES_PER_CHUNK", 100)
    with service.context.sessions() as session:
        competition = competitions.competition_by_slug(session, slug)
        assert competition is not None
        training = competitions.load_references(session, competition.id)["held_out"].reference_set
    address = reference_features.SetAddress(training.sha256, training.blob_key, SIZE)
    expected = service.context.extractor("tiny@1").features(np.ascontiguousarray(HELD_OUT[:, :, ::-1]))
    features = Tiny.features
    seen = list[int]()

    def interrupted(stage: str, share: float) -> None:
        if stage == "mirrored" and share > 0.7:
            raise Preempted

    def watched(tiny: Tiny, images: Any, **named: Any) -> Any:
        seen.append(len(images))
        return features(tiny, images, **named)

    monkeypatch.setattr(Tiny, "features", watched)
    with pytest.raises(Preempted):
        reference_features.load_mirrored_features(service.context, address, "tiny@1", progress=interrupted)
    mirrored = reference_features.load_mirrored_features(service.context, address, "tiny@1", progress=lambda *_: None)
    assert seen == [100, 50, 50]
    assert np.array_equal(mirrored, expected)
    reference_features.load_mirrored_features(service.context, address, "tiny@1", progress=lambda *_: None)
    assert seen == [100, 50, 50]


def test_evidence_that_fails_changes_nothing_else(
    service: Service, slug: str, examined: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The team sees its score. An operator sees the failure and can retry the job."""
    ref = submitted(service, slug, photographs(10, COUNT))
    assert run_next(service.context, Queue.SCORE)

    def broken(*_: object, **__: object) -> Any:
        raise RuntimeError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(evidence_job, "compute_evidence", broken)
        for attempt in range(3):
            with service.context.sessions.begin() as session:
                for job in session.scalars(select(Job).where(Job.submission_ref == ref, Job.state == "waiting")):
                    job.due_at = service.context.now() - timedelta(seconds=1)
                    job.turn = -1 if job.track_id == job_track(service, ref) else job.turn
            assert run_next(service.context, Queue.EVIDENCE), attempt
    assert jobs(service, ref)[2] == ("evidence", "failed")
    with service.context.sessions() as session:
        submission = session.get_one(Submission, ref)
        assert (submission.status, submission.reason) == (Status.SCORED, None)
        (failed,) = (job for job in failed_jobs.failed(session) if job.submission_id == submission.id)
        assert (failed.queue, failed.track, failed.error) == (
            "evidence", "public", "RuntimeError: the disk is gone",
        )  # fmt: skip
    answer = service.call("admin", "POST", "/admin/jobs/requeue", json={"job": failed.id})
    assert answer.json() == {"requeued": 1}
    service.run_jobs(evidence=True)
    assert public(service, ref) is not None
