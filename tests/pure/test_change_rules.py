"""When and how far a field of a competition may change."""

from dataclasses import replace
from typing import Any

import pytest

from scorer.competitions.change_rules import LATER, LIMITS, RANKED, ChangeFacts, find_faults, fixed_fields
from scorer.competitions.spec import CompetitionSpec
from scorer.lifecycle import Phase

DRAFT = ChangeFacts(
    Phase.DRAFT,
    closed=False,
    picks_open=True,
    has_entries=False,
    has_live_entries=False,
    drawn=False,
    largest_team=0,
    most_picks=0,
)
OPEN = replace(DRAFT, phase=Phase.OPEN)
ENTERED = replace(OPEN, has_entries=True, has_live_entries=True, largest_team=3, most_picks=2)
CLOSED = replace(ENTERED, phase=Phase.REVIEW, closed=True)
OVER = replace(CLOSED, picks_open=False)
PROVISIONAL = replace(OVER, phase=Phase.PROVISIONAL)
FINAL = replace(OVER, phase=Phase.FINAL)

FIRST, BOTH = [{"place": 1, "amount": "$5"}], [{"place": 1, "amount": "$5"}, {"place": 2, "amount": "$1"}]
MORE, FEWER = {"gold": 10, "silver": 50, "bronze": 100}, {"gold": 5, "silver": 50, "bronze": 100}
CASES: list[tuple[str, Any, Any, ChangeFacts, bool]] = [
    ("slug", "a", "b", OPEN, False),
    ("image_size", 64, 32, OPEN, False),
    ("public", {}, {"epsilon": 1.0}, OPEN, True),
    ("public", {}, {"epsilon": 1.0}, ENTERED, False),
    ("opens_at", 1, 2, OPEN, True),
    ("opens_at", 1, 2, replace(OPEN, has_entries=True), False),
    ("opens_at", 1, 2, replace(DRAFT, has_entries=True), True),  # imported results
    ("closes_at", 1, 2, CLOSED, True),
    ("closes_at", 1, 2, PROVISIONAL, False),
    ("closes_at", 1, 2, FINAL, False),
    ("closes_at", 1, 2, replace(CLOSED, drawn=True), False),  # the board is withdrawn
    ("upload_grace_seconds", 1, 2, replace(CLOSED, drawn=True), False),
    ("draws", {"public": 1}, {"public": 2}, OPEN, True),
    ("draws", {"public": 1}, {"public": 2}, replace(OPEN, has_entries=True), False),  # all of them rejected
    ("draws", {"release": False}, {"release": True}, DRAFT, True),
    ("draws", {"release": False}, {"release": True}, OPEN, False),
    ("entries", "images", "generator", replace(DRAFT, has_entries=True), False),
    ("final_picks", 3, 2, ENTERED, True),
    ("final_picks", 2, 1, ENTERED, False),
    ("final_picks", 2, 3, CLOSED, True),
    ("final_picks", 2, 3, OVER, False),
    ("max_team_size", 5, 3, ENTERED, True),
    ("max_team_size", 5, 2, ENTERED, False),
    ("prizes", BOTH, FIRST, ENTERED, True),
    ("prizes", BOTH, FIRST, CLOSED, False),
    ("prizes", FIRST, BOTH, PROVISIONAL, True),
    ("prizes", FIRST, BOTH, FINAL, False),
    ("medals", MORE, FEWER, ENTERED, True),
    ("medals", MORE, FEWER, CLOSED, False),
    ("medals", FEWER, MORE, CLOSED, True),
    ("upload_grace_seconds", 900, 60, ENTERED, True),
    ("upload_grace_seconds", 900, 60, CLOSED, False),
    ("review_days", 14, 15, CLOSED, True),
    ("review_days", 14, 13, CLOSED, False),
    ("appeal_days", 7, 6, CLOSED, True),
    ("appeal_days", 7, 6, PROVISIONAL, False),
    ("daily_limit", 5, 1, FINAL, True),
    ("rules", "a", "b", FINAL, True),
]


@pytest.mark.parametrize(("name", "before", "after", "facts", "allowed"), CASES)
def test_a_field_can_change_as_long_as_no_promise_is_broken(
    name: str, before: Any, after: Any, facts: ChangeFacts, allowed: bool
) -> None:
    faults = find_faults({name: before}, {name: after}, facts)
    assert (faults == []) is allowed, faults
    assert all(fault.startswith(f"{name}: ") for fault in faults)


def test_every_field_of_a_draft_can_change_and_every_rule_has_a_field() -> None:
    assert fixed_fields(DRAFT) == {}
    assert {name.partition(".")[0] for name in (*LATER, *LIMITS, *RANKED)} <= set(CompetitionSpec.model_fields)
    assert set(fixed_fields(FINAL)) | set(LIMITS) <= set(LATER), "every refusal is documented"
