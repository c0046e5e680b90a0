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
    known: int = Field(description="Submissions that were imported before. They are unchanged.")
    labelled: int
    disqualified: int
    ignored_columns: list[str]
    reproduced: dict[str, ScoreReproduction] = Field(
        description=(
            "How well the table's scores were reproduced, by track. Tracks without a tau in the request are left out."
        )
    )


class NewRelease(Request):
    """The contents of a release."""

    images: ReleaseImages = Field(
        "none", description="Which images to include: none, those of ranked submissions, or those of all scored ones."
    )
    new_names: bool = Field(
        False,
        description=(
            "Whether to create new pseudonyms. Without them, unchanged data gives the same files as the last release."
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
    error: str | None = Field(None, description="The error of a failed release. Only organizers get it.")
    images: ReleaseImages
    shown: bool = Field(description="Whether everybody can download it while the final board is published.")
    sha256: str | None = Field(description="The SHA-256 of the manifest, which is equal for equal contents.")
    created_at: datetime
    finished_at: datetime | None
    files: list[FileView]


class ReleasePage(Page):
    releases: list[ReleaseView]
