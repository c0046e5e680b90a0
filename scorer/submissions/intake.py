"""Intake of submissions: admission before the bytes arrive, acceptance when they are stored."""

import unicodedata
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, BinaryIO

from sqlalchemy.orm import Session

from kennel_client.archive.listing import STRIP_METADATA, refuse_generator
from scorer import audit_log
from scorer.accounts.roles import is_organizer
from scorer.acting import Acting
from scorer.archive import ImageSpec
from scorer.archive.limited_listing import require_images
from scorer.blobs import ReceivedBlob, require_bytes
from scorer.competitions import rules
from scorer.competitions.competition_state import CompetitionState, visible_state
from scorer.db import competitions
from scorer.db.newest_rows import only_row
from scorer.db.submissions import duplicates, events
from scorer.db.tables import Account, Competition, Submission, Team
from scorer.db.teams import members
from scorer.errors import Conflict, Forbidden, Invalid, TooLarge
from scorer.generators.onnx_files import MAGIC_BYTES, DeclaredLatent, require_onnx
from scorer.jobs import leases
from scorer.jobs.broker import after_commit
from scorer.lifecycle import Phase, Queue, Status, is_late
from scorer.monitoring.instruments import UPLOAD_BYTES, UPLOADS
from scorer.monitoring.logs import annotate_request
from scorer.submissions.files import SUFFIXES
from scorer.teams import quotas, storage, teams
from scorer.teams.storage import UploadLimits

CONTROLS = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode's categories of line ends and control characters. File names appear in mail subjects and terminals."""


@dataclass(frozen=True)
class NewSubmission:
    file_name: str
    """Empty: a default name."""
    note: str = ""
    idempotency_key: str | None = None
    benchmark: str | None = None
    """Organizers only: the name of the benchmark entry on the board."""
    ignored: str | None = None
    """The files in the zip that are not images."""
    latent: DeclaredLatent | None = None
    """For generators only; None if nothing is declared."""

    @property
    def latent_values(self) -> dict[str, Any] | None:
        """The declared latent space as the database stores it."""
        return None if self.latent is None else asdict(self.latent)


def admit(
    acting: Acting,
    slug: str,
    entry: NewSubmission,
    *,
    declared_bytes: int | None,
    limits: UploadLimits,
    sha256: str | None = None,
) -> CompetitionState:
    """Refuse an upload before its first byte if Kennel could not accept it: name, latent space, phase, roles, address,
    rules, size, quotas. ``sha256`` is the declared one."""
    state = visible_state(acting, slug)
    _require_declaration(entry, state.competition)
    earlier = _repeated(acting.session, state, entry, account=acting.actor)
    if earlier is not None:
        if declared_bytes not in {None, earlier.bytes}:
            raise key_reused_error()
        return state
    if find_announced(acting, state, entry, sha256=sha256) is not None:
        return state
    _require_ready(state)
    late = _window(state, entry, begun=acting.now, now=acting.now)
    if entry.benchmark is not None and not is_organizer(acting.actor, state.competition.id):
        raise Forbidden("wrong-role", "Only organizers can add benchmark entries.")
    if entry.benchmark is None:
        _require_address(acting.actor, limits)
        rules.require_entrant(acting.session, state.competition, acting.actor)
    _require_bytes(declared_bytes, state, limits)
    team = members.load_team(acting.session, state.competition.id, acting.actor.id)
    if team is not None and entry.benchmark is None:
        quotas.require_quota(acting.session, state.competition, team, now=acting.now, late=late)
    wanted, benchmark = declared_bytes or 0, entry.benchmark is not None
    storage.require_room(acting, state.competition, limits, wanted=wanted, benchmark=benchmark)
    return state


def _require_declaration(entry: NewSubmission, competition: Competition) -> None:
    if any(unicodedata.category(character) in CONTROLS for character in entry.file_name):
        raise Invalid("bad-file-name", "The file name contains line breaks or control characters. Rename the file.")
    if entry.latent is not None and competition.entries == "images":
        raise Invalid(
            "bad-latent",
            "Entries of this competition are images, which have no latent space. Leave out latent, distribution and "
            "classes.",
        )


