"""Describes a team's remaining entries in a sentence. Pure."""

from dataclasses import dataclass
from datetime import datetime

from scorer.teams.quotas import Quota, Refusal


@dataclass(frozen=True)
class QuotaMessage:
    """A sentence; the page appends ``moment`` if it is set."""

    sentence: str
    moment: datetime | None = None


def describe_quota(quota: Quota) -> QuotaMessage:
    """How many entries are left today, and the next reset: ``3 of 5 entries left today; the quota resets at``."""
    limits, left = quota.limits, quota.remaining
    usage = "No daily limit" if left is None else f"{left} of {limits.daily_limit} entries left today"
    match quota.refusal:
        case None if left is None or left == limits.daily_limit:
            return QuotaMessage(usage)
        case None:
            return QuotaMessage(f"{usage}; the quota resets at", quota.resets_at)
        case Refusal.PENDING:
            return QuotaMessage(f"{usage}; {quota.usage.pending} in progress (the limit)")
        case Refusal.REJECTED:
            usage = f"{quota.usage.rejected} rejected uploads today (the limit)"
    if quota.next_entry_at is None:
        return QuotaMessage(f"{usage}; you can't submit again before the deadline")
    return QuotaMessage(f"{usage}; you can submit again at", quota.next_entry_at)
