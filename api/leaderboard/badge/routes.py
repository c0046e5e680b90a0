"""Badges with a team's rank on a board, for other sites."""

from dataclasses import dataclass
from typing import Annotated
from unicodedata import east_asian_width

from fastapi import Query, Request, Response
from sqlalchemy.orm import Session

from api.http.dependencies import AppResponseCache, CurrentViewer, DbSession, Now
from api.http.etags import compute_etag, is_known
from api.http.routing import ApiRouter
from api.http.security_headers import INERT_POLICY
from api.openapi.files import file_answer
from api.rendering.formatting import number
from api.rendering.templates import render
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.leaderboard import standings
from scorer.lifecycle import TrackKind

LETTER, WIDE_LETTER, PADDING = 6.6, 12.0, 12.0
"""In pixels: the average width of a letter at 11 px, of a letter with East Asian width, and the padding of a text."""


@dataclass(frozen=True)
class Field:
    """A text with its width without padding and the middle of its field, in pixels."""

    text: str
    width: float
    middle: float


MAX_LABEL_LENGTH = 40

router = ApiRouter(tags=["leaderboard"])
HEADERS = {
    "Cache-Control": "public, no-cache",
    "Content-Type": "image/svg+xml",
    "Content-Security-Policy": INERT_POLICY,
    "Cross-Origin-Resource-Policy": "cross-origin",
}


@router.get(
    "/competitions/{slug}/leaderboard/badge",
    response_class=Response,
    responses=file_answer("image/svg+xml", is_cached=True),
)
def show(
    slug: str,
    request: Request,
    session: DbSession,
    viewer: CurrentViewer,
    cache: AppResponseCache,
    now: Now,
    team: Annotated[str, Query(max_length=200, description="The name of the team.")],
    track: TrackKind = "public",
) -> Response:
    """Get an SVG badge that shows a team's rank and score, to embed in other sites."""
    state = standings.visible_state(Acting(session, None, now), slug)
    etag = compute_etag(
        "badge", standings.board_version(session, state, track, account=None), state.competition.title, team
    )
    headers = {**HEADERS, "ETag": etag}
    if is_known(request, etag):
        return Response(status_code=304, headers=headers)
    return Response(cache.answer(session, etag, lambda: _badge(session, state, track, team=team)), headers=headers)


def _badge(session: Session, state: CompetitionState, track: TrackKind, *, team: str) -> bytes:
    competition = state.competition
    place, teams = standings.load_team_row(session, state, track, name=team)
    medal = state.awards_on(track).find_award(place.rank).medal
    score = number(place.score, competition.score_decimals)
    return badge_svg(competition.title, f"{place.rank:,} of {teams:,} · MiFID {score}", medal).encode()


def badge_svg(label: str, message: str, medal: str | None) -> str:
    short = label if len(label) <= MAX_LABEL_LENGTH else f"{label[: MAX_LABEL_LENGTH - 1]}…"
    left = _measure_width(short) + PADDING
    right = _measure_width(message) + PADDING
    fields = Field(short, left - PADDING, left / 2), Field(message, right - PADDING, left + right / 2)
    return render("leaderboard/badge/badge.svg", fields=fields, left=left, width=left + right, medal=medal)


def _measure_width(text: str) -> float:
    return sum(WIDE_LETTER if east_asian_width(letter) in "WF" else LETTER for letter in text)
