"""Cells that no spreadsheet runs."""

import pytest

from kennel_client.cli.formatting import escape_formula


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20A"]
)
def test_what_begins_as_a_formula_does_is_text(cell: str) -> None:
    assert escape_formula(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "Alpha = Beta", "a-b", "'quoted"])
def test_all_else_stays_as_it_is(cell: str) -> None:
    assert escape_formula(cell) == cell
