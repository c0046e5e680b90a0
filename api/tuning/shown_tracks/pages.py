"""The page of additional metrics (shown tracks): their progress, and a form to add one."""

from collections.abc import Mapping
from typing import Any, cast

from fastapi.responses import Response

from api.http.dependencies import ActingOrganizer, AppSettings, KnownViewer, SignedIn, Viewer
from api.http.forms import Fields, FormFields, number_field, refusal_on, text
from api.http.routing import Router
from api.rendering.templates import render_page, see_other
from scorer.acting import Acting
from scorer.competitions import competition_state, shown_tracks
from scorer.competitions.shown_tracks import MAX_SHOWN_TRACKS, NAME, NewShownTrack, Visibility, visible_shown_tracks
from scorer.errors import Invalid
from scorer.extractor_catalogue import EXTRACTORS
from scorer.lifecycle import TRACK_KINDS
from scorer.metrics.metric_catalogue import LIMITS, METRICS

router = Router(prefix="/competitions/{slug}/shown-tracks", include_in_schema=False)
FIELDS = ("name", "metric", "extractor", "reference", "visibility", *LIMITS)
"""The fields that the form shows again after an error."""
BUSY_STATES = frozenset({"preparing", "measuring"})
TAKEN_BY = {name: ", ".join(metric.title for metric in METRICS.values() if name in metric.constants) for name in LIMITS}
"""The titles of the metrics that use a constant, by the constant's name."""


@router.api_route("", methods=["GET", "HEAD"])
def show_shown_tracks(slug: str, acting: ActingOrganizer, viewer: KnownViewer) -> Response:
    return _page(acting, slug, viewer)


def _page(acting: Acting, slug: str, viewer: Viewer, *, typed: Mapping[str, str] = {}, **outcome: Any) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    tracks = visible_shown_tracks(acting.session, state, acting.actor)
    progress = [shown_tracks.load_progress(acting.session, state, shown) for shown in tracks]
    return render_page(
        "tuning/shown_tracks/show.html",
        viewer=viewer,
        now=acting.now,
        state=state,
        tracks=[(shown, METRICS[shown.metric], far) for shown, far in zip(tracks, progress, strict=True)],
        busy=any(far.state in BUSY_STATES for far in progress),
        metrics=METRICS,
        constants=TAKEN_BY,
        limits=LIMITS,
        extractors=[spec.identity for spec in EXTRACTORS.values()],
        references=TRACK_KINDS,
        name_pattern=NAME.pattern,
        may_add=len(tracks) < MAX_SHOWN_TRACKS,
        typed={**dict.fromkeys(FIELDS, ""), **typed},
        **outcome,
    )


@router.post("")
def add_shown_track(
    slug: str, fields: FormFields, acting: ActingOrganizer, viewer: SignedIn, settings: AppSettings
) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    typed = {name: fields.get(name, "")[:100] for name in FIELDS}
    with refusal_on(_page, acting, slug, viewer, typed=typed):
        wanted, weights = _wanted(fields), settings.weights_sha256
        shown_tracks.add(acting, state, wanted, weights=weights)
    return see_other(f"/competitions/{slug}/shown-tracks")


def _wanted(fields: Fields) -> NewShownTrack:
    reference, visibility = text(fields, "reference"), text(fields, "visibility")
    if reference not in TRACK_KINDS or visibility not in {"everybody", "organizers"}:
        raise Invalid("bad-request", "Choose the reference images and the visibility.")
    given = {name: number_field(fields, name, float) for name in LIMITS}
    return NewShownTrack(
        name=text(fields, "name").strip(),
        metric=text(fields, "metric"),
        extractor=text(fields, "extractor"),
        reference=reference,
        visibility=cast(Visibility, visibility),
        constants={name: value for name, value in given.items() if value is not None},
    )


@router.post("/{shown_track}/removal")
def remove_shown_track(slug: str, shown_track: str, acting: ActingOrganizer, viewer: SignedIn) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    shown_tracks.remove(acting, state, shown_track)
    return see_other(f"/competitions/{slug}/shown-tracks")


@router.post("/{shown_track}/measurements")
def measure_missing(slug: str, shown_track: str, acting: ActingOrganizer, viewer: SignedIn) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    shown_tracks.measure_missing(acting, state, shown_track)
    return see_other(f"/competitions/{slug}/shown-tracks")
