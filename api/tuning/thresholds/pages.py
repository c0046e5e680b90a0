"""The page for choosing a track's tau: distances by label, and a preview of the impact of any tau."""

from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response

from api.http.dependencies import ActingOrganizer, KnownViewer, SignedIn, Viewer
from api.http.forms import Fields, FormFields, number_field, refusal_on, require_reason, text
from api.http.problem_details import choose_status
from api.http.routing import Router
from api.rendering.charts.distribution import Distribution, build_distribution
from api.rendering.templates import render_page, see_other
from scorer.acting import Acting
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.errors import KennelError
from scorer.lifecycle import TrackKind
from scorer.tuning import threshold_history, thresholds
from scorer.tuning.thresholds import Option, TrackEntries, TuningRequest

router = Router(include_in_schema=False)
MAX_SHOWN_CHANGES = 30
"""Rows in a list of changes; the API has pages of all changes."""
METHODS = {
    "margin": ("Margin", "Penalises as many memorisers as possible, but at most a chosen share of the legitimate"
               " entries. Separates the two better than the paper's tau* (the method Paper)."),
    "accuracy": ("Accuracy", "Puts as few labelled entries as possible on the wrong side of tau."),
    "otsu": ("Otsu", "Splits the distances into two groups with the least variance within each. Ignores labels."),
    "held_out": ("Held-out", "Uses half the distance of the held-out images."),
    "paper": ("Paper", "Uses the mean of all distances, which is the paper's tau* taken literally."),
}  # fmt: skip


@router.api_route("/competitions/{slug}/tau", methods=["GET", "HEAD"])
def show_thresholds(
    slug: str,
    acting: ActingOrganizer,
    viewer: KnownViewer,
    track: TrackKind = "private",
    method: Annotated[str, Query(max_length=20)] = "",
    alpha: Annotated[float, Query(ge=0, lt=1)] = 0.0,
    tau: Annotated[float | None, Query(ge=0, le=2)] = None,
) -> Response:
    """A preview of ``tau`` or of the choice of ``method``; by default of the current tau."""
    state = competition_state.load_state(acting.session, slug, acting.now)
    wanted = TuningRequest(method or "manual", alpha, tau) if method or tau is not None else None
    return _page(acting, state, track, wanted=wanted, viewer=viewer)


def _page(
    acting: Acting,
    state: CompetitionState,
    kind: TrackKind,
    *,
    viewer: Viewer,
    wanted: TuningRequest | None = None,
    status: int = 200,
    error: str | None = None,
    place: str = "choice",
    reason: str = "",
    **outcome: Any,
) -> Response:
    session = acting.session
    entries = thresholds.load_entries(session, state, kind)
    options = thresholds.method_options(entries, alpha=wanted.alpha if wanted else 0.0)
    request = wanted or _first(entries, options)
    try:
        retuning = thresholds.compute_impact(session, entries, request, limit=MAX_SHOWN_CHANGES)
    except KennelError as wrong:
        status, error = (status, error) if error else (choose_status(wrong), wrong.message)
        request = _first(entries, options)
        retuning = thresholds.compute_impact(session, entries, request, limit=MAX_SHOWN_CHANGES)
    return render_page(
        "tuning/thresholds/show.html",
        status=status,
        viewer=viewer,
        now=acting.now,
        state=state,
        kind=kind,
        in_force=entries.in_force,
        drawing=_drawing(entries, retuning.choice.tau),
        options=options,
        methods=METHODS,
        request=request,
        retuning=retuning,
        impact=retuning.impact,
        history=threshold_history.threshold_history(session, entries),
        shown=MAX_SHOWN_CHANGES,
        error=error,
        place=place,
        reason=reason,
        **outcome,
    )


def _drawing(entries: TrackEntries, tau: float) -> Distribution:
    competing = entries.board.judged.is_competing
    return build_distribution(entries.board.judged.columns.distance[competing], entries.labels.number[competing], tau)


def _first(entries: TrackEntries, options: list[Option]) -> TuningRequest:
    """The first preview: the current tau, otherwise the first method with a choice, otherwise tau 0."""
    if entries.in_force is not None:
        return TuningRequest("manual", tau=entries.in_force.tau)
    possible = [option.method for option in options if option.choice is not None]
    return TuningRequest(possible[0]) if possible else TuningRequest("manual", tau=0.0)


@router.post("/competitions/{slug}/tau")
def choose_threshold(slug: str, fields: FormFields, acting: ActingOrganizer, viewer: SignedIn) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    kind = _parse_track(fields)
    reason = text(fields, "reason", max_length=2000).strip()
    request: TuningRequest | None = None

    def page(**refused: Any) -> Response:
        return _page(acting, state, kind, viewer=viewer, wanted=request, place="apply", reason=reason, **refused)

    with refusal_on(page):
        request = _request(fields, reason)
        thresholds.retune(acting, state, kind, request=request)
    return see_other(f"/competitions/{slug}/tau?track={kind}#history")


@router.post("/competitions/{slug}/tau/undo")
def undo_threshold(slug: str, fields: FormFields, acting: ActingOrganizer, viewer: SignedIn) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    kind = _parse_track(fields)
    reason = text(fields, "reason", max_length=2000).strip()
    with refusal_on(_page, acting, state, kind, viewer=viewer, place="undo"):
        require_reason(reason)
        after = number_field(fields, "after", int)
        thresholds.undo(acting, state, kind, reason=reason, after=after)
    return see_other(f"/competitions/{slug}/tau?track={kind}#history")


def _parse_track(fields: Fields) -> TrackKind:
    return "public" if fields.get("track") == "public" else "private"


def _request(fields: Fields, reason: str) -> TuningRequest:
    require_reason(reason)
    method = text(fields, "method", max_length=20) or "manual"
    return TuningRequest(
        method=method,
        alpha=number_field(fields, "alpha", float) or 0.0,
        tau=number_field(fields, "tau", float) if method == "manual" else None,
        reason=reason,
        after=number_field(fields, "after", int),
    )
