"""Finds the rater of a request: a member by role, or an invited person by a secret link."""

import secrets
from typing import Annotated

from fastapi import Depends, Request

from api.http.csrf import SAFE_METHODS
from api.http.dependencies import ActingKnownViewer, DbSession, KnownViewer, RowId
from api.http.session_cookies import rater_secret
from scorer.accounts import api_tokens
from scorer.db.tables import Rater
from scorer.errors import Unauthenticated
from scorer.insights import human_ratings
from scorer.settings import Settings

RATE_PATH = "/rate"
"""The path for people with a rating link, on pages and below the API."""


def new_rater_secret() -> str:
    return secrets.token_urlsafe(24)


def rating_link(secret: str, settings: Settings) -> str:
    """A rating link. Its secret is the fragment, which browsers send to no server; the page turns it into a cookie."""
    return f"{settings.public_url}{RATE_PATH}#{secret}"


def rater_by_role(study_id: RowId, request: Request, acting: ActingKnownViewer, *, viewer: KnownViewer) -> Rater:
    """The rater of a signed-in person with a role; rating needs the scope ``organize``."""
    api_tokens.require_scope(viewer.scopes, "read" if request.method in SAFE_METHODS else "organize")
    return human_ratings.find_member_rater(acting, study_id)


def rater_by_link(secret: Annotated[str | None, Depends(rater_secret)], session: DbSession) -> Rater:
    if secret is None:
        raise Unauthenticated("no-rating-link", "Open your rating link first.")
    return human_ratings.find_rater_by_secret(session, secret)
