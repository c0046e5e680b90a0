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
    unread: int = Field(description="Of all, not of this page.")


class ReadMark(Request):
    """Up to where notices are read."""

    up_to: int = Field(ge=1, le=2**62, description="The id of the newest notice they have seen.")


class MailChoices(Request):
    """Which kinds of notices come by mail; kinds that are left out stay as they are."""

    mailed: dict[Kind, bool] = Field(examples=[{"entry-scored": False, "ruling": True}])


class NewWebhook(Request):
    """An address to post notices to."""

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

    secret: str = Field(description="The key of its signatures. Shown once.")


class DeliveryView(RecordView):
    """The delivery of a notice to a webhook."""

    id: int = Field(description="The `webhook-id` of the request: the same at each attempt.")
    kind: str
    subject: str
    state: Literal["waiting", "sending", "sent", "failed"]
    attempts: int
    error: str | None = Field(description="Why the last attempt failed.")
    created_at: datetime
    due_at: datetime = Field(description="When the next attempt is due, while there is one.")
    sent_at: datetime | None


class DeliveryPage(Page):
    deliveries: list[DeliveryView]
