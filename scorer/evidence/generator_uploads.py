"""Generators to audit: uploads of an entry's generator by its team or an organizer, and entries that are generators.

Nothing here reads the file. Only a sandboxed process of a worker does (:mod:`worker.evidence.generator_audit`).
"""

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts.roles import is_organizer
from scorer.acting import Acting
from scorer.blobs import ReceivedBlob
from scorer.db import competitions
from scorer.db.evidence import generators as rows
from scorer.db.jobs.job_queue import newest_job
from scorer.db.newest_rows import newest_row
from scorer.db.submissions import submissions
from scorer.db.submissions.draws import load_checked
from scorer.db.tables import GeneratorFile, Submission
from scorer.errors import Conflict, TooMany
from scorer.generators.latents import Latent
from scorer.jobs import leases
from scorer.lifecycle import JobState, Queue, Status, utc_day
from scorer.submissions.access import find_for_review, find_submission, is_own
from scorer.submissions.draws import latent_of
from scorer.submissions.files import stored_zip
from scorer.teams import storage
from scorer.teams.storage import UploadLimits

MAX_UPLOADS_A_DAY = 5
"""How many files a team may upload for one entry per UTC day. Each audit takes a worker minutes."""


def require_generator_change(acting: Acting, submission_id: str) -> Submission:
    """The entry, if this person may upload its generator now: their own team's until the final board is published, any
    entry's for organizers. ``NotFound``, ``Conflict`` or ``TooMany`` otherwise."""
    submission = find_submission(acting.session, submission_id, acting.actor)
    _require_auditable(acting.session, submission)
    if submission.competition.entries == "generator":
        raise Conflict("generator-entry", "This entry is a generator itself, so its audit needs no other file.")
    if is_organizer(acting.actor, submission.competition_id):
        return submission
    if competitions.is_final(acting.session, submission.competition_id):
        raise Conflict("published", "The final board is published, so generators can no longer be uploaded.")
    if rows.count_since(acting.session, submission.ref, utc_day(acting.now)[0]) >= MAX_UPLOADS_A_DAY:
        raise TooMany(
            "generator-limit",
            f"You can upload {MAX_UPLOADS_A_DAY} generators per entry and UTC day. Please try again tomorrow.",
        )
    return submission


def _require_auditable(session: Session, submission: Submission) -> None:
    if submission.imported:
        raise Conflict("imported", "This entry was imported from a table of results, so it has no images to recover.")
    if submission.status != Status.SCORED:
        raise Conflict("not-scored", f"This entry is {submission.status}. Only scored entries can be audited.")
    if "held_out" not in competitions.load_references(session, submission.competition_id):
        raise Conflict("no-held-out", "A generator audit needs held-out images, but the competition has none.")


def accept_generator(
    acting: Acting,
    submission_id: str,
    received: ReceivedBlob,
    *,
    latent: Latent,
    seed: int,
    limits: UploadLimits,
) -> GeneratorFile:
    """Accept a received file as an entry's generator, in place of earlier ones, and queue its audit.

    ``Conflict`` if it exceeds a storage quota; earlier generators stay in the store and also count. The audit's random
    draws follow from ``seed``. If the newest generator is the same file with the same latent space, it is returned
    instead, unless its audit has failed.
    """
    submission = find_submission(acting.session, submission_id, acting.actor)
    submissions.lock_submission(acting.session, submission.ref)
    earlier = newest_row(acting.session, GeneratorFile, submission_ref=submission.ref)
    if earlier is not None and _is_same(earlier, received, latent) and not _has_failed(acting.session, earlier):
        return earlier
    require_generator_change(acting, submission_id)
    others = not is_own(acting.session, submission, acting.actor)
    competition, wanted = submission.competition, received.bytes
    storage.require_room(acting, competition, limits, wanted=wanted, benchmark=others)
    rows.cancel_audits(acting.session, submission.ref, acting.now)
    generator = GeneratorFile(
        submission_ref=submission.ref,
        bytes=received.bytes,
        sha256=received.sha256,
        blob_key=received.key,
        seed=seed,
        author_id=acting.actor.id,
        created_at=acting.now,
        **vars(latent),
    )
    _queue_audit(acting, submission, generator)
    if others:
        uploaded = {"sha256": generator.sha256, "bytes": generator.bytes, **vars(latent)}
        audit_log.record_action(acting, "generator.handed-in", f"submission:{submission.id}", after=uploaded)
    return generator


def _queue_audit(acting: Acting, submission: Submission, generator: GeneratorFile) -> None:
    acting.session.add(generator)
    acting.session.flush()
    leases.add_job(
        acting.session, Queue.RECOVER, submission=submission, private=True, generator_id=generator.id, now=acting.now
    )


def audit_entry(acting: Acting, submission_id: str, *, seed: int) -> GeneratorFile:
    """Queue the audit of an entry that is a generator, for reviewers and organizers. The audit's random draws follow
    from ``seed``. An earlier audit is returned instead, unless it has failed."""
    submission = find_for_review(acting.session, submission_id, acting.actor)
    submissions.lock_submission(acting.session, submission.ref)
    earlier = newest_row(acting.session, GeneratorFile, submission_ref=submission.ref)
    require_entry_audit(acting.session, submission)
    if earlier is not None and not _has_failed(acting.session, earlier):
        return earlier
    stored, checked = stored_zip(submission), load_checked(acting.session, submission.ref)
    generator = GeneratorFile(
        submission_ref=submission.ref,
        bytes=submission.bytes,
        sha256=stored.sha256,
        seed=seed,
        author_id=submission.account_id,
        created_at=acting.now,
        **vars(latent_of(checked)),
    )
    _queue_audit(acting, submission, generator)
    audit_log.record_action(acting, "generator.audited", f"submission:{submission.id}")
    return generator


def require_entry_audit(session: Session, submission: Submission) -> None:
    """``Conflict`` unless the entry is a scored generator that is still stored."""
    if submission.competition.entries == "images":
        raise Conflict("images-entry", "This entry consists of images. To audit their generator, upload it.")
    _require_auditable(session, submission)
    stored_zip(submission)


def _is_same(earlier: GeneratorFile, received: ReceivedBlob, latent: Latent) -> bool:
    same_latent = all(getattr(earlier, name) == value for name, value in vars(latent).items())
    return same_latent and earlier.sha256 == received.sha256


def _has_failed(session: Session, generator: GeneratorFile) -> bool:
    job = newest_job(session, generator_id=generator.id)
    return job is not None and job.state == JobState.FAILED
