"""Teams. A person alone is a team of one, made when they first enter."""

import itertools
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.db import lookups
from scorer.db.tables import Account, Membership, Team


def team_for(session: Session, competition_id: int, account: Account, *, now: datetime) -> Team:
    """The person's team in a competition, made if there is none yet, locked for this transaction."""
    # The account is locked first, so that two first entries at once make one team.
    lookups.lock_account(session, account.id)
    team = lookups.team_of(session, competition_id, account.id)
    if team is None:
        lookups.lock_team_names(session, competition_id)
        # Handles are unique, names are not.
        names = (account.name, f"{account.name} ({account.handle})")
        team = _add_team(session, competition_id, names, now=now)
        session.add(Membership(competition_id=competition_id, team_id=team.id, account_id=account.id, created_at=now))
    lookups.lock_team(session, team.id)
    return team


def benchmark_team(session: Session, competition_id: int, name: str, *, now: datetime) -> Team:
    """The reference line ``name`` of the board, made if there is none yet."""
    lookups.lock_team_names(session, competition_id)
    names = (name, f"{name} (benchmark)")
    team = lookups.benchmark_by_name(session, competition_id, names)
    return team or _add_team(session, competition_id, names, now=now, benchmark=True)


def _add_team(
    session: Session, competition_id: int, names: Sequence[str], *, now: datetime, benchmark: bool = False
) -> Team:
    numbered = (f"{names[-1]} {number}" for number in itertools.count(2))
    free = (
        name for name in itertools.chain(names, numbered) if not lookups.team_by_name(session, competition_id, name)
    )
    team = Team(competition_id=competition_id, name=next(free), benchmark=benchmark, created_at=now)
    session.add(team)
    session.flush()
    return team
