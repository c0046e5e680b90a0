"""Schemas of data releases."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.http.views import Page, RecordView, Request
from scorer.import_export.data_release import ReleaseImages
from scorer.import_export.import_results import ScoreReproduction


class ImportView(RecordView):
    """The result of an import."""

    competition: str
    created: bool = Field(description="Whether the competition was made for it.")
    rows: int
    added: int
    known: int = Field(description="Entries that had been imported before; they were left as they are.")
    labelled: int
    disqualified: int
    ignored_columns: list[str]
    reproduced: dict[str, ScoreReproduction] = Field(
        description="By track, if a tau was given and the table has scores that are not sealed."
    )


class NewRelease(Request):
    """What a release contains."""

    images: ReleaseImages = Field(
        "none", description="`none`, those of the `ranked` entries, or those of `all` scored entries."
    )
    new_names: bool = Field(
        False,
        description="Draw new pseudonyms. Otherwise those of the last release are used: equal state, equal bytes.",
    )


class HandOut(Request):
    """Whether a release is available to everybody."""

    shown: bool


class FileView(BaseModel):
    """A file of a release; it is at `.../releases/{id}/files/{name}`."""

    name: str
    bytes: int
    sha256: str
    rows: int | None = None


class ReleaseView(RecordView):
    """A data release."""

    id: str
    state: Literal["waiting", "running", "failed", "done", "cancelled"]
    stage: str | None = None
    fraction: float | None = None
    error: str | None = Field(None, description="Organizers only.")
    images: ReleaseImages
    shown: bool = Field(description="Whether everybody may have it while the final board is published.")
    sha256: str | None = Field(description="Of its manifest: equal for equal contents.")
    created_at: datetime
    finished_at: datetime | None
    files: list[FileView]


class ReleasePage(Page):
    releases: list[ReleaseView]
