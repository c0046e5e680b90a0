"""Thresholds and comparisons of extractors, which are append-only; shown tracks and their measurements."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account, WithAuthor
from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Competition, Preparation, Track
from scorer.db.tables.jobs import Job
from scorer.db.tables.submissions import Submission

UNSET = "unset"
"""The method of a row that means no threshold, because the track is now measured in another way."""


class Threshold(Table):
    """A choice of tau. The newest ranks a track's board."""

    __tablename__ = "thresholds"
    __table_args__ = (
        Index("ix_thresholds_newest", "track_id", text("id DESC")),
        CheckConstraint("tau >= 0 AND tau < 'Infinity'", name="tau"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    track_id: Mapped[int] = mapped_column(ForeignKey(Track.id))
    tau: Mapped[float]
    method: Mapped[str]
    choice: Mapped[dict[str, Any]]
    """The results of the method: margin, AUC, confusion matrix, interval."""
    reason: Mapped[str]
    author_id: Mapped[int | None] = mapped_column(ForeignKey(Account.id))
    """None if the threshold was set when the references were prepared."""
    created_at: Mapped[datetime]

    author: Mapped[Account | None] = relationship(lazy="joined")


class Comparison(WithAuthor, Table):
    """A comparison of extractors on labelled entries, started by an organizer. The newest one counts. Each candidate is
    a preparation of the private track's references in its feature space."""

    __tablename__ = "comparisons"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), index=True)
    preparation_ids: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    early_labels: Mapped[bool]
    """Whether early labels are used for entries without a decided label."""


class ComparedDistance(Table):
    """The memorization distance of an entry in a candidate's feature space. It does not affect ranks."""

    __tablename__ = "compared_distances"
    __table_args__ = (
        Index("ix_compared_distances_newest", "preparation_id", "submission_ref", text("job_id DESC")),
        CheckConstraint("memorization_distance >= 0 AND memorization_distance <= 2", name="distance"),
        {"info": APPEND_ONLY},
    )

    job_id: Mapped[int] = mapped_column(ForeignKey(Job.id), primary_key=True)
    """A job measures at most once, even if it runs several times."""
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    preparation_id: Mapped[int] = mapped_column(ForeignKey(Preparation.id))
    memorization_distance: Mapped[float]
    distance_se: Mapped[float | None]
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class ShownTrack(WithAuthor, Table):
    """A number that a competition shows in addition to the two ranked ones: a metric in an extractor's feature space,
    against the references of the public or private track. Its definition never changes."""

    __tablename__ = "shown_tracks"
    __table_args__ = (
        Index(
            "uq_shown_tracks_name", "competition_id", "name", unique=True, postgresql_where=text("removed_at IS NULL")
        ),
        CheckConstraint("reference IN ('public', 'private')", name="reference"),
        CheckConstraint("visibility IN ('everybody', 'organizers')", name="visibility"),
    )

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    name: Mapped[str]
    metric: Mapped[str]
    constants: Mapped[dict[str, Any]]
    """All of the metric's constants, by name."""
    extractor: Mapped[str]
    reference: Mapped[str]
    """The track with the references that it is measured against."""
    visibility: Mapped[str]
    """Who sees it until the final board is published. After that, everybody sees it."""
    preparation_id: Mapped[int | None] = mapped_column(ForeignKey(Preparation.id), index=True)
    """The references in the extractor's feature space; None if they must be prepared again."""
    removed_at: Mapped[datetime | None]

    preparation: Mapped[Preparation | None] = relationship(lazy="joined")


class ShownMeasurement(Table):
    """The value of a submission on a shown track. Never changed; the newest counts."""

    __tablename__ = "shown_measurements"
    __table_args__ = (
        Index("ix_shown_measurements_newest", "shown_track_id", "submission_ref", text("id DESC")),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    job_id: Mapped[int] = mapped_column(ForeignKey(Job.id), unique=True)
    """A job measures at most once, even if it runs several times."""
    shown_track_id: Mapped[int] = mapped_column(ForeignKey(ShownTrack.id))
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), index=True)
    scorer_version: Mapped[str]
    value: Mapped[float | None]
    """None if the metric gives no number, such as the MiFID of a copy."""
    standard_error: Mapped[float | None]
    """Standard error over the choice of the generated images; None if unknown."""
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
