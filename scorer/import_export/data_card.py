"""The data card (README.md) and the manifest (manifest.json) of a data release."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from scorer.db.tables import Competition
from scorer.import_export.release_columns import TABLES
from scorer.lifecycle import TrackKind


@dataclass(frozen=True)
class CardNumbers:
    """The counts on the data card, taken from the tables as written."""

    rows: Mapping[str, int]
    statuses: Mapping[str, int]
    labels: Mapping[str, int]
    teams: int
    tau: Mapping[TrackKind, float | None]
    extractors: Mapping[TrackKind, str]
    images: str
    entries_with_images: int
    entries_without: int
    """Submissions with images that belong in the release but are not stored."""
    generators: int
    """Entries whose generator is in the release."""
    writer: str


IMAGES = {
    "none": "This release contains no images.",
    "ranked": "Images of the entries ranked on the boards",
    "all": "Images of all scored entries",
}
KIND_NAMES = {
    "text": "text",
    "int": "integer",
    "float": "number",
    "bool": "yes or no",
    "time": "time, UTC",
    "ints": "list of integers",
}
PSEUDONYMS = """## Pseudonyms

Teams, entries and reviewers have pseudonyms, which are the same in all tables. They are HMAC-SHA256 values with a
key that is never published. Names, addresses, notes, reasons and file names are left out. A team that was on a public
board can still be identified from the score that the board showed. The pseudonyms keep names out of the data; they do
not make anybody anonymous."""


def render_data_card(competition: Competition, numbers: CardNumbers) -> str:
    """The data card in Markdown. It contains no date, so equal releases have equal bytes."""
    parts = [
        f"# {competition.title}: data release",
        _about(competition, numbers),
        _contents(numbers),
        PSEUDONYMS,
        "## Columns",
        *(_columns(table) for table in TABLES),
    ]
    return "\n\n".join(parts) + "\n"


def _about(competition: Competition, numbers: CardNumbers) -> str:
    when = f"from {_day(competition.opens_at)} to {_day(competition.closes_at)}"
    lines = [
        f"Entries of the competition `{competition.slug}`, {when}, their measurements, the decisions of reviewers",
        "and organizers, and the final ranks. An entry is "
        f"{competition.image_count:,} images of {competition.image_size} x {competition.image_size} pixels, RGB.",
        "",
        "The score (MiFID, lower is better) is the Frechet distance, multiplied by a penalty if the entry's mean",
        "distance to the nearest training images is below a threshold tau.",
        "",
        "| track | extractor | tau |",
        "|---|---|---|",
    ]
    for track, extractor in numbers.extractors.items():
        tau = numbers.tau[track]
        lines.append(f"| {track} | {extractor} | {'none' if tau is None else f'{tau:.6g}'} |")
    return "\n".join(lines)


def _day(moment: datetime | None) -> str:
    return "an open date" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d}"


def _contents(numbers: CardNumbers) -> str:
    tables = "\n".join(f"| {table}.parquet | {numbers.rows[table]:,} |" for table in TABLES)
    return f"""## Contents

{numbers.teams:,} teams.

| file | rows |
|---|---|
{tables}

Entries by status: {_counted(numbers.statuses)}.

Scored entries by decided label: {_counted(numbers.labels)}.

{_images(numbers)}

`manifest.json` has the SHA-256 of every file. `croissant.json` has the columns of all tables for libraries
that read Croissant. Written by {numbers.writer}. Unchanged data, pseudonyms and writer give identical files."""


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())) or "none"


def _images(numbers: CardNumbers) -> str:
    if numbers.images == "none":
        return IMAGES["none"]
    missing = f"; {numbers.entries_without:,} more have no stored images" if numbers.entries_without else ""
    return (
        f"{IMAGES[numbers.images]} ({numbers.entries_with_images:,} entries{missing}) are in `images/SUBMISSION.zip`:"
        " PNGs with the same pixels as the entry's, in the same order, without its file names and metadata."
        + (
            f" The generators of {numbers.generators:,} entries are in `generators/SUBMISSION.onnx`, as uploaded."
            if numbers.generators
            else ""
        )
    )


def _columns(table: str) -> str:
    lines = [f"### {table}.parquet", "", "| column | kind | meaning |", "|---|---|---|"]
    for column in TABLES[table]:
        kind = f"{KIND_NAMES[column.kind]}{', nullable' if column.nullable else ''}"
        lines.append(f"| {column.name} | {kind} | {column.meaning} |")
    return "\n".join(lines)


def build_manifest(competition: Competition, numbers: CardNumbers, files: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "format": 1,
        "competition": competition.slug,
        "title": competition.title,
        "images": numbers.images,
        "writer": numbers.writer,
        "files": files,
        "tables": {
            table: [{"name": column.name, "kind": column.kind, "meaning": column.meaning} for column in columns]
            for table, columns in TABLES.items()
        },
    }
