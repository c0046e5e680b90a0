"""Thresholds: choosing tau, undoing that, what each method would choose, and the history."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from api.http.dependencies import DbSession, Now, Organizer
from api.schemas.tuning.thresholds import (
    NewThreshold,
    NewUndo,
    OptionView,
    RetuningView,
    TableView,
    ThresholdView,
    option_view,
    retuning_view,
    table_view,
    threshold_view,
)
from scorer.competitions.competition_state import state_of
from scorer.errors import Invalid
from scorer.lifecycle import TrackKind
from scorer.tuning import threshold_history, thresholds, what_if

router = APIRouter(prefix="/competitions/{slug}/tracks/{kind}/thresholds", tags=["thresholds"])


@router.post("", status_code=201)
def retune(
    slug: str,
    kind: TrackKind,
    body: NewThreshold,
    response: Response,
    session: DbSession,
    author: Organizer,
    now: Now,
) -> RetuningView:
    """Choose a track's tau; the answer says what changes. Boards are ranked with it from their next read on: nothing
    is measured again."""
    if not body.preview and not body.reason.strip():
        raise Invalid("no-reason", "A new threshold needs a reason; it is kept in the history.")
    request = thresholds.TuningRequest(**body.model_dump(exclude={"preview"}))
    state = state_of(session, slug, now)
    retuning = thresholds.retune(session, state, kind, request, preview=body.preview, author=author, now=now)
    if body.preview:
        response.status_code = 200
    return retuning_view(retuning, kind, body.method, preview=body.preview)


@router.post("/undo", status_code=201)
def undo(slug: str, kind: TrackKind, body: NewUndo, session: DbSession, author: Organizer, now: Now) -> RetuningView:
    """Undo the newest choice of tau: a new row restores the one before it. Undoing again goes one further back."""
    state = state_of(session, slug, now)
    retuning = thresholds.undo(session, state, kind, **body.model_dump(), author=author, now=now)
    return retuning_view(retuning, kind, "undo", preview=False)


@router.get("/choices")
def choices(
    slug: str,
    kind: TrackKind,
    session: DbSession,
    author: Organizer,
    now: Now,
    alpha: Annotated[float, Query(ge=0, lt=1)] = 0.0,
) -> list[OptionView]:
    """What every automatic method would choose now, or what it lacks. Changes nothing. Organizers only."""
    options = thresholds.method_options(session, state_of(session, slug, now), kind, alpha=alpha)
    return [option_view(each) for each in options]


@router.get("/table")
def table(slug: str, kind: TrackKind, session: DbSession, author: Organizer, now: Now) -> TableView:
    """Every entry with its score if it is penalised and if it is not: enough to compute the board under any tau.
    Organizers only."""
    return table_view(what_if.table_of(session, state_of(session, slug, now), kind), kind)


@router.get("")
def history(slug: str, kind: TrackKind, session: DbSession, author: Organizer, now: Now) -> list[ThresholdView]:
    """Every tau of the track, newest first: who chose it, how and why, and which entries it penalised or freed.
    Organizers only."""
    steps = threshold_history.threshold_history(session, state_of(session, slug, now), kind)
    return [threshold_view(each) for each in steps]
