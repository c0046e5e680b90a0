"""Competitions and their boards: the public board, and the private one once it is published."""

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.http.dependencies import AppSettings, DbSession, Now, Transactions
from api.kaggle.protocol import KaggleRoute, Reader
from api.kaggle.schemas import (
    CompetitionMessage,
    CompetitionRequest,
    CompetitionsRequest,
    CompetitionsResponse,
    LeaderboardRequest,
    LeaderboardResponse,
    LeaderboardRow,
)
from api.schemas.leaderboard import board_csv_of
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account
from scorer.leaderboard import board, standings
from scorer.leaderboard.all_places import all_places
from scorer.lifecycle import Phase, TrackKind
from scorer.teams import quotas

router = APIRouter(prefix="/competitions.CompetitionApiService", route_class=KaggleRoute)
FAR_FUTURE = datetime.max.replace(tzinfo=UTC)
ORDERS: Mapping[str, tuple[Callable[[Any], Any], bool]] = MappingProxyType(
    {
        "COMPETITION_SORT_BY_EARLIEST_DEADLINE": (lambda message: message.deadline or FAR_FUTURE, False),
        "COMPETITION_SORT_BY_LATEST_DEADLINE": (lambda message: message.deadline or FAR_FUTURE, True),
        "COMPETITION_SORT_BY_NUMBER_OF_TEAMS": (lambda message: message.team_count, True),
    }
)
"""The client's sort orders that this service has, as (key, descending); with any other, newest first."""


@router.post("/ListCompetitions")
def list_competitions(
    body: CompetitionsRequest, session: DbSession, settings: AppSettings, account: Reader, now: Now
) -> CompetitionsResponse:
    """The visible competitions of the wanted group that have the search words in their title or slug."""
    states = [state for state in competition_state.visible_states(session, account, now) if _is_in(state, body)]
    messages = [_competition(session, state, account, settings.public_url) for state in states]
    if body.group.endswith("_ENTERED"):
        messages = [each for each in messages if each.user_has_entered]
    key, descending = ORDERS.get(body.sort_by, (None, False))
    if key is not None:
        messages.sort(key=key, reverse=descending)
    return _page_of(messages, body)


def _page_of(messages: Sequence[CompetitionMessage], body: CompetitionsRequest) -> CompetitionsResponse:
    begin = int(body.page_token) if body.page_token else (max(body.page, 1) - 1) * body.page_size
    page = messages[begin : begin + body.page_size]
    end = begin + len(page)
    return CompetitionsResponse(competitions=page, next_page_token=str(end) if end < len(messages) else "")


def _is_in(state: CompetitionState, body: CompetitionsRequest) -> bool:
    words = f"{state.competition.title} {state.competition.slug}".casefold()
    if body.search.strip().casefold() not in words:
        return False
    return state.phase is Phase.DRAFT or "_UNLAUNCHED" not in body.group


def _competition(session: Session, state: CompetitionState, account: Account, site: str) -> CompetitionMessage:
    competition = state.competition
    return CompetitionMessage(
        id=competition.id,
        ref=competition.slug,
        title=competition.title,
        url=f"{site}/competitions/{competition.slug}",
        deadline=competition.closes_at,
        category=state.phase,
        reward=competition.prizes[0]["amount"] if competition.prizes else "",
        team_count=standings.count_teams(session, state),
        user_has_entered=quotas.count_entries(session, state, account) > 0,
        user_rank=standings.rank_of(session, state, _track_of(state), account),
        max_daily_submissions=competition.daily_limit or 0,
        max_team_size=competition.max_team_size,
        submissions_disabled=state.phase is not Phase.OPEN,
        enabled_date=competition.opens_at,
        merger_deadline=competition.team_merge_deadline,
    )


def _track_of(state: CompetitionState, *, public: bool = False) -> TrackKind:
    """The track of the board: private once it is published, for organizers as well, unless ``public`` is asked for."""
    return "private" if state.published and not public else "public"


@router.post("/GetLeaderboard")
def get_leaderboard(body: LeaderboardRequest, session: DbSession, account: Reader, now: Now) -> LeaderboardResponse:
    """A page of the board."""
    state = competition_state.visible_state(session, body.competition_name, account, now)
    kind = _track_of(state, public=body.override_public)
    after = int(body.page_token or 0)
    board = standings.standings(session, state, kind, account, after=after, limit=body.page_size)
    places = board.places
    return LeaderboardResponse(
        submissions=[_place(place, state.competition.score_decimals) for place in places],
        next_page_token=str(places[-1].rank) if places and places[-1].rank < board.teams else "",
    )


def _place(place: board.Place, decimals: int) -> LeaderboardRow:
    return LeaderboardRow(
        team_id=place.team_id,
        team_name=place.team,
        submission_date=place.last_entry_at,
        score=f"{place.score:.{decimals}f}",
    )


@router.post("/DownloadLeaderboard")
def download_leaderboard(
    body: CompetitionRequest, session: DbSession, begin: Transactions, account: Reader, now: Now
) -> Response:
    """The whole board: a zip with the CSV of the JSON API."""
    state = competition_state.visible_state(session, body.competition_name, account, now)
    kind = _track_of(state)
    slug = state.competition.slug
    places = b"".join(board_csv_of(all_places(session, state, kind, account), begin))
    content = _zip_of(f"{slug}-{kind}.csv", places, now)
    headers = {"Content-Disposition": f'attachment; filename="{slug}.zip"', "Cache-Control": "private, no-store"}
    return Response(content, media_type="application/zip", headers=headers)


def _zip_of(name: str, text: bytes, modified: datetime) -> bytes:
    """A zip with one text file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        member = zipfile.ZipInfo(name, date_time=modified.timetuple()[:6])
        member.compress_type = zipfile.ZIP_DEFLATED
        member.external_attr = 0o100644 << 16
        archive.writestr(member, text)
    return file.getvalue()