def _require_address(account: Account, limits: UploadLimits) -> None:
    if limits.confirmed_address and account.email is None:
        raise Forbidden(
            "address-not-confirmed",
            "Your account has no confirmed email address. Open the link in the email that you got, or request a new "
            "one on the page /account.",
        )


def upload_limit(state: CompetitionState, limits: UploadLimits) -> int:
    """Return the largest size of an entry's file in bytes: the operator's limit, and for a zip at most what its images
    can need."""
    generators = state.competition.entries == "generator"
    return min(limits.zip, limits.generator if generators else state.image_spec.upload_bytes)


def _require_bytes(declared: int | None, state: CompetitionState, limits: UploadLimits) -> None:
    limit, spec = upload_limit(state, limits), state.image_spec
    try:
        require_bytes(declared, limit)
    except TooLarge as error:
        if state.competition.entries == "generator" or limit < spec.upload_bytes:
            raise
        metadata = f"{spec.metadata_bytes / 1000:,.0f} KB of metadata per image"
        message = f"{error.message} That is enough for images with at most {metadata} on average. {STRIP_METADATA}"
        raise TooLarge(error.slug, message, limit=limit) from None


def find_name(entry: NewSubmission, competition: Competition) -> str:
    """Return the name of an entry's file, or the default name."""
    return entry.file_name or f"submission{SUFFIXES[competition.entries]}"


def require_file(file: BinaryIO, competition: Competition, entry: NewSubmission, *, limited: bool) -> str | None:
    """Check the first bytes of a received generator, or the directory of a received zip; return the sentence about
    ignored files. Raises the errors of :func:`require_onnx`, or of :func:`require_images` and
    :func:`refuse_generator`."""
    if competition.entries == "generator":
        declared = None if entry.latent is None else entry.latent.dimension
        try:
            require_onnx(file.read(MAGIC_BYTES), declared or "dimension")
        except Invalid as error:
            raise Invalid(error.slug, f"Entries of this competition are generators. {error.message}") from None
        return None
    spec = ImageSpec(count=competition.image_count, size=competition.image_size)
    refuse_generator(file, entry.file_name, spec)
    return require_images(file, spec, limited=limited)


def accept(
    acting: Acting,
    slug: str,
    entry: NewSubmission,
    *,
    received: ReceivedBlob,
    public_id: str,
    begun: datetime | None = None,
    limits: UploadLimits | None = None,
) -> Submission:
    """Accept an uploaded file that :func:`require_file` has passed: check phase, rules and quotas, and queue the
    submission.

    ``acting.now`` is the arrival of the last byte, ``begun`` that of the first byte (None: unknown). Without ``limits``
    the storage quotas already include the bytes, as for a resumable upload.

    A repeated ``idempotency_key`` returns the submission of the first request, or raises ``Conflict`` if the bytes
    differ. The same generator of the same team again returns its earlier entry (:func:`find_same_file`).
    """
    # References must not change after the first entry.
    competitions.lock_competition(acting.session, slug, share=True)
    state = visible_state(acting, slug)
    team = _entering_team(acting, state, entry)
    earlier = _repeated(acting.session, state, entry, account=acting.actor)
    if earlier is not None:
        if earlier.sha256 != received.sha256:
            raise key_reused_error()
        return earlier
    same = find_same_file(acting.session, state.competition, team, entry=entry, sha256=received.sha256)
    if same is not None:
        return same
    _require_ready(state)
    late = _window(state, entry, begun=begun, now=acting.now)
    if not team.benchmark:
        rules.require_entrant(acting.session, state.competition, acting.actor, newest=False)
        quotas.require_quota(acting.session, state.competition, team, now=acting.now, late=late)
    if limits is not None:
        wanted, benchmark = received.bytes, team.benchmark
        storage.require_room(acting, state.competition, limits, wanted=wanted, benchmark=benchmark)
    submission = Submission(
        id=public_id,
        competition_id=state.competition.id,
        team_id=team.id,
        account_id=acting.actor.id,
        file_name=find_name(entry, state.competition),
        bytes=received.bytes,
        sha256=received.sha256,
        note=entry.note,
        ignored=entry.ignored,
        blob_key=received.key,
        idempotency_key=entry.idempotency_key,
        latent=entry.latent_values,
        status=Status.RECEIVED,
        accepted_at=acting.now,
        late=late,
    )
    acting.session.add(submission)
    acting.session.flush()
    events.add_event(acting.session, submission.ref, Status.RECEIVED, now=acting.now)
    leases.add_job(acting.session, Queue.CHECK, submission=submission, team=team, now=acting.now)
    if team.benchmark:
        subject, after = f"submission:{public_id}", {"benchmark": team.name}
        audit_log.record_action(acting, "benchmark.entered", subject, after=after)
    after_commit(acting.session, partial(_record_acceptance, public_id, received.bytes))
    return submission


