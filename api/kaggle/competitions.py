"""Competitions, their boards (the private board once it is published) and their data files, which the client expects to
download after a redirect.
"""

import io
import zipfile
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from sqlalchemy.orm import Session

from api.competitions.data_files.downloads import download, download_all
from api.http.dependencies import AppSettings, BlobStore, Now, Transactions
from api.http.request_charges import charge_rows
from api.kaggle.authentication import SERVICE, ActingReader, KaggleRouter, Reader
from api.kaggle.schemas import (
    CompetitionMessage,
    CompetitionRequest,
    CompetitionsRequest,
    CompetitionsResponse,
    DataFileMessage,
    DataFileRequest,
    DataFilesResponse,
    LeaderboardRequest,
    LeaderboardResponse,
    LeaderboardRow,
    PageRequest,
)
from api.leaderboard.views import stream_board_csv
from scorer.acting import Acting
from scorer.competitions import competition_state, data_files
from scorer.competitions.competition_state import CompetitionState
from scorer.db.competitions import ListedCompetition
from scorer.db.tables import Account, DataFile
from scorer.db.teams.members import competitions_entered
from scorer.leaderboard import standings
from scorer.lifecycle import TrackKind

router = KaggleRouter()
FAR_FUTURE = datetime.max.replace(tzinfo=UTC)
BY_TEAMS = "COMPETITION_SORT_BY_NUMBER_OF_TEAMS"
DEADLINE_ORDERS: Mapping[str, bool] = {
    "COMPETITION_SORT_BY_EARLIEST_DEADLINE": False,
    "COMPETITION_SORT_BY_LATEST_DEADLINE": True,
}
"""Whether the client's orders by deadline are descending. All other orders are newest first."""


@router.post(f"{SERVICE}/ListCompetitions")
def list_competitions(body: CompetitionsRequest, acting: ActingReader, settings: AppSettings) -> CompetitionsResponse:
    """The visible competitions of the requested group with the search words in their title or slug."""
    entered = competitions_entered(acting.session, acting.actor.id)
    visible = competition_state.visible_competitions(acting)
    wanted = _ordered(
        acting.session,
        [competition for competition in visible if _is_in(competition, body, entered, now=acting.now)],
        body,
        now=acting.now,
    )
    begin = int(body.page_token) if body.page_token else (max(body.page, 1) - 1) * body.page_size
    end = begin + body.page_size
    states = competition_state.load_states(
        acting.session, [competition.id for competition in wanted[begin:end]], acting.now
    )
    teams = standings.count_teams(acting.session, states)
    return CompetitionsResponse(
        competitions=[
            _competition(acting.session, state, acting.actor, site=settings.public_url, entered=entered, teams=teams)
            for state in states
        ],
        next_page_token=str(end) if end < len(wanted) else "",
    )


def _ordered(
    session: Session, listed: Sequence[ListedCompetition], body: CompetitionsRequest, *, now: datetime
) -> Sequence[ListedCompetition]:
    if body.sort_by == BY_TEAMS:
        teams = standings.count_teams(
            session, competition_state.load_states(session, [competition.id for competition in listed], now)
        )
        return sorted(listed, key=lambda competition: teams[competition.id], reverse=True)
    descending = DEADLINE_ORDERS.get(body.sort_by)
    if descending is None:
        return listed
    return sorted(listed, key=lambda competition: competition.closes_at or FAR_FUTURE, reverse=descending)


def _is_in(
    competition: ListedCompetition, body: CompetitionsRequest, entered: Collection[int], *, now: datetime
) -> bool:
    words = f"{competition.title} {competition.slug}".casefold()
    if body.search.strip().casefold() not in words:
        return False
    if body.group.endswith("_ENTERED"):
        return competition.id in entered
    return "_UNLAUNCHED" not in body.group or competition_state.is_draft(competition, now)


def _competition(
    session: Session,
    state: CompetitionState,
    account: Account,
    *,
    site: str,
    entered: Collection[int],
    teams: Mapping[int, int],
) -> CompetitionMessage:
    competition = state.competition
    has_entered = competition.id in entered
    return CompetitionMessage(
        id=competition.id,
        ref=competition.slug,
        title=competition.title,
        url=f"{site}/competitions/{competition.slug}",
        deadline=competition.closes_at,
        category=state.phase,
        reward=", ".join(prize["amount"] for prize in sorted(competition.prizes, key=itemgetter("place"))),
        team_count=teams[competition.id],
        user_has_entered=has_entered,
        user_rank=standings.load_rank(session, state, _board_track(state), account=account) if has_entered else None,
        max_daily_submissions=competition.daily_limit or 0,
    )


