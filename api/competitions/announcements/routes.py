"""Announcements: the organizers' messages to all participants."""

from datetime import datetime

from pydantic import Field

from api.http.dependencies import ActingOrganizer, ActingVisitor
from api.http.paging import Paging
from api.http.routing import ApiRouter
from api.http.views import Page, RecordView, Request
from scorer.competitions import announcements
from scorer.competitions.competition_state import load_state
from scorer.leaderboard.standings import visible_state


class NewAnnouncement(Request):
    """An announcement."""

    title: str = Field(
        min_length=1, max_length=announcements.MAX_TITLE_LENGTH, examples=["The deadline moves by one day"]
    )
    text: str = Field(min_length=1, max_length=announcements.MAX_TEXT_LENGTH, description="The text in Markdown.")


class AnnouncementView(RecordView):
    """An announcement."""

    id: int
    title: str
    text: str
    created_at: datetime


class AnnouncementPage(Page):
    announcements: list[AnnouncementView]


router = ApiRouter(prefix="/competitions/{slug}/announcements", tags=["competitions"])


@router.get("")
def index(slug: str, acting: ActingVisitor, wanted: Paging) -> AnnouncementPage:
    """List the announcements of a competition, newest first."""
    state = visible_state(acting, slug)
    listed = announcements.list_announcements(acting.session, state, before=wanted.after, limit=wanted.one_more)
    page = wanted.slice_following(listed, lambda announcement: announcement.id)
    views = [AnnouncementView.model_validate(announcement) for announcement in page.rows]
    return AnnouncementPage(announcements=views, next_after=page.next_after)


@router.post("", status_code=201)
def announce(slug: str, body: NewAnnouncement, acting: ActingOrganizer) -> AnnouncementView:
    """Publish an announcement on the competition's page and in its feed, and notify all participants. They get it on
    the site, by mail and by webhook. Organizers only."""
    state = load_state(acting.session, slug, acting.now)
    announcement = announcements.announce(acting, state, body.title, text=body.text)
    return AnnouncementView.model_validate(announcement)
