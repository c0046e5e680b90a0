"""Evidence of copying, code attachments, generator uploads and their audits.

Also hashes of images, and the images that two entries share.
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
    """The evidence of a submission on a track, computed with one measurement. Never changed; the newest row counts.

    The columns of numbers repeat those quantities of ``findings`` that queries need. They are null if a test was not
    possible; its finding gives the reason.
    """

    __tablename__ = "evidence"
    __table_args__ = (
        Index("ix_evidence_newest", "track_id", "submission_ref", text("id DESC")),
        CheckConstraint("partly_copied_share BETWEEN 0 AND 1 AND near_copies_share BETWEEN 0 AND 1", name="shares"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    job_id: Mapped[int] = mapped_column(ForeignKey(Job.id), unique=True)
    """Unique, so a job adds at most one row even if it runs several times."""
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), index=True)
    track_id: Mapped[int] = mapped_column(ForeignKey(Track.id))
    preparation_id: Mapped[int] = mapped_column(ForeignKey(Preparation.id))
    measurement_id: Mapped[int] = mapped_column(ForeignKey(Measurement.id), index=True)
    """The measurement of the same submission and track that the evidence was computed with."""
    seed: Mapped[int] = mapped_column(BigInteger)
    """Seed of all random choices. The same zip and references give the same evidence."""
    findings: Mapped[list[dict[str, Any]]]
    """Findings in a fixed order, each with test, name, value, unit, direction, sentence, standard_error, p_value,
    error_kind and interval_coverage."""
    details: Mapped[dict[str, Any]]
    """Examples by name: cells, near duplicates (also of thumbnails), single close images, internal near duplicates, and
    exact duplicates, upright and mirrored."""
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]

    z_u: Mapped[float | None]
    """Z_U of the data-copying test over all images. Far below 0 means copying."""
    u_share: Mapped[float | None]
    """Share of all comparisons in which the generated image is the farther one; 1/2 without copying."""
    z_u_p: Mapped[float | None]
    """One-sided p-value for copying."""
    c_t: Mapped[float | None]
    c_t_error: Mapped[float | None]
    """Approximate standard error of C_T."""
    copied_cells: Mapped[int | None]
    copied_cells_share: Mapped[float | None]
    """Share of the images in copied cells with more than a slight effect."""
    partly_copied_share: Mapped[float | None]
    partly_copied_expected: Mapped[float | None]
    partly_copied_p: Mapped[float | None]
    near_copies_share: Mapped[float | None]
    near_copies_expected: Mapped[float | None]
    near_copies_p: Mapped[float | None]
    near_copies_mirrored: Mapped[int | None]
    """How many of the near duplicates are nearer to a mirrored training image."""
    thumbnail_share: Mapped[float | None]
    """Share of the images with a thumbnail that is a near duplicate of a training thumbnail."""
    thumbnail_expected: Mapped[float | None]
    thumbnail_p: Mapped[float | None]
    thumbnail_mirrored: Mapped[int | None]
    hash_share: Mapped[float | None]
    """Share of the images with a perceptual hash that is a near duplicate of a training hash."""
    hash_expected: Mapped[float | None]
    hash_p: Mapped[float | None]
    hash_mirrored: Mapped[int | None]
    repeats_share: Mapped[float | None]
    repeats_pairs: Mapped[int | None]
    repeats_expected_pairs: Mapped[float | None]
    repeats_p: Mapped[float | None]
    relative_share: Mapped[float | None]
    """Share of the images that are nearer to one training image, relative to others, than held-out images are."""
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
    """Images with a mirrored exact duplicate in the zip, but no upright one."""
    authenticity_share: Mapped[float | None]
    authenticity_expected: Mapped[float | None]
    """Share of authentic images among held-out images."""
    authenticity_p: Mapped[float | None]
    """One-sided p-value for fewer authentic images than among held-out images."""
    support_size: Mapped[float | None]
    """How many different images a generator draws; None for zips, and without nearly equal images."""
    support_p: Mapped[float | None]


class GeneratorFile(WithAuthor, Table):
    """A generator to audit, with its latent space: the ONNX file that, according to the team, made the entry, or the
    entry itself. The newest one of an entry counts. Only a worker's sandbox reads the file."""

    __tablename__ = "generators"
    __table_args__ = (
        Index("ix_generators_newest", "submission_ref", text("id DESC")),
        CheckConstraint("bytes > 0", name="bytes"),
        CheckConstraint("dimension > 0", name="dimension"),
        CheckConstraint("distribution IN ('normal', 'uniform', 'truncated-normal')", name="distribution"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str]
    blob_key: Mapped[str | None]
    """None if the entry itself is the generator."""
    dimension: Mapped[int]
    distribution: Mapped[str]
    """Distribution of each coordinate of a latent vector (:class:`scorer.generators.latents.Latent`)."""
    classes: Mapped[int | None]
    """Classes of a one-hot class after the coordinates."""
    seed: Mapped[int] = mapped_column(BigInteger)
    """Seed of the audit's random choices. Drawn after the upload, so nobody can train around the chosen images."""
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)

    @property
    def is_entry(self) -> bool:
        return self.blob_key is None