def _board_track(state: CompetitionState, *, public: bool = False) -> TrackKind:
    """The track of the board: private once it is published, even for organizers, unless ``public`` is requested."""
    return "private" if state.published and not public else "public"


@router.post(f"{SERVICE}/GetLeaderboard")
def get_leaderboard(body: LeaderboardRequest, acting: ActingReader) -> LeaderboardResponse:
    state = competition_state.visible_state(acting, body.competition_name)
    kind = _board_track(state, public=body.override_public)
    after = int(body.page_token or 0)
    board = standings.standings(acting.session, state, kind, account=acting.actor)
    places = board.board(acting.session, after, body.page_size).places
    decimals = state.competition.score_decimals
    return LeaderboardResponse(
        submissions=[
            LeaderboardRow(
                team_id=place.team_id,
                team_name=place.team,
                submission_date=place.last_entry_at,
                score=f"{place.score:.{decimals}f}",
            )
            for place in places
        ],
        next_page_token=str(places[-1].rank) if places and places[-1].rank < len(board.listing) else "",
    )


@router.post(f"{SERVICE}/DownloadLeaderboard")
def download_leaderboard(
    body: CompetitionRequest,
    request: Request,
    begin: Transactions,
    account: Reader,
    now: Now,
) -> Response:
    """The complete board: a zip with the CSV of the JSON API."""
    with begin() as session:
        state = competition_state.visible_state(Acting(session, account, now), body.competition_name)
        kind = _board_track(state)
        slug = state.competition.slug
        board = standings.standings(session, state, kind, account=account)
    charge_rows(request, account, len(board.ranks))
    content = _build_zip(f"{slug}-{kind}.csv", b"".join(stream_board_csv(board, begin)))
    headers = {"Content-Disposition": f'attachment; filename="{slug}.zip"', "Cache-Control": "private, no-store"}
    return Response(content, media_type="application/zip", headers=headers)


def _build_zip(name: str, text: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    return file.getvalue()


@router.post(f"{SERVICE}/ListDataFiles")
def list_data_files(body: PageRequest, acting: ActingReader) -> DataFilesResponse:
    state = competition_state.visible_state(acting, body.competition_name)
    begin = int(body.page_token or 0)
    files = state.files[begin:]
    page = files[: body.page_size]
    return DataFilesResponse(
        files=[_data_file_message(file) for file in page],
        next_page_token=str(begin + len(page)) if len(files) > len(page) else "",
    )


def _data_file_message(file: DataFile) -> DataFileMessage:
    return DataFileMessage(ref=file.name, name=file.name, total_bytes=file.bytes, creation_date=file.created_at)


@router.post(f"{SERVICE}/DownloadDataFile")
def redirect_to_data_file(body: DataFileRequest, acting: ActingReader) -> Response:
    """Redirect to a file. The address has no host, so the client uses the same host and sends the same token."""
    state = competition_state.visible_state(acting, body.competition_name)
    file = data_files.find_file(acting.session, state, body.file_name, account=acting.actor)
    return _redirect_to(f"/api/v1/kaggle/files/{state.competition.slug}/{quote(file.name)}")


@router.post(f"{SERVICE}/DownloadDataFiles")
def redirect_to_data_files(body: CompetitionRequest, acting: ActingReader) -> Response:
    state = competition_state.visible_state(acting, body.competition_name)
    data_files.downloadable_files(acting.session, state, acting.actor)
    return _redirect_to(f"/api/v1/kaggle/bundles/{state.competition.slug}.zip")


def _redirect_to(path: str) -> RedirectResponse:
    return RedirectResponse(path, 302, headers={"Cache-Control": "no-store"})


@router.get("/kaggle/files/{slug}/{name}")
def download_data_file(slug: str, name: str, request: Request, acting: ActingReader, store: BlobStore) -> Response:
    state = competition_state.visible_state(acting, slug)
    file = data_files.find_file(acting.session, state, name, account=acting.actor)
    # If ``http_proxy`` points to this service, the client would also send it http requests for the store's host.
    return download(request, file, store, without_tls=False)


@router.get("/kaggle/bundles/{slug}.zip")
def download_data_files(slug: str, request: Request, acting: ActingReader, store: BlobStore) -> Response:
    state = competition_state.visible_state(acting, slug)
    return download_all(
        request, f"{slug}.zip", data_files.downloadable_files(acting.session, state, acting.actor), store=store
    )
