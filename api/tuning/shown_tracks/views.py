"""Schemas of shown tracks, and how responses are made."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from api.http.views import INTERVAL_COVERAGE, Page, Request
from scorer.competitions import shown_track_access
from scorer.competitions.shown_tracks import NAME, ShownState, ShownTrackStatus, Visibility
from scorer.db.tables import Account, ShownTrack, Submission
from scorer.findings.finding import INTERVALS_THAT_MISS
from scorer.lifecycle import TrackKind
from scorer.metrics.metric_catalogue import METRICS


class NewShownTrackBody(Request):
    """The number that is shown: a metric in a feature space, against a track's references."""

    name: str = Field(
        pattern=f"^{NAME.pattern}$",
        examples=["fd_dinov2"],
        description="Its name on boards; in CSV it has the prefix `shown_`.",
    )
    metric: str = Field(max_length=40, examples=["fid"], description=f"One of {', '.join(METRICS)}.")
    extractor: str = Field(max_length=100, examples=["dinov2"])
    reference: TrackKind = Field("public", description="The track whose references it is measured against.")
    visibility: Visibility = Field(
        "organizers", description="`everybody` at once, or `organizers` until the final board is published."
    )
    constants: dict[str, float] = Field(
        default_factory=dict, max_length=10, description="The metric's constants, where they are not its defaults."
    )


class ShownTrackProgressView(BaseModel):
    """How far a shown track is."""

    state: ShownState
    hidden: bool = Field(description="Whether participants do not see it now.")
    measured: int
    waiting: int
    failed: int
    missing: int = Field(description="Scored entries without a number, whether or not a job will measure them.")
    without_zip: int = Field(description="Scored entries that cannot be measured.")
    error: str | None = Field(description="Of the job that failed last.")


class ShownTrackView(BaseModel):
    """A number that is shown beside the ranked ones."""

    name: str
    metric: str
    title: str = Field(description="The metric's name in words.")
    better: Literal["lower", "higher"] = Field(description="Which values are better.")
    constants: dict[str, float]
    extractor: str
    reference: TrackKind = Field(description="The track whose references it is measured against.")
    interval_coverage: float | None = Field(None, description=INTERVAL_COVERAGE)
    visibility: Visibility
    created_at: datetime
    progress: ShownTrackProgressView | None = Field(None, description="Organizers only.")


class ShownValueView(BaseModel):
    """An entry's value on a shown track."""

    value: float | None = Field(description="Null where the metric gives no number.")
    standard_error: float | None = Field(description="Over the choice of the generated images, where it is known.")


class ShownNumberView(ShownValueView):
    """An entry's value on a shown track, with what the track is."""

    name: str
    title: str = Field(description="The metric's name in words.")
    better: Literal["lower", "higher"] = Field(description="Which values are better.")
    extractor: str
    reference: TrackKind = Field(description="The track whose references it is measured against.")
    interval_coverage: float | None = Field(None, description=INTERVAL_COVERAGE)


class ShownTrackPage(Page):
    shown_tracks: list[ShownTrackView]


class MissingMeasurementsView(BaseModel):
    """What was queued."""

    entries: int = Field(description="Entries that are measured now: those that had failed.")


def shown_numbers(
    session: Session, entries: Sequence[Submission], account: Account | None, *, for_review: bool
) -> dict[int, list[ShownNumberView]]:
    """What was measured of entries of one competition, by ref, on the shown tracks that this person may see, oldest
    first; ``for_review``: on all."""
    numbers = shown_track_access.numbers_by_ref(session, entries, account, for_review=for_review)
    return {ref: [_shown_number(number) for number in of_one] for ref, of_one in numbers.items()}


def _shown_number(number: shown_track_access.ShownNumber) -> ShownNumberView:
    shown, metric = number.shown, METRICS[number.shown.metric]
    terms = {name: getattr(shown, name) for name in ("name", "extractor", "reference")}
    return ShownNumberView(
        **terms,
        title=metric.title,
        better=metric.direction,
        interval_coverage=INTERVALS_THAT_MISS.get(metric.name),
        **number.measured._asdict(),
    )


def shown_track_view(shown: ShownTrack, status: ShownTrackStatus | None = None) -> ShownTrackView:
    """A shown track; for organizers with its ``status``."""
    metric = METRICS[shown.metric]
    progress = None
    if status is not None:
        progress = ShownTrackProgressView(
            **{name: getattr(status, name) for name in ShownTrackProgressView.model_fields}
        )
    return ShownTrackView(
        name=shown.name,
        metric=metric.name,
        title=metric.title,
        better=metric.direction,
        constants=shown.constants,
        extractor=shown.extractor,
        reference=shown.reference,
        interval_coverage=INTERVALS_THAT_MISS.get(metric.name),
        visibility=shown.visibility,
        created_at=shown.created_at,
        progress=progress,
    )