def _record_acceptance(public_id: str, received_bytes: int) -> None:
    annotate_request(submission_id=public_id)
    UPLOADS.inc()
    UPLOAD_BYTES.inc(received_bytes)


def _entering_team(acting: Acting, state: CompetitionState, entry: NewSubmission) -> Team:
    if entry.benchmark is not None:
        return teams.benchmark_team(acting.session, state.competition.id, entry.benchmark, now=acting.now)
    return teams.find_or_create_team(acting, state.competition.id)


def _repeated(
    session: Session, state: CompetitionState, entry: NewSubmission, *, account: Account
) -> Submission | None:
    if entry.idempotency_key is None:
        return None
    own = {"competition_id": state.competition.id, "account_id": account.id}
    return only_row(session, Submission, idempotency_key=entry.idempotency_key, **own)


def find_announced(
    acting: Acting, state: CompetitionState, entry: NewSubmission, *, sha256: str | None
) -> Submission | None:
    """Return the earlier entry (:func:`find_same_file`) of a file that only its declared SHA-256 describes yet."""
    if sha256 is None or entry.benchmark is not None:
        return None
    team = members.load_team(acting.session, state.competition.id, acting.actor.id)
    if team is None:
        return None
    return find_same_file(acting.session, state.competition, team, entry=entry, sha256=sha256)


def find_same_file(
    session: Session, competition: Competition, team: Team, *, entry: NewSubmission, sha256: str
) -> Submission | None:
    """Return the team's first entry with the same generator and the same declared latent space that is scored or may
    still be: the same file buys no second public draw."""
    if competition.entries == "images":
        return None
    earlier = duplicates.load_same_file(session, team.id, sha256)
    return next((submission for submission in earlier if submission.latent == entry.latent_values), None)


def key_reused_error() -> Conflict:
    return Conflict("key-reused", "This Idempotency-Key was used for another upload. Use a new key.")


def _require_ready(state: CompetitionState) -> None:
    if state.missing:
        raise Conflict("not-ready", "The organizers are still setting up this competition. Please come back later.")


def is_taken(state: CompetitionState, entry: NewSubmission, *, begun: datetime, now: datetime) -> bool:
    """Whether the competition accepts a submission that began at ``begun`` and is complete ``now``."""
    try:
        _window(state, entry, begun=begun, now=now)
    except Conflict:
        return False
    return True


def _window(state: CompetitionState, entry: NewSubmission, *, begun: datetime | None, now: datetime) -> bool:
    """Whether the submission is late; ``Conflict`` if the competition accepts no submissions at this time.

    If ``begun`` is unknown (None), a submission that arrives after the deadline is late.
    """
    competition = state.competition
    closes_at = competition.closes_at
    grace = timedelta(seconds=competition.upload_grace_seconds)
    may_be_late = competition.late_submissions and state.phase is not Phase.DRAFT and entry.benchmark is None
    if may_be_late and closes_at is not None and is_late(closes_at, grace, begun=begun or now, complete=now):
        return True
    in_time = begun is None or closes_at is None or begun < closes_at
    _require_open(state, entry, now=now, grace=grace if in_time else timedelta(0))
    return False


def _require_open(state: CompetitionState, entry: NewSubmission, *, now: datetime, grace: timedelta) -> None:
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
