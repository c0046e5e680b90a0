"""Teams with different ranks on two boards. Pure."""

from typing import NamedTuple

import numpy as np

from scorer.ranking.columns import Flags, Ints, numbered
from scorer.ranking.vectorised import BoardListing


class RankMoves(NamedTuple):
    """Teams with a changed rank, in the order of their new ranks; 0 if a team has no rank."""

    team: Ints
    before: Ints
    after: Ints

    def take(self, places: Ints | Flags | slice) -> "RankMoves":
        return RankMoves(*(column[places] for column in self))

    def take_first(self, last: int) -> "RankMoves":
        """The moves that start or end at a rank up to ``last``."""
        return self.take(((self.before > 0) & (self.before <= last)) | ((self.after > 0) & (self.after <= last)))


def moves_between(before: BoardListing, after: BoardListing) -> RankMoves:
    """The teams with different ranks on two boards, which may list any entries, in the order of their new ranks."""
    ranked = [board.judged.team[board.rows] for board in (before, after)]
    codes, count = numbered(np.concatenate(ranked))
    ranks = RankMoves(*(np.zeros(count, np.int64) for _ in range(3)))
    ranks.team[codes] = np.concatenate(ranked)
    for rank, own in zip(ranks[1:], np.split(codes, [len(ranked[0])]), strict=True):
        rank[own] = np.arange(1, len(own) + 1)
    moves = ranks.take(ranks.before != ranks.after)
    last = np.where(moves.after == 0, np.iinfo(np.int64).max, moves.after)
    return moves.take(np.lexsort((moves.before, last)))
