"""Publishing the final board: the checklist, the act of publication, its history."""

from datetime import datetime
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.http.dependencies import AppSettings, Caller, DbSession, Now, Organizer, SignedIn
from api.http.forms import FormFields, text
from api.http.problem_details import status_of
from api.rendering.templates import render_page, see_other
from scorer.competitions import competition_state
from scorer.errors import KennelError
from scorer.review import failed_scores, publication, zip_retention
from scorer.review.checklist import checklist
from scorer.settings import Settings

router = APIRouter(prefix="/competitions/{slug}/publication", include_in_schema=False)
MAX_TEXT_LENGTH = 2000
DONE_MESSAGES = {
    "published": "The final board is there for all to see, and everybody who competes is told.",
    "withdrawn": "The final board is withdrawn, and everybody who competes is told.",
    "requeued": "The failed work is tried again.",
}


@router.api_route("", methods=["GET", "HEAD"])
def show_publication(
    slug: str,
    session: DbSession,
    settings: AppSettings,
    author: Organizer,
    viewer: SignedIn,
    now: Now,
    done: str = "",
) -> Response:
    """The checklist, the history of publications, and which zips leave afterwards."""
    return _page(session, slug, viewer, settings, now, done=DONE_MESSAGES.get(done))


def _page(
    session: Session,
    slug: str,
    viewer: Caller,
    settings: Settings,
    now: datetime,
    *,
    status: int = 200,
    reason: str = "",
    override: str = "",
    **outcome: Any,
) -> Response:
    state = competition_state.state_of(session, slug, now)
    return render_page(
        "review/publication.html",
        status=status,
        viewer=viewer,
        state=state,
        checklist=checklist(session, state, now),
        acts=publication.publication_history(session, state),
        zips=zip_retention.zip_retention(session, state, settings.kept_zip_days, now),
        max_length=MAX_TEXT_LENGTH,
        now=now,
        reason=reason,
        override=override,
        **outcome,
    )


@router.post("")
def publish_or_withdraw(
    slug: str,
    fields: FormFields,
    session: DbSession,
    settings: AppSettings,
    author: Organizer,
    viewer: SignedIn,
    now: Now,
) -> Response:
    """Publish the final board (the field ``act`` is ``publish``), or withdraw it."""
    published = text(fields, "act") == "publish"
    reason, override = (text(fields, name, max_length=MAX_TEXT_LENGTH).strip() for name in ("reason", "override"))
    words = {"reason": reason, "override": override}
    state = competition_state.state_of(session, slug, now)
    try:
        after = text(fields, "after", max_length=40) or None
        publication.publish(session, state, published=published, **words, after=after, author=author, now=now)
    except KennelError as error:
        status = status_of(error)
        return _page(session, slug, viewer, settings, now, status=status, error=error.message, **words)
    return see_other(f"/competitions/{slug}/publication?done={'published' if published else 'withdrawn'}")


@router.post("/requeue")
def requeue_failed_jobs(slug: str, session: DbSession, author: Organizer, viewer: SignedIn, now: Now) -> Response:
    """Restart all failed jobs of the private track."""
    state = competition_state.state_of(session, slug, now)
    failed_scores.restart_failed(session, author=author, now=now, state=state)
    return see_other(f"/competitions/{slug}/publication?done=requeued")
