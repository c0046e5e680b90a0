"""The job queue."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account
from scorer.db.tables.base import APPEND_ONLY, EXPIRING, Table, identity
from scorer.db.tables.competitions import Competition, Preparation, Track
from scorer.db.tables.submissions import Submission
from scorer.db.tables.teams import Team


class Job(Table):
    """A piece of work on a submission, preparation, release, study or generator.

    The rows are the source of truth; messages on the broker are only hints. ``turn`` makes the order fair: a team's
    next job has a later turn than its last one (:func:`scorer.db.jobs.job_queue.next_turn`).
    """

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint(
            "queue IN ('check', 'draw', 'score', 'prepare', 'compare', 'release', 'ratings', 'evidence', 'recover',"
            " 'rescore')",
            name="queue",
        ),
        CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name="state"),
        CheckConstraint("(state = 'running') = (holder IS NOT NULL)", name="held"),
        Index("ix_jobs_waiting", "queue", "priority", "turn", "id", postgresql_where=text("state = 'waiting'")),
        Index(
            "ix_jobs_unfinished",
            "queue",
            "priority",
            "team_id",
            "turn",
            postgresql_where=text("state IN ('waiting', 'running')"),
        ),
        Index("ix_jobs_team", "team_id", "queue", "started_at"),
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
        Index(
            "ix_jobs_scores",
            "track_id",
            "submission_ref",
            text("id DESC"),
            postgresql_include=["state"],
            postgresql_where=text("queue = 'score'"),
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
    campaign_id: Mapped[int | None] = mapped_column(ForeignKey("rescoring_campaigns.id"), index=True)
    shown_track_id: Mapped[int | None] = mapped_column(ForeignKey("shown_tracks.id"), index=True)
    team_id: Mapped[int | None] = mapped_column(ForeignKey(Team.id))
    state: Mapped[str]
    priority: Mapped[int]
    turn: Mapped[int] = mapped_column(BigInteger)
    due_at: Mapped[datetime]
    attempts: Mapped[int]
    deferrals: Mapped[int] = mapped_column(server_default="0")
    """How often a worker has returned the job without an attempt, because the worker itself was faulty."""
    holder: Mapped[str | None]
    lease_until: Mapped[datetime | None]
    worker: Mapped[str | None]
    stage: Mapped[str | None]
    fraction: Mapped[float | None]
    error: Mapped[str | None]
    """For operators. Participants see the submission's ``reason``."""
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]

    submission: Mapped[Submission | None] = relationship()
    track: Mapped[Track | None] = relationship()
    preparation: Mapped[Preparation | None] = relationship()


class Pause(Table):
    """A pause of a queue, competition or worker, or its end. The newest row about it counts. Running jobs continue."""

    __tablename__ = "pauses"
    __table_args__ = (
        CheckConstraint("num_nonnulls(queue, competition_id, worker) = 1", name="subject"),
        Index("ix_pauses_subject", "queue", "competition_id", "worker", text("id DESC")),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    queue: Mapped[str | None]
    competition_id: Mapped[int | None] = mapped_column(ForeignKey(Competition.id))
    worker: Mapped[str | None]
    """A machine, a process (``machine:pid``), or ``*`` for all."""
    paused: Mapped[bool]
    reason: Mapped[str]
    author_id: Mapped[int | None] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]


class LastSweep(Table):
    """One row with the time when a sweep last checked the leases. A gap means that nobody could reach the database."""

    __tablename__ = "last_sweep"
    __table_args__ = (CheckConstraint("id = 1", name="single"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    swept_at: Mapped[datetime]
    extended_at: Mapped[datetime | None]
    """When leases were last extended because of a gap."""


class WorkerReport(Table):
    """A running worker's report about itself. Renewed every minute, and removed when the worker shuts down properly."""

    __tablename__ = "worker_reports"
    __table_args__ = ({"info": EXPIRING},)

    worker: Mapped[str] = mapped_column(primary_key=True)
    """The worker's Celery name, ``check@host``."""
    version: Mapped[str]
    migration: Mapped[str]
    """The newest migration that its code knows."""
    queues: Mapped[list[str]]
    extractors: Mapped[dict[str, Any]]
    """The extractors that it can load (``name@version``), with the SHA-256 of their weights."""
    reported_at: Mapped[datetime]
