"""Hashes of the images of entries, comparisons of entries by them, and the images that two entries share."""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.submissions import Submission


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
