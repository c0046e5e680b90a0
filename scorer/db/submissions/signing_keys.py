"""SQL for signing keys."""

from datetime import datetime

from sqlalchemy import update
from sqlalchemy.orm import Session

from scorer.db.tables import SigningKey


def add_signing_key(session: Session, public_key: bytes, private_key: bytes, *, now: datetime) -> SigningKey:
    """Add a key, which signs from now on."""
    key = SigningKey(public_key=public_key, private_key=private_key, created_at=now)
    session.add(key)
    session.flush()
    return key


def remove_private_keys(session: Session) -> None:
    session.execute(update(SigningKey).values(private_key=None))
