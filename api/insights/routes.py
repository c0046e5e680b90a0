"""Figures of a competition as JSON, CSV or SVG."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Annotated, Literal

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from api.http.dependencies import ActingVisitor, AppResponseCache, Transaction, Transactions
from api.http.etags import compute_etag, is_known
from api.http.paging import Paging
from api.http.request_charges import charge_figures, charge_rows
from api.http.routing import ApiRouter
from api.insights.views import FigureLink, FigurePage, FigureView, LabelChoice, ShownName
from api.openapi.files import UNCHANGED, also_as
from api.rendering.charts.export import render_svg, stream_figure_csv
from scorer.competitions.competition_state import CompetitionState, may_see_results
from scorer.competitions.shown_tracks import named, visible_shown_tracks
from scorer.insights import figures, overview
from scorer.insights.figures import Figure
from scorer.leaderboard import standings
from scorer.lifecycle import TrackKind

router = ApiRouter(prefix="/competitions/{slug}/insights", tags=["insights"])
FigureName = Literal["distances", "fid", "fid-distance", "public-private", "ranks", "shake-up", "shown-track"]


MEDIA_TYPES = {"json": "application/json", "csv": "text/csv; charset=utf-8", "svg": "image/svg+xml"}
FIGURE_HEADERS = {
    "Cache-Control": "private, no-cache",
    "Vary": "Authorization, Cookie",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
}


class FigureQuery(BaseModel):
    """The choice of submissions and the format."""

    track: Annotated[TrackKind, Field(description="The track of a figure that shows only one track.")] = "public"
    label: Annotated[LabelChoice, Field(description="Include only submissions with this decided label.")] = "all"
    shown: ShownName = ""
    format: Literal["json", "csv", "svg"] = "json"


@router.get("")
def index(slug: str, acting: ActingVisitor, wanted: Paging) -> FigurePage:
    """List the figures that you can see. Until the final board is published, only organizers can see figures that show
    the private track."""
    state = standings.visible_state(acting, slug)
    everything = may_see_results(state, acting.actor)
    shown = [
        FigureLink.of(slug, figures.SHOWN_TRACK_FIGURE, everything=everything, shown=shown_track.name)
        for shown_track in visible_shown_tracks(acting.session, state, acting.actor)
    ]
    names = figures.FIGURES if everything else tuple(figures.SINGLE)
    page = wanted.slice_all([*(FigureLink.of(slug, name, everything=everything) for name in names), *shown])
    return FigurePage(figures=page.rows, next_after=page.next_after)


@router.get("/{figure}", response_model=FigureView, responses=also_as("text/csv", "image/svg+xml") | UNCHANGED)
def show(
    slug: str,
    figure: FigureName,
    request: Request,
    acting: ActingVisitor,
    begin: Transactions,
    cache: AppResponseCache,
    query: Annotated[FigureQuery, Query()],
) -> Response:
    """Get a figure as JSON, CSV or SVG. Everybody can see the submissions on the public board, without labels. After
    the final board is published, everybody can see both tracks, without the names of submissions and teams. Organizers
    can see everything."""
    state = standings.visible_state(acting, slug)
    query = _normalised(query, figure)
    version = overview.insights_version(acting.session, state, acting.actor)
    headers = {**FIGURE_HEADERS, "ETag": compute_etag(version, figure, query)}
    if is_known(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)

    def data() -> Figure:
        charge_figures(request, acting.actor, 1)
        only = query.track if figure in figures.SINGLE else None
        insights = overview.load_insights(acting.session, state, acting.actor, label=query.label, track=only)
        if figure != figures.SHOWN_TRACK_FIGURE:
            return figures.figure(acting.session, insights, figure, track=query.track, account=acting.actor)
        shown = named(visible_shown_tracks(acting.session, state, acting.actor), query.shown)
        return figures.shown_track_figure(acting.session, insights, shown, track=query.track, account=acting.actor)

    headers |= {"Content-Type": MEDIA_TYPES[query.format], **_attached_as(slug, figure, query)}
    if may_see_results(state, acting.actor) and query.format != "svg":  # all entries are too many to cache
        everyone = data()
        charge_rows(request, acting.actor, len(everyone))
        if query.format == "csv":
            return StreamingResponse(stream_figure_csv(everyone, begin), headers=headers)
        # Cache the statistics, which take most of the time and few bytes.
        head = cache.answer(
            acting.session, compute_etag("head", headers["ETag"]), lambda: FigureView.build_json_head(slug, everyone)
        )
        return StreamingResponse(FigureView.stream_json(head, everyone, begin), headers=headers)
    body = cache.answer(
        acting.session,
        headers["ETag"],
        lambda: b"".join(_pieces(slug, state, data(), query=query, begin=lambda: nullcontext(acting.session))),
    )
    return Response(body, headers=headers)


def _normalised(query: FigureQuery, figure: FigureName) -> FigureQuery:
    """Reset the parameters that the figure does not depend on, for a single cached response."""
    ignored: dict[str, str] = {}
    if figure != figures.SHOWN_TRACK_FIGURE:
        ignored["shown"] = ""
    if figure in figures.PAIRED:
        ignored["track"] = "public"
    return query.model_copy(update=ignored)


def _pieces(
    slug: str, state: CompetitionState, figure: Figure, *, query: FigureQuery, begin: Transaction
) -> Iterator[bytes]:
    if query.format == "svg":
        return iter([render_svg(figure, state.competition.title).encode()])
    if query.format == "csv":
        return stream_figure_csv(figure, begin)
    return FigureView.stream_json(FigureView.build_json_head(slug, figure), figure, begin)


def _attached_as(slug: str, figure: str, query: FigureQuery) -> dict[str, str]:
    if query.format == "json":
        return {}
    track = None if figure in figures.PAIRED else query.track
    shown = query.shown if figure == figures.SHOWN_TRACK_FIGURE else ""
    name = "-".join(part for part in (slug, figure, shown, track, query.label) if part and part != "all")
    return {"Content-Disposition": f'attachment; filename="{name}.{query.format}"'}
