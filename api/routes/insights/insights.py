"""Figures of a competition as JSON, CSV or SVG."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from api.http.dependencies import DbSession, Now, Visitor
from api.http.etags import etag_of, is_known
from api.rendering.charts.export import rows_csv_of, svg_of
from api.schemas.insights.insights import FigureLink, FigureView, LabelChoice
from scorer.competitions.competition_state import may_see_private, visible_state
from scorer.insights import figures, overview
from scorer.lifecycle import TrackKind

router = APIRouter(prefix="/competitions/{slug}/insights", tags=["insights"])
FigureName = Literal["distances", "fid", "fid-distance", "public-private", "ranks", "shake-up"]


MEDIA_TYPES = {"json": "application/json", "csv": "text/csv; charset=utf-8", "svg": "image/svg+xml"}
FIGURE_HEADERS = {
    "Cache-Control": "private, no-cache",
    "Vary": "Authorization, Cookie",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
}


@router.get("")
def index(slug: str, session: DbSession, account: Visitor, now: Now) -> list[FigureLink]:
    """The figures that you may see: of the public track before publication, of both tracks after it."""
    state = visible_state(session, slug, account, now)
    everything = may_see_private(state, account)
    names = figures.FIGURES if everything else tuple(figures.SINGLE)
    return [FigureLink.of(slug, name, everything=everything) for name in names]


@router.get("/{figure}", response_model=FigureView)
def show(
    slug: str,
    figure: FigureName,
    request: Request,
    session: DbSession,
    account: Visitor,
    now: Now,
    track: Annotated[TrackKind, Query(description="For the figures of one track.")] = "public",
    label: Annotated[LabelChoice, Query(description="Of entries with this decided label alone.")] = "all",
    format: Annotated[Literal["json", "csv", "svg"], Query()] = "json",  # noqa: A002
) -> Response:
    """A figure as numbers or as SVG. Before publication, everybody sees the public track: the board's entries, without
    labels. After it, everybody sees both tracks, without names of entries and teams. Organizers see everything."""
    state = visible_state(session, slug, account, now)
    version = overview.insights_version(session, state, account)
    headers = {**FIGURE_HEADERS, "ETag": etag_of(version, figure, track, label, format)}
    if is_known(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    insights = overview.insights_of(session, state, account, label=label)
    data = figures.figure(session, insights, figure, track, account)
    if format == "json":
        return Response(FigureView.of(slug, data).model_dump_json(), media_type=MEDIA_TYPES[format], headers=headers)
    body = rows_csv_of(data.columns, data.rows) if format == "csv" else svg_of(data, state.competition.title)
    headers |= _attached_as(slug, figure, data.track, label, format)
    return Response(body, media_type=MEDIA_TYPES[format], headers=headers)


def _attached_as(slug: str, figure: str, track: TrackKind | None, label: str, suffix: str) -> dict[str, str]:
    name = "-".join(part for part in (slug, figure, track, label) if part and part != "all")
    return {"Content-Disposition": f'attachment; filename="{name}.{suffix}"'}
