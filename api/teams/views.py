"""Schemas of teams, invitations, final picks and limits."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field, model_validator

from api.http.views import Page, RecordView, Request
from scorer.teams.teams import MAX_TEAM_NAME_LENGTH


class NewPicks(Request):
    """The submissions that count for the team's final rank; an empty list removes the picks."""

    submissions: list[str] = Field(max_length=100, examples=[["k3_wpq8Zr1Ya"]])


class PicksView(BaseModel):
    """The submissions that count for a team's final rank."""

    submissions: list[str] = Field(description="The picked submissions; without picks, the best public ones.")
    chosen: bool = Field(description="Whether the team has picks; if not, its best public submissions count.")
    most: int = Field(description="The maximum number of picks.")
    until: datetime | None = Field(description="The deadline for changing picks.")
    picked_by: str | None
    picked_at: datetime | None


class TeamName(Request):
    """A team's name."""

    name: str = Field(min_length=1, max_length=MAX_TEAM_NAME_LENGTH, examples=["Short Leash"])


class NewTeamInvitation(Request):
    """An invitation to a person to join the team, or to another team to merge into it."""

    handle: str | None = Field(None, max_length=80, description="The person to invite.")
    team: str | None = Field(None, max_length=200, description="The team to invite.")

    @model_validator(mode="after")
    def _one(self) -> "NewTeamInvitation":
        if (self.handle is None) == (self.team is None):
            raise ValueError("set either handle or team, not both")
        return self


class Answer(Request):
    """The answer to an invitation."""

    accept: bool


class MemberView(BaseModel):
    handle: str
    name: str
    leader: bool


class TeamInvitationView(RecordView):
    """An invitation to a person (`handle`) or to another team (`invited_team`)."""

    id: int
    kind: Literal["join", "merge"]
    team: str
    handle: str | None
    invited_team: str | None
    invited_by: str
    state: Literal["open", "accepted", "declined", "withdrawn"]
    created_at: datetime


class TeamInvitationPage(Page):
    invitations: list[TeamInvitationView]


class TeamView(BaseModel):
    """Your team."""

    name: str
    members: list[MemberView]
    max_size: int
    invitations: list[TeamInvitationView] = Field(description="The team's open invitations.")


class LimitsView(BaseModel):
    """Your team's limits and usage. A limit of null means no limit."""

    daily_limit: int | None = Field(description="Submissions per UTC day.")
    used_today: int = Field(description="Submissions today, except rejected, failed and cancelled ones.")
    remaining_today: int | None
    pending_limit: int = Field(description="Submissions in progress at the same time.")
    pending: int
    rejected_limit: int = Field(description="Rejected uploads per UTC day.")
    rejected_today: int
    refusal: Literal["daily-limit", "pending-limit", "rejected-limit"] | None = Field(
        description="The limit that prevents the next submission."
    )
    resets_at: datetime = Field(description="When the daily counts are reset: the next UTC midnight.")
    next_entry_at: datetime | None = Field(
        description="When the next submission is possible; null if that depends on one in progress, or if no more are."
    )
    stored_bytes: int = Field(description="The stored bytes of your team's zips, generators and code.")
    staged_bytes: int = Field(description="The bytes reserved for your team's uploads in progress.")
    max_bytes: int | None = Field(description="The limit for both together.")


class TeamStorageView(BaseModel):
    """The stored bytes of a team's zips, generators and code."""

    team: str
    stored_bytes: int


class StorageView(BaseModel):
    """The stored bytes of a competition's zips, generators and code. A limit of null means no limit."""

    stored_bytes: int = Field(description="The stored bytes of all teams and benchmarks.")
    staged_bytes: int = Field(description="The bytes reserved for uploads in progress.")
    max_bytes: int | None = Field(description="The limit for both together.")
    max_team_bytes: int | None = Field(description="The limit per team.")
    largest_teams: list[TeamStorageView] = Field(description="Up to 20 teams with the most stored bytes.")
