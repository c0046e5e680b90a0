"""Rank moves between two boards of different entries."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scorer.ranking.columns import EntryColumns, JudgingRules
from scorer.ranking.judged_entries import JudgedEntries
from scorer.ranking.rank_moves import moves_between
from scorer.ranking.vectorised import RankedBoard, rank_entries

teams = st.lists(st.integers(1, 12), unique=True, max_size=8)


def build_board(ranked: list[int]) -> RankedBoard:
    """A board where these teams have the ranks 1, 2, ..."""
    count = len(ranked)
    zeros, ones = np.zeros(count), np.ones(count)
    numbers = np.arange(count)
    fid = np.arange(1, count + 1, dtype=np.float64)
    times = np.zeros(count, np.int64)
    columns = EntryColumns(numbers, np.array(ranked, np.int64), times, times, fid, ones, zeros, zeros, times > 0, times)
    return rank_entries(JudgedEntries(columns, JudgingRules(0.2, 1e-15, 5)))


@given(teams, teams)
def test_moves_are_the_differences_between_ranks(before: list[int], after: list[int]) -> None:
    def rank(teams: list[int], team: int) -> int:
        return teams.index(team) + 1 if team in teams else 0

    expected = [
        (team, rank(before, team), rank(after, team))
        for team in [*after, *(team for team in before if team not in after)]
        if rank(before, team) != rank(after, team)
    ]
    moves = moves_between(build_board(before), build_board(after))
    assert list(zip(*(column.tolist() for column in moves), strict=True)) == expected
