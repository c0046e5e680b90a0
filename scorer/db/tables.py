"""The tables. Rows marked ``append_only`` are history: the service's role may add to them, never change them."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    LargeBinary,
    MetaData,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

APPEND_ONLY = {"append_only": True}


class Table(DeclarativeBase):
    """Base of all tables; types follow the annotations, moments always carry their zone."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads this class attribute
        str: Text,
        datetime: DateTime(timezone=True),
        dict[str, Any]: JSONB,
        list[dict[str, Any]]: JSONB,
        list[str]: ARRAY(Text),
    }


def _id() -> Mapped[int]:
    return mapped_column(BigInteger, Identity(always=True), primary_key=True)


class Account(Table):
    """A person."""

    __tablename__ = "accounts"
    __table_args__ = (
        CheckConstraint("role IN ('participant', 'reviewer', 'organizer', 'admin')", name="role"),
        Index("uq_accounts_handle", text("lower(handle)"), unique=True),
    )

    id: Mapped[int] = _id()
    handle: Mapped[str]
    name: Mapped[str]
    role: Mapped[str]
    created_at: Mapped[datetime]


class Token(Table):
    """An API token; only its SHA-256 is kept."""

    __tablename__ = "tokens"

    id: Mapped[int] = _id()
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    name: Mapped[str]
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]

    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class Competition(Table):
    """A competition; its phase is derived from these times and from ``publications``."""

    __tablename__ = "competitions"
    __table_args__ = (
        CheckConstraint("image_count > 1 AND image_size > 0", name="images"),
        CheckConstraint("closes_at > opens_at", name="times"),
    )

    id: Mapped[int] = _id()
    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    description: Mapped[str]
    rules: Mapped[str]
    image_count: Mapped[int]
    image_size: Mapped[int]
    opens_at: Mapped[datetime | None]
    team_merge_deadline: Mapped[datetime | None]
    closes_at: Mapped[datetime | None]
    upload_grace_seconds: Mapped[int]
    review_days: Mapped[int]
    daily_limit: Mapped[int | None]
    pending_limit: Mapped[int]
    rejected_limit: Mapped[int]
    final_picks: Mapped[int]
    invitation_only: Mapped[bool]
    prizes: Mapped[list[dict[str, Any]]]
    medals: Mapped[dict[str, Any]]
    score_decimals: Mapped[int]
    created_by: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]


class Publication(Table):
    """The act of showing the private board, or of taking that back; the newest row counts."""

    __tablename__ = "publications"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = _id()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), index=True)
    published: Mapped[bool]
    reason: Mapped[str]
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]


class ReferenceSet(Table):
    """A zip of reference images, addressed by the SHA-256 of its bytes and shared by competitions."""

    __tablename__ = "reference_sets"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = _id()
    sha256: Mapped[str] = mapped_column(unique=True)
    bytes: Mapped[int] = mapped_column(BigInteger)
    blob_key: Mapped[str]
    created_by: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]


class CompetitionReference(Table):
    """Which images play which role in a competition; fixed once the first entry has been taken."""

    __tablename__ = "competition_references"
    __table_args__ = (CheckConstraint("role IN ('train', 'held_out', 'private_extra')", name="role"),)

    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), primary_key=True)
    role: Mapped[str] = mapped_column(primary_key=True)
    reference_set_id: Mapped[int] = mapped_column(ForeignKey(ReferenceSet.id))
    attached_by: Mapped[int] = mapped_column(ForeignKey(Account.id))
    attached_at: Mapped[datetime]

    reference_set: Mapped[ReferenceSet] = relationship(lazy="joined", innerjoin=True)


class Preparation(Table):
    """Features, normalised features and statistics of reference sets in one extractor's space.

    ``key`` is the content address of all that goes in, so that equal work is done once.
    """

    __tablename__ = "preparations"

    id: Mapped[int] = _id()
    key: Mapped[str] = mapped_column(unique=True)
    extractor: Mapped[str]
    image_size: Mapped[int]
    signed: Mapped[bool]
    reference_set_ids: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    held_out_set_id: Mapped[int | None] = mapped_column(ForeignKey(ReferenceSet.id))
    count: Mapped[int | None]
    dimension: Mapped[int | None]
    heldout_distance: Mapped[float | None]
    provenance: Mapped[dict[str, Any] | None]
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class Track(Table):
    """One way of scoring a competition: extractor and reference set, public or private."""

    __tablename__ = "tracks"
    __table_args__ = (
        UniqueConstraint("competition_id", "kind"),
        CheckConstraint("kind IN ('public', 'private')", name="kind"),
        CheckConstraint("epsilon > 0", name="epsilon"),
    )

    id: Mapped[int] = _id()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    kind: Mapped[str]
    extractor: Mapped[str]
    signed: Mapped[bool]
    epsilon: Mapped[float]
    preparation_id: Mapped[int | None] = mapped_column(ForeignKey(Preparation.id))

    competition: Mapped[Competition] = relationship(lazy="joined", innerjoin=True)
    preparation: Mapped[Preparation | None] = relationship(lazy="joined")


