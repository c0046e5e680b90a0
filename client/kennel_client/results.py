"""Responses of the service as objects, which notebooks show as tables. ``view`` is the whole response."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Self

FINISHED = frozenset({"scored", "rejected", "failed", "cancelled"})
"""Final states of an entry."""
UNSUCCESSFUL = FINISHED - {"scored"}

View = Mapping[str, Any]


@dataclass(frozen=True)
class Measurement:
    """The numbers of an entry on one track; ``mifid`` is None for a copy, and before tau is chosen."""

    track: str
    mifid: float | None
    fid: float
    fid_spread: float | None
    """The standard deviation of the FID over draws; None for a single draw, and for a zip."""
    memorization_distance: float
    penalised: bool | None
    copy: bool
    rank: int | None
    explanation: str

    @classmethod
    def of(cls, view: View) -> Self:
        return cls(**{name: view[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class Entry:
    """A submission. It has a public score if ``status`` is ``scored``. ``page`` is the address of its web page."""

    id: str
    competition: str
    status: str
    file_name: str
    note: str
    reason: str | None
    faults: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    shown: Mapping[str, float | None] = field(hash=False)
    """The additional metrics by name; None if one has no value."""
    page: str
    view: View = field(repr=False, compare=False)

    @classmethod
    def of(cls, view: View, url: str) -> Self:
        names = ("id", "competition", "status", "file_name", "note", "reason")
        return cls(
            **{name: view[name] for name in names},
            faults=tuple(view["faults"] or ()),
            measurements=tuple(map(Measurement.of, view["measurements"])),
            shown={number["name"]: number["value"] for number in view["shown"]},
            page=f"{url}/submissions/{view['id']}",
            view=view,
        )

    @property
    def finished(self) -> bool:
        return self.status in FINISHED

    @property
    def public(self) -> Measurement | None:
        return next((measurement for measurement in self.measurements if measurement.track == "public"), None)

    def _repr_html_(self) -> str:
        head = f'<p><a href="{escape(self.page)}">{escape(self.file_name)}</a> in {escape(self.competition)}: '
        head += f"<strong>{escape(self.status)}</strong></p>"
        reasons = "".join(f"<p>{escape(text)}</p>" for text in filter(None, [self.reason, *self.faults]))
        if not self.measurements:
            return head + reasons
        columns = ("track", "MiFID", "FID", "distance", "rank", "")
        rows = [
            (
                measurement.track,
                "copy" if measurement.copy else format_number(measurement.mifid),
                format_fid(measurement.fid, measurement.fid_spread),
                format_number(measurement.memorization_distance, 4),
                str(measurement.rank or "-"),
                measurement.explanation,
            )
            for measurement in self.measurements
        ]
        shown = [(name, significant(value)) for name, value in self.shown.items()]
        more = _table(("metric", "value"), shown) if shown else ""
        return head + reasons + _table(columns, rows) + more


@dataclass(frozen=True)
class Place:
    rank: int
    team: str
    score: float
    fid: float
    fid_spread: float | None
    """The same as in :class:`Measurement`."""
    memorization_distance: float
    penalised: bool
    entries: int
    shown: Mapping[str, float | None] = field(hash=False)
    """The additional metrics by name; None if one has no value."""

    @classmethod
    def of(cls, view: View) -> Self:
        fields = {name: view[name] for name in cls.__dataclass_fields__ if name != "shown"}
        return cls(**fields, shown={name: number["value"] for name, number in view["shown"].items()})


@dataclass(frozen=True)
class Board:
    """The first places of a board; ``tau`` is None before it is chosen."""

    competition: str
    track: str
    tau: float | None
    teams: int
    places: tuple[Place, ...]
    view: View = field(repr=False, compare=False)

    @classmethod
    def of(cls, view: View) -> Self:
        names = ("competition", "track", "tau", "teams")
        return cls(**{name: view[name] for name in names}, places=tuple(map(Place.of, view["entries"])), view=view)

    def _repr_html_(self) -> str:
        shown = [track["name"] for track in self.view["shown_tracks"]]
        columns = ("rank", "team", "MiFID", "FID", "distance", *shown, "entries")
        rows = [
            (
                str(place.rank),
                place.team,
                format_number(place.score),
                format_fid(place.fid, place.fid_spread),
                format_number(place.memorization_distance, 3),
                *(significant(place.shown.get(name)) for name in shown),
                str(place.entries),
            )
            for place in self.places
        ]
        return f"<p>{escape(self.competition)}, {escape(self.track)} board</p>" + _table(columns, rows)


@dataclass(frozen=True)
class Competition:
    """A competition. Its entries have ``image_count`` images of ``image_size`` pixels a side. Times are ISO 8601."""

    slug: str
    title: str
    phase: str
    image_count: int
    image_size: int
    closes_at: str | None
    rules_sha256: str | None
    rules_accepted: bool | None
    view: View = field(repr=False, compare=False)

    @classmethod
    def of(cls, view: View) -> Self:
        names = [name for name in cls.__dataclass_fields__ if name != "view"]
        return cls(**{name: view[name] for name in names}, view=view)

    def _repr_html_(self) -> str:
        rows = [
            ("phase", self.phase),
            ("images", f"{self.image_count:,} of {self.image_size}x{self.image_size}"),
            ("closes", self.closes_at or "-"),
            ("rules", rules_state(self.view)),
        ]
        return f"<p>{escape(self.title)} ({escape(self.slug)})</p>" + _table(("", ""), rows)


def rules_state(competition: View) -> str:
    if competition["rules_sha256"] is None:
        return "none"
    return "accepted" if competition["rules_accepted"] else "not accepted yet"


def format_number(value: float | None, digits: int = 2) -> str:
    """A measured number with ``digits`` decimals, or a dash."""
    return "-" if value is None else f"{value:.{digits}f}"


def format_fid(value: float | None, spread: float | None) -> str:
    """An FID with its spread over draws, if it has one."""
    return format_number(value) + (f" ± {significant(spread, 2)}" if spread is not None else "")


def significant(value: float | None, digits: int = 4) -> str:
    """A measured number with ``digits`` significant digits, or a dash."""
    if value is None:
        return "-"
    return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
