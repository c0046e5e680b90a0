"""Submissions: submitting a zip, listing, reading, cancelling."""

from typing import Annotated

from fastapi import Header, Query, Request, Response

from api.actions.paging import After
from api.actions.zip_uploads import ZipUpload, declared_bytes
from api.http.dependencies import AppSettings, BlobStore, CurrentUser, DbSession, Now, Submitter, Transactions
from api.http.request_bodies import streamed_body
from api.openapi.files import file_body
from api.routing import Router
from api.schemas.submissions.submissions import SubmissionPage, SubmissionView, submission_view, submission_views
from scorer.competitions.competition_state import visible_state
from scorer.db.tables import Submission
from scorer.submissions import access, outcomes
from scorer.submissions.intake import NewSubmission

router = Router(tags=["submissions"])


@router.post(
    "/competitions/{slug}/submissions",
    status_code=202,
    openapi_extra=file_body("The zip of PNGs."),
)
async def submit(
    slug: str,
    request: Request,
    response: Response,
    begin: Transactions,
    store: BlobStore,
    settings: AppSettings,
    account: Submitter,
    note: Annotated[str, Query(max_length=2000)] = "",
    file_name: Annotated[str, Query(max_length=200)] = "submission.zip",
    benchmark: Annotated[str | None, Query(min_length=1, max_length=100, description="Organizers only.")] = None,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> SubmissionView:
    """Upload a zip of PNGs: the body is the zip itself, streamed. Faults in the zip's directory are refused at once.
    A worker then decodes every image, within seconds; faults that it finds are on the submission.
    """
    entry = NewSubmission(file_name, note, idempotency_key, benchmark)
    view = await ZipUpload(begin, store, settings).submit(
        slug,
        entry,
        account,
        streamed_body(request, account.id),
        declared=declared_bytes(request),
        view_of=lambda session, submission: submission_view(session, submission, account),
    )
    response.headers["Location"] = f"/api/v1/submissions/{view.id}"
    return view


@router.get("/competitions/{slug}/submissions")
def index(
    slug: str,
    session: DbSession,
    account: CurrentUser,
    now: Now,
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> SubmissionPage:
    """The submissions of your team, newest first; for organizers, those of all teams."""
    state = visible_state(session, slug, account, now)
    submissions = access.list_submissions(session, state, account, before=after, limit=limit + 1)
    page: list[Submission] = submissions[:limit]
    return SubmissionPage(
        submissions=submission_views(session, page, account),
        next_after=page[-1].ref if len(submissions) > limit else None,
    )


@router.get("/submissions/{submission_id}")
def show(submission_id: str, session: DbSession, account: CurrentUser) -> SubmissionView:
    """One submission: its status, its faults, its measurements."""
    return submission_view(session, access.find_submission(session, submission_id, account), account)


@router.post("/submissions/{submission_id}/cancel")
def cancel(submission_id: str, session: DbSession, account: Submitter, now: Now) -> SubmissionView:
    """Cancel an entry before its scoring begins: it is not counted. Cancelling again changes nothing; 409 once
    scoring has begun."""
    return submission_view(session, outcomes.cancel(session, submission_id, account, now=now), account)
