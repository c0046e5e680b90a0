"""Schemas of what organizers tell people: announcements, messages to teams, requests for code; and of their lists."""

from datetime import datetime

from pydantic import AwareDatetime, BaseModel, Field

from api.http.views import Page, Request
from scorer.competitions import announcements
from scorer.evidence import code_requests
from scorer.review.rulings import RulingKind
from scorer.teams import team_messages


class NewAnnouncement(Request):
    """An announcement."""

    title: str = Field(min_length=1, max_length=announcements.MAX_TITLE_LENGTH, examples=["The close moves by a day"])
    text: str = Field(min_length=1, max_length=announcements.MAX_TEXT_LENGTH, description="Markdown.")


class AnnouncementView(BaseModel):
    """What the organizers have told everybody."""

    id: int
    title: str
    text: str
    created_at: datetime


class AnnouncementPage(Page):
    announcements: list[AnnouncementView]


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


class NewTeamRuling(Request):
    """A ruling on all entries of a team."""

    kind: RulingKind
    reason: str = Field(min_length=1, max_length=5000, description="Told to the team.")


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


class NewCodeRequest(Request):
    """A request for the code of an entry."""

    until: AwareDatetime = Field(
        description="The team may attach it until then, even after the close. At most 365 days from now."
    )
    text: str = Field("", max_length=code_requests.MAX_TEXT_LENGTH)


class CodeRequestView(BaseModel):
    """A request for the code of an entry."""

    until: datetime
    text: str
    created_at: datetime
