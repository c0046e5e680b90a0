"""Data releases: what is handed out of a competition, and the acts of handing it out."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account
from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Competition


class Release(Table):
    """A set of files about a competition, made by a job; what it holds never changes once it is finished."""

    __tablename__ = "releases"
    __table_args__ = (
        Index("ix_releases_competition", "competition_id", text("created_at DESC")),
        CheckConstraint("images IN ('none', 'ranked', 'all')", name="images"),
        CheckConstraint("(finished_at IS NULL) = (files IS NULL)", name="finished"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    images: Mapped[str]
    """Whose images are in it: nobody's, those of the ranked entries, those of all scored ones."""
    key: Mapped[bytes] = mapped_column(LargeBinary)
    """What pseudonyms are made with. Whoever has it can tell who is who: it is no part of the release."""
    files: Mapped[list[dict[str, Any]] | None]
    """Name, bytes, SHA-256 and rows of every file."""
    sha256: Mapped[str | None]
    """Of the manifest: equal for equal contents."""
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]

    competition: Mapped[Competition] = relationship(lazy="joined", innerjoin=True)
    author: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class ReleaseAct(Table):
    """The act of handing a release out to everybody, or of taking that back; the newest row counts."""

    __tablename__ = "release_acts"
    __table_args__ = (Index("ix_release_acts_newest", "release_id", text("id DESC")), {"info": APPEND_ONLY})

    id: Mapped[int] = identity()
    release_id: Mapped[str] = mapped_column(ForeignKey(Release.id))
    shown: Mapped[bool]
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]
