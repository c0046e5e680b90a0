"""Quotas: limits on a team's submissions per day and in progress, enforced under the team's lock."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState, takes_late
from scorer.db.tables import Account, Competition, Team
from scorer.db.teams import members
from scorer.db.teams.members import QuotaUsage
from scorer.errors import TooMany
from scorer.lifecycle import Phase, utc_day


class Refusal(StrEnum):
    """The limit that refuses an entry."""

    DAILY = "daily-limit"
    PENDING = "pending-limit"
    REJECTED = "rejected-limit"


NO_USAGE = QuotaUsage(charged=0, pending=0, rejected=0)
RETRY_AFTER_SECONDS = 30
"""Seconds for ``Retry-After`` while submissions are in progress; nobody knows when one of them ends."""


@dataclass(frozen=True)
class Quota:
    """A team's limits, which are its competition's, its usage, and the time of its next possible submission."""

    limits: Competition
    usage: QuotaUsage
    refusal: Refusal | None
    """The limit that blocks the next submission; None if no limit does."""
    resets_at: datetime
    """When the daily counts restart: the next UTC midnight."""
    next_entry_at: datetime | None
    """When the next submission is possible: now, at the reset, or at the opening. None if it must wait for another
    submission, or if the competition closes first."""

    @property
    def remaining(self) -> int | None:
        """Submissions left in this UTC day; None means unlimited."""
        return None if self.limits.daily_limit is None else max(0, self.limits.daily_limit - self.usage.charged)


def load_quota(session: Session, state: CompetitionState, account: Account, *, now: datetime) -> Quota:
    """Return the quota of an account's team; an account without a team has used nothing.

    After the deadline it is the quota for late submissions, if the competition accepts them.
    """
    team = members.load_team(session, state.competition.id, account.id)
    late = takes_late(state, now)
    usage = members.load_usage(session, team.id, now, late=late) if team is not None else NO_USAGE
    limits = state.competition
    moment = next_entry_at(limits, usage, now)
    return Quota(
        limits=limits,
        usage=usage,
        refusal=find_refusal(limits, usage),
        resets_at=utc_day(now)[1],
        next_entry_at=moment if late else _while_open(state, moment),
    )


def count_entries(session: Session, state: CompetitionState, account: Account) -> int:
    team = members.load_team(session, state.competition.id, account.id)
    return 0 if team is None else members.count_submissions(session, team.id)


def _while_open(state: CompetitionState, moment: datetime | None) -> datetime | None:
    opens_at, closes_at = state.competition.opens_at, state.competition.closes_at
    if state.phase is Phase.DRAFT:
        return opens_at
    closed = moment is not None and closes_at is not None and moment >= closes_at
    return moment if state.phase is Phase.OPEN and not closed else None


def require_quota(session: Session, competition: Competition, team: Team, *, now: datetime, late: bool = False) -> None:
    """``TooMany`` if the team has reached a limit. The check holds while the caller holds the team's lock.

    ``late``: for submissions after the deadline, which count separately.
    """
    refusal = find_refusal(competition, members.load_usage(session, team.id, now, late=late))
    if refusal is None:
        return
    tomorrow = utc_day(now)[1]
    reached = {
        Refusal.DAILY: f"entries per UTC day ({competition.daily_limit})",
        Refusal.REJECTED: f"rejected uploads per UTC day ({competition.rejected_limit})",
        Refusal.PENDING: f"entries in progress ({competition.pending_limit})",
    }[refusal]
    message = f"Your team has reached the limit of {reached}"
    if refusal is Refusal.PENDING:
        raise TooMany(refusal, f"{message}. Wait until one is scored.", retry_after=RETRY_AFTER_SECONDS)
    seconds = int((tomorrow - now).total_seconds()) + 1
    raise TooMany(refusal, f"{message}. You can submit again at {tomorrow:%Y-%m-%d %H:%M} UTC.", retry_after=seconds)


def find_refusal(limits: Competition, usage: QuotaUsage) -> Refusal | None:
    """Return the limit that refuses one more entry; None if no limit does."""
    if usage.rejected >= limits.rejected_limit:
        return Refusal.REJECTED
    if limits.daily_limit is not None and usage.charged >= limits.daily_limit:
        return Refusal.DAILY
    if usage.pending >= limits.pending_limit:
        return Refusal.PENDING
    return None


def next_entry_at(limits: Competition, usage: QuotaUsage, now: datetime) -> datetime | None:
    """Return when a team may submit next: ``now`` if no limit refuses, else the start of the next UTC day.

    None at the limit of entries in progress, because their end is unknown.
    """
    refusal = find_refusal(limits, usage)
    if refusal is None:
        return now
    return None if refusal is Refusal.PENDING else utc_day(now)[1]


def possible_from(entries: int, daily: int | None, opens_at: datetime) -> datetime:
    """Return the earliest time at which a single team can have made this many entries with ``daily`` per UTC day.

    Before it, teams with this many entries together may not merge.
    """
    if daily is None or entries == 0:
        return opens_at
    full_days = math.ceil(entries / daily) - 1
    return max(opens_at, utc_day(opens_at)[0] + timedelta(days=full_days))
