"""Final picks, as requests and responses."""

from datetime import datetime

from pydantic import BaseModel, Field

from api.schemas import Request


class NewPicks(Request):
    """The entries that the team wants to be ranked by; none takes the choice back."""

    submissions: list[str] = Field(max_length=100, examples=[["k3_wpq8Zr1Ya"]])


class PicksView(BaseModel):
    """What a team will be ranked by."""

    submissions: list[str] = Field(description="The picked entries; without picks, the best public ones.")
    chosen: bool = Field(description="Whether the team has picked; if not, the best public entries are taken.")
    most: int = Field(description="How many entries a team may pick.")
    until: datetime | None = Field(description="Picks can be changed until then.")
    picked_by: str | None
    picked_at: datetime | None
