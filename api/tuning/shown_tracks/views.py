"""Schemas of shown tracks, and how responses are made."""

from pydantic import BaseModel, Field

from api.http.views import Page, Request, ShownTrackView
from scorer.competitions.shown_tracks import NAME, Visibility
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


class ShownTrackPage(Page):
    shown_tracks: list[ShownTrackView]


class MissingMeasurementsView(BaseModel):
    """What was queued."""

    entries: int = Field(description="Entries that are measured now: those that had failed.")
