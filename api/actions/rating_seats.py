"""Who rates in a study of human ratings: a member by role, or an invited person by a secret link."""

import secrets
from typing import Annotated

from fastapi import Path

from api.http.dependencies import CurrentUser, DbSession, Now
from scorer.db.tables import Rater
from scorer.insights import human_ratings

RowId = Annotated[int, Path(ge=1, le=2**62)]


def new_rater_secret() -> str:
    """The secret at the end of a rating link."""
    return secrets.token_urlsafe(24)


def rater_by_role(study_id: RowId, session: DbSession, account: CurrentUser, now: Now) -> Rater:
    """The rater that a signed-in person is by their role."""
    return human_ratings.rater_of_member(session, study_id, account, now=now)


def rater_by_link(secret: Annotated[str, Path(max_length=100)], session: DbSession) -> Rater:
    """The rater that a rating link belongs to."""
    return human_ratings.rater_of_link(session, secret)
