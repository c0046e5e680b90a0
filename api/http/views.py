"""The base classes of request bodies and of pages of lists; views and descriptions that several nouns show."""

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
    "How many of 1,000 simulated intervals of a value ± 1.96 standard errors held, as a share, where that is not"
    " between 0.93 and 0.97; null where it is, and where nobody has counted."
)
"""The description of a field: how often the intervals of a number hold."""


class Request(BaseModel):
    """A request body; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class RecordView(BaseModel):
    """A view that has the attributes of a record as its fields."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, record: object, **others: object) -> Self:
        """The view of a record, with ``others`` for the fields that are not the record's attributes."""
        names = [name for name in cls.model_fields if name not in others and hasattr(record, name)]
        return cls.model_validate({name: getattr(record, name) for name in names} | others)


class Page(BaseModel):
    """A part of a list."""

    next_after: int | None = Field(description="Pass as `after` for the next page; null at the end.")


class RequeuedView(BaseModel):
    """How many jobs were queued again."""

    requeued: int


class PairView(RecordView):
    """A generated image and the reference image nearest to it."""

    number: int
    image: int = Field(description="Its index among the zip's names in order.")
    reference_name: str
    distance: float = Field(description="The cosine distance of their features.")
    difference: float = Field(description="Root mean square difference of the pixels, in grey levels.")
    mirrored_difference: float = Field(description="The same with left and right of the reference image exchanged.")
    mirrored: bool = Field(description="Whether the mirrored reference image is the better match.")


def pair_view(pair: PairImages) -> PairView:
    """A pair of images, with its distances."""
    return PairView.of(pair, image=pair.place, mirrored=pair.is_mirrored)


class ShownTrackView(RecordView):
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
    progress: ShownTrackProgress | None = Field(None, description="Organizers only.")


class ShownValueView(RecordView):
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


def shown_numbers(
    session: Session, entries: Sequence[Submission], account: Account | None, *, for_review: bool
) -> dict[int, list[ShownNumberView]]:
    """What was measured of entries of one competition, by ref, on the shown tracks that this person may see, oldest
    first; ``for_review``: on all."""
    numbers = shown_tracks.numbers_by_ref(session, entries, account, for_review=for_review)
    return {
        ref: [ShownNumberView.of(each.shown, **_words_of(each.shown), **each.measured._asdict()) for each in of_one]
        for ref, of_one in numbers.items()
    }


def _words_of(shown: ShownTrack) -> dict[str, object]:
    metric = METRICS[shown.metric]
    coverage = INTERVALS_THAT_MISS.get(metric.name)
    return {"title": metric.title, "better": metric.direction, "interval_coverage": coverage}


def shown_track_view(shown: ShownTrack, progress: ShownTrackProgress | None = None) -> ShownTrackView:
    """A shown track; for organizers with its ``progress``."""
    return ShownTrackView.of(shown, **_words_of(shown), progress=progress)
