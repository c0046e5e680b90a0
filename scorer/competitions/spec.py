"""The specification of a competition: what an organizer writes to create or change one."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    StringConstraints,
    model_validator,
)

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
"""A text and not a compiled pattern: in Python's own ``re``, ``$`` leaves room for a line break."""
MAX_TEXT_LENGTH = 50_000
MAX_BRACKETS = 1000
"""Opening brackets in a text of Markdown: each may begin a link, and to find out takes time whenever it is shown."""


def require_few_brackets(text: str) -> str:
    """The text; ``ValueError`` if it has more than ``MAX_BRACKETS`` opening brackets."""
    brackets = text.count("[")
    if brackets > MAX_BRACKETS:
        raise ValueError(f"The text has {brackets:,} opening brackets; use at most {MAX_BRACKETS:,}.")
    return text


Markdown = Annotated[str, StringConstraints(max_length=MAX_TEXT_LENGTH), AfterValidator(require_few_brackets)]
# Of a TOML or JSON value of this very type: a text with a number in it is a fault, found together with all others.
Integer = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
Flag = Annotated[bool, Strict()]
UNLIMITED = "unlimited"
"""No limit, for TOML, which has no null."""
DailyLimit = Annotated[
    Annotated[Integer, Field(ge=1)] | None, BeforeValidator(lambda value: None if value == UNLIMITED else value)
]


class Prize(BaseModel):
    """The prize of one place."""

    model_config = ConfigDict(extra="forbid")

    place: Integer = Field(ge=1, description="The rank on the private board.")
    amount: str = Field(examples=["$2,000"], max_length=100, description="The prize, as text.")


class Medals(BaseModel):
    """The last place of each medal."""

    model_config = ConfigDict(extra="forbid")

    gold: Integer = Field(10, ge=0, description="The last rank with a gold medal.")
    silver: Integer = Field(50, ge=0, description="The last rank with a silver medal.")
    bronze: Integer = Field(100, ge=0, description="The last rank with a bronze medal.")


class TrackSpec(BaseModel):
    """How one track measures."""

    model_config = ConfigDict(extra="forbid")

    extractor: str | None = Field(
        None,
        examples=["inception_v3"],
        description="The extractor turns images into features. The defaults, inception_v3 for the public and "
        "nasnetalarge for the private track, need a running worker with their weights.",
    )
    epsilon: Number = Field(1e-15, gt=0, lt=1e-3, description="The small number that keeps the penalty finite.")


class CompetitionSpec(BaseModel):
    """What an organizer decides when creating a competition."""

    model_config = ConfigDict(extra="forbid")

    slug: Slug = Field(examples=["generative-dogs"], description="Its name in URLs and commands.")
    title: str = Field(min_length=1, max_length=200, description="Its title on pages.")
    description: Markdown = Field("", description="Markdown.")
    rules: Markdown = Field("", description="Markdown.")
    image_count: Integer = Field(10_000, ge=2, le=100_000, description="The exact number of images in an entry.")
    image_size: Integer = Field(
        64, ge=8, le=1024, description="Width and height of every image (RGB, 8 bits) in pixels."
    )
    opens_at: AwareDatetime | None = Field(
        None, description="When entries are first taken; until then the competition is a draft."
    )
    team_merge_deadline: AwareDatetime | None = Field(None, description="Until when teams may merge.")
    closes_at: AwareDatetime | None = Field(None, description="When the last entries are taken; then review begins.")
    upload_grace_seconds: Integer = Field(
        900,
        ge=0,
        le=86_400,
        description="An upload begun before the close may finish within this time after it.",
    )
    review_days: Integer = Field(
        14, ge=0, le=365, description="Days after the close in which teams may appeal, until a board is published."
    )
    appeal_days: Integer = Field(
        7, ge=0, le=365, description="Days for which teams may appeal against what the provisional board shows."
    )
    daily_limit: DailyLimit = Field(
        5, description='Entries of a team in a UTC day; "unlimited", or null in JSON, for no limit.'
    )
    pending_limit: Integer = Field(2, ge=1, description="Entries of a team in progress at once.")
    rejected_limit: Integer = Field(
        20, ge=1, description="Uploads of a team in a UTC day that may fail the check of every image."
    )
    max_team_size: Integer = Field(5, ge=1, le=100, description="Members of a team.")
    final_picks: Integer = Field(2, ge=1, le=10, description="Entries that a team may pick to be ranked by in the end.")
    late_submissions: Flag = Field(
        False, description="Whether entries are taken after the close; they have a board of their own."
    )
    invitation_only: Flag = Field(False, description="Only people whom an organizer has invited may enter.")
    prizes: list[Prize] = Field(default=[], max_length=100)
    medals: Medals = Medals()
    score_decimals: Integer = Field(
        5, ge=1, le=10, description="Decimals to which scores are rounded before they are ranked."
    )
    public: TrackSpec = TrackSpec()
    private: TrackSpec = TrackSpec()

    @model_validator(mode="after")
    def _times_in_order(self) -> "CompetitionSpec":
        fault = fault_of_times(self.opens_at, self.team_merge_deadline, self.closes_at)
        if fault:
            raise ValueError(fault)
        return self


def _without_defaults(schema: dict[str, Any]) -> None:
    for field in schema["properties"].values():
        field.pop("default", None)


class CompetitionChanges(CompetitionSpec):
    """What an organizer may change; fields left out stay as they are. In a draft everything may change, later what
    :mod:`scorer.competitions.change_rules` allows."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_without_defaults)

    slug: Slug = ""
    title: str = Field("", min_length=1, max_length=200)


def fault_of_times(
    opens_at: datetime | None, merge_deadline: datetime | None, closes_at: datetime | None
) -> str | None:
    """The fault in a competition's times, as a sentence fragment; None if they are in order."""
    if opens_at and closes_at and closes_at <= opens_at:
        return "closes_at must be after opens_at"
    if merge_deadline and closes_at and merge_deadline > closes_at:
        return "team_merge_deadline must not be after closes_at"
    return None
