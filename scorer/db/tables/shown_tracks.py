"""Shown tracks: numbers of entries that stand on the board and are not ranked; and what was measured of them."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account
from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Competition, Preparation
from scorer.db.tables.jobs import Job
from scorer.db.tables.submissions import Submission


class ShownTrack(Table):
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
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]
    removed_at: Mapped[datetime | None]

    author: Mapped[Account] = relationship(lazy="joined", innerjoin=True)
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
