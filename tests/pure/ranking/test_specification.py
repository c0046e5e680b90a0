"""The specification of standings, rule by rule."""

import math
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.lifecycle import Phase
from scorer.ranking.awards import NO_AWARDS, Awards, board_awards
from tests.pure.ranking.specification import ScoredEntry, round_score, standings

START = datetime(2026, 1, 1, tzinfo=UTC)


def entry(
    ref: int,
    team: str,
    score: float | None,
    minute: int = 0,
    *,
    copy: bool = False,
    benchmark: bool = False,
) -> ScoredEntry:
    return ScoredEntry(ref, team, score, START + timedelta(minutes=minute), copy, benchmark)


def board(*entries: ScoredEntry, precision: int = 4) -> list[tuple[int | None, int]]:
    """(rank, ref) of every line."""
    return [(line.rank, line.entry.ref) for line in standings(entries, precision).placings]


def test_lower_is_better_and_a_team_has_one_place() -> None:
    assert board(entry(1, "a", 30.0), entry(2, "b", 20.0), entry(3, "a", 10.0), entry(4, "b", 25.0)) == [
        (1, 3),
        (2, 2),
    ]


def test_ties_go_to_the_earlier_entry_and_then_to_the_lower_ref() -> None:
    assert board(entry(9, "a", 5.0, 2), entry(3, "b", 5.0, 1), entry(7, "c", 5.0, 1), entry(5, "d", 5.0, 2)) == [
        (1, 3),
        (2, 7),
        (3, 5),
        (4, 9),
    ]


def test_a_team_keeps_the_earlier_of_its_equal_entries() -> None:
    assert board(entry(1, "a", 5.00004, 1), entry(2, "a", 5.0, 2)) == [(1, 1)]


def test_scores_are_compared_as_shown() -> None:
    later_but_lower, earlier = entry(1, "a", 12.34561, 9), entry(2, "b", 12.34564, 1)
    assert board(later_but_lower, earlier, precision=4) == [(1, 2), (2, 1)]
    assert board(later_but_lower, earlier, precision=5) == [(1, 1), (2, 2)]
    assert [line.score for line in standings([earlier], 4).placings] == [12.3456]


@pytest.mark.parametrize("missing", [None, math.nan, math.inf])
def test_a_missing_score_never_ranks(missing: float | None) -> None:
    assert board(entry(1, "a", missing), entry(2, "b", 50.0), entry(3, "c", missing), entry(4, "c", 60.0)) == [
        (1, 2),
        (2, 4),
    ]


def test_a_score_of_zero_is_a_score() -> None:
    assert board(entry(1, "a", 1.0), entry(2, "b", 0.0)) == [(1, 2), (2, 1)]


def test_benchmarks_are_placed_without_a_rank() -> None:
    assert board(
        entry(1, "a", 10.0),
        entry(2, "held-out", 15.0, benchmark=True),
        entry(3, "b", 20.0),
        entry(4, "held-out", 12.0, benchmark=True),
    ) == [(1, 1), (None, 4), (2, 3)]


def test_copies_are_listed_separately_and_never_rank() -> None:
    board = standings(
        [
            entry(1, "copier", None, 1, copy=True),
            entry(2, "copier", 0.0, 5, copy=True),
            entry(3, "both", math.nan, 2, copy=True),
            entry(4, "both", 40.0, 3),
            entry(5, "other copier", None, 4, copy=True),
        ],
        4,
    )
    assert [(line.rank, line.entry.ref) for line in board.placings] == [(1, 4)]
    assert [line.ref for line in board.copies] == [5, 2]


def test_a_board_without_entries() -> None:
    board = standings([], 4)
    assert (board.placings, board.copies) == ((), ())


lines = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.one_of(st.none(), st.just(math.nan), st.integers(0, 6).map(lambda step: step / 4)),
        st.integers(0, 3),
        st.booleans(),
    ),
    max_size=25,
)


@given(given_lines=lines, order=st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(
    given_lines: list[tuple[int, float | None, int, bool]], order: Random
) -> None:
    entries = [
        entry(ref, f"team {team}", score, minute, copy=copy, benchmark=team == 5)
        for ref, (team, score, minute, copy) in enumerate(given_lines)
    ]
    board = standings(entries, 2)
    shuffled = entries.copy()
    order.shuffle(shuffled)
    assert standings(shuffled, 2) == board
    ranks = [line.rank for line in board.placings if line.rank is not None]
    assert ranks == list(range(1, len(ranks) + 1))
    teams = [line.entry.team for line in board.placings]
    assert len(set(teams)) == len(teams)
    scores = [line.score for line in board.placings]
    assert scores == sorted(scores)
    scored_teams = {row.team for row in entries if not row.copy and row.score is not None and not math.isnan(row.score)}
    assert set(teams) == scored_teams
    assert scored_teams.isdisjoint(line.team for line in board.copies)


@pytest.mark.parametrize(
    ("score", "precision", "expected"),
    [
        (2.5, 0, 3.0),
        (0.125, 2, 0.13),
        (0.375, 2, 0.38),
        (31.063449, 4, 31.0634),
        (0.0, 6, 0.0),
        (1e15 + 0.5, 3, 1e15 + 0.5),
    ],
)
def test_rounding_is_half_up(score: float, precision: int, expected: float) -> None:
    assert round_score(score, precision) == expected


@given(score=st.floats(0, 1e9), precision=st.integers(0, 6))
def test_rounding_moves_at_most_half_a_unit_and_only_once(score: float, precision: int) -> None:
    rounded = round_score(score, precision)
    assert abs(rounded - score) <= 0.5 * 10.0**-precision * (1 + 1e-9) + 1e-9 * score
    assert round_score(rounded, precision) == rounded


@given(low=st.floats(0, 1e9), high=st.floats(0, 1e9), precision=st.integers(0, 6))
def test_rounding_keeps_the_order(low: float, high: float, precision: int) -> None:
    low, high = sorted((low, high))
    assert round_score(low, precision) <= round_score(high, precision)


FINAL = Awards({"gold": 1, "silver": 1, "bronze": 3}, [{"place": 1, "amount": "$2,000"}])


def test_a_rank_wins_a_medal_and_a_prize() -> None:
    won = [("gold", "$2,000"), ("bronze", None), ("bronze", None), (None, None)]
    assert [FINAL.find_award(rank) for rank in (1, 2, 3, 4)] == won
    assert FINAL.find_award(0) == (None, None)
    assert FINAL.last_winning_rank == 3
    assert Awards({}).last_winning_rank == 0


@pytest.mark.parametrize("phase", list(Phase))
def test_the_public_board_awards_medals_only_in_an_open_competition(phase: Phase) -> None:
    assert board_awards(FINAL, "private", phase) == FINAL
    is_open = phase in {Phase.DRAFT, Phase.OPEN}
    assert board_awards(FINAL, "public", phase) == (Awards(FINAL.medals) if is_open else NO_AWARDS)