class Recovery(Table):
    """The outcome of a generator audit: its quantities, or the reason why the file could not be used (``refusal``).
    Whether the generator is overfitted follows from the quantities and is not stored."""

    __tablename__ = "recoveries"
    __table_args__ = (
        Index("ix_recoveries_newest", "generator_id", text("job_id DESC")),
        CheckConstraint(
            "num_nonnulls(report, arrays_key) = CASE WHEN refusal IS NULL THEN 2 ELSE 0 END", name="outcome"
        ),
        {"info": APPEND_ONLY},
    )

    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    """A job adds at most one row even if it runs several times."""
    generator_id: Mapped[int] = mapped_column(ForeignKey(GeneratorFile.id))
    refusal: Mapped[str | None]
    """A sentence for the team."""
    faults: Mapped[list[str] | None]
    p_value: Mapped[float | None]
    """p-value of the two-sided Kolmogorov-Smirnov test of training against held-out errors. If images near to the entry
    were also compared, twice the p-value of the deciding test of the two."""
    gap: Mapped[float | None]
    """The signed MRE-gap of that test, from median recovery errors: (held-out - training) / held-out."""
    recovered_share: Mapped[float | None]
    """Share of the generated targets that were recovered. Low if the search fails on this generator."""
    report: Mapped[dict[str, Any] | None]
    arrays_key: Mapped[str | None]
    """Blob with the recovery errors, and the pairs of targets and recovered images."""
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class CodeAttachment(WithAuthor, Table):
    """The code of an entry, for reviewers. The newest attachment counts; only the hashes of earlier ones are kept."""

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
    """An organizer's request for the code of an entry, until a moment that may be after the deadline. The newest
    counts."""

    __tablename__ = "code_requests"
    __table_args__ = (Index("ix_code_requests_newest", "submission_ref", text("id DESC")), {"info": APPEND_ONLY})

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    until: Mapped[datetime]
    text: Mapped[str]


class HashedEntry(Table):
    """An entry with hashed images. All entries compared later are also compared with it."""

    __tablename__ = "hashed_entries"
    __table_args__ = ({"info": APPEND_ONLY},)

    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), primary_key=True, autoincrement=False)
    blob_key: Mapped[str] = mapped_column(unique=True)
    """Blob with the hashes (:class:`scorer.metrics.copying.shared_images.ImageHashes`)."""
    created_at: Mapped[datetime]


class ImageComparison(Table):
    """The comparison of an entry with the entries of other teams that had been hashed by then."""

    __tablename__ = "image_comparisons"
    __table_args__ = ({"info": APPEND_ONLY},)

    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), primary_key=True, autoincrement=False)
    compared: Mapped[int]
    common: Mapped[int]
    """How many of its images are common. Entries of many teams have these, so they are in no pair."""
    created_at: Mapped[datetime]


class SharedImages(Table):
    """The images that two entries share, which belonged to different teams when they were compared, or two generators
    that are nearly the same. A few shared images are not recorded."""

    __tablename__ = "shared_images"
    __table_args__ = (
        UniqueConstraint("submission_ref", "other_ref"),
        CheckConstraint("submission_ref > other_ref", name="order"),
        CheckConstraint("equal BETWEEN 0 AND images", name="counts"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    """The later one of the two entries."""
    other_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), index=True)
    competition_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("competitions.id"), index=True)
    images: Mapped[int]
    """How many images both entries have, equal or nearly equal, upright or mirrored."""
    equal: Mapped[int]
    """How many of these are equal pixel by pixel."""
    share: Mapped[float]
    """``images`` as a share of an entry's images."""
    examples: Mapped[list[list[int]]] = mapped_column(JSONB)
    """Some pairs, each as the image's index in the later entry and in the earlier one."""
    same_latents: Mapped[float | None]
    """The share of fixed latents at which two generators have nearly the same image; None if it is small."""
    recovered: Mapped[float | None]
    """The share of some images of one generator that an audit found among those of the other; None if it is small or
    was not computed."""
    created_at: Mapped[datetime]
