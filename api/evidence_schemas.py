"""What was found of an entry besides its score, as answers."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.desk_schemas import ReasonView
from scorer.lifecycle import TrackKind


class FindingView(BaseModel):
    """One number of one test, and what it says."""

    test: str = Field(description="The method: docs/explanation/evidence.md lists them.", examples=["data-copying"])
    name: str = Field(examples=["c_t"])
    value: float | None = Field(description="null where the test could not be made: the sentence says why.")
    unit: str = Field(examples=["standard deviations"])
    direction: str = Field(examples=["0 is best; far below 0 is copying"])
    sentence: str
    standard_error: float | None = Field(description="As the test's own module describes it; null where it has none.")
    p_value: float | None


class MatchView(BaseModel):
    """An image of the entry, and a training image; of `repeats`, `identical` and `mirrored-twins`, another image of the
    entry."""

    generated: str = Field(description="Its name in the zip.")
    other: str
    distance: float
    mirrored: bool = Field(description="Whether the other image is the match with left and right exchanged.")


class MatchesView(BaseModel):
    """Pairs of images, the most telling first."""

    name: str = Field(examples=["near-copies", "cell-3"])
    pairs: list[MatchView]
    picture: str = Field(
        description="Address of a PNG with all of them, in order: the entry's images above, below each the other one."
    )


class CellView(BaseModel):
    """A region of the training images."""

    number: int = Field(description="From 1.")
    generated: int = Field(description="Images of the entry in it.")
    held_out: int = Field(description="Held-out photographs in it.")
    z: float | None = Field(description="The rank sum in standard deviations; null where there are too few images.")
    p_value: float | None
    copied: bool = Field(description="Whether its images are too close to the training images.")
    excess: float = Field(description="Z of the number of the entry's images in it; above 0 is too many.")
    examples: MatchesView | None


class EvidenceView(BaseModel):
    """What the tests for copying, and those beside them, found of an entry on a track."""

    submission_id: str
    track: TrackKind
    state: Literal["none", "waiting", "running", "done", "failed"] = Field(
        description="Of the newest work on it; what was found before is shown meanwhile."
    )
    stage: str | None = Field(description="Of running work.")
    fraction: float | None
    error: str | None = Field(description="Why the work failed; for organizers and reviewers.")
    found_at: datetime | None
    outdated: bool = Field(description="Whether it is of an earlier measurement than the newest.")
    seed: int | None = Field(description="Of everything that was drawn.")
    signs: list[ReasonView] = Field(description="What of it speaks of copying, the most telling first.")
    findings: list[FindingView]
    cells: list[CellView]
    matches: list[MatchesView] = Field(description="The images that it is about; for the entry's team and at the desk.")
