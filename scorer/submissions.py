"""Submissions, from the door to the score: ``admit``, ``accept``, ``pass_check``, ``reject``, ``record``."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from scorer import examinations
from scorer.accounts.roles import is_organizer
from scorer.archive import TrainingImageCopies
from scorer.blobs import Received, require_bytes
from scorer.competitions import rules
from scorer.competitions.competition_state import CompetitionState, visible_state
from scorer.db import competitions
from scorer.db.jobs import job_queue
from scorer.db.submissions import events, submissions
from scorer.db.tables import Account, Measurement, Submission, Team
from scorer.db.teams import members
from scorer.errors import Conflict, Forbidden, Invalid, NotFound
from scorer.jobs import leases
from scorer.lifecycle import CANCELLABLE, Phase, Queue, Status, is_late
from scorer.notifications import notices
from scorer.teams import quotas, teams


@dataclass(frozen=True)
class Entry:
    """What a person hands in beside the zip."""

    file_name: str
    note: str = ""
    idempotency_key: str | None = None
    benchmark: str | None = None
    """Organizers only: the name of the reference line that this entry draws on the board."""


@dataclass(frozen=True)
class Measured:
    """What a worker has measured of a submission on a track (METRICS: Fréchet distance, memorization distance)."""

    scorer_version: str
    fid: float
    memorization_distance: float
    distance_se: float | None
    closest_pairs: list[dict[str, Any]]
    histogram: dict[str, Any]
    artifact_key: str
    provenance: dict[str, Any] = field(default_factory=dict)


def admit(
    session: Session,
    slug: str,
    entry: Entry,
    account: Account,
    *,
    declared_bytes: int | None,
    max_bytes: int,
    now: datetime,
) -> CompetitionState:
    """Refuse at the door, before a byte is read, what cannot be accepted anyway."""
    state = visible_state(session, slug, account, now)
    earlier = _repeated(session, state, entry, account)
    if earlier is not None:
        if declared_bytes not in {None, earlier.bytes}:
            raise key_reused()
        return state
    _require_ready(state)
    late = _window(state, entry, begun=now, now=now)
    if entry.benchmark is not None and not is_organizer(account):
        raise Forbidden("wrong-role", "Only organizers add benchmark entries.")
    if entry.benchmark is None:
        rules.require_entrant(session, state.competition, account)
    require_bytes(declared_bytes, upload_limit(state, max_bytes))
    team = members.team_of(session, state.competition.id, account.id)
    if team is not None and entry.benchmark is None:
        quotas.require_quota(session, state.competition, team, now=now, late=late)
    return state


def upload_limit(state: CompetitionState, max_bytes: int) -> int:
    """The most bytes that an entry may have: what its images can need, and no more than the operator allows."""
    return min(max_bytes, state.image_spec.upload_bytes)


def accept(
    session: Session,
    slug: str,
    entry: Entry,
    account: Account,
    received: Received,
    *,
    public_id: str,
    now: datetime,
    begun: datetime | None = None,
) -> Submission:
    """Take an uploaded, listed zip in: window, limits, row, check job. ``now`` is when the last byte arrived,
    ``begun`` when the first one did, as far as that is known.

    A repeated ``idempotency_key`` answers with the submission that the first request made; with other bytes under it,
    with ``Conflict``.
    """
    # References must not change under an entry.
    competitions.lock_competition(session, slug, share=True)
    state = visible_state(session, slug, account, now)
    team = _entering_team(session, state, entry, account, now)
    earlier = _repeated(session, state, entry, account)
    if earlier is not None:
        if earlier.sha256 != received.sha256:
            raise key_reused()
        return earlier
    _require_ready(state)
    late = _window(state, entry, begun=begun, now=now)
    if not team.benchmark:
        rules.require_entrant(session, state.competition, account, newest=False)
        quotas.require_quota(session, state.competition, team, now=now, late=late)
    submission = Submission(
        id=public_id,
        competition_id=state.competition.id,
        team_id=team.id,
        account_id=account.id,
        file_name=entry.file_name,
        bytes=received.bytes,
        sha256=received.sha256,
        note=entry.note,
        blob_key=received.key,
        idempotency_key=entry.idempotency_key,
        status=Status.RECEIVED,
        accepted_at=now,
        late=late,
    )
    session.add(submission)
    session.flush()
    events.add_event(session, submission.ref, Status.RECEIVED, now=now)
    leases.add_job(session, Queue.CHECK, submission=submission, now=now)
    return submission


def _entering_team(session: Session, state: CompetitionState, entry: Entry, account: Account, now: datetime) -> Team:
    if entry.benchmark is not None:
        return teams.benchmark_team(session, state.competition.id, entry.benchmark, now=now)
    return teams.find_or_create_team(session, state.competition.id, account, now=now)


def _repeated(session: Session, state: CompetitionState, entry: Entry, account: Account) -> Submission | None:
    if entry.idempotency_key is None:
        return None
    return submissions.submission_by_idempotency_key(session, state.competition.id, account.id, entry.idempotency_key)


def key_reused() -> Conflict:
    """One idempotency key cannot stand for two things."""
    return Conflict("key-reused", "This Idempotency-Key was used for another upload; please take a new one.")


def _require_ready(state: CompetitionState) -> None:
    if state.missing:
        raise Conflict("not-ready", "The organizers are still setting this competition up; please come back later.")


def _window(state: CompetitionState, entry: Entry, *, begun: datetime | None, now: datetime) -> bool:
    """Whether the entry is late; ``Conflict`` if it comes when none is taken. Where nobody knows when an upload began
    (``begun`` is None), one that ends after the close of a competition with late entries is one of them."""
    competition = state.competition
    closes_at = competition.closes_at
    grace = timedelta(seconds=competition.upload_grace_seconds)
    may_be_late = competition.late_submissions and state.phase is not Phase.DRAFT and entry.benchmark is None
    if may_be_late and closes_at is not None and is_late(closes_at, grace, begun=begun or now, complete=now):
        return True
    in_time = begun is None or closes_at is None or begun < closes_at
    _require_open(state, entry, now=now, grace=grace if in_time else timedelta(0))
    return False


def _require_open(state: CompetitionState, entry: Entry, *, now: datetime, grace: timedelta) -> None:
    if entry.benchmark is not None and state.phase is not Phase.DRAFT:
        return
    closes_at = state.competition.closes_at
    in_grace = state.phase is Phase.REVIEW and closes_at is not None and now < closes_at + grace
    if state.phase is Phase.OPEN or in_grace:
        return
    if state.phase is Phase.DRAFT:
        opens_at = state.competition.opens_at
        raise Conflict("not-open", f"The competition opens at {opens_at:%Y-%m-%d %H:%M} UTC.")
    raise Conflict("closed", f"The competition closed at {closes_at:%Y-%m-%d %H:%M} UTC.")


def pass_check(
    session: Session,
    claim: leases.Claim,
    copies: TrainingImageCopies,
    *,
    pixels_sha256: str,
    sprite_key: str | None = None,
    now: datetime,
) -> bool:
    """The images are what they should be: queue the entry for the public track."""
    if not leases.finish_job(session, claim, now):
        return False
    submission = session.get_one(Submission, claim.submission_ref)
    submission.exact_copies, submission.mirrored_copies = copies.exact, copies.mirrored
    submission.copied_share = copies.share
    submission.pixels_sha256 = pixels_sha256
    submission.sprite_key = sprite_key
    session.flush()
    submissions.move_submission(session, submission.ref, from_=Status.CHECKING, to=Status.QUEUED, now=now)
    public = competitions.tracks_of(session, submission.competition_id)["public"]
    leases.add_job(session, Queue.SCORE, submission=submission, track_id=public.id, now=now)
    return True


def reject(session: Session, claim: leases.Claim, error: Invalid, *, now: datetime) -> bool:
    """The images are not what they should be: say which, and give the day's slot back."""
    if claim.submission_ref is None or not leases.finish_job(session, claim, now):
        return False
    submissions.move_submission(
        session,
        claim.submission_ref,
        from_=Status.CHECKING,
        to=Status.REJECTED,
        now=now,
        reason=error.message,
        faults=list(error.faults[:10]),
        finished_at=now,
    )
    submission = session.get_one(Submission, claim.submission_ref)
    notices.notify_end(session, submission, notices.Kind.ENTRY_REJECTED, reason=error.message, now=now)
    return True


