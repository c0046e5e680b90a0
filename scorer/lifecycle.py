"""The life cycles of submissions, jobs and competitions: states, queues, phases. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from kennel_client import names
from scorer.errors import Conflict


class Status(StrEnum):
    """The state of a submission, visible to all; ``scored`` refers to the public track only."""

    RECEIVED = "received"
    CHECKING = "checking"
    QUEUED = "queued"
    SCORING = "scoring"
    SCORED = "scored"
    REJECTED = "rejected"
    FAILED = "failed"
    CANCELLED = "cancelled"


ALLOWED_STEPS: dict[Status, frozenset[Status]] = {
    # Backward steps are expired leases: the worker is gone and the work waits again. Failures of the service wait
    # again when an admin restarts them.
    Status.RECEIVED: frozenset({Status.CHECKING, Status.CANCELLED, Status.FAILED}),
    Status.CHECKING: frozenset({Status.QUEUED, Status.REJECTED, Status.FAILED, Status.RECEIVED, Status.CANCELLED}),
    Status.QUEUED: frozenset({Status.SCORING, Status.CANCELLED, Status.FAILED}),
    Status.SCORING: frozenset({Status.SCORED, Status.FAILED, Status.QUEUED}),
    Status.SCORED: frozenset(),
    Status.REJECTED: frozenset(),
    Status.FAILED: frozenset({Status.RECEIVED, Status.QUEUED}),
    Status.CANCELLED: frozenset(),
}

PENDING = frozenset({Status.RECEIVED, Status.CHECKING, Status.QUEUED, Status.SCORING})
CANCELLABLE = frozenset(status for status, steps in ALLOWED_STEPS.items() if Status.CANCELLED in steps)
"""Scoring has not begun."""
UNCHARGED = frozenset({Status.REJECTED, Status.FAILED, Status.CANCELLED})
"""Final states that do not count against the daily quota: rejected zips have a small limit of their own, failures of
the service and cancellations cost nothing."""
PICKABLE = PENDING | {Status.SCORED}
"""States of an entry by which a team may want to be ranked: it has a score, or may still get one."""

TrackKind = names.TrackKind
TRACK_KINDS: tuple[TrackKind, TrackKind] = ("public", "private")


class JobState(StrEnum):
    """The state of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


UNFINISHED = frozenset({JobState.WAITING, JobState.RUNNING})
"""States of a job that has not ended."""


class Queue(StrEnum):
    """Which jobs a message asks for; workers name the queues that they take from."""

    CHECK = "check"
    SCORE = "score"
    PREPARE = "prepare"
    COMPARE = "compare"
    RELEASE = "release"
    RATINGS = "ratings"
    EVIDENCE = "evidence"
    RECOVER = "recover"
    RESCORE = "rescore"


SWEEP_QUEUE, UPLOADS_QUEUE = "sweep", "uploads"
"""Separate from the queues of jobs, so that a long job queue delays neither the sweep nor uploads that were left:
workers consume their queues round-robin. What opens uploads has its own queue, because the sweep, mails and webhooks
may run where no upload is opened."""


class DeliveryState(StrEnum):
    """The state of a webhook delivery."""

    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"


class MailState(StrEnum):
    """The state of a mail in the outbox; ``unknown`` when its sender ended while sending it."""

    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    UNKNOWN = "unknown"
    EXPIRED = "expired"


STAGES: Mapping[str, str] = MappingProxyType(
    {
        "checking": "checking the images",
        "decoding": "decoding the images",
        "reference-decoding": "decoding the reference images",
        "reference-features": "features of the reference images",
        "features": "features",
        "neighbours": "nearest neighbours",
        "frechet": "Fréchet distance",
        "metric": "the metric of a shown track",
        "comparing": "comparing with the images of other entries",
        "evidence": "evidence",
        "mirrored": "features of the mirrored training images",
        "grounds": "what evidence is compared with",
        "statistics": "statistics of the reference images",
        "held-out-decoding": "decoding the held-out images",
        "held-out": "features of the held-out images",
        "tables": "writing the tables",
        "images": "packing the images",
        "storing": "storing the files",
        "packing": "cutting the images to be rated",
        "recover-reading": "reading the generator",
        "recover-generated": "looking for the generator's own images",
        "recover-train": "looking for training images",
        "recover-held_out": "looking for held-out images",
        "recover-near_train": "looking for training images near to the entry",
        "recover-near_held_out": "looking for held-out images near to the entry",
        "recover-entry": "looking for the entry's images",
        "recover-distorted": "looking for distorted images",
        "recover-stability": "looking for the generator's own images from many starts",
    }
)
"""Phrases for the stages of a worker's progress, by the name that progress reports."""


def advance(current: Status, to: Status) -> Status:
    """Return ``to`` if the step is allowed, else raise ``Conflict``."""
    if to not in ALLOWED_STEPS[current]:
        raise Conflict("wrong-state", f"A submission that is {current} cannot become {to}.")
    return to


class Phase(StrEnum):
    """The phase of a competition; follows from time and from the publication, never stored."""

    DRAFT = "draft"
    OPEN = "open"
    REVIEW = "review"
    PROVISIONAL = "provisional"
    FINAL = "final"


def phase_at(now: datetime, *, opens_at: datetime | None, closes_at: datetime | None, published: Phase | None) -> Phase:
    """The phase at ``now``: the one of the publication in force (``published``), else by the times; a competition
    without a start is a draft."""
    if published is not None:
        return published
    if opens_at is None or now < opens_at:
        return Phase.DRAFT
    if closes_at is None or now < closes_at:
        return Phase.OPEN
    return Phase.REVIEW


def is_late(closes_at: datetime, grace: timedelta, *, begun: datetime, complete: datetime) -> bool:
    """Whether an upload missed the close: it began at or after it, or was not complete within the grace period."""
    return begun >= closes_at or complete >= closes_at + grace


def utc_day(now: datetime) -> tuple[datetime, datetime]:
    """The first moment of the UTC day of ``now``, and of the next one: the meaning of "daily" everywhere."""
    start = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return start, start + timedelta(days=1)
