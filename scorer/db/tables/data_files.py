"""What participants may download."""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competition import Competition
from scorer.db.tables.people import Account


class DataFile(Table):
    """A file offered to participants, or no longer (``offered``); the newest row of a name counts."""

    __tablename__ = "data_files"
    __table_args__ = (
        Index("ix_data_files_newest", "competition_id", "name", text("id DESC")),
        CheckConstraint("bytes > 0", name="bytes"),
        CheckConstraint("crc32 BETWEEN 0 AND 4294967295", name="crc32"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    name: Mapped[str]
    offered: Mapped[bool]
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(index=True)
    crc32: Mapped[int] = mapped_column(BigInteger)
    """What a zip says of its members: known beforehand, so all files can be sent as one zip that is nowhere stored."""
    blob_key: Mapped[str]
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]

    author: Mapped[Account] = relationship(lazy="joined", innerjoin=True)
