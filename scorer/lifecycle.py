"""The life cycles of submissions, jobs and competitions: states, queues, phases. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

from kennel_client import names
from scorer.errors import Conflict


class Status(StrEnum):
    """The state of a submission, visible to everybody; ``scored`` refers to the public track only."""

    RECEIVED = "received"
    CHECKING = "checking"
    QUEUED = "queued"
    SCORING = "scoring"
    SCORED = "scored"
    REJECTED = "rejected"
    FAILED = "failed"
    CANCELLED = "cancelled"


ALLOWED_STEPS: dict[Status, frozenset[Status]] = {
    # Backward steps come from expired leases, and from admins who restart failed jobs.
    Status.RECEIVED: frozenset({Status.CHECKING, Status.CANCELLED, Status.FAILED}),
    Status.CHECKING: frozenset({Status.QUEUED, Status.REJECTED, Status.FAILED, Status.RECEIVED, Status.CANCELLED}),
    Status.QUEUED: frozenset({Status.SCORING, Status.REJECTED, Status.CANCELLED, Status.FAILED}),
    Status.SCORING: frozenset({Status.SCORED, Status.FAILED, Status.QUEUED}),
    Status.SCORED: frozenset(),
    Status.REJECTED: frozenset(),
    Status.FAILED: frozenset({Status.RECEIVED, Status.QUEUED}),
    Status.CANCELLED: frozenset(),
}

PENDING = frozenset({Status.RECEIVED, Status.CHECKING, Status.QUEUED, Status.SCORING})
CANCELLABLE = frozenset(status for status, steps in ALLOWED_STEPS.items() if Status.CANCELLED in steps)
"""States before scoring has begun."""
UNCHARGED = frozenset({Status.REJECTED, Status.FAILED, Status.CANCELLED})
"""Final states that do not count against the daily quota. Rejected zips have a separate, small limit."""
PICKABLE = PENDING | {Status.SCORED}
"""States of an entry that a team can pick: it has a score or may still get one."""

EntryKind = Literal["images", "generator"]
"""What the teams of a competition submit."""
TrackKind = names.TrackKind
TRACK_KINDS: tuple[TrackKind, TrackKind] = ("public", "private")


class JobState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


UNFINISHED = frozenset({JobState.WAITING, JobState.RUNNING})


class Queue(StrEnum):
    """The kind of job that a message asks for; workers name the queues that they consume."""

    CHECK = "check"
    DRAW = "draw"
    SCORE = "score"
    PREPARE = "prepare"
    COMPARE = "compare"
    RELEASE = "release"
    RATINGS = "ratings"
    EVIDENCE = "evidence"
    RECOVER = "recover"
    RESCORE = "rescore"


SWEEP_QUEUE, UPLOADS_QUEUE = "sweep", "uploads"
"""Separate from the queues of jobs: workers consume queues round-robin, and a long job queue must not delay sweeps.
Code that opens uploads has its own queue, because the sweep, mails and webhooks may run on machines that open no
uploads."""


class DeliveryState(StrEnum):
    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"


class MailState(StrEnum):
    """The state of a mail in the outbox; ``unknown`` if the sending process ended before the server's answer."""

    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    UNKNOWN = "unknown"
    EXPIRED = "expired"


STAGES: Mapping[str, str] = MappingProxyType(
    {
        "checking": "checking the images",
        "reading": "reading the generator",
        "decoding": "decoding the images",
        "reference-decoding": "decoding the reference images",
        "reference-features": "computing the features of the reference images",
        "features": "computing the features",
        "neighbours": "finding the nearest neighbours",
        "frechet": "computing the Fréchet distance",
        "metric": "computing an additional metric",
        "comparing": "comparing with the images of other entries",
        "evidence": "computing the evidence",
        "mirrored": "computing the features of the mirrored training images",
        "grounds": "computing the baselines of the evidence",
        "statistics": "computing the statistics of the reference images",
        "held-out-decoding": "decoding the held-out images",
        "held-out": "computing the features of the held-out images",
        "tables": "writing the tables",
        "images": "packing the images",
        "storing": "storing the files",
        "packing": "preparing the images for rating",
        "recover-reading": "reading the generator",
        "recover-generated": "looking for the generator's own images",
        "recover-train": "looking for training images",
        "recover-held_out": "looking for held-out images",
        "recover-near_train": "looking for training images near the entry",
        "recover-near_held_out": "looking for held-out images near the entry",
        "recover-entry": "looking for the entry's images",
        "recover-distorted": "looking for distorted images",
        "recover-others": "looking for images of other generators",
        "recover-stability": "looking for the generator's own images from many starts",
    }
)
"""Descriptions of the stages that a worker's progress reports, by name. "drawing 2 of 4" describes itself."""


def advance(current: Status, to: Status) -> Status:
    """Return ``to`` if the step is allowed; otherwise raise ``Conflict``."""
    if to not in ALLOWED_STEPS[current]:
        raise Conflict("wrong-state", f"This submission is {current}; it can't become {to}.")
    return to


class Phase(StrEnum):
    """The phase of a competition. It depends on the time and the publication and is never stored."""

    DRAFT = "draft"
    OPEN = "open"
    REVIEW = "review"
    PROVISIONAL = "provisional"
    FINAL = "final"


def phase_at(now: datetime, *, opens_at: datetime | None, closes_at: datetime | None, published: Phase | None) -> Phase:
    """Return the phase at ``now``. ``published`` is the phase of the publication in force and takes precedence."""
    if published is not None:
        return published
    if opens_at is None or now < opens_at:
        return Phase.DRAFT
    if closes_at is None or now < closes_at:
        return Phase.OPEN
    return Phase.REVIEW


def is_late(closes_at: datetime, grace: timedelta, *, begun: datetime, complete: datetime) -> bool:
    """Whether an upload missed the deadline: it began at or after it, or missed the grace period."""
    return begun >= closes_at or complete >= closes_at + grace


def utc_day(now: datetime) -> tuple[datetime, datetime]:
    """Return the start of the UTC day of ``now`` and of the next day. "Daily" always means this."""
    start = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return start, start + timedelta(days=1)
