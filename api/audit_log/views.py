"""Schemas of the audit log."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from api.http.views import Page


class AuditEntryView(BaseModel):
    """One act."""

    id: int
    created_at: datetime
    actor: str | None = Field(description="Null: nobody was signed in, or the operator acted at the machine.")
    action: str
    subject: str
    address: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class AuditPage(Page):
    """Acts, newest first."""

    entries: list[AuditEntryView]
