"""Evidence of copying, code attachments, generator uploads and their audits; hashes of images, and the
images that two entries share.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from scorer.db.tables.accounts import Account, WithAuthor
from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Preparation, Track
from scorer.db.tables.jobs import Job
from scorer.db.tables.measurements import Measurement
from scorer.db.tables.submissions import Submission


class Evidence(Table):
    """The evidence of a submission on a track, beside one measurement of it. Never changed; the newest row counts.

    The columns of numbers repeat those quantities of ``findings`` that queries need. They are null where a test was
    not possible; its finding then says why.
    """

    __tablename__ = "evidence"
    __table_args__ = (
        Index("ix_evidence_newest", "track_id", "submission_ref", text("id DESC")),
        CheckConstraint("partly_copied_share BETWEEN 0 AND 1 AND near_copies_share BETWEEN 0 AND 1", name="shares"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    job_id: Mapped[int] = mapped_column(ForeignKey(Job.id), unique=True)
    """A job adds at most one row, however often it is tried."""
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), index=True)
    track_id: Mapped[int] = mapped_column(ForeignKey(Track.id))
    preparation_id: Mapped[int] = mapped_column(ForeignKey(Preparation.id))
    measurement_id: Mapped[int] = mapped_column(ForeignKey(Measurement.id), index=True)
    """The measurement of the same submission and track that it was made beside."""
    seed: Mapped[int] = mapped_column(BigInteger)
    """Seed of all random choices: the same zip and references give the same evidence."""
    findings: Mapped[list[dict[str, Any]]]
    """Findings in a fixed order, each with test, name, value, unit, direction, sentence, standard_error, p_value,
    error_kind and interval_coverage."""
    details: Mapped[dict[str, Any]]
    """Examples by name: cells, near duplicates (of thumbnails, too), single close images, internal near duplicates,
    exact duplicates upright and mirrored."""
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]

    z_u: Mapped[float | None]
    """Z_U of the data-copying test over all images; far below 0 means copying."""
    u_share: Mapped[float | None]
    """Share of all comparisons in which the generated image is the farther one: 1/2 if nothing is copied."""
    z_u_p: Mapped[float | None]
    """One-sided p-value, for copying."""
    c_t: Mapped[float | None]
    c_t_error: Mapped[float | None]
    """Approximate standard error of C_T."""
    copied_cells: Mapped[int | None]
    copied_cells_share: Mapped[float | None]
    """Share of the images that lie in copied cells whose effect is more than slight."""
    partly_copied_share: Mapped[float | None]
    partly_copied_expected: Mapped[float | None]
    partly_copied_p: Mapped[float | None]
    near_copies_share: Mapped[float | None]
    near_copies_expected: Mapped[float | None]
    near_copies_p: Mapped[float | None]
    near_copies_mirrored: Mapped[int | None]
    """How many of the near duplicates are nearer to a mirrored training image."""
    thumbnail_share: Mapped[float | None]
    """Share of the images whose thumbnails are near duplicates of training thumbnails."""
    thumbnail_expected: Mapped[float | None]
    thumbnail_p: Mapped[float | None]
    thumbnail_mirrored: Mapped[int | None]
    hash_share: Mapped[float | None]
    """Share of the images whose perceptual hashes are near duplicates of training hashes."""
    hash_expected: Mapped[float | None]
    hash_p: Mapped[float | None]
    hash_mirrored: Mapped[int | None]
    repeats_share: Mapped[float | None]
    repeats_pairs: Mapped[int | None]
    repeats_expected_pairs: Mapped[float | None]
    repeats_p: Mapped[float | None]
    relative_share: Mapped[float | None]
    """Share of the images nearer to one training image, relative to others, than held-out images."""
    relative_expected: Mapped[float | None]
    relative_p: Mapped[float | None]
    membership_auc: Mapped[float | None]
    """Share of all comparisons in which a training image is nearer to the entry than a held-out image."""
    membership_auc_p: Mapped[float | None]
    membership_share: Mapped[float | None]
    """Share of the training images that are nearer to the entry than all but 1 % of the held-out images."""
    membership_p: Mapped[float | None]
    identical: Mapped[int]
    """Images with an upright exact duplicate in the zip."""
    mirrored_twins: Mapped[int]
    """Images with a mirrored exact duplicate in the zip, and no upright one."""
    authenticity_share: Mapped[float | None]
    authenticity_expected: Mapped[float | None]
    """Share of authentic images among held-out images."""
    authenticity_p: Mapped[float | None]
    """One-sided p-value, for fewer authentic images than among held-out images."""


class GeneratorFile(WithAuthor, Table):
    """A generator upload: the ONNX file that made an entry as its team declares, with its latent space; the newest one
    of an entry counts. Only a worker's sandbox reads the file."""

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
    """Dimension of a latent vector."""
    distribution: Mapped[str]
    """Distribution of each coordinate: standard normal, or uniform on [-1, 1]."""
    seed: Mapped[int] = mapped_column(BigInteger)
    """Seed of the audit's random choices; drawn after the upload, so that nobody can train around the images chosen."""
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)


