"""Thresholds: re-tuning tau, and its history."""

from fastapi import APIRouter, Response

from api.deps import DbSession, Now, Organizer
from api.schemas import ChangeView, MoveView, NewThreshold, RetuningView, ThresholdView
from scorer import thresholds
from scorer.competitions import TrackKind, state_of
from scorer.errors import Invalid

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
    """Choose a track's tau and say what that does; the next read of the board is ranked with it. No task runs."""
    if not body.preview and not body.reason.strip():
        raise Invalid("no-reason", "A new threshold needs a reason; it is kept in the history.")
    request = thresholds.Request(method=body.method, alpha=body.alpha, tau=body.tau, reason=body.reason)
    state = state_of(session, slug, now)
    done = thresholds.retune(session, state, kind, request, preview=body.preview, author=author, now=now)
    if body.preview:
        response.status_code = 200
    return RetuningView(
        track=kind,
        preview=body.preview,
        threshold_id=done.threshold.id if done.threshold else None,
        tau=done.choice.tau,
        previous_tau=done.previous_tau,
        method=body.method,
        choice=thresholds.described(done.choice),
        penalised=[ChangeView(**vars(change)) for change in done.penalised],
        freed=[ChangeView(**vars(change)) for change in done.freed],
        borderline=[ChangeView(**vars(change)) for change in done.borderline],
        moves=[MoveView(**vars(move)) for move in done.moves],
    )


@router.get("")
def history(slug: str, kind: TrackKind, session: DbSession, author: Organizer, now: Now) -> list[ThresholdView]:
    """Every tau of the track, newest first: who chose it, how and why. Organizers only."""
    rows = thresholds.history(session, state_of(session, slug, now), kind)
    return [ThresholdView.model_validate(row, from_attributes=True) for row in rows]
