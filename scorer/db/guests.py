"""Guests in SQL."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Select, false, func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db.tables import Account, Guest


def listed(session: Session, competition_id: int) -> Sequence[Guest]:
    """Whoever is invited into a competition, the one invited last first."""
    newest = _newest(Guest.competition_id == competition_id).subquery("newest")
    query = select(Guest).join(newest, newest.c.id == Guest.id).where(newest.c.invited)
    return session.scalars(query.order_by(Guest.id.desc())).all()


def is_invited(session: Session, competition_id: int, account: Account) -> bool:
    """Whether a person is invited into a competition, by account or by the address that they have confirmed."""
    by_email = Guest.email == func.lower(account.email) if account.email is not None else false()
    asked = (Guest.competition_id == competition_id) & ((Guest.account_id == account.id) | by_email)
    newest = _newest(asked).subquery("newest")
    return session.scalar(select(newest.c.id).where(newest.c.invited).limit(1)) is not None


def _newest(asked: ColumnElement[bool]) -> Select[int, bool]:
    """What was last said about each account and each address."""
    who = (Guest.account_id, Guest.email)
    return select(Guest.id, Guest.invited).ext(distinct_on(*who)).where(asked).order_by(*who, Guest.id.desc())
