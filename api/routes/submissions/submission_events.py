"""Server-sent events of a submission."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from api.http.concurrent_requests import uncount_request
from api.http.dependencies import CurrentUser, Transaction, Transactions, utc_now
from api.http.server_sent_events import EventHub, StatusUpdate
from api.routing import Router
from api.schemas.submissions.submissions import StateView
from scorer.db.session import use_one_snapshot
from scorer.db.tables import Account
from scorer.lifecycle import CANCELLABLE, STAGES
from scorer.submissions import access, progress
from scorer.submissions.progress import StatusSnapshot

router = Router(tags=["submissions"])

STREAM = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
HEARTBEAT_COMMENT = ": still here\n\n"
EXAMPLE = (
    'id: 17\ndata: {"status":"queued","at":"2026-11-14T20:00:05Z","reason":null,"stage":null,"stage_in_words":null,'
    '"fraction":null,"queue_position":3,"paused":false,"estimate_seconds":240,"cancellable":true,"over":false}\n\n'
)
RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {STREAM: {"schema": {"type": "string"}, "example": EXAMPLE}},
        "description": "Each event's data is a `StateView`.",
    },
    204: {"description": "`Last-Event-ID` is that of the last state; do not reconnect."},
}


async def event_hub(request: Request) -> EventHub:
    """The event streams of this process."""
    hub: EventHub = request.app.state.hub
    return hub


@router.get("/submissions/{submission_id}/events", responses=RESPONSES, response_class=StreamingResponse)
async def follow(
    submission_id: str,
    request: Request,
    begin: Transactions,
    account: CurrentUser,
    hub: Annotated[EventHub, Depends(event_hub)],
    last_event_id: Annotated[str, Header(max_length=100)] = "",
) -> Response:
    """Server-sent events of a submission: every status that it has had, in order, then each new one, until the last.
    An event's id is the version of the status: a client that reconnects with `Last-Event-ID` gets every later status.
    In between, the newest state is sent again whenever its progress changes.
    """
    hub.require_free_stream(account.id)
    ref, known = await run_in_threadpool(_snapshot_of, begin, submission_id, account)
    after = _last_seen_step(last_event_id, known)
    if known.steps and known.steps[-1].is_last and known.steps[-1].id == after:
        return Response(status_code=204, headers=HEADERS)
    uncount_request(request)
    states = hub.follow(ref, known, after=after, account_id=account.id)
    return StreamingResponse(_lines(states), media_type=STREAM, headers=HEADERS)


def _snapshot_of(begin: Transaction, submission_id: str, account: Account) -> tuple[int, StatusSnapshot]:
    with begin() as session:
        use_one_snapshot(session)
        ref = access.find_submission(session, submission_id, account).ref
        return ref, progress.status_snapshots(session, {ref: 0}, now=utc_now())[ref]


def _last_seen_step(last_event_id: str, known: StatusSnapshot) -> int:
    """The id of the step in ``Last-Event-ID``; 0 for an unknown one."""
    return next((step.id for step in known.steps if str(step.id) == last_event_id), 0)


async def _lines(states: AsyncGenerator[StatusUpdate | None]) -> AsyncGenerator[str]:
    yield "retry: 2000\n\n"
    async with aclosing(states):
        async for state in states:
            yield HEARTBEAT_COMMENT if state is None else _event(state)


def _event(state: StatusUpdate) -> str:
    step, progress = state
    view = StateView(
        status=step.status,
        at=step.at,
        reason=step.reason,
        stage=progress.stage,
        stage_in_words=STAGES.get(progress.stage, progress.stage) if progress.stage else None,
        fraction=progress.fraction,
        paused=progress.paused,
        queue_position=progress.queue_position,
        estimate_seconds=progress.estimate_seconds,
        cancellable=step.status in CANCELLABLE,
        over=step.is_last,
    )
    return f"id: {step.id}\ndata: {view.model_dump_json(by_alias=True)}\n\n"
