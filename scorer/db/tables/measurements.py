"""Measurements: the Fréchet and memorization distances of submissions; append-only."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Track
from scorer.db.tables.jobs import Job
from scorer.db.tables.submissions import Submission


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
