"""Refuses entries while the machine's clock is wrong: the clock decides whether a competition is open."""

from sqlalchemy.orm import Session

from api.http.dependencies import utc_now
from scorer.db.session import MAX_SKEW, skew_in
from scorer.errors import Unavailable


def require_right_clock(session: Session) -> None:
    """``Unavailable`` if this machine's clock differs from the database's: the service could accept an entry after the
    close, or refuse one before it."""
    session.connection()  # connect first: the time to connect would distort the measurement
    if abs(skew_in(session, utc_now)) > MAX_SKEW:
        raise Unavailable("wrong-clock", "The server's clock is wrong, so it accepts no entries. Try again later.")
