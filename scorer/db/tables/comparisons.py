"""Which network the private track should have: comparisons, and what they measured."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competition import Competition, Preparation
from scorer.db.tables.entries import Job, Submission
from scorer.db.tables.people import Account


class Comparison(Table):
    """An organizer asked how well candidate extractors tell labelled entries apart; the newest one is shown. A
    candidate is the private track's references prepared in its space."""

    __tablename__ = "comparisons"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), index=True)
    preparation_ids: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    coarse: Mapped[bool]
    """Whether early guesses stand in where no label is decided."""
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]

    author: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class ComparedDistance(Table):
    """The memorization distance of an entry in a candidate's space. Nothing ranks by it."""

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
