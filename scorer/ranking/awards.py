"""Medals and prizes: what a rank wins."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scorer.lifecycle import TrackKind

MEDALS = ("gold", "silver", "bronze")
"""Best first."""


def medal(rank: int, gold: int = 10, silver: int = 50, bronze: int = 100) -> str | None:
    """The medal of a rank, given the last rank of each colour; None below bronze."""
    for name, last in zip(MEDALS, (gold, silver, bronze), strict=True):
        if rank <= last:
            return name
    return None


def prize(rank: int, prizes: Iterable[Mapping[str, object]]) -> str | None:
    """The prize of a rank of the final board, given the ``place`` and ``amount`` of each prize; None for no prize."""
    return next((str(each["amount"]) for each in prizes if each["place"] == rank), None)


def last_winning_rank(medals: Mapping[str, int], prizes: Iterable[Mapping[str, object]]) -> int:
    """The last rank that wins a medal or a prize; 0 where none does."""
    return max([*medals.values(), *(int(str(each["place"])) for each in prizes)], default=0)


class Awards(NamedTuple):
    """What the ranks of a competition win."""

    medals: Mapping[str, int]
    """The last rank of each medal, by its colour."""
    prizes: Sequence[Mapping[str, object]]
    """The ``place`` and the ``amount`` of each prize."""


class Award(NamedTuple):
    """Medal and prize of a place on a board; None where it wins none."""

    medal: str | None = None
    prize: str | None = None


def award_of(
    rank: int,
    track: TrackKind,
    *,
    medals: Mapping[str, int],
    prizes: Iterable[Mapping[str, object]],
    late: bool = False,
) -> Award:
    """The medal and the prize of a rank on a board of the track. Both tracks award medals, the private track alone
    prizes, and a board of late entries nothing."""
    if late:
        return Award()
    return Award(medal(rank, **medals), prize(rank, prizes) if track == "private" else None)
