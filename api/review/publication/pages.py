"""The page for publishing a board: the checklist, the publication and its history."""

from typing import Any

from fastapi.responses import Response

from api.http.dependencies import ActingOrganizer, AppSettings, SignedIn, Viewer
from api.http.forms import FormFields, refusal_on, text
from api.http.routing import Router
from api.rendering.templates import render_page, see_other
from scorer.acting import Acting
from scorer.competitions import appeal_windows, competition_state
from scorer.leaderboard import uncertainty
from scorer.review import failed_scores, publication, zip_retention
from scorer.review.checklist import checklist
from scorer.settings import Settings

router = Router(prefix="/competitions/{slug}/publication", include_in_schema=False)
MAX_TEXT_LENGTH = 2000
DONE_MESSAGES = {
    "provisional": "Provisional board published. All participants have been notified.",
    "final": "Final board published. All participants have been notified.",
    "withdrawn": "Board withdrawn. All participants have been notified.",
    "requeued": "Failed jobs restarted.",
}


@router.api_route("", methods=["GET", "HEAD"])
def show_publication(
    slug: str,
    acting: ActingOrganizer,
    settings: AppSettings,
    viewer: SignedIn,
    done: str = "",
    final: bool | None = None,
) -> Response:
    return _page(acting, slug, viewer, settings=settings, final=final, done=DONE_MESSAGES.get(done))


def _page(
    acting: Acting,
    slug: str,
    viewer: Viewer,
    *,
    settings: Settings,
    final: bool | None = None,
    act: str = "",
    reason: str = "",
    override: str = "",
    **outcome: Any,
) -> Response:
    session, now = acting.session, acting.now
    state = competition_state.load_state(session, slug, now)
    if final is None:
        final = state.published or appeal_windows.had_time_to_appeal(session, state, now)
    return render_page(
        "review/publication/show.html",
        viewer=viewer,
        state=state,
        final=final,
        appeals_end=appeal_windows.appeals_end(session, state),
        checklist=checklist(session, state, now, final=final),
        boundaries=uncertainty.award_boundaries(session, state),
        acts=state.publications,
        zips=zip_retention.zip_retention(session, state, settings.kept_zip_days, now=now),
        max_length=MAX_TEXT_LENGTH,
        now=now,
        act=act,
        reason=reason,
        override=override,
        **outcome,
    )


@router.post("")
def publish_or_withdraw(
    slug: str, fields: FormFields, acting: ActingOrganizer, settings: AppSettings, viewer: SignedIn
) -> Response:
    """Publish a board (the field ``act`` is ``provisional`` or ``final``), or withdraw it."""
    act = text(fields, "act")
    published, final = act in {"provisional", "final"}, act != "provisional"
    reason, override = (text(fields, name, max_length=MAX_TEXT_LENGTH).strip() for name in ("reason", "override"))
    words: dict[str, Any] = {"reason": reason, "override": override}
    state = competition_state.load_state(acting.session, slug, acting.now)
    shown = final if published else None
    with refusal_on(_page, acting, slug, viewer, settings=settings, final=shown, act=act, **words):
        after = text(fields, "after", max_length=40) or None
        options: dict[str, Any] = {"published": published, "final": final, "after": after}
        publication.publish(acting, state, **options, **words)
    return see_other(f"/competitions/{slug}/publication?done={act if published else 'withdrawn'}")


@router.post("/requeue")
def requeue_failed_jobs(slug: str, acting: ActingOrganizer, viewer: SignedIn) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    failed_scores.restart_failed(acting, state=state)
    return see_other(f"/competitions/{slug}/publication?done=requeued")
