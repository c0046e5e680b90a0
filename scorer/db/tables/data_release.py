"""Data releases and their publication."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Authored, WithAuthor
from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Competition


class Release(WithAuthor, Table):
    """A data release: files about a competition, made by a job. It does not change once it is finished."""

    __tablename__ = "releases"
    __table_args__ = (
        Index("ix_releases_competition", "competition_id", text("created_at DESC")),
        CheckConstraint("images IN ('none', 'ranked', 'all')", name="images"),
        CheckConstraint("(finished_at IS NULL) = (files IS NULL)", name="finished"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    images: Mapped[str]
    """The entries with images in the release: none, ranked entries, or all scored entries."""
    key: Mapped[bytes] = mapped_column(LargeBinary)
    """The secret key of its pseudonyms, which can reveal identities. It is not part of the release."""
    files: Mapped[list[dict[str, Any]] | None]
    """Name, bytes, SHA-256 and rows of every file."""
    sha256: Mapped[str | None]
    """SHA-256 of the manifest, equal for equal contents."""
    finished_at: Mapped[datetime | None]

    competition: Mapped[Competition] = relationship(lazy="joined", innerjoin=True)


class ReleaseAct(Authored, Table):
    """A publication of a release, or its withdrawal (``shown`` false). The newest row counts."""

    __tablename__ = "release_acts"
    __table_args__ = (Index("ix_release_acts_newest", "release_id", text("id DESC")), {"info": APPEND_ONLY})

    id: Mapped[int] = identity()
    release_id: Mapped[str] = mapped_column(ForeignKey(Release.id))
    shown: Mapped[bool]
