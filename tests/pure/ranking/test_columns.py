"""Columns of entries: what is computed in blocks is what is computed at once."""

import numpy as np
import pytest

from scorer.ranking.columns import BLOCK_ROWS, EntryColumns, JudgingRules, in_blocks
from scorer.ranking.judged_entries import JudgedEntries


@pytest.mark.parametrize("rows", [0, 1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS - 1])
def test_blocks_give_what_the_whole_gives(rows: int) -> None:
    values = np.random.default_rng(rows).random(rows)
    whole = in_blocks(lambda value, other: value < other, values, 1.0 - values)
    assert whole.dtype == np.bool_
    np.testing.assert_array_equal(whole, values < 1.0 - values)


def test_entries_beyond_the_first_block_are_judged_as_they_are_alone() -> None:
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
        terms=np.zeros(rows, np.int64),
    )
    rules = JudgingRules(tau=0.4, epsilon=1e-15, decimals=5, benchmarks=np.array([3]), waived=numbers[::17])
    judged = JudgedEntries(columns, rules)
    for row in range(0, rows, 101):
        alone = JudgedEntries(columns.take(numbers[row : row + 1]), rules)
        np.testing.assert_array_equal(alone.score, judged.score[row : row + 1])
        np.testing.assert_array_equal(alone.exact_score, judged.exact_score[row : row + 1])
        np.testing.assert_array_equal(alone.penalised, judged.penalised[row : row + 1])
