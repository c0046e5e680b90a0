"""The keys with which the service signs receipts."""

from datetime import datetime

from sqlalchemy import LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from scorer.db.tables.base import Table, identity


class SigningKey(Table):
    """An Ed25519 key. The newest signs; the public halves of all stay, so that old signatures can be checked."""

    __tablename__ = "signing_keys"

    id: Mapped[int] = identity()
    public_key: Mapped[bytes] = mapped_column(LargeBinary)
    private_key: Mapped[bytes | None] = mapped_column(LargeBinary)
    """None once another key has taken its place."""
    created_at: Mapped[datetime]