def record(session: Session, claim: leases.Claim, measured: Measured, *, now: datetime) -> bool:
    """Keep a measurement, once, and queue its evidence; after the public one also the private track, which a late entry
    has none of. False when the job was no longer that worker's: its result is dropped."""
    ref, track_id = claim.submission_ref, claim.track_id
    if ref is None or track_id is None or not leases.finish_job(session, claim, now):
        return False
    measurement = {"job_id": claim.job_id, "submission_ref": ref, "track_id": track_id, "created_at": now}
    session.add(Measurement(**measurement, **vars(measured)))
    submission = session.get_one(Submission, ref)
    examinations.ask(session, submission, track_id, now=now)
    if claim.public:
        submissions.move_submission(session, ref, from_=Status.SCORING, to=Status.SCORED, now=now, finished_at=now)
        session.refresh(submission)
        if not submission.late:
            # The private track must not be replaced in between: that queues whatever is scored by then.
            competitions.lock_competition(session, submission.competition.slug, share=True)
            private = competitions.tracks_of(session, submission.competition_id)["private"]
            leases.add_job(session, Queue.SCORE, submission=submission, track_id=private.id, private=True, now=now)
        notices.notify_end(session, submission, notices.Kind.ENTRY_SCORED, now=now)
    return True


def find(session: Session, submission_id: str, account: Account) -> Submission:
    """A submission that this person may see: their team's, or any for organizers. ``NotFound`` otherwise, so that
    ids tell nothing."""
    submission = submissions.submission_by_id(session, submission_id)
    if submission is not None and (is_organizer(account) or is_own(session, submission, account)):
        return submission
    raise unknown(submission_id)


