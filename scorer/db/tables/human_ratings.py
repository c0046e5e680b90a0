"""Human ratings: studies, the items to rate, raters, and their ratings."""

from datetime import datetime

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account, Authored
from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Competition
from scorer.db.tables.submissions import Submission


class RatingStudy(Authored, Table):
    """A rating study: several people rate how realistic and how diverse the images of some entries are."""

    __tablename__ = "rating_studies"
    __table_args__ = (
        CheckConstraint("images >= 0 AND grids >= 0 AND images + grids > 0", name="counts"),
        CheckConstraint("side BETWEEN 2 AND 10 AND wanted > 0", name="shape"),
    )

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), index=True)
    submission_refs: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    images: Mapped[int]
    """Single images per entry, rated for realism."""
    grids: Mapped[int]
    """Grids of images per entry, rated for diversity."""
    side: Mapped[int]
    """Images along one side of a grid."""
    wanted: Mapped[int]
    """Ratings wanted per image and grid."""
    seed: Mapped[int] = mapped_column(BigInteger)
    packed_at: Mapped[datetime | None]
    """When its images were ready to be shown."""
    ended_at: Mapped[datetime | None]

    competition: Mapped[Competition] = relationship(lazy="joined", innerjoin=True)


class RatingItem(Table):
    """An image or grid to rate. Ids are assigned in random order, so they do not reveal the entry."""

    __tablename__ = "rating_items"
    __table_args__ = (
        Index("ix_rating_items_study", "study_id", "kind", "id"),
        CheckConstraint("kind IN ('realism', 'diversity')", name="kind"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    study_id: Mapped[int] = mapped_column(ForeignKey(RatingStudy.id))
    kind: Mapped[str]
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    images: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    """The entry's images in the item, as indices in canonical order."""
    blob_key: Mapped[str]
    start: Mapped[int]
    length: Mapped[int]
    """The item's picture is ``length`` bytes of the blob, beginning at ``start``."""


class Rater(Table):
    """A person who rates in a study, with an account or invited by a secret link."""

    __tablename__ = "raters"
    __table_args__ = (
        UniqueConstraint("study_id", "account_id"),
        CheckConstraint("(account_id IS NULL) <> (digest IS NULL)", name="known"),
    )

    id: Mapped[int] = identity()
    study_id: Mapped[int] = mapped_column(ForeignKey(RatingStudy.id))
    account_id: Mapped[int | None] = mapped_column(ForeignKey(Account.id))
    digest: Mapped[bytes | None] = mapped_column(LargeBinary, unique=True)
    """SHA-256 of the link's secret."""
    name: Mapped[str]
    """The name that organizers see. It is never in a data release."""
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]

    study: Mapped[RatingStudy] = relationship(lazy="joined", innerjoin=True)


class Rating(Table):
    __tablename__ = "ratings"
    __table_args__ = (
        UniqueConstraint("rater_id", "item_id"),
        Index("ix_ratings_item", "item_id", text("id DESC")),
        CheckConstraint("value BETWEEN 1 AND 5", name="value"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    item_id: Mapped[int] = mapped_column(ForeignKey(RatingItem.id))
    rater_id: Mapped[int] = mapped_column(ForeignKey(Rater.id))
    value: Mapped[int] = mapped_column(SmallInteger)
    """1 (not at all) to 5 (entirely)."""
    created_at: Mapped[datetime]
