"""The base classes of request bodies and lists, and views and descriptions that several routes share."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from scorer.competitions import shown_tracks
from scorer.competitions.shown_tracks import ShownTrackProgress, Visibility
from scorer.db.tables import Account, ShownTrack, Submission
from scorer.evidence.closest_pairs import PairImages
from scorer.findings.finding import INTERVALS_THAT_MISS
from scorer.lifecycle import TrackKind
from scorer.metrics.metric_catalogue import METRICS

INTERVAL_COVERAGE = (
    "The share of 1,000 simulated intervals (value ± 1.96 standard errors) that contained the true value. Null if it"
    " was between 0.93 and 0.97, or was not measured."
)
"""The description of a field."""


class Request(BaseModel):
    """A request body without unknown fields."""

    model_config = ConfigDict(extra="forbid")


class RecordView(BaseModel):
    """A view with the attributes of a record as its fields."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, record: object, **others: object) -> Self:
        """Build the view of a record; ``others`` has the fields that are not attributes of the record."""
        names = [name for name in cls.model_fields if name not in others and hasattr(record, name)]
        return cls.model_validate({name: getattr(record, name) for name in names} | others)


class Page(BaseModel):
    """A page of a list."""

    next_after: int | None = Field(description="Pass it as `after` to get the next page; null at the end.")


class RequeuedView(BaseModel):
    """How many jobs were restarted."""

    requeued: int


class PairView(RecordView):
    """A generated image and its nearest reference image."""

    number: int
    image: int = Field(description="The index of the image in the zip, ordered by file name.")
    reference_name: str
    distance: float = Field(description="The cosine distance of their features.")
    difference: float = Field(description="The root mean square difference of the pixels, in grey levels.")
    mirrored_difference: float = Field(description="The same for the mirrored reference image.")
    mirrored: bool = Field(description="Whether the mirrored reference image is the better match.")


def pair_view(pair: PairImages) -> PairView:
    return PairView.of(pair, image=pair.place, mirrored=pair.is_mirrored)


class _ShownMetricView(RecordView):
    name: str
    title: str = Field(description="The metric's display name.")
    better: Literal["lower", "higher"] = Field(description="Whether lower or higher values are better.")
    extractor: str
    reference: TrackKind = Field(description="The track that provides the reference images.")
    interval_coverage: float | None = Field(None, description=INTERVAL_COVERAGE)


class ShownTrackView(_ShownMetricView):
    """A metric that is shown in addition to the ranked scores."""

    metric: str
    constants: dict[str, float]
    visibility: Visibility
    created_at: datetime
    progress: ShownTrackProgress | None = Field(None, description="For organizers only.")


class ShownValueView(RecordView):
    """A submission's value on a shown track."""

    value: float | None = Field(description="Null if the metric has no value for the submission.")
    standard_error: float | None = Field(description="It covers the choice of the generated images; null if unknown.")


class ShownNumberView(_ShownMetricView, ShownValueView):
    """A submission's value on a shown track, with a description of the track."""


def shown_numbers(
    session: Session, entries: Sequence[Submission], account: Account | None, *, for_review: bool
) -> dict[int, list[ShownNumberView]]:
    """The values of entries of one competition by ref, on the shown tracks that the account may see, oldest first;
    ``for_review``: on all shown tracks."""
    numbers = shown_tracks.numbers_by_ref(session, entries, account, for_review=for_review)
    return {
        ref: [
            ShownNumberView.of(number.shown, **_describe_metric(number.shown), **number.measured._asdict())
            for number in of_one
        ]
        for ref, of_one in numbers.items()
    }


def _describe_metric(shown: ShownTrack) -> dict[str, object]:
    metric = METRICS[shown.metric]
    coverage = INTERVALS_THAT_MISS.get(metric.name)
    return {"title": metric.title, "better": metric.direction, "interval_coverage": coverage}


def shown_track_view(shown: ShownTrack, progress: ShownTrackProgress | None = None) -> ShownTrackView:
    """``progress`` is for organizers."""
    return ShownTrackView.of(shown, **_describe_metric(shown), progress=progress)
