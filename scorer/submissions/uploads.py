"""Resumable uploads: begin, resume, advance, finish, expire. The row records the number of received bytes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy.orm import Session

from scorer import errors
from scorer.acting import Acting
from scorer.blobs import Blobs, ReceivedBlob
from scorer.competitions.competition_state import CompetitionState, visible_state
from scorer.db import accounts
from scorer.db.newest_rows import only_row
from scorer.db.submissions import uploads as rows
from scorer.db.tables import Account, Submission, Upload
from scorer.errors import Conflict, Invalid, KennelError, NotFound, TooLarge
from scorer.generators.onnx_files import DeclaredLatent
from scorer.submissions import intake, upload_reservations
from scorer.submissions.intake import NewSubmission
from scorer.submissions.upload_reservations import taken_over_error
from scorer.teams.storage import UploadLimits

Method = Literal["tus", "put", "wire"]
MAX_OPEN_UPLOADS = 5
"""Open uploads of an account in a competition. A further upload ends the upload with the longest idle time, because
nobody should have to find and cancel an abandoned upload near the deadline."""
FINISH_LEASE = timedelta(seconds=60)
"""The time for creating a submission from an upload, in addition to the time for its bytes."""
FINISHING_BYTES_A_SECOND = 4 << 20
"""The lowest speed for copying and hashing the whole upload; a slower caller counts as dead."""
SWEEP_BATCH = 50
"""The uploads that one round of the sweep ends or clears."""


@dataclass(frozen=True)
class UploadRequest:
    """The declaration of an upload: its ``length`` in bytes and its SHA-256 (hex) if declared.

    ``described`` is the unchanged Upload-Metadata header of tus.
    """

    entry: NewSubmission
    length: int
    method: Method = "tus"
    sha256: str | None = None
    described: str = ""
    put_digest: bytes | None = None
    """For ``wire``: the SHA-256 of the secret in the URL for the bytes (:mod:`scorer.submissions.upload_bytes`)."""


def begin(
    acting: Acting, slug: str, wanted: UploadRequest, *, upload_id: str, limits: UploadLimits, life: timedelta
) -> Upload:
    """Begin an upload, or refuse it before the first byte if Kennel could not accept it.

    A repeated ``idempotency_key`` returns the upload of the first request in any state, or raises ``Conflict`` if the
    declaration differs. After an upload without a submission its key is free again.
    """
    # Without the lock, one key could begin two uploads, and the count of open uploads could be wrong.
    accounts.lock_account(acting.session, acting.actor.id)
    state = visible_state(acting, slug)
    competition = state.competition
    wanted = replace(wanted, entry=replace(wanted.entry, file_name=intake.find_name(wanted.entry, competition)))
    earlier = _earlier(acting, competition.id, wanted)
    if earlier is not None:
        return earlier
    if wanted.length < 1:
        raise Invalid("empty", "The upload is empty. It must have at least one byte.")
    intake.admit(acting, slug, wanted.entry, declared_bytes=wanted.length, limits=limits, sha256=wanted.sha256)
    reservation = upload_reservations.reserve_announced(
        acting.session, competition, limits, method=wanted.method, length=wanted.length, now=acting.now
    )
    _end_idle(acting.session, competition.id, acting.actor)
    upload = Upload(
        id=upload_id,
        competition_id=competition.id,
        account_id=acting.actor.id,
        state="receiving",
        received=0,
        parts=[staged_key(upload_id)] if reservation["method"] == "put" else [],
        described=wanted.described,
        put_digest=wanted.put_digest,
        begun_at=acting.now,
        expires_at=acting.now + life,
        **_declared(wanted),
        **reservation,
    )
    submission = _submission_under_key(acting.session, competition.id, wanted, account=acting.actor)
    submission = submission or intake.find_announced(acting, state, wanted.entry, sha256=wanted.sha256)
    if submission is not None:
        upload.state = "done"
        upload.received = upload.length
        upload.parts = []
        upload.completed_at = submission.accepted_at
        upload.submission_ref = submission.ref
    acting.session.add(upload)
    acting.session.flush()
    return upload


def _declared(wanted: UploadRequest) -> dict[str, Any]:
    entry = {name: getattr(wanted.entry, name) for name in ("file_name", "note", "idempotency_key", "benchmark")}
    return {"length": wanted.length, "sha256": wanted.sha256, "latent": wanted.entry.latent_values, **entry}


def _earlier(acting: Acting, competition_id: int, wanted: UploadRequest) -> Upload | None:
    key = wanted.entry.idempotency_key
    if key is None:
        return None
    own = {"competition_id": competition_id, "account_id": acting.actor.id}
    earlier = only_row(acting.session, Upload, idempotency_key=key, **own)
    if earlier is None:
        return None
    if has_expired(earlier, acting.now):
        rows.close_upload(acting.session, earlier.id, to="ended", idempotency_key=None)
        return None
    if any(getattr(earlier, name) != value for name, value in _declared(wanted).items()):
        raise intake.key_reused_error()
    return earlier


def _submission_under_key(
    session: Session, competition_id: int, wanted: UploadRequest, *, account: Account
) -> Submission | None:
    """Return the submission of a direct upload with the same idempotency key."""
    key = wanted.entry.idempotency_key
    if key is None:
        return None
    own = {"competition_id": competition_id, "account_id": account.id}
    submission = only_row(session, Submission, idempotency_key=key, **own)
    if submission is not None and (submission.bytes != wanted.length or wanted.sha256 not in {None, submission.sha256}):
        raise intake.key_reused_error()
    return submission


def _end_idle(session: Session, competition_id: int, account: Account) -> None:
    uploads = rows.open_uploads(session, competition_id, account.id)
    idle_first = [upload for upload in uploads if not upload.completed_at]
    for upload in idle_first[: max(0, len(idle_first) + 1 - MAX_OPEN_UPLOADS)]:
        rows.close_upload(session, upload.id, to="ended", idempotency_key=None)


def has_expired(upload: Upload, now: datetime) -> bool:
    return upload.state == "receiving" and upload.completed_at is None and upload.expires_at <= now


def find_upload(acting: Acting, upload_id: str) -> Upload:
    """Return an upload of the account; ``NotFound`` if it belongs to another account, has expired or has ended."""
    upload = rows.upload_by_id(acting.session, upload_id)
    if (
        upload is None
        or upload.account_id != acting.actor.id
        or upload.state == "ended"
        or has_expired(upload, acting.now)
    ):
        raise NotFound("no-upload", "There is no such upload, or it has ended. Please begin a new one.")
    return upload


def require_whole(upload: Upload) -> None:
    """``Conflict`` with the offset while bytes are missing."""
    if upload.completed_at is None:
        missing = upload.length - upload.received
        raise Conflict("not-complete", f"{missing:,} bytes are still missing. Send them first.", offset=upload.received)


def require_not_refused(upload: Upload) -> None:
    if upload.problem is not None:
        raise refusal_error(upload.problem)


def take_over(session: Session, upload: Upload, *, offset: int, adds: int | None, writer: str) -> None:
    """Make ``writer`` (a random name) the only writer that may add bytes, from ``offset`` on.

    ``Conflict`` if the upload is at another offset, ``TooLarge`` if the ``adds`` announced bytes would exceed the
    declared length.
    """
    if upload.method != "tus":
        raise Conflict("wrong-method", f"This upload uses the method {upload.method}, not tus.")
    if adds is not None and offset + adds > upload.length:
        raise too_long_error(upload.length)
    if upload.completed_at is not None and offset == upload.length:
        return  # a repeated last request: there is nothing to add
    if not rows.take_over(session, upload.id, offset=offset, writer=writer):
        received = upload.received
        raise Conflict("wrong-offset", f"{received:,} bytes have arrived. Continue from that offset.", offset=received)


def too_long_error(length: int) -> TooLarge:
    return TooLarge("too-long", f"The upload has more bytes than the {length:,} that were announced.", limit=length)


def restart(session: Session, upload: Upload, *, writer: str) -> list[str]:
    """Restart the upload from the first byte, with ``writer`` as its only writer.

    Returns the keys of blobs to delete after the commit. ``Conflict`` once its submission is being created.
    """
    if not rows.restart(session, upload.id, writer=writer):
        raise taken_over_error()
    return upload.parts


def end(session: Session, upload: Upload) -> None:
    """End an upload; ``Conflict`` once it has become a submission or was refused."""
    if not rows.close_upload(session, upload.id, to="ended", idempotency_key=None):
        raise Conflict("upload-closed", "This upload is already complete.")


def claim_finish(session: Session, upload_id: str, *, now: datetime, lease: timedelta) -> datetime | None:
    """Claim the creation of the submission until the returned moment: the ``lease`` and the time for its bytes.

    None if the upload is incomplete or closed, or another caller holds the claim.
    """
    upload = current_upload(session, upload_id)
    until = now + lease + timedelta(seconds=upload.length / FINISHING_BYTES_A_SECOND)
    return until if rows.claim_finish(session, upload_id, now=now, until=until) else None


def current_upload(session: Session, upload_id: str) -> Upload:
    """Return an upload of any account; ``NotFound`` if there is none."""
    upload = rows.upload_by_id(session, upload_id)
    if upload is None:
        raise NotFound("no-upload", "There is no such upload.")
    return upload


def entry_of(upload: Upload) -> NewSubmission:
    latent = DeclaredLatent(**upload.latent) if upload.latent else None
    return NewSubmission(upload.file_name, upload.note, upload.idempotency_key, upload.benchmark, latent=latent)


def is_repeated(upload: Upload) -> bool:
    """Whether the upload's submission is an earlier one, with the same file."""
    return upload.submission is not None and upload.submission.accepted_at < upload.begun_at


