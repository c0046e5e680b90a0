"""Teams for organizers: their members, and messages to them."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query
from fastapi.responses import Response
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from api.http.dependencies import ActingOrganizer, ActingReader, RowId
from api.http.paging import PageRequest, Paging
from api.http.routing import ApiRouter
from api.http.views import Page, Request
from api.openapi.files import also_as
from api.rendering.charts.export import render_rows_csv
from scorer.competitions.competition_state import load_state, visible_state
from scorer.db.announcements import messages_to
from scorer.db.tables import Team, TeamMessage
from scorer.db.teams.team_lists import ListedTeam, list_teams
from scorer.teams import team_messages, teams


class NewMessage(Request):
    """A message to a team."""

    text: str = Field(min_length=1, max_length=team_messages.MAX_TEXT_LENGTH)


class MessageView(BaseModel):
    """A message from the organizers to a team."""

    text: str
    created_at: datetime
    author: str | None = Field(description="The handle of the author; null unless you are an organizer.")


class MessagePage(Page):
    messages: list[MessageView]


class TeamPage(Page):
    """Teams, oldest first."""

    teams: list[ListedTeam]


router = ApiRouter(prefix="/competitions/{slug}", tags=["teams"])
MEMBER_COLUMNS = ("team_id", "team", "submissions", "handle", "name", "leads", "joined_at")


@router.get("/teams", response_model=TeamPage, responses=also_as("text/csv"))
def index(
    slug: str,
    acting: ActingOrganizer,
    search: Annotated[str, Query(max_length=100, description="Part of the name of a team or member.")] = "",
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    format: Annotated[  # noqa: A002 - the name of the parameter
        Literal["json", "csv"], Query(description="The CSV lists all teams, with one line per member.")
    ] = "json",
) -> TeamPage | Response:
    """List the teams and their members, oldest team first. Organizers only."""
    competition_id = load_state(acting.session, slug, acting.now).competition.id
    if format == "csv":
        return _members_csv(slug, list_teams(acting.session, competition_id, search))
    page = list_teams(acting.session, competition_id, search, after=after, limit=limit + 1)
    return TeamPage(teams=page[:limit], next_after=page[limit - 1].id if len(page) > limit else None)


def _members_csv(slug: str, listed: list[ListedTeam]) -> Response:
    rows = [
        (team.id, team.name, team.submissions, member.handle, member.name, place == 0, member.joined_at.isoformat())
        for team in listed
        for place, member in enumerate(team.members)
    ]
    headers = {"Content-Disposition": f'attachment; filename="{slug}-teams.csv"', "Cache-Control": "private, no-store"}
    return Response(render_rows_csv([MEMBER_COLUMNS, *rows]), media_type="text/csv", headers=headers)


@router.get("/teams/{team_id}/messages")
def messages(slug: str, team_id: RowId, acting: ActingOrganizer, wanted: Paging) -> MessagePage:
    """List the organizers' messages to a team, newest first. Organizers only."""
    team = team_messages.find_team(acting.session, load_state(acting.session, slug, acting.now), team_id)
    return _message_page(acting.session, team, wanted, inside=True)


@router.post("/teams/{team_id}/messages", status_code=201)
def write(slug: str, team_id: RowId, body: NewMessage, acting: ActingOrganizer) -> MessageView:
    """Send a message to a team. Its members are notified, and the message stays on the team's page. Organizers only."""
    state = load_state(acting.session, slug, acting.now)
    return _message_view(team_messages.write(acting, state, team_id, text=body.text), inside=True)


@router.get("/team/messages")
def own_messages(slug: str, acting: ActingReader, wanted: Paging) -> MessagePage:
    """List the organizers' messages to your team, newest first."""
    team = teams.own_team(acting.session, visible_state(acting, slug), acting.actor)
    return _message_page(acting.session, team, wanted, inside=False)


def _message_page(session: Session, team: Team, wanted: PageRequest, *, inside: bool) -> MessagePage:
    listed = messages_to(session, team.id, before=wanted.after, limit=wanted.one_more)
    page = wanted.slice_following(listed, lambda message: message.id)
    views = [_message_view(message, inside=inside) for message in page.rows]
    return MessagePage(messages=views, next_after=page.next_after)


def _message_view(message: TeamMessage, *, inside: bool) -> MessageView:
    author = message.author.handle if inside else None
    return MessageView(text=message.text, created_at=message.created_at, author=author)
