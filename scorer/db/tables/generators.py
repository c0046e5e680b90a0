"""Generators that were handed in for entries, and what recovering images with them has found."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.entries import Submission
from scorer.db.tables.people import Account


class GeneratorFile(Table):
    """An ONNX file that is said to have made an entry, with its latent space as declared; the newest one of an entry
    counts. Nobody has looked into it but a fenced process of a worker."""

    __tablename__ = "generators"
    __table_args__ = (
        Index("ix_generators_newest", "submission_ref", text("id DESC")),
        CheckConstraint("bytes > 0", name="bytes"),
        CheckConstraint("dimension > 0", name="dimension"),
        CheckConstraint("distribution IN ('normal', 'uniform')", name="distribution"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str]
    blob_key: Mapped[str]
    dimension: Mapped[int]
    """How many numbers a latent vector has."""
    distribution: Mapped[str]
    """Of each of these numbers: standard normal, or uniform on [-1, 1]."""
    seed: Mapped[int] = mapped_column(BigInteger)
    """Of what is drawn when it is searched: not known before, so that nobody trains around the images drawn."""
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]

    author: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class Recovery(Table):
    """What came of a generator: numbers of an audit, or why the file could not be used (``refusal``). Its verdict is
    not stored: it follows from the numbers."""

    __tablename__ = "recoveries"
    __table_args__ = (
        Index("ix_recoveries_newest", "generator_id", text("job_id DESC")),
        CheckConstraint(
            "num_nonnulls(report, arrays_key) = CASE WHEN refusal IS NULL THEN 2 ELSE 0 END", name="outcome"
        ),
        {"info": APPEND_ONLY},
    )

    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    """A job gives one, however often it is tried."""
    generator_id: Mapped[int] = mapped_column(ForeignKey(GeneratorFile.id))
    refusal: Mapped[str | None]
    """In a sentence, for whoever handed it in."""
    faults: Mapped[list[str] | None]
    p_value: Mapped[float | None]
    """Of the two-sided KS test of training against held-out errors."""
    gap: Mapped[float | None]
    """The signed MRE-gap: (held-out - training) / held-out."""
    recovered_share: Mapped[float | None]
    """Of the generated targets, those recovered verbatim: low where the optimisation fails on this generator."""
    report: Mapped[dict[str, Any] | None]
    arrays_key: Mapped[str | None]
    """Blob with the errors, and the pairs of targets and recovered images."""
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
