"""Notices: listing them, marking them as read, and choosing which kinds are mailed."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Request, Response

from api.http.dependencies import ActingSubmitter, CurrentUser, DbSession, RowId, Submitter
from api.http.etags import etag_of, is_known
from api.http.paging import After
from api.http.routing import ApiRouter
from api.notifications.views import MailChoices, NoticePage, NoticeView, ReadMark
from scorer.db.notifications import count_unread, notices_page
from scorer.db.tables import Notice
from scorer.notifications import notices

router = ApiRouter(tags=["notices"])


@router.get("/notices", response_model=NoticePage, responses={304: {"description": "Nothing is new."}})
def index(
    request: Request,
    response: Response,
    session: DbSession,
    account: CurrentUser,
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    unread: Annotated[bool, Query(description="Only what has not been read.")] = False,
) -> NoticePage | Response:
    """Your notices, newest first."""
    newest = notices_page(session, account.id, before=after, limit=limit + 1, unread=unread)
    page = _page_of(newest, limit, count_unread(session, account.id))
    etag = etag_of(account.id, page.model_dump_json())
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}
    if is_known(request, etag):
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return page


def _page_of(newest: Sequence[Notice], limit: int, unread: int) -> NoticePage:
    return NoticePage(
        notices=[NoticeView.model_validate(each) for each in newest[:limit]],
        unread=unread,
        next_after=newest[limit - 1].id if len(newest) > limit else None,
    )


@router.put("/notices/read", status_code=204)
def mark_all_read(body: ReadMark, acting: ActingSubmitter) -> Response:
    """Mark a notice and all older ones as read."""
    notices.mark_all_read(acting, up_to=body.up_to)
    return Response(status_code=204)


@router.put("/notices/{notice_id}/read", status_code=204)
def mark_read(notice_id: RowId, acting: ActingSubmitter) -> Response:
    """Mark a notice as read."""
    notices.mark_read(acting, notice_id)
    return Response(status_code=204)


@router.get("/me/mails")
def mail_choices(session: DbSession, account: CurrentUser) -> MailChoices:
    """Which kinds of notices you get by mail, at a confirmed address."""
    return MailChoices(mailed=notices.mail_choices(session, account))


@router.patch("/me/mails")
def choose_mails(body: MailChoices, session: DbSession, account: Submitter) -> MailChoices:
    """Choose which kinds of notices you get by mail."""
    notices.choose_mails(session, account, body.mailed)
    return MailChoices(mailed=notices.mail_choices(session, account))
