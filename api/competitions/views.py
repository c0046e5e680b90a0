"""Schemas of competitions, tracks, reference sets, data files and allowlists."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from api.http.views import Page, RecordView, Request
from scorer.accounts.accounts import MAX_EMAIL_LENGTH
from scorer.competitions.competition_roles import RoleName
from scorer.competitions.draw_secrets import Purpose
from scorer.competitions.spec import DrawSpec, Prize
from scorer.lifecycle import EntryKind, Phase, TrackKind


class Acceptance(Request):
    """The version of the rules to accept."""

    rules_sha256: str = Field(pattern="^[0-9a-f]{64}$", description="The `rules_sha256` of the competition.")


class AcceptanceView(RecordView):
    """An accepted version of the rules."""

    rules_sha256: str
    created_at: datetime


class DataFileView(BaseModel):
    """A file of a competition."""

    name: str
    bytes: int
    sha256: str
    offered_at: datetime
    url: str = Field(description="The path of the file. Only people who have accepted the rules can download it.")


class DataFilePage(Page):
    files: list[DataFileView]


class PreparationView(BaseModel):
    """The progress of preparing a track's references."""

    state: Literal["none", "waiting", "running", "done", "failed"]
    stage: str | None = None
    fraction: float | None = None
    error: str | None = None
    missing_weights: str | None = Field(
        None, description="How the operator can install the extractor's weights, if no running worker has them."
    )
    images: int | None = None
    held_out_distance: float | None = None


class TrackView(BaseModel):
    kind: TrackKind
    extractor: str
    epsilon: float
    tau: float | None


class DrawSecretView(RecordView):
    """A secret that the latents of draws follow from."""

    sha256: str = Field(description="The SHA-256 of the secret, published from the beginning.")
    secret: str | None = Field(
        description="The secret in hexadecimal digits. Null before the final board, and always for late entries."
    )


class CompetitionView(RecordView):
    """A competition. Only organizers see the private track until it is published."""

    slug: str
    title: str
    description: str
    rules: str
    rules_sha256: str | None = Field(description="The version of the rules; null if there are no rules.")
    rules_accepted: bool | None = Field(None, description="Whether you have accepted this version of the rules.")
    phase: Phase
    entries: EntryKind = Field(description="What teams submit: a zip of images, or a generator in an ONNX file.")
    draws: DrawSpec
    image_count: int
    image_size: int
    opens_at: datetime | None
    team_merge_deadline: datetime | None
    closes_at: datetime | None
    upload_grace_seconds: int
    review_days: int
    appeal_days: int
    rebuttals_from: datetime | None = Field(
        description="When teams can begin to appeal: at the start of the review, or with the provisional board."
    )
    rebuttals_until: datetime | None
    daily_limit: int | None
    pending_limit: int
    rejected_limit: int
    max_team_size: int
    final_picks: int
    late_submissions: bool
    invitation_only: bool = Field(description="Whether only invited people can enter.")
    invited: bool | None = Field(None, description="Whether you are invited, or no invitation is needed.")
    prizes: list[Prize]
    medals: dict[str, int]
    score_decimals: int
    tracks: list[TrackView]
    draw_secrets: dict[Purpose, DrawSecretView] = Field(
        description="The secrets of a competition of generators: for public draws, for the final score's draws, and "
        "for late entries. Empty in a competition of images."
    )
    missing: list[str] | None = Field(
        None, description="Remaining tasks before submissions are accepted. For organizers only."
    )


class CompetitionPage(Page):
    competitions: list[CompetitionView]


class ReferenceView(BaseModel):
    role: str
    sha256: str
    bytes: int
    ignored: str | None = Field(description="Files in the zip that are not part of the set, such as hidden files.")


HandleOrEmail = Annotated[str, StringConstraints(min_length=1, max_length=MAX_EMAIL_LENGTH)]


class NewAllowlistEntries(Request):
    """People to invite."""

    who: list[HandleOrEmail] = Field(
        min_length=1,
        max_length=1000,
        description="Handles or email addresses. An address invites the account that confirms it, now or later.",
        examples=[["ada", "bob@example.org"]],
    )


class OfferedRole(Request):
    """The offered role."""

    role: RoleName


class RoleView(RecordView):
    """A person's role in a competition."""

    competition: str
    handle: str
    name: str
    role: RoleName
    offered_by: str | None = Field(description="Null for a former admin: admins had the role in every competition.")
    offered_at: datetime
    accepted_at: datetime | None = Field(description="Null until the person accepts the role.")


class RolePage(Page):
    roles: list[RoleView]


class AllowlistEntryView(BaseModel):
    """A person who may enter."""

    who: str = Field(description="The handle or email address of the invitation.")
    invited_by: str
    invited_at: datetime


class AllowlistPage(Page):
    allowlist: list[AllowlistEntryView]
