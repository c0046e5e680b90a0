"""Evidence of copying, code attachments, generator uploads and their audits."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account
from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Preparation, Track
from scorer.db.tables.jobs import Job
from scorer.db.tables.measurements import Measurement
from scorer.db.tables.submissions import Submission


class Evidence(Table):
    """What was found of a submission on a track, beside one measurement of it. Never changed; the newest row counts.

    The columns of numbers are those of ``findings`` that queries ask for; null where a test could not be made, and
    then its finding says why.
    """

    __tablename__ = "evidence"
    __table_args__ = (
        Index("ix_evidence_newest", "track_id", "submission_ref", text("id DESC")),
        CheckConstraint("partly_copied_share BETWEEN 0 AND 1 AND near_copies_share BETWEEN 0 AND 1", name="shares"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    job_id: Mapped[int] = mapped_column(ForeignKey(Job.id), unique=True)
    """A job finds once, however often it is tried."""
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), index=True)
    track_id: Mapped[int] = mapped_column(ForeignKey(Track.id))
    preparation_id: Mapped[int] = mapped_column(ForeignKey(Preparation.id))
    measurement_id: Mapped[int] = mapped_column(ForeignKey(Measurement.id), index=True)
    """The measurement beside which it stands."""
    seed: Mapped[int] = mapped_column(BigInteger)
    """Of everything that is drawn: the same zip and references give the same evidence."""
    findings: Mapped[list[dict[str, Any]]]
    """In a fixed order: test, name, value, unit, direction, sentence, standard_error, p_value."""
    details: Mapped[dict[str, Any]]
    """Cells, near copies (of thumbnails, too), single close images, repeats, identical and mirrored images, by name."""
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]

    z_u: Mapped[float | None]
    """Over all images; far below 0 is copying."""
    u_share: Mapped[float | None]
    """In what share of all comparisons the generated image is the farther one: 1/2 if nothing is copied."""
    z_u_p: Mapped[float | None]
    """One-sided, for copying."""
    c_t: Mapped[float | None]
    c_t_error: Mapped[float | None]
    """Approximate."""
    copied_cells: Mapped[int | None]
    copied_cells_share: Mapped[float | None]
    """The share of the images that lie in those of the copied cells where the difference is more than slight."""
    partly_copied_share: Mapped[float | None]
    partly_copied_expected: Mapped[float | None]
    partly_copied_p: Mapped[float | None]
    near_copies_share: Mapped[float | None]
    near_copies_expected: Mapped[float | None]
    near_copies_p: Mapped[float | None]
    near_copies_mirrored: Mapped[int | None]
    """How many of the near copies are nearer to a mirror image."""
    thumbnail_share: Mapped[float | None]
    """Of the images that are near copies once both are made very small."""
    thumbnail_expected: Mapped[float | None]
    thumbnail_p: Mapped[float | None]
    thumbnail_mirrored: Mapped[int | None]
    repeats_share: Mapped[float | None]
    repeats_pairs: Mapped[int | None]
    repeats_expected_pairs: Mapped[float | None]
    repeats_p: Mapped[float | None]
    identical: Mapped[int]
    """Images whose pixels another image of the zip has."""
    mirrored_twins: Mapped[int]
    """Images that are another image of the zip, mirrored, and not identical to one."""
    authenticity_share: Mapped[float | None]
    authenticity_expected: Mapped[float | None]
    """The share of authentic images among held-out photographs."""
    authenticity_p: Mapped[float | None]
    """One-sided, for fewer authentic images than among held-out photographs."""


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


class CodeAttachment(Table):
    """The code that made an entry, for reviewers; the newest one counts. Only its bytes are kept, of earlier ones the
    hashes."""

    __tablename__ = "code_attachments"
    __table_args__ = (
        Index("ix_code_attachments_newest", "submission_ref", text("id DESC")),
        CheckConstraint("kind IN ('zip', 'notebook')", name="kind"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    kind: Mapped[str]
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str]
    blob_key: Mapped[str]
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]

    author: Mapped[Account] = relationship(lazy="joined", innerjoin=True)
