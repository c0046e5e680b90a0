"""The clock of a web process decides whether a competition is open, so entries are taken only while it is right."""

from sqlalchemy.orm import Session

from api.http.dependencies import utc_now
from scorer.db.session import MAX_SKEW, skew_in
from scorer.errors import Unavailable


def require_right_clock(session: Session) -> None:
    """``Unavailable`` if the clock of this machine is not the database's: an entry would be accepted after the close,
    or refused before it."""
    session.connection()  # connecting takes longer than a reading of the clock may
    if abs(skew_in(session, utc_now)) > MAX_SKEW:
        raise Unavailable(
            "wrong-clock", "The clock of this server is wrong, which is not your fault. Please try again later."
        )