def unknown(submission_id: str | int) -> NotFound:
    """No such submission, or none that this person may know of."""
    return NotFound("no-submission", f"There is no submission {submission_id!r}, or it is not yours.")


def is_own(session: Session, submission: Submission, account: Account) -> bool:
    """Whether a submission is of this person's team now, whichever team handed it in."""
    team = members.team_of(session, submission.competition_id, account.id)
    return team is not None and team.id == teams.current_team_of(session, submission).id


def cancel(session: Session, submission_id: str, account: Account, *, now: datetime) -> Submission:
    """Take an entry of one's team back before its scoring began: it is not counted. Again is the same; ``Conflict``
    once scoring has begun or the entry has ended otherwise."""
    submission = find(session, submission_id, account)
    if submission.account_id != account.id and not is_own(session, submission, account):
        raise Forbidden("not-yours", "An entry is cancelled by its own team.")
    # A job that is locked neither starts nor ends, so from here on the entry stays where it is.
    job_queue.lock_unfinished(session, submission.ref)
    session.refresh(submission)
    status = Status(submission.status)
    if status is Status.CANCELLED:
        return submission
    if status not in CANCELLABLE:
        began = status in {Status.SCORING, Status.SCORED}
        why = "Its scoring has begun" if began else f"It is {status} already"
        raise Conflict("too-late-to-cancel", f"{why}: an entry can be cancelled while it waits.", state=status)
    job_queue.cancel_unfinished(session, submission.ref, now)
    submissions.move_submission(session, submission.ref, from_=status, to=Status.CANCELLED, now=now, finished_at=now)
    session.refresh(submission)
    return submission


def list_own(
    session: Session, state: CompetitionState, account: Account, *, before: int | None, limit: int
) -> list[Submission]:
    """A page of the person's team's submissions (of everybody's, for organizers), newest first."""
    team_id = None
    if not is_organizer(account):
        team = members.team_of(session, state.competition.id, account.id)
        if team is None:
            return []
        team_id = team.id
    return list(submissions.submissions_of(session, state.competition.id, team_id=team_id, before=before, limit=limit))
