"""Who may enter a competition that is by invitation."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competition import Competition
from scorer.db.tables.people import Account


class Guest(Table):
    """A person is invited into a competition, or no longer (``invited``), by account or by mail address: then it is
    whoever has confirmed that address. The newest row of an account or address counts."""

    __tablename__ = "guests"
    __table_args__ = (
        Index("ix_guests_newest_account", "competition_id", "account_id", text("id DESC")),
        Index("ix_guests_newest_email", "competition_id", "email", text("id DESC")),
        CheckConstraint("num_nonnulls(account_id, email) = 1", name="who"),
        CheckConstraint("email = lower(email)", name="email"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    account_id: Mapped[int | None] = mapped_column(ForeignKey(Account.id))
    email: Mapped[str | None]
    invited: Mapped[bool]
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]

    account: Mapped[Account | None] = relationship(foreign_keys=account_id, lazy="joined")
    author: Mapped[Account] = relationship(foreign_keys=author_id, lazy="joined", innerjoin=True)

    @property
    def who(self) -> str:
        """The handle or the address."""
        return self.account.handle if self.account is not None else self.email or ""
