"""Messages of the ``kaggle`` client. It leaves out fields with their default value; unknown fields are ignored."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

from api.submissions.uploads.views import MAX_NAME_LENGTH, MAX_NOTE_LENGTH

DEFAULT_PAGE_SIZE = 20
MAX_PAGE_SIZE = 200


def in_utc(moment: datetime) -> str:
    """A time in the client's format: RFC 3339 with milliseconds and ``Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


UtcTime = Annotated[datetime, PlainSerializer(in_utc)]
PageSize = Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE)]
PageToken = Annotated[str, Field(pattern=r"^[0-9]{0,18}$", description="The `next_page_token` of the previous page.")]


class Message(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")


class CompetitionRequest(Message):
    competition_name: str = Field(min_length=1, max_length=60)


class PageRequest(CompetitionRequest):
    page_token: PageToken = ""
    page_size: PageSize = DEFAULT_PAGE_SIZE


class StartUploadRequest(CompetitionRequest):
    content_length: int = Field(0, ge=0, le=2**62)
    file_name: str = ""

    @property
    def stored_name(self) -> str:
        """The end of the name, cut to the maximum length."""
        return self.file_name[-MAX_NAME_LENGTH:]


class StartUploadResponse(Message):
    """The address for the bytes, and the token for creating the submission."""

    token: str
    create_url: str


class CreateSubmissionRequest(CompetitionRequest):
    blob_file_tokens: str = Field(min_length=1, max_length=200)
    submission_description: str = Field("", max_length=MAX_NOTE_LENGTH)


class CreateSubmissionResponse(Message):
    """The submission's number, and a sentence that the client prints."""

    message: str
    ref: int


class SubmissionRequest(Message):
    ref: int = Field(ge=1, le=2**62)


class SubmissionMessage(Message):
    """The client knows three states, and scores are strings."""

    ref: int
    total_bytes: int
    date: UtcTime
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


class SubmissionsResponse(Message):
    submissions: list[SubmissionMessage]
    next_page_token: str


class LimitsResponse(Message):
    num_today: int
    num_total: int
    num_allowed_now: int
    limited_by_total: bool = False


class LeaderboardRequest(PageRequest):
    override_public: bool = False


class LeaderboardRow(Message):
    team_id: int
    team_name: str
    submission_date: UtcTime
    score: str


class LeaderboardResponse(Message):
    submissions: list[LeaderboardRow]
    next_page_token: str


class CompetitionsRequest(Message):
    """A request for a page of competitions. Older clients send ``page``, from 1, instead of ``page_token``."""

    group: str = ""
    sort_by: str = ""
    search: str = ""
    page: int = Field(1, ge=-1, le=10**6)
    page_token: PageToken = ""
    page_size: PageSize = DEFAULT_PAGE_SIZE


class CompetitionMessage(Message):
    id: int
    ref: str
    title: str
    url: str
    deadline: UtcTime | None
    category: str
    reward: str
    team_count: int
    user_has_entered: bool
    user_rank: int | None
    max_daily_submissions: int


class CompetitionsResponse(Message):
    competitions: list[CompetitionMessage]
    next_page_token: str


class DataFileMessage(Message):
    ref: str
    name: str
    total_bytes: int
    creation_date: UtcTime


class DataFilesResponse(Message):
    files: list[DataFileMessage]
    next_page_token: str


class DataFileRequest(CompetitionRequest):
    file_name: str = Field(min_length=1, max_length=200)


class IntrospectRequest(Message):
    token: str = Field("", max_length=4000)


class IntrospectResponse(Message):
    active: bool
    username: str = ""
