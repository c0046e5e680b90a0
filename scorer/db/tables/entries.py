"""What is handed in, the work on it, and what was found: submissions, jobs, measurements, labels."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Identity, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competition import Competition, Preparation, Track
from scorer.db.tables.people import Account
from scorer.db.tables.teams import Team


class Submission(Table):
    """A zip that was accepted, or a row of an imported table of results (``external_id``), of which there is no zip.
    ``ref`` counts (the kaggle wire wants a number), ``id`` is for addresses."""

    __tablename__ = "submissions"
    __table_args__ = (
        UniqueConstraint("competition_id", "account_id", "idempotency_key"),
        UniqueConstraint("competition_id", "external_id"),
        CheckConstraint("num_nulls(blob_key, sha256) = CASE WHEN external_id IS NULL THEN 0 ELSE 2 END", name="zip"),
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
    """The team that handed it in. Whose it is now, after merges, says :mod:`scorer.db.merges`."""
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    file_name: Mapped[str]
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str | None] = mapped_column(index=True)
    note: Mapped[str]
    blob_key: Mapped[str | None]
    external_id: Mapped[str | None]
    """What the table calls it that it was imported from; None for an entry that was handed in."""
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
    late: Mapped[bool] = mapped_column(default=False)
    """Begun after the close: on a board of its own, without a private track, in no picks."""
    sprite_key: Mapped[str | None]
    """Blob with small versions of some of its images, in one picture, for its team."""

    competition: Mapped[Competition] = relationship(lazy="joined", innerjoin=True)
    team: Mapped[Team] = relationship(lazy="joined", innerjoin=True)
    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)

    @property
    def imported(self) -> bool:
        """Whether there are numbers of it alone: neither zip nor images, and nothing to measure again."""
        return self.external_id is not None


class Job(Table):
    """A piece of work for a worker. Rows are the truth; messages on the broker are hints.

    ``turn`` makes the order fair: a team's next job has a later turn than its last one (see ``scorer.work``).
    """

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint(
            "queue IN ('check', 'score', 'prepare', 'compare', 'release', 'ratings', 'evidence', 'recover')",
            name="queue",
        ),
        CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name="state"),
        CheckConstraint("(state = 'running') = (holder IS NOT NULL)", name="held"),
        Index("ix_jobs_waiting", "queue", "priority", "turn", "id", postgresql_where=text("state = 'waiting'")),
        Index("ix_jobs_running", "lease_until", postgresql_where=text("state = 'running'")),
        Index("ix_jobs_failed", "finished_at", postgresql_where=text("state = 'failed'")),
        Index("ix_jobs_finished", "finished_at"),
        Index(
            "ix_jobs_done",
            "queue",
            "track_id",
            text("finished_at DESC"),
            postgresql_where=text("state = 'done' AND priority = 0"),
        ),
    )

    id: Mapped[int] = identity()
    queue: Mapped[str]
    submission_ref: Mapped[int | None] = mapped_column(ForeignKey(Submission.ref), index=True)
    track_id: Mapped[int | None] = mapped_column(ForeignKey(Track.id))
    preparation_id: Mapped[int | None] = mapped_column(ForeignKey(Preparation.id), index=True)
    release_id: Mapped[str | None] = mapped_column(ForeignKey("releases.id"), index=True)
    study_id: Mapped[int | None] = mapped_column(ForeignKey("rating_studies.id"), index=True)
    generator_id: Mapped[int | None] = mapped_column(ForeignKey("generators.id"), index=True)
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
        CheckConstraint("(job_id IS NULL) = (artifact_key IS NULL)", name="measured"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    job_id: Mapped[int | None] = mapped_column(ForeignKey(Job.id), unique=True)
    """A job measures at most once, however often it is tried. None: imported, so nothing was measured here."""
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), index=True)
    track_id: Mapped[int] = mapped_column(ForeignKey(Track.id))
    scorer_version: Mapped[str]
    fid: Mapped[float]
    memorization_distance: Mapped[float]
    distance_se: Mapped[float | None]
    """Standard error of the memorization distance: sd of the per-image distances / sqrt(n)."""
    closest_pairs: Mapped[list[dict[str, Any]]]
    histogram: Mapped[dict[str, Any]]
    artifact_key: Mapped[str | None]
    """Blob with the per-image nearest distance and index; None where the measurement is imported."""
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class ProvisionalMeasurement(Table):
    """What a faster, rougher precision made of a submission on the public track, until its measurement is there.
    Nothing ranks by it."""

    __tablename__ = "provisional_measurements"
    __table_args__ = ({"info": APPEND_ONLY},)

    job_id: Mapped[int] = mapped_column(ForeignKey(Job.id), primary_key=True)
    """A job gives one, however often it is tried."""
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), index=True)
    track_id: Mapped[int] = mapped_column(ForeignKey(Track.id))
    fid: Mapped[float]
    memorization_distance: Mapped[float]
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

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    label: Mapped[str]
    note: Mapped[str]
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]
