"""Who may enter a competition that is by invitation, as the API tells it."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from api.schemas import Request
from scorer.accounts.accounts import MAX_EMAIL_LENGTH

Who = Annotated[str, StringConstraints(min_length=1, max_length=MAX_EMAIL_LENGTH)]


class NewGuests(Request):
    """Whom to invite."""

    who: list[Who] = Field(
        min_length=1,
        max_length=1000,
        description="Handles, and mail addresses: of whoever has confirmed them, now or later.",
        examples=[["ada", "bob@example.org"]],
    )


class GuestView(BaseModel):
    """Somebody who may enter."""

    who: str = Field(description="The handle or the mail address by which they are invited.")
    invited_by: str
    invited_at: datetime
