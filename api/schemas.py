"""Requests and responses."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from scorer.accounts.accounts import HANDLE_PATTERN
from scorer.lifecycle import Phase, Status, TrackKind
from scorer.review.reviews import LabelName


class Request(BaseModel):
    """A body that says no more than we understand."""

    model_config = ConfigDict(extra="forbid")


Role = Literal["participant", "reviewer", "organizer", "admin"]


class NewAccount(Request):
    handle: str = Field(pattern=HANDLE_PATTERN.pattern, examples=["ada"])
    name: str = Field("", max_length=100)
    role: Role = "participant"


class NewRole(Request):
    role: Role


class AccountView(BaseModel):
    handle: str
    name: str
    role: str
    created_at: datetime


class NewAccountView(AccountView):
    token: str = Field(description="Shown once; Kennel keeps only its hash.")


class PreparationView(BaseModel):
    """How far a track's references are prepared."""

    state: Literal["none", "waiting", "running", "done", "failed"]
    stage: str | None = None
    fraction: float | None = None
    error: str | None = None
    images: int | None = None
    heldout_distance: float | None = None


class TrackView(BaseModel):
    kind: TrackKind
    extractor: str
    epsilon: float
    tau: float | None


class CompetitionView(BaseModel):
    """A competition as everyone may see it; the private track is described to organizers only."""

    slug: str
    title: str
    description: str
    rules: str
    rules_sha256: str | None = Field(description="The version of the rules; null where there are none.")
    rules_accepted: bool | None = Field(None, description="Whether you have accepted these very rules.")
    phase: Phase
    image_count: int
    image_size: int
    opens_at: datetime | None
    team_merge_deadline: datetime | None
    closes_at: datetime | None
    review_days: int
    daily_limit: int | None
    pending_limit: int
    max_team_size: int
    final_picks: int
    late_submissions: bool
    invitation_only: bool = Field(description="Whether only invited people may enter.")
    invited: bool | None = Field(None, description="Whether you may enter, as far as invitations go.")
    prizes: list[dict[str, Any]]
    medals: dict[str, int]
    tracks: list[TrackView]
    missing: list[str] | None = Field(None, description="What an organizer has still to do (organizers only).")


class ReferenceView(BaseModel):
    role: str
    sha256: str
    bytes: int


class CodeView(BaseModel):
    """The code that is attached to a submission; reviewers and organizers read it."""

    kind: Literal["zip", "notebook"]
    bytes: int
    sha256: str
    attached_by: str
    created_at: datetime


class MeasurementView(BaseModel):
    """A measurement, judged with the newest threshold. ``mifid`` is null for a copy."""

    track: TrackKind
    fid: float
    memorization_distance: float
    distance_se: float | None
    tau: float | None
    penalised: bool | None
    copy_: bool = Field(serialization_alias="copy")
    disqualified: bool = Field(description="Ruled out: it ranks nowhere.")
    mifid: float | None
    rank: int | None = Field(description="Of the team, where this entry is its best one.")
    would_be_rank: int | None = Field(description="The rank of the team if this entry were its best one.")
    explanation: str = Field(description="Whether and why it is penalised, in a sentence.")
    histogram: dict[str, Any]
    measured_at: datetime
    closest_pairs: list[dict[str, Any]] | None = Field(None, description="Organizers only.")
    provenance: dict[str, Any] | None = Field(None, description="Organizers only.")


class ProvisionalView(BaseModel):
    """A rough public score, shown while the final one is computed. It ranks nowhere and is replaced."""

    provisional: Literal[True] = True
    precision: str = Field(examples=["bfloat16"])
    fid: float
    memorization_distance: float
    tau: float | None
    penalised: bool | None
    copy_: bool = Field(serialization_alias="copy")
    mifid: float | None
    measured_at: datetime


class SubmissionView(BaseModel):
    """A submission as its team sees it. ``scored`` speaks of the public track."""

    id: str
    ref: int
    competition: str
    team: str
    submitted_by: str
    file_name: str
    bytes: int
    sha256: str | None = Field(description="Of the zip; null for an imported entry, of which there is none.")
    imported: bool = Field(description="From a table of results: there are numbers of it, and no images.")
    note: str
    status: Status
    reason: str | None
    faults: list[str] | None
    stage: str | None
    fraction: float | None
    queue_position: int | None
    accepted_at: datetime
    finished_at: datetime | None
    late: bool = Field(description="Begun after the close: it is on the board of late entries alone.")
    sprite: str | None = Field(description="Where small versions of some of its images are, in one picture.")
    code: CodeView | None
    provisional: ProvisionalView | None = Field(
        None, description="Only while the entry is being scored, and where the operator has switched it on."
    )
    measurements: list[MeasurementView]
    private_state: str | None = Field(None, description="Organizers only: waiting, running, done or failed.")


class SubmissionPage(BaseModel):
    submissions: list[SubmissionView]
    next_before: int | None = Field(description="Pass as `before` for the next page; null at the end.")


class PlaceView(BaseModel):
    rank: int
    team: str
    score: float
    fid: float
    memorization_distance: float
    penalised: bool
    entries: int
    last_entry_at: datetime
    medal: Literal["gold", "silver", "bronze"] | None = None
    prize: str | None = Field(None, description="Private board only: what the place wins.")
    moved: int | None = Field(
        None, description="Public board only: ranks gained since the UTC day began; null for a team that had none then."
    )
    public_rank: int | None = Field(None, description="Private board only.")
    shake_up: int | None = Field(None, description="Private board only: ranks gained from the public board.")
    submission_id: str | None = Field(None, description="Organizers only.")
    label: str | None = Field(None, description="Organizers only.")


class BenchmarkView(BaseModel):
    team: str
    score: float
    fid: float
    memorization_distance: float


class CopyView(BaseModel):
    team: str
    mifid: None = None
    copy_: Literal[True] = Field(True, serialization_alias="copy")
    reason: str
    memorization_distance: float
    submission_id: str | None = Field(None, description="Organizers only.")
    label: str | None = Field(None, description="Organizers only.")


class DisqualifiedView(BaseModel):
    team: str
    reason: str = Field(description="The ruling's reason, in short.")
    submission_id: str | None = Field(None, description="Organizers only.")
    label: str | None = Field(None, description="Organizers only.")


class BoardView(BaseModel):
    competition: str
    track: TrackKind
    late: bool = Field(description="Whether this is the board of the entries after the close.")
    as_of: datetime | None = Field(description="The past moment that was asked for; null: the board as it is.")
    tau: float | None
    teams: int
    entries: list[PlaceView]
    own: PlaceView | None = Field(description="The place of the team of whoever asks, wherever it is.")
    benchmarks: list[BenchmarkView]
    copies: list[CopyView] = Field(description="Teams that have nothing but copies of training images.")
    disqualified: list[DisqualifiedView] = Field(
        description="Teams without a place of which an entry was disqualified."
    )
    next_after: int | None = Field(description="Pass as `after` for the next page; null at the end.")


class NewLabel(Request):
    label: LabelName
    note: str = Field("", max_length=5000)


class LabelView(BaseModel):
    submission_id: str
    label: LabelName
    note: str
    created_at: datetime


class NewPublication(Request):
    published: bool
    reason: str = Field(min_length=1, max_length=2000, description="Told to everybody who competes.")
    override: str | None = Field(
        None, max_length=2000, description="Why the board is published though points are open; for the audit log."
    )


class PublicationView(BaseModel):
    published: bool
    reason: str
    created_at: datetime
