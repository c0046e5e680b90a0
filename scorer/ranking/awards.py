"""Medals and prizes: the awards for the ranks of a board."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scorer.lifecycle import Phase, TrackKind

MEDALS = ("gold", "silver", "bronze")
"""Best first."""


class Award(NamedTuple):
    medal: str | None = None
    prize: str | None = None


class Awards(NamedTuple):
    medals: Mapping[str, int]
    """The last rank of each medal, by its colour."""
    prizes: Sequence[Mapping[str, object]] = ()
    """The ``place`` and the ``amount`` of each prize."""

    def find_award(self, rank: int) -> Award:
        """The medal and the prize of a rank; 0 is no rank and wins nothing."""
        if rank == 0:
            return Award()
        medal = next((name for name in MEDALS if rank <= self.medals.get(name, 0)), None)
        return Award(medal, next((str(prize["amount"]) for prize in self.prizes if prize["place"] == rank), None))

    @property
    def last_winning_rank(self) -> int:
        """The last rank that wins a medal or a prize; 0 if none does."""
        return max([*self.medals.values(), *(int(str(prize["place"])) for prize in self.prizes)], default=0)


NO_AWARDS = Awards({})


def board_awards(awards: Awards, kind: TrackKind, phase: Phase) -> Awards:
    """The awards on a board. The private board decides and has medals and prizes. The public board has provisional
    medals while the competition is open, and nothing after the deadline."""
    if kind == "private":
        return awards
    return Awards(awards.medals) if phase in {Phase.DRAFT, Phase.OPEN} else NO_AWARDS
