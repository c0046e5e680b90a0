"""Shown tracks: numbers that stand beside the ranked ones. Everybody reads those that they may see."""

from pydantic import BaseModel, Field

from api.http.dependencies import ActingOrganizer, ActingVisitor, AppSettings
from api.http.paging import Paging
from api.http.routing import ApiRouter
from api.http.views import Page, Request, ShownTrackView, shown_track_view
from scorer.accounts.roles import is_organizer
from scorer.competitions import shown_tracks
from scorer.competitions.competition_state import state_of, visible_state
from scorer.competitions.shown_tracks import NAME, Visibility, visible_shown_tracks
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


router = ApiRouter(prefix="/competitions/{slug}/shown-tracks", tags=["extractors"])


@router.get("")
def list_shown_tracks(slug: str, acting: ActingVisitor, wanted: Paging) -> ShownTrackPage:
    """The numbers that are shown beside the ranked ones, oldest first; for organizers with those that they alone see,
    and with how far each is."""
    state = visible_state(acting, slug)
    organizes = is_organizer(acting.actor, state.competition.id)
    page = wanted.of_all(visible_shown_tracks(acting.session, state, acting.actor))
    views = [
        shown_track_view(shown, shown_tracks.progress_of(acting.session, state, shown) if organizes else None)
        for shown in page.rows
    ]
    return ShownTrackPage(shown_tracks=views, next_after=page.next_after)


@router.post("", status_code=201)
def add_shown_track(
    slug: str, body: NewShownTrackBody, acting: ActingOrganizer, settings: AppSettings
) -> ShownTrackView:
    """Show another number, which ranks nothing: of the entries that are scored by now, and of later ones, measured when
    nothing else waits."""
    state = state_of(acting.session, slug, acting.now)
    wanted = shown_tracks.NewShownTrack(**body.model_dump())
    shown = shown_tracks.add(acting, state, wanted, weights=settings.weights_sha256)
    return shown_track_view(shown, shown_tracks.progress_of(acting.session, state, shown))


@router.delete("/{shown_track}", status_code=204)
def remove_shown_track(slug: str, shown_track: str, acting: ActingOrganizer) -> None:
    """Show a number no more. What was measured is kept; added again, it is measured anew."""
    shown_tracks.remove(acting, state_of(acting.session, slug, acting.now), shown_track)


@router.post("/{shown_track}/measurements", status_code=202)
def measure_missing(slug: str, shown_track: str, acting: ActingOrganizer) -> MissingMeasurementsView:
    """Measure the entries that lack the number because their measurement, or the references' preparation, failed."""
    state = state_of(acting.session, slug, acting.now)
    entries = shown_tracks.measure_missing(acting, state, shown_track)
    return MissingMeasurementsView(entries=entries)
