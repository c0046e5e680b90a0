"""Schemas of teams, invitations, final picks and limits."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field, model_validator

from api.http.views import Page, RecordView, Request
from scorer.teams.teams import MAX_TEAM_NAME_LENGTH


class NewPicks(Request):
    """The entries that the team wants to be ranked by; an empty list removes the picks."""

    submissions: list[str] = Field(max_length=100, examples=[["k3_wpq8Zr1Ya"]])


class PicksView(BaseModel):
    """The entries that a team will be ranked by."""

    submissions: list[str] = Field(description="The picked entries; without picks, the best public ones.")
    chosen: bool = Field(description="Whether the team has picked; if not, the best public entries are taken.")
    most: int = Field(description="How many entries a team may pick.")
    until: datetime | None = Field(description="Picks can be changed until then.")
    picked_by: str | None
    picked_at: datetime | None


class TeamName(Request):
    """A team's name."""

    name: str = Field(min_length=1, max_length=MAX_TEAM_NAME_LENGTH, examples=["Short Leash"])


class NewTeamInvitation(Request):
    """An invitation of a team: to a person to join it, or to another team to merge into it."""

    handle: str | None = Field(None, max_length=80, description="A person, who joins the team.")
    team: str | None = Field(None, max_length=200, description="A team, which merges into this one.")

    @model_validator(mode="after")
    def _one(self) -> "NewTeamInvitation":
        if (self.handle is None) == (self.team is None):
            raise ValueError("say handle or team")
        return self


class Answer(Request):
    """The answer to an invitation."""

    accept: bool


class MemberView(BaseModel):
    """A member of a team."""

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
    """A team as its members see it."""

    name: str
    members: list[MemberView]
    max_size: int
    invitations: list[TeamInvitationView] = Field(description="The team's open invitations.")


class LimitsView(BaseModel):
    """What your team has used of its limits and may still enter. A limit of null is no limit."""

    daily_limit: int | None = Field(description="Entries a UTC day.")
    used_today: int = Field(description="Rejected, failed and cancelled entries are not counted.")
    remaining_today: int | None
    pending_limit: int = Field(description="Entries in progress at once.")
    pending: int
    rejected_limit: int = Field(description="Uploads a UTC day that fail the deep check.")
    rejected_today: int
    refusal: Literal["daily-limit", "pending-limit", "rejected-limit"] | None = Field(
        description="The limit that prevents the next entry."
    )
    resets_at: datetime = Field(description="When the counts of the day begin anew: the next UTC midnight.")
    next_entry_at: datetime | None = Field(
        description="When the next entry is possible; null if it waits for one in progress or nothing can be entered."
    )
    stored_bytes: int = Field(description="Bytes of your team's zips, generators and code that are stored.")
    staged_bytes: int = Field(description="Bytes that your team's uploads under way have reserved.")
    max_bytes: int | None = Field(description="How many bytes both may be together.")


class TeamStorageView(BaseModel):
    """What a team's zips, generators and code take in the store."""

    team: str
    stored_bytes: int


class StorageView(BaseModel):
    """What a competition's zips, generators and code take in the store. A limit of null is no limit."""

    stored_bytes: int = Field(description="Bytes of the zips, generators and code of all teams and benchmarks.")
    staged_bytes: int = Field(description="Bytes that uploads under way have reserved.")
    max_bytes: int | None = Field(description="How many bytes both may be together.")
    max_team_bytes: int | None = Field(description="How many bytes a team may have.")
    largest_teams: list[TeamStorageView] = Field(description="The teams that have most, at most twenty.")
