"""Vectorised ranking, also in blocks, against the readable definition, on random competitions without a database."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.metrics.mifid import EPSILON
from scorer.ranking.columns import BLOCK_ROWS, EntryColumns, JudgingRules, in_blocks
from scorer.ranking.judged_entries import JudgedEntries
from scorer.ranking.vectorised import choose_finals, find_best, rank_entries
from tests.db.leaderboard.board_oracle import assert_matches_specification
from tests.db.leaderboard.strategies import (
    DECIMALS,
    MAX_FINAL_PICKS,
    NOW,
    TAUS,
    DrawnCompetition,
    build_field,
    build_picks,
    build_rules,
    competitions,
)
from tests.examples import examples
from tests.pure.ranking import specification


@settings(max_examples=examples(1000), deadline=None)
@given(competitions())
def test_columns_are_the_readable_definition(drawn: DrawnCompetition) -> None:
    public = JudgedEntries(build_field(drawn, "public"), build_rules(drawn, "public"))
    final = choose_finals(public, build_picks(drawn), MAX_FINAL_PICKS)
    private = JudgedEntries(build_field(drawn, "private"), build_rules(drawn, "private"), final)
    assert_matches_specification(rank_entries(public), drawn, "public", NOW)
    assert_matches_specification(rank_entries(public, late=True), drawn, "late", NOW)
    assert_matches_specification(rank_entries(private), drawn, "private", NOW)
    best = specification.final_refs(drawn.field("public", NOW), {}, MAX_FINAL_PICKS, DECIMALS)
    for team in np.unique(public.team).tolist():
        own = JudgedEntries(public.columns.take(public.team == team), public.rules)
        assert tuple(find_best(own, MAX_FINAL_PICKS).tolist()) == best.get(team, ())


@given(st.lists(st.sampled_from([3, 4, 7, 900, 10**12]), max_size=9))
def test_teams_are_numbered_in_the_order_of_their_ids(ids: list[int]) -> None:
    teams = np.array(ids, np.int64)
    entries = replace(some(*range(len(ids))), team=teams)
    codes, count = JudgedEntries(entries, JudgingRules(0.2, EPSILON, DECIMALS)).codes
    distinct, expected = np.unique(teams, return_inverse=True)
    assert (codes.tolist(), count) == (expected.tolist(), len(distinct))


@settings(max_examples=examples(200), deadline=None)
@given(competitions(), st.sampled_from([math.nan, 0.0, *TAUS, 2.0]))
def test_judging_with_another_tau_is_the_same_as_changing_the_rules(drawn: DrawnCompetition, tau: float) -> None:
    public = JudgedEntries(build_field(drawn, "public"), build_rules(drawn, "public"))
    final = choose_finals(public, build_picks(drawn), MAX_FINAL_PICKS)
    for finals in (None, final):
        judged = JudgedEntries(build_field(drawn, "private"), build_rules(drawn, "private"), finals)
        rank_entries(judged)  # fills the caches, both those that `under` shares and those that it must not share
        other = judged.under(tau)
        recomputed = JudgedEntries(judged.columns, replace(judged.rules, tau=tau), finals)
        for name in ("team", "penalised", "is_exempt", "is_copy", "counts", "can_rank", "score", "tau"):
            np.testing.assert_array_equal(getattr(other, name), getattr(recomputed, name), err_msg=name)
        for name in ("rows", "benchmarks", "copies", "disqualified"):
            assert getattr(rank_entries(other), name).tolist() == getattr(rank_entries(recomputed), name).tolist(), name


def some(*refs: int, fid: float = 1.0) -> EntryColumns:
    count = len(refs)
    zeros = np.zeros(count, np.int64)
    ones = np.ones(count)
    return EntryColumns(
        np.array(refs, np.int64), zeros, zeros, zeros, fid * ones, ones, ones, 0 * ones, zeros > 0, zeros
    )


@pytest.mark.parametrize(("old", "new", "refs"), [((1, 2, 5), (2, 3), [1, 2, 3, 5]), ((), (4,), [4]), ((1,), (), [1])])
def test_new_rows_replace_old_rows_of_the_same_entry(
    old: tuple[int, ...], new: tuple[int, ...], refs: list[int]
) -> None:
    both = some(*old).updated_with(some(*new, fid=7.0))
    assert both.ref.tolist() == refs
    assert both.fid.tolist() == [7.0 if ref in new else 1.0 for ref in refs]
    assert some(*old).without(set(new)).ref.tolist() == [ref for ref in old if ref not in new]


@pytest.mark.parametrize("rows", [0, 1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS - 1])
def test_blocks_give_the_result_of_the_whole_array(rows: int) -> None:
    values = np.random.default_rng(rows).random(rows)
    whole = in_blocks(lambda value, other: value < other, values, 1.0 - values)
    assert whole.dtype == np.bool_
    np.testing.assert_array_equal(whole, values < 1.0 - values)


def test_entries_after_the_first_block_are_judged_correctly() -> None:
    random = np.random.default_rng(1)
    rows = 2 * BLOCK_ROWS + 7
    numbers = np.arange(rows)
    columns = EntryColumns(
        ref=numbers,
        team=numbers % 11,
        accepted_at=numbers,
        measured_at=numbers,
        fid=400.0 * random.random(rows),
        distance=random.random(rows),
        distance_se=np.full(rows, np.nan),
        copied_share=random.random(rows),
        late=np.zeros(rows, np.bool_),
        conditions=np.zeros(rows, np.int64),
    )
    rules = JudgingRules(tau=0.4, epsilon=1e-15, decimals=5, benchmarks=np.array([3]), waived=numbers[::17])
    judged = JudgedEntries(columns, rules)
    for row in range(0, rows, 101):
        alone = JudgedEntries(columns.take(numbers[row : row + 1]), rules)
        np.testing.assert_array_equal(alone.score, judged.score[row : row + 1])
        np.testing.assert_array_equal(alone.exact_score, judged.exact_score[row : row + 1])
        np.testing.assert_array_equal(alone.penalised, judged.penalised[row : row + 1])
