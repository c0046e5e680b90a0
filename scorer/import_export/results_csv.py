"""Reading CSV files of results, one line per submission. Faults are listed by line and column."""

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from scorer.errors import Invalid

NUMBER_COLUMNS = ("fid_public", "fid_private", "distance_public", "distance_private")
REQUIRED = ("submission_id", *NUMBER_COLUMNS)
COLUMNS = (*REQUIRED, "public_score", "private_score", "labels", "team")
"""The known columns, named as in the released 2019 table. Letter case, spaces and dashes are ignored."""
LABELS: Mapping[str, str | None] = MappingProxyType(
    {"": None, "non-mem": "legitimate"} | {name: name for name in ("legitimate", "mgan", "sup", "ae", "aug", "other")}
)
MAX_DISTANCE = 2.0
MAX_NAME_LENGTH = 50
"""The maximum length of a submission id or team name, in characters."""
MAX_FAULTS_LISTED = 10
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class ResultsLine:
    """A submission in a table of results. ``numbers`` has the order of :data:`NUMBER_COLUMNS`. A score is None if the
    table has none."""

    at: int
    """Its line number in the file; the header is line 1."""
    submission_id: str
    team: str
    numbers: tuple[float, ...]
    public_score: float | None
    private_score: float | None
    label: str | None
    label_text: str


@dataclass(frozen=True)
class ResultsTable:
    """The submissions of a table in the order of their ids, and the names of ignored columns."""

    lines: Sequence[ResultsLine]
    ignored: Sequence[str]


def read_results_csv(text: Iterable[str], names: Mapping[str, str] | None = None) -> ResultsTable:
    """Read a CSV with a header. ``names`` maps names of :data:`COLUMNS` to the file's own headers, if these differ.

    Submissions are sorted by id: numerically if all ids are numbers, otherwise as text. ``Invalid``: ``no-table``,
    ``unknown-column``, ``missing-columns``, ``repeated-column``, ``bad-rows`` with the first faults.
    """
    reader = csv.reader(text, strict=True)
    try:
        header = next(reader, [])
        places = _places(header, names or {})
        lines = list[ResultsLine]()
        faults = list[str]()
        lines_by_id = dict[str, int]()
        for cells in reader:
            if any(cells):
                row = _RowReader(reader.line_num, header, cells, places, faults)
                lines.append(_line(row, lines_by_id))
    except csv.Error as error:
        raise Invalid("no-table", f"The file is not valid CSV in line {reader.line_num}: {error}.") from None
    if faults:
        raise Invalid(
            "bad-rows",
            f"{len(faults):,} cells of the table are invalid. Nothing was imported.",
            faults=faults[:MAX_FAULTS_LISTED],
        )
    if not lines:
        raise Invalid("no-table", "The table has no rows below its header.")
    used = set(places.values())
    return ResultsTable(_in_order(lines), [name for place, name in enumerate(header) if place not in used])


def _places(header: Sequence[str], names: Mapping[str, str]) -> dict[str, int]:
    unknown = sorted(names.keys() - set(COLUMNS))
    if unknown:
        raise Invalid("unknown-column", f"There is no column {unknown[0]!r}. Use one of {', '.join(COLUMNS)}.")
    places: dict[str, int] = {}
    for column in COLUMNS:
        wanted = _plain(names.get(column, column))
        matches = [place for place, name in enumerate(header) if _plain(name) == wanted]
        if len(matches) > 1:
            raise Invalid(
                "repeated-column", f"The table has the column {header[matches[0]]!r} {len(matches)} times. Keep one."
            )
        if matches:
            places[column] = matches[0]
        elif column in names:
            raise Invalid("missing-columns", f"The table has no column {names[column]!r}. {_header_text(header)}.")
    missing = [column for column in REQUIRED if column not in places]
    if missing:
        raise Invalid("missing-columns", f"The table lacks the columns {', '.join(missing)}. {_header_text(header)}.")
    return places


def _header_text(header: Sequence[str]) -> str:
    return f"Line 1 has {', '.join(map(repr, header))}" if header else "The file is empty"


def _plain(name: str) -> str:
    return "_".join(name.strip().lstrip("\ufeff").casefold().replace("-", " ").replace("_", " ").split())


@dataclass(frozen=True)
class _RowReader:
    """Reads the cells of one row and appends faults to ``faults``."""

    at: int
    header: Sequence[str]
    cells: Sequence[str]
    places: Mapping[str, int]
    faults: list[str]

    def read(self, column: str, parse: Callable[[str], Read], default: Read) -> Read:
        """A cell parsed by ``parse``; ``default`` if the table has no such column, or after a fault."""
        place = self.places.get(column)
        if place is None:
            return default
        if place >= len(self.cells):
            self.fault(column, "is missing because the line is too short")
            return default
        try:
            return parse(self.cells[place].strip())
        except ValueError as error:
            self.fault(column, str(error))
            return default

    def fault(self, column: str, what: str) -> None:
        self.faults.append(f"line {self.at:,}, {self.header[self.places[column]]}: {what}")


def _line(row: _RowReader, lines_by_id: dict[str, int]) -> ResultsLine:
    submission_id = row.read("submission_id", _text, "")
    if submission_id in lines_by_id and submission_id:
        row.fault("submission_id", f"{submission_id!r} is already in line {lines_by_id[submission_id]:,}")
    lines_by_id[submission_id] = row.at
    team = row.read("team", _text, f"Entry {submission_id}")
    numbers = tuple(row.read(name, _distance if name.startswith("d") else _number, 0.0) for name in NUMBER_COLUMNS)
    scores = [row.read(name, _score, None) for name in ("public_score", "private_score")]
    no_label: tuple[str | None, str] = (None, "")
    label, label_text = row.read("labels", _label, no_label)
    return ResultsLine(
        at=row.at,
        submission_id=submission_id,
        team=team,
        numbers=numbers,
        public_score=scores[0],
        private_score=scores[1],
        label=label,
        label_text=label_text,
    )


def _text(cell: str) -> str:
    if not cell:
        raise ValueError("is empty")
    if len(cell) > MAX_NAME_LENGTH or not cell.isprintable():
        raise ValueError(f"has more than {MAX_NAME_LENGTH} characters, or unprintable characters")
    return cell


def _number(cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        raise ValueError(f"{cell[:40]!r} is not a number" if cell else "is empty") from None
    if not math.isfinite(value) or value < 0.0:
        raise ValueError(f"{cell[:40]} is not a number of at least 0")
    return value


def _distance(cell: str) -> float:
    value = _number(cell)
    if value > MAX_DISTANCE:
        raise ValueError(f"{cell[:40]} is not a distance, which is at most {MAX_DISTANCE:g}")
    return value


def _score(cell: str) -> float | None:
    return _number(cell) if cell else None


def _label(cell: str) -> tuple[str | None, str]:
    if cell.casefold() not in LABELS:
        names = ", ".join(repr(name) for name in LABELS if name)
        raise ValueError(f"{cell[:40]!r} is not a label. Use one of {names}, or leave the cell empty")
    return LABELS[cell.casefold()], cell


def _in_order(lines: list[ResultsLine]) -> list[ResultsLine]:
    numbered = all(line.submission_id.isdecimal() for line in lines)
    return sorted(lines, key=lambda line: (int(line.submission_id) if numbered else 0, line.submission_id))
