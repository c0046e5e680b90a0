"""Quotas: how many submissions a team may make a day and have pending, enforced under the team's lock."""

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
"""``Retry-After`` while submissions are in progress, in seconds; when one of them ends is unknown."""


@dataclass(frozen=True)
class Quota:
    """A team's limits, which are its competition's, what it has used of them, and when it may submit next."""

    limits: Competition
    usage: QuotaUsage
    refusal: Refusal | None
    """The limit that blocks the next submission; None if there is none."""
    resets_at: datetime
    """When the daily counts restart: the next UTC midnight."""
    next_entry_at: datetime | None
    """When the next submission is possible: now, at the reset, or at the opening. None if it waits for one in progress,
    or if the competition closes before."""

    @property
    def remaining(self) -> int | None:
        """Submissions left in this UTC day; None: unlimited."""
        return None if self.limits.daily_limit is None else max(0, self.limits.daily_limit - self.usage.charged)


def quota_of(session: Session, state: CompetitionState, account: Account, *, now: datetime) -> Quota:
    """The quota of an account's team; an account without a team has used nothing. After the close it is the quota of
    late submissions, where they are taken."""
    team = members.team_of(session, state.competition.id, account.id)
    late = takes_late(state, now)
    usage = members.usage_of(session, team.id, now, late=late) if team is not None else NO_USAGE
    limits = state.competition
    moment = next_entry_at(limits, usage, now)
    return Quota(
        limits=limits,
        usage=usage,
        refusal=refusal_of(limits, usage),
        resets_at=utc_day(now)[1],
        next_entry_at=moment if late else _while_open(state, moment),
    )


def count_entries(session: Session, state: CompetitionState, account: Account) -> int:
    """The number of submissions of an account's team, whatever their status."""
    team = members.team_of(session, state.competition.id, account.id)
    return 0 if team is None else members.count_submissions(session, team.id)


def _while_open(state: CompetitionState, moment: datetime | None) -> datetime | None:
    opens_at, closes_at = state.competition.opens_at, state.competition.closes_at
    if state.phase is Phase.DRAFT:
        return opens_at
    closed = moment is not None and closes_at is not None and moment >= closes_at
    return moment if state.phase is Phase.OPEN and not closed else None


def require_quota(session: Session, competition: Competition, team: Team, *, now: datetime, late: bool = False) -> None:
    """``TooMany`` if a limit of the team is used up. The check holds as long as the caller has the team's lock.
    ``late``: for submissions after the close, which are counted separately."""
    refusal = refusal_of(competition, members.usage_of(session, team.id, now, late=late))
    if refusal is None:
        return
    tomorrow = utc_day(now)[1]
    message = {
        Refusal.DAILY: f"Your team has used its {competition.daily_limit} entries of this UTC day",
        Refusal.REJECTED: f"Your team has had {competition.rejected_limit} uploads rejected in this UTC day",
        Refusal.PENDING: f"Your team has {competition.pending_limit} entries in progress,"
        " as many as are allowed at once",
    }[refusal]
    if refusal is Refusal.PENDING:
        raise TooMany(refusal, f"{message}; wait until one is scored.", retry_after=RETRY_AFTER_SECONDS)
    seconds = int((tomorrow - now).total_seconds()) + 1
    raise TooMany(
        refusal, f"{message}; the next one is possible at {tomorrow:%Y-%m-%d %H:%M} UTC.", retry_after=seconds
    )


def refusal_of(limits: Competition, usage: QuotaUsage) -> Refusal | None:
    """The limit that refuses one more entry, or None if no limit does."""
    if usage.rejected >= limits.rejected_limit:
        return Refusal.REJECTED
    if limits.daily_limit is not None and usage.charged >= limits.daily_limit:
        return Refusal.DAILY
    if usage.pending >= limits.pending_limit:
        return Refusal.PENDING
    return None


def next_entry_at(limits: Competition, usage: QuotaUsage, now: datetime) -> datetime | None:
    """When a team may submit next: ``now`` if no limit refuses, else the next UTC day. None at the limit of entries in
    progress, whose end is not known beforehand."""
    refusal = refusal_of(limits, usage)
    if refusal is None:
        return now
    return None if refusal is Refusal.PENDING else utc_day(now)[1]


def possible_from(entries: int, daily: int | None, opens_at: datetime) -> datetime:
    """The earliest time at which one team can have made so many entries, with ``daily`` of them on every UTC day since
    the start: before it, teams that made them separately may not merge."""
    if daily is None or entries == 0:
        return opens_at
    full_days = math.ceil(entries / daily) - 1
    return max(opens_at, utc_day(opens_at)[0] + timedelta(days=full_days))
