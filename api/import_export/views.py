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
    created: bool = Field(description="Whether the import created the competition.")
    rows: int
    added: int
    known: int = Field(description="Entries that were already imported. They did not change.")
    labelled: int
    disqualified: int
    ignored_columns: list[str]
    reproduced: dict[str, ScoreReproduction] = Field(
        description=(
            "The reproduction of scores by track, if you gave a tau and the table has scores that are not sealed."
        )
    )


class NewRelease(Request):
    """The contents of a release."""

    images: ReleaseImages = Field(
        "none", description="No images (`none`), images of `ranked` entries, or of `all` scored entries."
    )
    new_names: bool = Field(
        False,
        description=(
            "Create new pseudonyms. By default, the last release's are used, and the same state gives the same bytes."
        ),
    )


class HandOut(Request):
    """Whether to publish a release for everybody."""

    shown: bool


class FileView(BaseModel):
    """A file of a release, at `.../releases/{id}/files/{name}`."""

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
    error: str | None = Field(None, description="For organizers only.")
    images: ReleaseImages
    shown: bool = Field(description="Whether everybody can download it while the final board is published.")
    sha256: str | None = Field(description="The SHA-256 of the manifest; equal for equal contents.")
    created_at: datetime
    finished_at: datetime | None
    files: list[FileView]


class ReleasePage(Page):
    releases: list[ReleaseView]