class Threshold(Table):
    """One choice of tau; the newest row of a track is the one the board is ranked with."""

    __tablename__ = "thresholds"
    __table_args__ = (
        Index("ix_thresholds_newest", "track_id", text("id DESC")),
        CheckConstraint("tau >= 0 AND tau < 'Infinity'", name="tau"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = _id()
    track_id: Mapped[int] = mapped_column(ForeignKey(Track.id))
    tau: Mapped[float]
    method: Mapped[str]
    choice: Mapped[dict[str, Any]]
    """What the method found: margin, AUC, confusion, interval."""
    reason: Mapped[str]
    author_id: Mapped[int | None] = mapped_column(ForeignKey(Account.id))
    """None: set by the preparation of the references."""
    created_at: Mapped[datetime]


class Team(Table):
    """Who competes. A benchmark is an organizer's reference line: shown, unranked, never judged."""

    __tablename__ = "teams"
    __table_args__ = (UniqueConstraint("competition_id", "name"),)

    id: Mapped[int] = _id()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), index=True)
    name: Mapped[str]
    benchmark: Mapped[bool]
    created_at: Mapped[datetime]


class Membership(Table):
    """Who belongs to which team."""

    __tablename__ = "memberships"
    __table_args__ = (UniqueConstraint("competition_id", "account_id"), {"info": APPEND_ONLY})

    id: Mapped[int] = _id()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id), index=True)
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    created_at: Mapped[datetime]


class Submission(Table):
    """A zip that was accepted. ``ref`` counts (the kaggle wire wants a number), ``id`` is for addresses."""

    __tablename__ = "submissions"
    __table_args__ = (
        UniqueConstraint("competition_id", "account_id", "idempotency_key"),
        Index("ix_submissions_team", "team_id", "accepted_at"),
        Index("ix_submissions_competition", "competition_id", text("ref DESC")),
        CheckConstraint(
            "status IN ('received', 'checking', 'queued', 'scoring', 'scored', 'rejected', 'failed', 'cancelled')",
            name="status",
        ),
    )

    ref: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id))
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    file_name: Mapped[str]
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(index=True)
    note: Mapped[str]
    blob_key: Mapped[str]
    idempotency_key: Mapped[str | None]
    status: Mapped[str]
    reason: Mapped[str | None]
    faults: Mapped[list[str] | None]
    accepted_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    exact_copies: Mapped[int | None]
    mirrored_copies: Mapped[int | None]
    copied_share: Mapped[float | None]
    pixels_sha256: Mapped[str | None] = mapped_column(index=True)
    """Of the sorted hashes of the decoded images: equal for the same images under other names."""

    competition: Mapped[Competition] = relationship(lazy="joined", innerjoin=True)
    team: Mapped[Team] = relationship(lazy="joined", innerjoin=True)
    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class Job(Table):
    """A piece of work for a worker. Rows are the truth; messages on the broker are hints.

    ``turn`` makes the order fair: a team's next job has a later turn than its last one (see ``scorer.work``).
    """

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint("queue IN ('check', 'score', 'prepare')", name="queue"),
        CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name="state"),
        CheckConstraint("(state = 'running') = (holder IS NOT NULL)", name="held"),
        Index("ix_jobs_waiting", "queue", "priority", "turn", "id", postgresql_where=text("state = 'waiting'")),
        Index("ix_jobs_running", "lease_until", postgresql_where=text("state = 'running'")),
    )

    id: Mapped[int] = _id()
    queue: Mapped[str]
    submission_ref: Mapped[int | None] = mapped_column(ForeignKey(Submission.ref), index=True)
    track_id: Mapped[int | None] = mapped_column(ForeignKey(Track.id))
    preparation_id: Mapped[int | None] = mapped_column(ForeignKey(Preparation.id), index=True)
    team_id: Mapped[int | None] = mapped_column(ForeignKey(Team.id))
    state: Mapped[str]
    priority: Mapped[int]
    turn: Mapped[int] = mapped_column(BigInteger)
    due_at: Mapped[datetime]
    attempts: Mapped[int]
    holder: Mapped[str | None]
    lease_until: Mapped[datetime | None]
    worker: Mapped[str | None]
    stage: Mapped[str | None]
    fraction: Mapped[float | None]
    error: Mapped[str | None]
    """For operators; a participant reads the submission's ``reason``."""
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]

    submission: Mapped[Submission | None] = relationship()
    track: Mapped[Track | None] = relationship()
    preparation: Mapped[Preparation | None] = relationship()


class Measurement(Table):
    """What was measured of a submission on a track. Never changed; a rescore adds a row."""

    __tablename__ = "measurements"
    __table_args__ = (
        Index("ix_measurements_newest", "track_id", "submission_ref", text("id DESC")),
        CheckConstraint("fid >= 0 AND fid < 'Infinity'", name="fid"),
        CheckConstraint("memorization_distance >= 0 AND memorization_distance <= 2", name="distance"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = _id()
    job_id: Mapped[int] = mapped_column(ForeignKey(Job.id), unique=True)
    """A job measures at most once, however often it is tried."""
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), index=True)
    track_id: Mapped[int] = mapped_column(ForeignKey(Track.id))
    scorer_version: Mapped[str]
    fid: Mapped[float]
    memorization_distance: Mapped[float]
    distance_se: Mapped[float | None]
    """Standard error of the memorization distance: sd of the per-image distances / sqrt(n)."""
    closest_pairs: Mapped[list[dict[str, Any]]]
    histogram: Mapped[dict[str, Any]]
    artifact_key: Mapped[str]
    """Blob with the per-image nearest distance and index."""
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class Label(Table):
    """A decided manual-review label; the newest row of a submission counts."""

    __tablename__ = "labels"
    __table_args__ = (
        Index("ix_labels_newest", "submission_ref", text("id DESC")),
        CheckConstraint("label IN ('legitimate', 'mgan', 'sup', 'ae', 'aug', 'other')", name="label"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = _id()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    label: Mapped[str]
    note: Mapped[str]
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]
