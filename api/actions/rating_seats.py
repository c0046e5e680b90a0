"""Who rates: a person by role, or somebody with a rating link."""

import secrets
from typing import Annotated

from fastapi import Path

from api.http.dependencies import CurrentUser, DbSession, Now
from scorer.db.tables import Rater
from scorer.insights import human_ratings

RowId = Annotated[int, Path(ge=1, le=2**62)]


def new_rater_secret() -> str:
    """What a rater's link ends with."""
    return secrets.token_urlsafe(24)


def rater_by_role(study_id: RowId, session: DbSession, account: CurrentUser, now: Now) -> Rater:
    """Somebody who rates by their role."""
    return human_ratings.rater_of_member(session, study_id, account, now=now)


def rater_by_link(secret: Annotated[str, Path(max_length=100)], session: DbSession) -> Rater:
    """Whoever holds an invitation's link."""
    return human_ratings.rater_of_link(session, secret)
