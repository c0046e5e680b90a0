"""The admins' page of waiting, running and failed jobs, and of unsent mails."""

from typing import Any

from fastapi.responses import Response

from api.http.dependencies import ActingAdmin, SignedIn, Viewer
from api.http.forms import FormFields, refusal_on, text
from api.http.routing import Router
from api.rendering.templates import render_page, see_other
from scorer.acting import Acting
from scorer.errors import NotFound
from scorer.jobs import failed_jobs
from scorer.lifecycle import STAGES
from scorer.notifications import outbox
from scorer.review import failed_scores

router = Router(prefix="/admin/jobs", include_in_schema=False)
DONE_MESSAGES = {"one": "Job restarted.", "all": "All failed jobs restarted."}


@router.api_route("", methods=["GET", "HEAD"])
def show_jobs(acting: ActingAdmin, viewer: SignedIn, done: str = "") -> Response:
    return _page(acting, viewer, done=DONE_MESSAGES.get(done))


def _page(acting: Acting, viewer: Viewer, **outcome: Any) -> Response:
    unfinished = failed_jobs.read_unfinished(acting.session)
    mail_faults = outbox.list_faults(acting.session, acting.now)
    shown: dict[str, Any] = {"unfinished": unfinished, "mail_faults": mail_faults, "stages": STAGES, "now": acting.now}
    return render_page("jobs/show.html", viewer=viewer, **shown, **outcome)


@router.post("/requeue")
def requeue_jobs(fields: FormFields, acting: ActingAdmin, viewer: SignedIn) -> Response:
    """Restart one job, or all failed jobs without the field ``job``."""
    job = text(fields, "job", max_length=18)
    with refusal_on(_page, acting, viewer):
        if not job:
            failed_scores.restart_failed(acting)
        elif job.isdecimal():
            failed_jobs.restart(acting, int(job))
        else:
            raise NotFound("no-job", f"There is no job {job!r}.")
    return see_other(f"/admin/jobs?done={'one' if job else 'all'}")
