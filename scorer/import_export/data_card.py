"""The data card (README.md) and the manifest (manifest.json) of a data release, from its counts. Pure."""

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
    """Submissions whose images belong in the release but are not stored."""
    writer: str


IMAGES = {
    "none": "No images are in this release.",
    "ranked": "Images of the entries that the boards rank",
    "all": "Images of all scored entries",
}
KIND_NAMES = {
    "text": "text",
    "int": "integer",
    "float": "number",
    "bool": "yes or no",
    "time": "moment, UTC",
    "ints": "list of integers",
}


def card_of(competition: Competition, numbers: CardNumbers) -> str:
    """The data card in Markdown, without the time of its making, so that equal releases have equal bytes."""
    parts = [
        f"# {competition.title}: data release",
        _about(competition, numbers),
        _contents(numbers),
        _pseudonyms(),
        "## Columns",
        *(_columns(table) for table in TABLES),
    ]
    return "\n\n".join(parts) + "\n"


def _about(competition: Competition, numbers: CardNumbers) -> str:
    when = f"from {_day(competition.opens_at)} to {_day(competition.closes_at)}"
    lines = [
        f"Entries of the competition `{competition.slug}`, {when}, their measurements, what reviewers and organizers",
        "decided about them, and the final ranks. An entry is "
        f"{competition.image_count:,} images of {competition.image_size} x {competition.image_size} pixels, RGB.",
        "",
        "The score (MiFID, lower is better) is the Frechet distance, multiplied by a penalty where the entry's mean",
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
    lines = ["## What is in it", "", f"{numbers.teams:,} teams.", "", "| file | rows |", "|---|---|"]
    lines += [f"| {table}.parquet | {numbers.rows[table]:,} |" for table in TABLES]
    lines += ["", f"Entries by status: {_counted(numbers.statuses)}.", ""]
    lines += [f"Scored entries by decided label: {_counted(numbers.labels)}.", "", _images(numbers)]
    lines += [
        "",
        "`manifest.json` has the SHA-256 of every file, `croissant.json` the columns of all tables for libraries that",
    ]
    lines += [
        f"read Croissant. Written by {numbers.writer}; the same state of the competition, pseudonyms and writer give"
    ]
    lines += ["the same bytes."]
    return "\n".join(lines)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())) or "none"


def _images(numbers: CardNumbers) -> str:
    if numbers.images == "none":
        return IMAGES["none"]
    missing = f"; of {numbers.entries_without:,} more none are stored" if numbers.entries_without else ""
    return (
        f"{IMAGES[numbers.images]} ({numbers.entries_with_images:,} of them{missing}): `images/SUBMISSION.zip`, PNGs"
        " with the same pixels as the entry's, without its file names and metadata, in the order of those names."
    )


def _pseudonyms() -> str:
    return "\n".join(
        [
            "## Who is who",
            "",
            "Teams, entries and reviewers have pseudonyms (HMAC-SHA256 with a key that stays with the organizers), the",
            "same ones in all tables. Names, addresses, notes, reasons and file names are left out. Whoever was on a",
            "public board can be found again by the score that everybody has seen there: the pseudonyms keep names out",
            "of the data, they do not make anybody unknown.",
        ]
    )


def _columns(table: str) -> str:
    lines = [f"### {table}.parquet", "", "| column | kind | meaning |", "|---|---|---|"]
    for column in TABLES[table]:
        kind = f"{KIND_NAMES[column.kind]}{', may be missing' if column.nullable else ''}"
        lines.append(f"| {column.name} | {kind} | {column.meaning} |")
    return "\n".join(lines)


def manifest_of(competition: Competition, numbers: CardNumbers, files: list[dict[str, Any]]) -> dict[str, Any]:
    """The manifest as JSON values: every file with its hash, every column with its meaning."""
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
