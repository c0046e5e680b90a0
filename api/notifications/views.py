"""Schemas of notices and webhooks."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from api.http.views import Page, RecordView, Request
from scorer.notifications.notices import Kind


class NoticeView(RecordView):
    """A notice to a person."""

    id: int
    kind: Kind
    subject: str
    body: str
    link: str = Field(description="A path on this site.", examples=["/submissions/aQ3x0s9LmN1c"])
    created_at: datetime
    read_at: datetime | None


class NoticePage(Page):
    """Notices, newest first."""

    notices: list[NoticeView]
    unread: int = Field(description="The number of all your unread notices, not only those on this page.")


class ReadMark(Request):
    """The position up to which notices are read."""

    up_to: int = Field(ge=1, le=2**62, description="The ID of the newest notice that you have read.")


class MailChoices(Request):
    """The kinds of notices to mail. Kinds that you leave out don't change."""

    mailed: dict[Kind, bool] = Field(examples=[{"entry-scored": False, "ruling": True}])


class NewWebhook(Request):
    """An address to which Kennel posts your notices."""

    url: str = Field(max_length=2000, examples=["https://hooks.example.org/kennel"])


class WebhookView(RecordView):
    """A webhook, without its secret."""

    id: int
    url: str
    created_at: datetime


class WebhookPage(Page):
    webhooks: list[WebhookView]


class NewWebhookView(WebhookView):
    """A new webhook."""

    secret: str = Field(description="The key that signs its deliveries. Shown only once.")


class DeliveryView(RecordView):
    """The delivery of a notice to a webhook."""

    id: int = Field(description="The `webhook-id` of the request. It is the same for every attempt.")
    kind: str
    subject: str
    state: Literal["waiting", "sending", "sent", "failed"]
    attempts: int
    error: str | None = Field(description="Why the last attempt failed.")
    created_at: datetime
    due_at: datetime = Field(description="When the next attempt is due, if there is one.")
    sent_at: datetime | None


class DeliveryPage(Page):
    deliveries: list[DeliveryView]