class Recovery(Table):
    """The outcome of a generator audit: its quantities, or why the file could not be used (``refusal``). Whether the
    generator is overfitted is not stored, because it follows from the quantities."""

    __tablename__ = "recoveries"
    __table_args__ = (
        Index("ix_recoveries_newest", "generator_id", text("job_id DESC")),
        CheckConstraint(
            "num_nonnulls(report, arrays_key) = CASE WHEN refusal IS NULL THEN 2 ELSE 0 END", name="outcome"
        ),
        {"info": APPEND_ONLY},
    )

    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    """A job adds at most one row, however often it is tried."""
    generator_id: Mapped[int] = mapped_column(ForeignKey(GeneratorFile.id))
    refusal: Mapped[str | None]
    """In a sentence, for the team."""
    faults: Mapped[list[str] | None]
    p_value: Mapped[float | None]
    """Of the two-sided Kolmogorov-Smirnov test of training against held-out errors; where images near to the entry were
    compared, too, that of the deciding test of the two, times two."""
    gap: Mapped[float | None]
    """The signed MRE-gap of that test, of median recovery errors: (held-out - training) / held-out."""
    recovered_share: Mapped[float | None]
    """Share of the generated targets that were recovered: low where the search fails on this generator."""
    report: Mapped[dict[str, Any] | None]
    arrays_key: Mapped[str | None]
    """Blob with the recovery errors, and the pairs of targets and recovered images."""
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class CodeAttachment(WithAuthor, Table):
    """The code that made an entry, for reviewers; the newest one counts. Of earlier ones only the hashes are kept."""

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
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)


class CodeRequest(WithAuthor, Table):
    """An organizer's request for the code of an entry, by a time that may lie behind the close; the newest counts."""

    __tablename__ = "code_requests"
    __table_args__ = (Index("ix_code_requests_newest", "submission_ref", text("id DESC")), {"info": APPEND_ONLY})

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    until: Mapped[datetime]
    text: Mapped[str]


class HashedEntry(Table):
    """An entry whose images are hashed: whatever is compared from then on is compared with it."""

    __tablename__ = "hashed_entries"
    __table_args__ = ({"info": APPEND_ONLY},)

    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), primary_key=True, autoincrement=False)
    blob_key: Mapped[str] = mapped_column(unique=True)
    """Blob with the hashes (:class:`scorer.metrics.copying.shared_images.ImageHashes`)."""
    created_at: Mapped[datetime]


class ImageComparison(Table):
    """An entry was compared with those of other teams that were hashed by then; later ones are compared with it."""

    __tablename__ = "image_comparisons"
    __table_args__ = ({"info": APPEND_ONLY},)

    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), primary_key=True, autoincrement=False)
    compared: Mapped[int]
    """How many entries it was compared with."""
    common: Mapped[int]
    """How many of its images are common: entries of many teams have them, so they are in no pair."""
    created_at: Mapped[datetime]


class SharedImages(Table):
    """The images that two entries share, of different teams when they were compared. Few shared images are left out."""

    __tablename__ = "shared_images"
    __table_args__ = (
        UniqueConstraint("submission_ref", "other_ref"),
        CheckConstraint("submission_ref > other_ref", name="order"),
        CheckConstraint("equal BETWEEN 0 AND images", name="counts"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    """The later entry of the two."""
    other_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), index=True)
    competition_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("competitions.id"), index=True)
    images: Mapped[int]
    """How many images both have, equal or nearly equal, upright or mirrored."""
    equal: Mapped[int]
    """How many of these are equal pixel by pixel."""
    share: Mapped[float]
    """``images`` in those of one entry."""
    examples: Mapped[list[list[int]]] = mapped_column(JSONB)
    """Some pairs, each the image's index in the later entry and in the earlier one."""
    created_at: Mapped[datetime]
