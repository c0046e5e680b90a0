"""Quotas: the next free slot, and the earliest time of a number of entries."""

from datetime import UTC, datetime, timedelta

import pytest

from scorer.db.tables import Competition
from scorer.db.teams.members import QuotaUsage
from scorer.lifecycle import ALLOWED_STEPS, CANCELLABLE, Status
from scorer.teams.quotas import Refusal, find_refusal, next_entry_at, possible_from

NOON = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 15, tzinfo=UTC)
LIMITS = Competition(daily_limit=5, pending_limit=2, rejected_limit=3)


@pytest.mark.parametrize(
    ("usage", "refusal", "moment"),
    [
        (QuotaUsage(0, 0, 0), None, NOON),
        (QuotaUsage(4, 1, 2), None, NOON),
        (QuotaUsage(5, 0, 0), Refusal.DAILY, MIDNIGHT),
        (QuotaUsage(9, 0, 0), Refusal.DAILY, MIDNIGHT),
        (QuotaUsage(0, 0, 3), Refusal.REJECTED, MIDNIGHT),
        (QuotaUsage(2, 2, 0), Refusal.PENDING, None),
        (QuotaUsage(5, 2, 0), Refusal.DAILY, MIDNIGHT),
    ],
)
def test_the_next_slot_is_now_or_tomorrow_or_when_one_in_progress_ends(
    usage: QuotaUsage, refusal: Refusal | None, moment: datetime | None
) -> None:
    assert find_refusal(LIMITS, usage) is refusal
    assert next_entry_at(LIMITS, usage, NOON) == moment


def test_without_a_daily_limit_a_team_can_always_submit() -> None:
    limits = Competition(daily_limit=None, pending_limit=2, rejected_limit=3)
    assert next_entry_at(limits, QuotaUsage(10_000, 0, 0), NOON) == NOON


@pytest.mark.parametrize(
    ("entries", "days"), [(0, None), (1, None), (5, None), (6, 1), (10, 1), (11, 2), (50, 9), (51, 10)]
)
def test_a_number_of_entries_is_possible_after_a_number_of_days(entries: int, days: int | None) -> None:
    """The opening day counts in full, even if the competition opens late that day."""
    midnight = NOON.replace(hour=0)
    expected = NOON if days is None else midnight + timedelta(days=days)
    assert possible_from(entries, 5, NOON) == expected


def test_without_a_daily_limit_teams_may_merge_from_the_opening() -> None:
    assert possible_from(10_000, None, NOON) == NOON


def test_an_entry_is_cancelled_before_its_scoring_begins() -> None:
    assert {Status.RECEIVED, Status.CHECKING, Status.QUEUED} == CANCELLABLE
    assert ALLOWED_STEPS[Status.CANCELLED] == frozenset()
