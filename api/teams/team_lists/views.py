"""TODO."""

from datetime import datetime

from pydantic import BaseModel, Field

from api.http.views import Page, Request
from scorer.teams import team_messages


class NewMessage(Request):
    """A message to a team."""

    text: str = Field(min_length=1, max_length=team_messages.MAX_TEXT_LENGTH)


class MessageView(BaseModel):
    """A message of the organizers to a team."""

    text: str
    created_at: datetime
    author: str | None = Field(description="For organizers.")


class MessagePage(Page):
    messages: list[MessageView]


class ListedMemberView(BaseModel):
    """A member of a team."""

    handle: str
    name: str
    joined_at: datetime


class TeamLineView(BaseModel):
    """A team as organizers see it."""

    id: int
    name: str
    submissions: int
    members: list[ListedMemberView] = Field(description="The first one leads the team.")


class TeamPage(Page):
    """Teams in the order in which they came to be."""

    teams: list[TeamLineView]
