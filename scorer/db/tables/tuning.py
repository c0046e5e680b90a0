"""Thresholds and comparisons of extractors, which are append-only; shown tracks, and what was measured on them."""

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
"""The method of a threshold that stands for none, since the track is measured in another way than before."""


class Threshold(Table):
    """One choice of tau; a track's board is ranked with the newest."""

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
    """What the method computed: margin, AUC, confusion matrix, interval."""
    reason: Mapped[str]
    author_id: Mapped[int | None] = mapped_column(ForeignKey(Account.id))
    """None: set when the references were prepared."""
    created_at: Mapped[datetime]

    author: Mapped[Account | None] = relationship(lazy="joined")


class Comparison(WithAuthor, Table):
    """A comparison of extractors on labelled entries, started by an organizer; the newest one counts. A candidate is
    the preparation of the private track's references in its feature space."""

    __tablename__ = "comparisons"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), index=True)
    preparation_ids: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    early_labels: Mapped[bool]
    """Whether early labels are used where none is decided."""


class ComparedDistance(Table):
    """The memorization distance of an entry in a candidate's feature space. Nothing is ranked by it."""

    __tablename__ = "compared_distances"
    __table_args__ = (
        Index("ix_compared_distances_newest", "preparation_id", "submission_ref", text("job_id DESC")),
        CheckConstraint("memorization_distance >= 0 AND memorization_distance <= 2", name="distance"),
        {"info": APPEND_ONLY},
    )

    job_id: Mapped[int] = mapped_column(ForeignKey(Job.id), primary_key=True)
    """A job measures at most once, however often it is tried."""
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    preparation_id: Mapped[int] = mapped_column(ForeignKey(Preparation.id))
    memorization_distance: Mapped[float]
    distance_se: Mapped[float | None]
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class ShownTrack(WithAuthor, Table):
    """A number that a competition shows of its entries beside the two that are ranked: a metric in an extractor's
    feature space, against the references of the public or of the private track. What it is never changes."""

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
    """The metric's constants by name, complete."""
    extractor: Mapped[str]
    reference: Mapped[str]
    """The track whose references it is measured against."""
    visibility: Mapped[str]
    """Who sees it before the final board is published; afterwards everybody does."""
    preparation_id: Mapped[int | None] = mapped_column(ForeignKey(Preparation.id), index=True)
    """The references in the extractor's feature space; None where they are to be prepared anew."""
    removed_at: Mapped[datetime | None]

    preparation: Mapped[Preparation | None] = relationship(lazy="joined")


class ShownMeasurement(Table):
    """The number of a submission on a shown track. Never changed; the newest counts."""

    __tablename__ = "shown_measurements"
    __table_args__ = (
        Index("ix_shown_measurements_newest", "shown_track_id", "submission_ref", text("id DESC")),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    job_id: Mapped[int] = mapped_column(ForeignKey(Job.id), unique=True)
    """A job measures at most once, however often it is tried."""
    shown_track_id: Mapped[int] = mapped_column(ForeignKey(ShownTrack.id))
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), index=True)
    scorer_version: Mapped[str]
    value: Mapped[float | None]
    """None where the metric gives no number: the MiFID of a copy."""
    standard_error: Mapped[float | None]
    """Over the choice of the generated images; None where none is known."""
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
