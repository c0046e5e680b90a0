"""What the service answers, as objects, which notebooks show as tables. ``view`` is the whole answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Self

FINISHED = frozenset({"scored", "rejected", "failed", "cancelled"})
"""Last states of an entry."""
UNSUCCESSFUL = FINISHED - {"scored"}

View = Mapping[str, Any]


@dataclass(frozen=True)
class Measurement:
    """The numbers of an entry on one track; ``mifid`` is None for a copy, and before tau is chosen."""

    track: str
    mifid: float | None
    fid: float
    memorization_distance: float
    penalised: bool | None
    copy: bool
    rank: int | None
    explanation: str

    @classmethod
    def of(cls, view: View) -> Self:
        """From the service's answer."""
        return cls(**{name: view[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class Entry:
    """A submission; ``status`` ``scored`` means that its public score is there. ``page`` is its address for people."""

    id: str
    competition: str
    status: str
    file_name: str
    note: str
    reason: str | None
    faults: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    shown: Mapping[str, float | None] = field(hash=False)
    """The numbers beside the ranked ones by their name; None where the metric gives none."""
    page: str
    view: View = field(repr=False, compare=False)

    @classmethod
    def of(cls, view: View, url: str) -> Self:
        """From the answer of the service at ``url``."""
        names = ("id", "competition", "status", "file_name", "note", "reason")
        return cls(
            **{name: view[name] for name in names},
            faults=tuple(view["faults"] or ()),
            measurements=tuple(map(Measurement.of, view["measurements"])),
            shown={each["name"]: each["value"] for each in view["shown"]},
            page=f"{url}/submissions/{view['id']}",
            view=view,
        )

    @property
    def finished(self) -> bool:
        """Whether its status will not change any more."""
        return self.status in FINISHED

    @property
    def public(self) -> Measurement | None:
        """The public measurement, None as long as there is none."""
        return next((each for each in self.measurements if each.track == "public"), None)

    def _repr_html_(self) -> str:
        head = f'<p><a href="{escape(self.page)}">{escape(self.file_name)}</a> in {escape(self.competition)}: '
        head += f"<strong>{escape(self.status)}</strong></p>"
        told = "".join(f"<p>{escape(text)}</p>" for text in filter(None, [self.reason, *self.faults]))
        if not self.measurements:
            return head + told
        columns = ("track", "MiFID", "FID", "distance", "rank", "")
        shown = [(name, significant(value)) for name, value in self.shown.items()]
        more = _table(("number", "value"), shown) if shown else ""
        return head + told + _table(columns, map(_measurement_cells, self.measurements)) + more


@dataclass(frozen=True)
class Place:
    """A team's place on a board."""

    rank: int
    team: str
    score: float
    fid: float
    memorization_distance: float
    penalised: bool
    entries: int
    shown: Mapping[str, float | None] = field(hash=False)
    """The numbers beside the ranked ones by their name; None where the metric gives none."""

    @classmethod
    def of(cls, view: View) -> Self:
        """From the service's answer."""
        fields = {name: view[name] for name in cls.__dataclass_fields__ if name != "shown"}
        return cls(**fields, shown={name: each["value"] for name, each in view["shown"].items()})


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
        """From the service's answer."""
        names = ("competition", "track", "tau", "teams")
        return cls(**{name: view[name] for name in names}, places=tuple(map(Place.of, view["entries"])), view=view)

    def _repr_html_(self) -> str:
        shown = [each["name"] for each in self.view["shown_tracks"]]
        columns = ("rank", "team", "MiFID", "FID", "distance", *shown, "entries")
        rows = [
            (
                str(each.rank),
                each.team,
                format_number(each.score),
                format_number(each.fid),
                format_number(each.memorization_distance, 3),
                *(significant(each.shown.get(name)) for name in shown),
                str(each.entries),
            )
            for each in self.places
        ]
        return f"<p>{escape(self.competition)}, {escape(self.track)} board</p>" + _table(columns, rows)


@dataclass(frozen=True)
class Competition:
    """A competition: it wants ``image_count`` images of ``image_size`` pixels a side until ``closes_at`` (ISO 8601)."""

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
        """From the service's answer."""
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
    """Whether a competition has rules, and whether you have accepted them."""
    if competition["rules_sha256"] is None:
        return "none"
    return "accepted" if competition["rules_accepted"] else "to be accepted"


def _measurement_cells(each: Measurement) -> tuple[str, ...]:
    score = "copy" if each.copy else format_number(each.mifid)
    rank = str(each.rank or "-")
    return (
        each.track,
        score,
        format_number(each.fid),
        format_number(each.memorization_distance, 4),
        rank,
        each.explanation,
    )


def format_number(value: float | None, digits: int = 2) -> str:
    """A measured number with so many decimals, or a dash."""
    return "-" if value is None else f"{value:.{digits}f}"


def significant(value: float | None, digits: int = 4) -> str:
    """A measured number of any magnitude with so many significant digits, or a dash."""
    if value is None:
        return "-"
    return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
