"""Announcements: what the organizers tell everybody."""

from datetime import datetime

from pydantic import BaseModel, Field

from api.http.dependencies import DbSession, Now, Organizer, Visitor
from api.http.paging import Paging
from api.http.routing import ApiRouter
from api.http.views import Page, Request
from scorer.competitions import announcements
from scorer.competitions.competition_state import state_of
from scorer.leaderboard.standings import visible_state


class NewAnnouncement(Request):
    """An announcement."""

    title: str = Field(min_length=1, max_length=announcements.MAX_TITLE_LENGTH, examples=["The close moves by a day"])
    text: str = Field(min_length=1, max_length=announcements.MAX_TEXT_LENGTH, description="Markdown.")


class AnnouncementView(BaseModel):
    """What the organizers have told everybody."""

    id: int
    title: str
    text: str
    created_at: datetime


class AnnouncementPage(Page):
    announcements: list[AnnouncementView]


router = ApiRouter(prefix="/competitions/{slug}/announcements", tags=["competitions"])


@router.get("")
def index(slug: str, session: DbSession, account: Visitor, now: Now, wanted: Paging) -> AnnouncementPage:
    """The announcements of a competition, newest first."""
    state = visible_state(session, slug, account, now)
    listed = announcements.list_announcements(session, state, before=wanted.after, limit=wanted.one_more)
    page = wanted.of_following(listed, lambda each: each.id)
    views = [AnnouncementView.model_validate(each, from_attributes=True) for each in page.rows]
    return AnnouncementPage(announcements=views, next_after=page.next_after)


@router.post("", status_code=201)
def announce(slug: str, body: NewAnnouncement, session: DbSession, author: Organizer, now: Now) -> AnnouncementView:
    """Tell everybody something: on the competition's page and in its feed, by notice, mail and webhook. Organizers
    only."""
    state = state_of(session, slug, now)
    announcement = announcements.announce(session, state, body.title, body.text, author=author, now=now)
    return AnnouncementView.model_validate(announcement, from_attributes=True)
