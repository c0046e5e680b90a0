"""Parameters and results of the query for flagged entries. Plain data."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from scorer.db.tables import Track
from scorer.lifecycle import TrackKind

QueueState = Literal["open", "waiting", "disputed", "unruled", "decided"]
"""The state of a flagged entry for a reviewer. ``waiting``: it needs another person's review. ``unruled``: its decided
label means memorisation, and nobody has ruled on it since."""


BORDERLINE_STANDARD_ERRORS = 2.0
"""Number of standard errors of its distance within which an entry counts as borderline: it could be on the other side
of tau."""
STRONG_SIGNS = frozenset(
    {
        "copying",
        "same-zip",
        "shared-images",
        "recovered",
        "near-copies",
        "mirrored-copies",
        "thumbnail-copies",
        "hash-copies",
        "partly-copied",
        "relative-copies",
        "small-support",
    }
)
"""The reasons that require a review before an entry wins something without a penalty."""


class WinningEntry(NamedTuple):
    """An entry with a rank that wins a medal or prize."""

    ref: int
    rank: int
    score: float


@dataclass(frozen=True)
class TrackBounds:
    """The data that decide flags on a track: its tau, and the entries that win something."""

    tau: float | None
    low: float | None
    """Between ``low`` and ``high``, tau could move without changing the penalty of any entry that existed when it was
    chosen. None: no bound."""
    high: float | None
    winners: Sequence[WinningEntry]
    last_score: float | None
    """A lower score wins something: infinity while winning ranks are free, None if nothing can be won."""


@dataclass(frozen=True)
class FlagQuery:
    """The entries to flag, by competition, with the weight of each reason, for one reviewer."""

    competition_id: int
    tracks: Mapping[TrackKind, Track]
    bounds: Mapping[TrackKind, TrackBounds]
    weights: Mapping[str, int]
    reviewer_id: int
    images: int
    memorising: Collection[str]
    """The labels that mean memorisation."""
    only: Sequence[int] | None = None
    """The refs of the only entries to consider; None for all."""

    @property
    def shape(self) -> "FlagShape":
        """The properties that the text of the statement depends on."""
        bounds = {kind: BoundsShape.of(bounds) for kind, bounds in self.bounds.items()}
        memorising, weights = tuple(sorted(self.memorising)), tuple(self.weights.items())
        return FlagShape(tuple(bounds.items()), weights, self.images, memorising, self.only is not None)

    @property
    def values(self) -> dict[str, object]:
        values: dict[str, object] = {"competition": self.competition_id, "reviewer": self.reviewer_id}
        if self.only is not None:
            values["only"] = list(self.only)
        for kind, bounds in self.bounds.items():
            values |= {
                f"{kind}_track": self.tracks[kind].id,
                f"{kind}_tau": bounds.tau,
                f"{kind}_low": bounds.low,
                f"{kind}_high": bounds.high,
                f"{kind}_last_score": bounds.last_score,
                f"{kind}_winners": [winner.ref for winner in bounds.winners],
                f"{kind}_ranks": [winner.rank for winner in bounds.winners],
            }
        return values


class BoundsShape(NamedTuple):
    tau: bool
    low: bool
    high: bool
    last_score: Literal["none", "infinite", "finite"]
    winners: bool

    @classmethod
    def of(cls, bounds: TrackBounds) -> "BoundsShape":
        score = bounds.last_score
        last_score: Literal["none", "infinite", "finite"] = "none"
        if score is not None:
            last_score = "infinite" if math.isinf(score) else "finite"
        given = (bounds.tau is not None, bounds.low is not None, bounds.high is not None)
        return cls(*given, last_score, bool(bounds.winners))


class FlagShape(NamedTuple):
    """The properties that the text of the statement for flagged entries depends on."""

    bounds: tuple[tuple[str, BoundsShape], ...]
    """By kind of track."""
    weights: tuple[tuple[str, int], ...]
    """By name of reason."""
    images: int
    memorising: tuple[str, ...]
    only: bool
    """Whether only some entries are considered."""


class FlaggedRow(NamedTuple):
    """A flagged entry. ``found`` has all its marks, numbers and reasons by name."""

    ref: int
    id: str
    team: str
    weight: int
    state: QueueState
    reviews: int
    label: str | None
    found: Mapping[str, Any]

    @classmethod
    def of(cls, columns: Mapping[Any, Any]) -> "FlaggedRow":
        return cls(**{name: columns[name] for name in cls._fields if name != "found"}, found=columns)
