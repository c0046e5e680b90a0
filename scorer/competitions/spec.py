"""The specification of a competition, which an organizer writes to create or change it."""

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

from scorer.generators.onnx_files import MAX_CLASSES, Distribution
from scorer.lifecycle import EntryKind

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
"""The pattern is a text, not a compiled pattern: in Python's ``re``, ``$`` also matches before a line break."""
MAX_TEXT_LENGTH = 50_000
MAX_BRACKETS = 1000
"""Opening brackets in a Markdown text. Each may begin a link, which costs time on every rendering."""


def require_few_brackets(text: str) -> str:
    """``ValueError`` if the text has more than ``MAX_BRACKETS`` opening brackets."""
    brackets = text.count("[")
    if brackets > MAX_BRACKETS:
        raise ValueError(f"The text has {brackets:,} opening brackets. Use at most {MAX_BRACKETS:,}.")
    return text


Markdown = Annotated[str, StringConstraints(max_length=MAX_TEXT_LENGTH), AfterValidator(require_few_brackets)]
# Strict: a text that contains a number is a fault and is reported with all other faults.
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

    place: Integer = Field(ge=1, description="The rank on the final board that wins the prize.")
    amount: str = Field(examples=["$2,000"], max_length=100, description="The prize, as text.")


class Medals(BaseModel):
    """The last rank of each medal."""

    model_config = ConfigDict(extra="forbid")

    gold: Integer = Field(10, ge=0, description="The last rank with a gold medal.")
    silver: Integer = Field(50, ge=0, description="The last rank with a silver medal.")
    bronze: Integer = Field(100, ge=0, description="The last rank with a bronze medal.")


class TrackSpec(BaseModel):
    """The measurement of one track."""

    model_config = ConfigDict(extra="forbid")

    extractor: str | None = Field(
        None,
        examples=["inception_v3"],
        description="The extractor, which turns images into features. The defaults, inception_v3 for the public and "
        "nasnetalarge for the private track, need a running worker with their weights.",
    )
    epsilon: Number = Field(1e-15, gt=0, lt=1e-3, description="A small number that keeps the penalty finite.")


MAX_DRAWS = 20
"""The most draws of an entry on a track."""


class DrawSpec(BaseModel):
    """How the service draws the images of generators."""

    model_config = ConfigDict(extra="forbid")

    public: Integer = Field(1, ge=1, le=MAX_DRAWS, description="Draws per entry on the public track.")
    private: Integer = Field(3, ge=1, le=MAX_DRAWS, description="Draws per entry on the private track.")
    distribution: Distribution = Field(
        "normal", description="The latent distribution of entries that do not declare another one."
    )
    classes: Annotated[Integer, Field(ge=2, le=MAX_CLASSES)] | None = Field(
        None, description="The number of classes of a one-hot class after the latent; null for no class."
    )
    minutes: Integer = Field(30, ge=1, le=24 * 60, description="The most minutes that all draws of an entry may take.")
    release: Flag = Field(
        False, description="Whether data releases contain the generators of the entries whose images they contain."
    )


class CompetitionSpec(BaseModel):
    """The fields of a new competition."""

    model_config = ConfigDict(extra="forbid")

    slug: Slug = Field(examples=["generative-dogs"], description="The name in URLs and commands.")
    title: str = Field(min_length=1, max_length=200, description="The title on pages.")
    description: Markdown = Field("", description="The description, in Markdown.")
    rules: Markdown = Field("", description="The rules, in Markdown. Participants must accept them to enter.")
    entries: EntryKind = Field(
        "images",
        description="What teams submit: a zip of images, or a generator in an ONNX file, whose images the service "
        "draws.",
    )
    draws: DrawSpec = DrawSpec()
    image_count: Integer = Field(
        10_000, ge=2, le=100_000, description="The exact number of images in a zip or in a draw."
    )
    image_size: Integer = Field(
        64, ge=8, le=1024, description="Width and height of every image (RGB, 8 bits) in pixels."
    )
    opens_at: AwareDatetime | None = Field(
        None, description="When the competition opens for entries. Until then it is a draft."
    )
    team_merge_deadline: AwareDatetime | None = Field(None, description="The deadline for merging teams.")
    closes_at: AwareDatetime | None = Field(None, description="The deadline for entries. The review begins then.")
    upload_grace_seconds: Integer = Field(
        900,
        ge=0,
        le=86_400,
        description="Seconds after the deadline in which uploads that began before it can finish.",
    )
    review_days: Integer = Field(
        14, ge=0, le=365, description="Days after the deadline in which teams can appeal, until a board is published."
    )
    appeal_days: Integer = Field(
        7, ge=0, le=365, description="Days in which teams can appeal after the provisional board is published."
    )
    daily_limit: DailyLimit = Field(
        5, description='Maximum entries per team and UTC day. "unlimited", or null in JSON, means no limit.'
    )
    pending_limit: Integer = Field(2, ge=1, description="Maximum entries in progress at the same time, per team.")
    rejected_limit: Integer = Field(
        20, ge=1, description="Rejected uploads per team and UTC day after which the team must wait for the next day."
    )
    max_team_size: Integer = Field(5, ge=1, le=100, description="Maximum members per team.")
    final_picks: Integer = Field(2, ge=1, le=10, description="Maximum final picks per team.")
    late_submissions: Flag = Field(
        False, description="Whether teams can submit entries after the deadline. These have a separate board."
    )
    invitation_only: Flag = Field(False, description="Whether only people invited by an organizer can enter.")
    prizes: list[Prize] = Field(default=[], max_length=100)
    medals: Medals = Medals()
    score_decimals: Integer = Field(
        5, ge=1, le=10, description="Decimal places that scores are rounded to before ranking."
    )
    public: TrackSpec = TrackSpec()
    private: TrackSpec = TrackSpec()

    @model_validator(mode="after")
    def _times_in_order(self) -> "CompetitionSpec":
        fault = find_times_fault(self.opens_at, self.team_merge_deadline, self.closes_at)
        if fault:
            raise ValueError(fault)
        return self


def _without_defaults(schema: dict[str, Any]) -> None:
    for field in schema["properties"].values():
        field.pop("default", None)


class CompetitionChanges(CompetitionSpec):
    """Changes to a competition. Fields that you leave out keep their values. In a draft, you can change every field;
    later, some are fixed."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_without_defaults)

    slug: Slug = ""
    title: str = Field("", min_length=1, max_length=200)


def find_times_fault(
    opens_at: datetime | None, merge_deadline: datetime | None, closes_at: datetime | None
) -> str | None:
    """Return the fault in a competition's times as a clause; None if they are in order."""
    if opens_at and closes_at and closes_at <= opens_at:
        return "closes_at must be after opens_at"
    if merge_deadline and closes_at and merge_deadline > closes_at:
        return "team_merge_deadline must not be after closes_at"
    return None
