"""Schemas of what organizers tell people: announcements, messages to teams, requests for code; and of their lists."""

from datetime import datetime

from pydantic import BaseModel, Field

from api.http.views import Page, Request
from scorer.competitions import announcements


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
