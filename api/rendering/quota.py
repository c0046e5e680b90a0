"""What a team may still enter, in the words of a page. Pure."""

from dataclasses import dataclass
from datetime import datetime

from scorer.lifecycle import Refusal
from scorer.teams.quotas import Quota


@dataclass(frozen=True)
class QuotaMessage:
    """A sentence, which ends with the moment if there is one."""

    words: str
    moment: datetime | None = None


def quota_message_of(allowance: Quota) -> QuotaMessage:
    """How many entries are left today, and when there are more: ``3 of 5 entries left today, 5 again at``."""
    limits, left = allowance.limits, allowance.remaining
    told = "Any number of entries today" if left is None else f"{left} of {limits.daily} entries left today"
    match allowance.refusal:
        case None if left is None or left == limits.daily:
            return QuotaMessage(told)
        case None:
            return QuotaMessage(f"{told}, {limits.daily} again at", allowance.resets_at)
        case Refusal.PENDING:
            return QuotaMessage(f"{told}; {allowance.usage.pending} in progress, as many as are allowed at once")
        case Refusal.REJECTED:
            told = f"{allowance.usage.rejected} uploads rejected today, as many as are allowed"
    if allowance.next_entry_at is None:
        return QuotaMessage(f"{told}, and the competition closes before the next")
    return QuotaMessage(f"{told}, next at", allowance.next_entry_at)
