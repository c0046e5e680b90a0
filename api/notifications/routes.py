"""Notices: listing them, marking them as read, and choosing the kinds to mail."""

from typing import Annotated

from fastapi import Query, Request, Response

from api.http.dependencies import ActingSubmitter, CurrentUser, DbSession, RowId, Submitter
from api.http.etags import compute_etag, is_known
from api.http.paging import Paging
from api.http.routing import ApiRouter
from api.notifications.views import MailChoices, NoticePage, NoticeView, ReadMark
from scorer.db.notifications import count_unread, notices_page
from scorer.notifications import notices

router = ApiRouter(tags=["notices"])


@router.get("/notices", response_model=NoticePage, responses={304: {"description": "No changes."}})
def index(
    request: Request,
    response: Response,
    session: DbSession,
    account: CurrentUser,
    wanted: Paging,
    unread: Annotated[bool, Query(description="Return only unread notices.")] = False,
) -> NoticePage | Response:
    """List your notices, newest first."""
    newest = notices_page(session, account.id, before=wanted.after, limit=wanted.one_more, unread=unread)
    rows, next_after = wanted.slice_following(newest, lambda notice: notice.id)
    views = [NoticeView.model_validate(notice) for notice in rows]
    page = NoticePage(notices=views, unread=count_unread(session, account.id), next_after=next_after)
    etag = compute_etag(account.id, page.model_dump_json())
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}
    if is_known(request, etag):
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return page


@router.put("/notices/read", status_code=204)
def mark_all_read(body: ReadMark, acting: ActingSubmitter) -> None:
    """Mark a notice and all older ones as read."""
    notices.mark_all_read(acting, up_to=body.up_to)


@router.put("/notices/{notice_id}/read", status_code=204)
def mark_read(notice_id: RowId, acting: ActingSubmitter) -> None:
    """Mark a notice as read."""
    notices.mark_read(acting, notice_id)


@router.get("/me/mails")
def mail_choices(session: DbSession, account: CurrentUser) -> MailChoices:
    """Get the kinds of notices that you receive by mail. Mails need a confirmed address."""
    return MailChoices(mailed=notices.mail_choices(session, account))


@router.patch("/me/mails")
def choose_mails(body: MailChoices, session: DbSession, account: Submitter) -> MailChoices:
    """Choose the kinds of notices that you receive by mail."""
    notices.choose_mails(session, account, body.mailed)
    return MailChoices(mailed=notices.mail_choices(session, account))