def finish(session: Session, upload: Upload, received: ReceivedBlob, *, public_id: str) -> Submission:
    """Accept the submission of a complete upload with a checked file, as of the arrival of its last byte.

    Raises the errors of :func:`scorer.submissions.intake.accept`, and ``Conflict`` if the upload was closed meanwhile;
    the caller must then roll back.
    """
    entry = entry_of(upload)
    arrived = upload.completed_at
    if arrived is None:
        raise ValueError(f"upload {upload.id} is incomplete")
    slug = upload.competition.slug
    account = session.get_one(Account, upload.account_id)
    submission = intake.accept(
        Acting(session, account, arrived), slug, entry, received=received, public_id=public_id, begun=upload.begun_at
    )
    if not rows.close_upload(session, upload.id, to="done", submission_ref=submission.ref):
        raise taken_over_error()
    return submission


def refuse(session: Session, upload: Upload, error: KennelError) -> bool:
    """Close an upload that can't become a submission and store the error; False if it was closed meanwhile."""
    faults = list(error.faults[:10])
    problem = {"kind": type(error).__name__, "slug": error.slug, "message": error.message, "faults": faults}
    return rows.close_upload(session, upload.id, to="refused", problem=problem, idempotency_key=None)


def expire(session: Session, now: datetime) -> int:
    return sum(
        rows.close_upload(session, upload.id, to="ended", idempotency_key=None)
        for upload in rows.expired(session, now, SWEEP_BATCH)
    )


