"""Thresholds: choosing tau and undoing a choice, the methods' choices, the impact of any tau, and the history."""

from typing import Annotated

from fastapi import Query, Response

from api.http.dependencies import ActingOrganizer
from api.http.paging import After, Paging
from api.http.routing import ApiRouter
from api.tuning.thresholds.views import (
    ImpactPageQuery,
    ImpactPageView,
    ImpactSummaryQuery,
    NewThreshold,
    NewUndo,
    OptionPage,
    RetuningView,
    ThresholdPage,
    impact_page_view,
    retuning_view,
    threshold_view,
)
from scorer.competitions.competition_state import load_state
from scorer.errors import Invalid
from scorer.lifecycle import TrackKind
from scorer.tuning import threshold_history, thresholds
from scorer.tuning.impact import ListName, load_page
from scorer.tuning.threshold_history import STEPS

router = ApiRouter(prefix="/competitions/{slug}/tracks/{kind}/thresholds", tags=["thresholds"])


@router.post("", status_code=201)
def retune(slug: str, kind: TrackKind, body: NewThreshold, response: Response, acting: ActingOrganizer) -> RetuningView:
    """Choose a track's tau. The response contains the impact. Boards use the new tau immediately; nothing is measured
    again. The request fails with 409 if there is a newer threshold than `after`."""
    if not body.preview and not body.reason.strip():
        raise Invalid("no-reason", "Give a reason for the new threshold. The history shows it.")
    request = thresholds.TuningRequest(**body.model_dump(exclude={"preview"}))
    state = load_state(acting.session, slug, acting.now)
    if body.preview:
        response.status_code = 200
        preview = thresholds.preview(acting.session, thresholds.load_entries(acting.session, state, kind), request)
        return retuning_view(preview, kind, body.method)
    threshold, retuning = thresholds.retune(acting, state, kind, request=request)
    return retuning_view(retuning, kind, body.method, threshold=threshold)


@router.post("/undo", status_code=201)
def undo(slug: str, kind: TrackKind, body: NewUndo, acting: ActingOrganizer) -> RetuningView:
    """Undo the latest choice of tau, which restores the previous one. Undoing again goes back one more step."""
    state = load_state(acting.session, slug, acting.now)
    threshold, retuning = thresholds.undo(acting, state, kind, **body.model_dump())
    return retuning_view(retuning, kind, "undo", threshold=threshold)


@router.get("/choices")
def choices(
    slug: str,
    kind: TrackKind,
    acting: ActingOrganizer,
    wanted: Paging,
    alpha: Annotated[float, Query(ge=0, lt=1)] = 0.0,
) -> OptionPage:
    """Preview the tau that each automatic method would choose now, or why it can't choose one. Organizers only."""
    entries = thresholds.load_entries(acting.session, load_state(acting.session, slug, acting.now), kind)
    page = wanted.slice_all(thresholds.method_options(entries, alpha=alpha))
    return OptionPage(choices=page.rows, next_after=page.next_after)


@router.get("/impact")
def show_impact(
    slug: str, kind: TrackKind, acting: ActingOrganizer, query: Annotated[ImpactSummaryQuery, Query()]
) -> RetuningView:
    """Preview the exact impact of a tau: counts, and the first rows of each list. Organizers only."""
    entries = thresholds.load_entries(acting.session, load_state(acting.session, slug, acting.now), kind)
    impact = thresholds.compute_impact(
        acting.session, entries, query.request(), previous=query.previous, limit=query.limit
    )
    return retuning_view(impact, kind, query.method)


@router.get("/impact/{name}")
def list_impact(
    slug: str, kind: TrackKind, name: ListName, acting: ActingOrganizer, query: Annotated[ImpactPageQuery, Query()]
) -> ImpactPageView:
    """Get a page of a tau's impact: submissions that are newly penalised, no longer penalised or close to tau, or teams
    whose rank, medal or prize changes. Organizers only."""
    entries = thresholds.load_entries(acting.session, load_state(acting.session, slug, acting.now), kind)
    _, _, impact = thresholds.compare(acting.session, entries, query.request(), previous=query.previous)
    return impact_page_view(load_page(acting.session, impact, name, after=query.after, limit=query.limit))


@router.get("")
def history(
    slug: str,
    kind: TrackKind,
    acting: ActingOrganizer,
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=100)] = STEPS,
) -> ThresholdPage:
    """List a track's choices of tau, newest first. Each comes with its author, method and reason, and the submissions
    whose penalty it added or removed. Organizers only."""
    entries = thresholds.load_entries(acting.session, load_state(acting.session, slug, acting.now), kind)
    steps = threshold_history.threshold_history(acting.session, entries, before=after, limit=limit + 1).steps
    views = [threshold_view(step) for step in steps[:limit]]
    return ThresholdPage(thresholds=views, next_after=views[-1].id if len(steps) > limit else None)


@router.get("/{threshold_id}/changes")
def list_changes(
    slug: str,
    kind: TrackKind,
    threshold_id: int,
    acting: ActingOrganizer,
    after: Annotated[int, Query(ge=0, le=10**9, description="Skip this many submissions.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> ImpactPageView:
    """Get a page of the submissions whose penalty a choice of tau added or removed. Organizers only."""
    entries = thresholds.load_entries(acting.session, load_state(acting.session, slug, acting.now), kind)
    page = threshold_history.load_step_changes(acting.session, entries, threshold_id, after=after, limit=limit)
    return impact_page_view(page)
