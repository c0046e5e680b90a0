"""A team's remaining entries as a sentence. Pure."""

from dataclasses import dataclass
from datetime import datetime

from scorer.teams.quotas import Quota, Refusal


@dataclass(frozen=True)
class QuotaMessage:
    """A sentence; a page appends the moment if there is one."""

    sentence: str
    moment: datetime | None = None


def quota_message_of(quota: Quota) -> QuotaMessage:
    """How many entries are left today, and when there are more: ``3 of 5 entries left today, 5 again at``."""
    limits, left = quota.limits, quota.remaining
    usage = "Any number of entries today" if left is None else f"{left} of {limits.daily_limit} entries left today"
    match quota.refusal:
        case None if left is None or left == limits.daily_limit:
            return QuotaMessage(usage)
        case None:
            return QuotaMessage(f"{usage}, {limits.daily_limit} again at", quota.resets_at)
        case Refusal.PENDING:
            return QuotaMessage(f"{usage}; {quota.usage.pending} in progress, as many as are allowed at once")
        case Refusal.REJECTED:
            usage = f"{quota.usage.rejected} uploads rejected today, as many as are allowed"
    if quota.next_entry_at is None:
        return QuotaMessage(f"{usage}, and the competition closes before the next")
    return QuotaMessage(f"{usage}, next at", quota.next_entry_at)