def next_unfinished(session: Session, now: datetime, lease: timedelta = FINISH_LEASE) -> Upload | None:
    """Return an unclaimed complete upload without a submission after the ``lease``."""
    return rows.next_unfinished_upload(session, now - lease)


def clear(session: Session, store: Blobs, now: datetime) -> None:
    """Delete the parts of closed uploads that have no writer any more. It repeats if this transaction fails."""
    for upload in rows.uploads_to_clear(session, SWEEP_BATCH, now):
        store.delete_all(upload.parts)
        upload.parts = []


def orphaned_blobs(session: Session, keys: Sequence[str]) -> list[str]:
    """Return the ``keys`` that belong to no open upload."""
    owners = {key: key.removeprefix("uploads/").split(".")[0] for key in keys}
    active = set(rows.active_upload_ids(session, sorted(set(owners.values()))))
    return [key for key, owner in owners.items() if owner not in active]


def refusal_error(problem: dict[str, Any]) -> KennelError:
    kind: type[KennelError] = getattr(errors, problem["kind"])
    return kind(problem["slug"], problem["message"], faults=problem["faults"])


def staged_key(upload_id: str) -> str:
    """The blob key for the bytes of a presigned PUT."""
    return f"uploads/{upload_id}"


def part_key(upload_id: str, start: int, writer: str, *, offset: int) -> str:
    """Return the blob key for the bytes from ``start`` on, written while ``offset`` bytes are recorded.

    The random ``writer`` makes it unique.
    """
    return f"uploads/{upload_id}.{start:013d}.{writer}-{offset}"


def part_start(key: str) -> int:
    return int(key.split(".")[1])


def list_open_uploads(acting: Acting, state: CompetitionState) -> list[Upload]:
    """Return the account's uploads in a competition that may still become submissions, the longest idle first.

    These are uploads that began in time, until the grace period ends.
    """
    uploads = rows.open_uploads(acting.session, state.competition.id, acting.actor.id)
    return [
        upload for upload in uploads if not has_expired(upload, acting.now) and _may_finish(state, upload, acting.now)
    ]


def _may_finish(state: CompetitionState, upload: Upload, now: datetime) -> bool:
    entry = NewSubmission(upload.file_name, benchmark=upload.benchmark)
    return intake.is_taken(state, entry, begun=upload.begun_at, now=upload.completed_at or now)


def change_note(session: Session, upload: Upload, note: str) -> None:
    """Replace an upload's note; ``Conflict`` once all of its bytes have arrived."""
    if not rows.change_note(session, upload.id, note):
        raise Conflict("upload-closed", "This upload is already complete.")
