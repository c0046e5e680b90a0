"""Teams whose rank is another one on a second board. Pure."""

from typing import NamedTuple

import numpy as np

from scorer.ranking.columns import Flags, Ints, distinct
from scorer.ranking.vectorised import BoardListing


class RankMoves(NamedTuple):
    """Teams whose rank changes, in the order of their new ranks; 0 where a team has no rank."""

    team: Ints
    before: Ints
    after: Ints

    def take(self, places: Ints | Flags | slice) -> "RankMoves":
        """Some of the moves."""
        return RankMoves(*(column[places] for column in self))


def moved(ranks: RankMoves) -> RankMoves:
    """Those of the teams whose two ranks differ, in the order of their new ranks."""
    moves = ranks.take(ranks.before != ranks.after)
    last = np.where(moves.after == 0, np.iinfo(np.int64).max, moves.after)
    return moves.take(np.lexsort((moves.before, last)))


def moves_between(before: BoardListing, after: BoardListing) -> RankMoves:
    """The teams whose rank differs between two boards, of whichever entries."""
    ranked = [board.judged.team[board.rows] for board in (before, after)]
    teams = distinct(np.concatenate(ranked))
    ranks = []
    for own in ranked:
        rank = np.zeros(len(teams), np.int64)
        rank[np.searchsorted(teams, own)] = np.arange(1, len(own) + 1)
        ranks.append(rank)
    return moved(RankMoves(teams, *ranks))
