"""The insights page of a competition: figures and a gallery."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Self

from fastapi import Query, Request
from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.http.dependencies import ActingVisitor, AppResponseCache, CurrentViewer
from api.http.etags import compute_etag, is_known
from api.http.request_charges import charge_figures
from api.http.routing import Router
from api.insights.views import LabelChoice, Seed, ShownName
from api.rendering.charts.captions import CHOICES, build_sentence, build_title
from api.rendering.charts.insight_figures import FigureChart, build_figure_chart
from api.rendering.templates import BUILD_DIGEST, not_modified, page_from_cache, render, render_page
from scorer.accounts.roles import is_organizer
from scorer.archive.sprite_sheet import compute_layout
from scorer.competitions.competition_state import CompetitionState, may_see_results, require_results
from scorer.competitions.shown_tracks import visible_shown_tracks
from scorer.db.tables import Account, ShownTrack
from scorer.insights import figures, gallery, overview
from scorer.insights.figures import Figure
from scorer.leaderboard.standings import visible_state
from scorer.lifecycle import Phase, TrackKind

router = Router(include_in_schema=False)


class Picture(NamedTuple):
    """The parts of a figure that the page shows, without the values: templates keep their arguments for a while."""

    figure: str
    track: TrackKind | None
    label: str
    shown: str | None
    title: str
    sentence: str
    statistics: Mapping[str, Any]
    drawing: FigureChart | None

    @classmethod
    def of(cls, figure: Figure) -> Self:
        names = figure.name, figure.track, figure.label, figure.shown
        words = build_title(figure), build_sentence(figure)
        return cls(*names, *words, figure.summary.statistics, build_figure_chart(figure))


@router.api_route("/competitions/{slug}/insights", methods=["GET", "HEAD"])
def show_insights(
    slug: str,
    request: Request,
    acting: ActingVisitor,
    viewer: CurrentViewer,
    cache: AppResponseCache,
    track: TrackKind | None = None,
    label: Annotated[LabelChoice, Query()] = "all",
    seed: Seed = 0,
    shown: ShownName = "",
) -> Response:
    """All figures that this person may see, for one track and one choice of labels.

    ``shown`` is a shown track, by default the oldest. ``track`` defaults to the private track once the final board is
    published.
    """
    state = visible_state(acting, slug)
    track = track or ("private" if state.phase is Phase.FINAL else "public")
    require_results(state, track, acting.actor)
    viewer_parts = (viewer.csrf, viewer.account.handle, viewer.unread) if viewer else None
    tracks = visible_shown_tracks(acting.session, state, acting.actor)
    shown_track = next(
        (shown_track for shown_track in tracks if shown_track.name == shown), tracks[0] if tracks else None
    )
    shown = shown_track.name if shown_track else ""  # unknown names give the same response
    version = overview.insights_version(acting.session, state, acting.actor)
    etag = compute_etag(BUILD_DIGEST, version, state.competition.title, viewer_parts, track, label, seed, shown)
    if is_known(request, etag):
        return not_modified(etag)

    def render_body() -> bytes:
        values: dict[str, Any] = {"track": track, "label": label, "seed": seed, "shown": shown}
        values |= _values(acting.session, state, acting.actor, track=track)
        for name, make in parts.items():  # shared by all viewers with the same rights
            part = cache.answer(acting.session, compute_etag(name, BUILD_DIGEST, version, track, label, shown), make)
            values[name] = part.decode()
        return bytes(render_page("insights/show.html", viewer=viewer, now=acting.now, state=state, **values).body)

    parts = {
        "pictures": lambda: _render_pictures(
            request,
            acting.session,
            state,
            account=acting.actor,
            track=track,
            label=label,
            tracks=tracks,
            shown=shown_track,
        ),
        "shared_submissions": lambda: _render_shared_submissions(acting.session, state, acting.actor),
    }
    return page_from_cache(acting.session, cache, etag, viewer=viewer, make=render_body)


def _render_pictures(
    request: Request,
    session: Session,
    state: CompetitionState,
    *,
    account: Account | None,
    track: TrackKind,
    label: LabelChoice,
    tracks: Sequence[ShownTrack],
    shown: ShownTrack | None,
) -> bytes:
    names = figures.FIGURES if may_see_results(state, account) else tuple(figures.SINGLE)
    charge_figures(request, account, len(names))
    insights = overview.load_insights(session, state, account, label=label)
    # One at a time, to release the values of up to a million entries before the next figure.
    pictures = [Picture.of(figures.figure(session, insights, name, track=track, account=account)) for name in names]
    if shown is not None:
        pictures.append(Picture.of(figures.shown_track_figure(session, insights, shown, track=track, account=account)))
    page = {"slug": state.competition.slug, "track": track, "label": label, "shown_tracks": tracks}
    return render("insights/figures.html", pictures=pictures, **page).encode()


def _render_shared_submissions(session: Session, state: CompetitionState, account: Account | None) -> bytes:
    shared = gallery.load_shared_submissions(session, state) if is_organizer(account, state.competition.id) else []
    return render("insights/shared_submissions.html", shared_submissions=shared).encode()


def _values(session: Session, state: CompetitionState, account: Account | None, *, track: TrackKind) -> dict[str, Any]:
    return {
        "choices": CHOICES,
        "everything": may_see_results(state, account),
        "exhibits": gallery.gallery_entries(session, state, track, account=account)
        if account and is_organizer(account, state.competition.id)
        else [],
        "layout": compute_layout(state.competition.image_count, state.competition.image_size),
    }
