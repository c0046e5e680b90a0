"""Shown tracks: metrics that do not affect the ranking. Viewers get the tracks that are visible to them."""

from pydantic import BaseModel, Field

from api.http.dependencies import ActingOrganizer, ActingVisitor, AppSettings
from api.http.paging import Paging
from api.http.routing import ApiRouter
from api.http.views import Page, Request, ShownTrackView, shown_track_view
from scorer.accounts.roles import is_organizer
from scorer.competitions import shown_tracks
from scorer.competitions.competition_state import load_state, visible_state
from scorer.competitions.shown_tracks import NAME, Visibility, visible_shown_tracks
from scorer.lifecycle import TrackKind
from scorer.metrics.metric_catalogue import METRICS


class NewShownTrackBody(Request):
    """A metric in a feature space against a track's references."""

    name: str = Field(
        pattern=f"^{NAME.pattern}$",
        examples=["fd_dinov2"],
        description="The name on boards. In CSV it has the prefix `shown_`.",
    )
    metric: str = Field(max_length=40, examples=["fid"], description=f"One of {', '.join(METRICS)}.")
    extractor: str = Field(max_length=100, examples=["dinov2"])
    reference: TrackKind = Field("public", description="The track that provides the reference images.")
    visibility: Visibility = Field(
        "organizers",
        description="Who can see the values: `everybody`, or `organizers` (with reviewers) until the final board.",
    )
    constants: dict[str, float] = Field(
        default_factory=dict, max_length=10, description="The metric's constants that differ from its defaults."
    )


class ShownTrackPage(Page):
    shown_tracks: list[ShownTrackView]


class MissingMeasurementsView(BaseModel):
    """The queued measurements."""

    entries: int = Field(description="The number of submissions that are measured again.")


router = ApiRouter(prefix="/competitions/{slug}/shown-tracks", tags=["extractors"])


@router.get("")
def list_shown_tracks(slug: str, acting: ActingVisitor, wanted: Paging) -> ShownTrackPage:
    """List the shown tracks, oldest first. Organizers also get the tracks that only they can see, and the progress of
    each track."""
    state = visible_state(acting, slug)
    organizes = is_organizer(acting.actor, state.competition.id)
    page = wanted.slice_all(visible_shown_tracks(acting.session, state, acting.actor))
    views = [
        shown_track_view(shown, shown_tracks.load_progress(acting.session, state, shown) if organizes else None)
        for shown in page.rows
    ]
    return ShownTrackPage(shown_tracks=views, next_after=page.next_after)


@router.post("", status_code=201)
def add_shown_track(
    slug: str, body: NewShownTrackBody, acting: ActingOrganizer, settings: AppSettings
) -> ShownTrackView:
    """Add a shown track, a metric that does not affect the ranking. All scored submissions are measured when no other
    jobs are waiting, and later ones as they come in."""
    state = load_state(acting.session, slug, acting.now)
    wanted = shown_tracks.NewShownTrack(**body.model_dump())
    shown = shown_tracks.add(acting, state, wanted, weights=settings.weights_sha256)
    return shown_track_view(shown, shown_tracks.load_progress(acting.session, state, shown))


@router.delete("/{shown_track}", status_code=204)
def remove_shown_track(slug: str, shown_track: str, acting: ActingOrganizer) -> None:
    """Remove a shown track. Its measurements are kept, but if you add it again, submissions are measured again."""
    shown_tracks.remove(acting, load_state(acting.session, slug, acting.now), shown_track)


@router.post("/{shown_track}/measurements", status_code=202)
def measure_missing(slug: str, shown_track: str, acting: ActingOrganizer) -> MissingMeasurementsView:
    """Retry a shown track's failed measurements, and the preparation of its references if that failed."""
    state = load_state(acting.session, slug, acting.now)
    entries = shown_tracks.measure_missing(acting, state, shown_track)
    return MissingMeasurementsView(entries=entries)
