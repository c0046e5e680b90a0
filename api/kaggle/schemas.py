"""What the ``kaggle`` client sends and reads. Fields equal to their default are left out by it; others are ignored."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

from api.schemas.submissions.uploads import MAX_NAME_LENGTH, MAX_NOTE_LENGTH

PAGE = 20
MOST = 200


def in_utc(moment: datetime) -> str:
    """A moment as the client reads it: with milliseconds and ``Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[datetime, PlainSerializer(in_utc)]
Wanted = Annotated[int, Field(ge=1, le=MOST)]
Token = Annotated[str, Field(pattern=r"^[0-9]{0,18}$", description="Where a page begins, as the last one said.")]


class Wire(BaseModel):
    """A message."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")


class OfCompetition(Wire):
    """A request about a competition."""

    competition_name: str = Field(min_length=1, max_length=60)


class Page(OfCompetition):
    """A request for a page."""

    page_token: Token = ""
    page_size: Wanted = PAGE


class StartUpload(OfCompetition):
    """The promise of a zip."""

    content_length: int = Field(0, ge=0, le=2**62)
    file_name: str = "submission.zip"

    @property
    def kept_name(self) -> str:
        """As much of the name as is kept."""
        return self.file_name[-MAX_NAME_LENGTH:]


class UploadStarted(Wire):
    """Where the bytes go, and what the submission is asked for by."""

    token: str
    create_url: str


class CreateSubmission(OfCompetition):
    """The bytes are there: make the submission."""

    blob_file_tokens: str = Field(min_length=1, max_length=200)
    submission_description: str = Field("", max_length=MAX_NOTE_LENGTH)


class SubmissionCreated(Wire):
    """The submission, and a sentence that is printed."""

    message: str
    ref: int


class ByRef(Wire):
    """A request about a submission."""

    ref: int = Field(ge=1, le=2**62)


class Entry(Wire):
    """A submission. The client knows three states, and scores are texts."""

    ref: int
    total_bytes: int
    date: Moment
    description: str
    error_description: str
    file_name: str
    public_score: str
    private_score: str
    status: Literal["PENDING", "COMPLETE", "ERROR"]
    submitted_by: str
    submitted_by_ref: str
    team_name: str
    url: str


class Entries(Wire):
    """A page of submissions."""

    submissions: list[Entry]
    next_page_token: str


class Limits(Wire):
    """What a team has done and may do."""

    num_today: int
    num_total: int
    num_allowed_now: int
    limited_by_total: bool = False


class BoardPage(Page):
    """A request for a page of the board."""

    override_public: bool = False


class Place(Wire):
    """A line of the board."""

    team_id: int
    team_name: str
    submission_date: Moment
    score: str


class Board(Wire):
    """A page of the board."""

    submissions: list[Place]
    next_page_token: str


class ListCompetitions(Wire):
    """Which competitions, in which order. ``page`` counts from 1 and is an older way to say where to begin."""

    group: str = ""
    sort_by: str = ""
    search: str = ""
    page: int = Field(1, ge=-1, le=10**6)
    page_token: Token = ""
    page_size: Wanted = PAGE


class Competition(Wire):
    """A competition."""

    id: int
    ref: str
    title: str
    url: str
    deadline: Moment | None
    category: str
    reward: str
    team_count: int
    user_has_entered: bool
    user_rank: int | None
    max_daily_submissions: int
    max_team_size: int
    submissions_disabled: bool
    enabled_date: Moment | None
    merger_deadline: Moment | None
    evaluation_metric: str = "MiFID"


class Competitions(Wire):
    """A page of competitions."""

    competitions: list[Competition]
    next_page_token: str


class DataFile(Wire):
    """A file."""

    ref: str
    name: str
    total_bytes: int
    creation_date: Moment


class DataFiles(Wire):
    """A page of files."""

    files: list[DataFile]
    next_page_token: str


class NamedFile(OfCompetition):
    """A request for a file."""

    file_name: str = Field(min_length=1, max_length=200)


class Introspect(Wire):
    """A token that the client was given."""

    token: str = Field("", max_length=4000)


class Introspected(Wire):
    """Whether it works here, and whose it is."""

    active: bool
    username: str = ""
    user_id: int | None = None
