"""How much a team may still enter, decided under its lock, and told to it before it tries."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState, takes_late
from scorer.db.tables import Account, Competition, Team
from scorer.db.teams import members
from scorer.errors import TooMany
from scorer.lifecycle import Phase, QuotaLimits, QuotaUsage, Refusal, next_entry_at, refusal_of, utc_day

NO_USAGE = QuotaUsage(charged=0, pending=0, rejected=0)
RETRY_AFTER_SECONDS = 30
"""Seconds after which a program may ask again while entries are in progress: when one of them ends, nobody knows."""


@dataclass(frozen=True)
class Quota:
    """A team's limits, what it has used of them, and when it may enter next."""

    limits: QuotaLimits
    usage: QuotaUsage
    refusal: Refusal | None
    """The limit that stands in the way of the next entry."""
    resets_at: datetime
    """When the counts of the day begin anew: the next UTC midnight."""
    next_entry_at: datetime | None
    """The moment of the next slot: now, the reset, or the start. None if it waits for an entry in progress, or if the
    competition closes before."""

    @property
    def remaining(self) -> int | None:
        """Entries left in this UTC day; None: any number."""
        return None if self.limits.daily is None else max(0, self.limits.daily - self.usage.charged)


def limits_of(competition: Competition) -> QuotaLimits:
    """What every team of a competition may do."""
    return QuotaLimits(competition.daily_limit, competition.pending_limit, competition.rejected_limit)


def quota_of(session: Session, state: CompetitionState, account: Account, *, now: datetime) -> Quota:
    """What a person's team may still do; a person without a team has used nothing. After the close it is about late
    entries, where they are taken."""
    team = members.team_of(session, state.competition.id, account.id)
    late = takes_late(state, now)
    usage = members.usage_of(session, team.id, now, late=late) if team is not None else NO_USAGE
    limits = limits_of(state.competition)
    moment = next_entry_at(limits, usage, now)
    return Quota(
        limits=limits,
        usage=usage,
        refusal=refusal_of(limits, usage),
        resets_at=utc_day(now)[1],
        next_entry_at=moment if late else _while_open(state, moment),
    )


def count_entries(session: Session, state: CompetitionState, account: Account) -> int:
    """How many entries a person's team has made, whatever became of them."""
    team = members.team_of(session, state.competition.id, account.id)
    return 0 if team is None else members.count_submissions(session, team.id)


def _while_open(state: CompetitionState, moment: datetime | None) -> datetime | None:
    opens_at, closes_at = state.competition.opens_at, state.competition.closes_at
    if state.phase is Phase.DRAFT:
        return opens_at
    closed = moment is not None and closes_at is not None and moment >= closes_at
    return moment if state.phase is Phase.OPEN and not closed else None


def require_quota(session: Session, competition: Competition, team: Team, *, now: datetime, late: bool = False) -> None:
    """``TooMany`` if a limit of the team is used up. It holds as long as the caller has the team's lock. ``late``: of
    entries after the close, which count apart."""
    limits = limits_of(competition)
    refusal = refusal_of(limits, members.usage_of(session, team.id, now, late=late))
    if refusal is None:
        return
    tomorrow = utc_day(now)[1]
    says = {
        Refusal.DAILY: f"Your team has used its {limits.daily} entries of this UTC day",
        Refusal.REJECTED: f"Your team has had {limits.rejected} uploads rejected in this UTC day",
        Refusal.PENDING: f"Your team has {limits.pending} entries in progress, as many as are allowed at once",
    }[refusal]
    if refusal is Refusal.PENDING:
        raise TooMany(refusal, f"{says}; wait until one is scored.", retry_after=RETRY_AFTER_SECONDS)
    seconds = int((tomorrow - now).total_seconds()) + 1
    raise TooMany(refusal, f"{says}; the next one is possible at {tomorrow:%Y-%m-%d %H:%M} UTC.", retry_after=seconds)
