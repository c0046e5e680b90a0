"""Teams. A person alone is a team of one, made when they first enter."""

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
        team = _add_team(session, competition_id, _free_name(session, competition_id, account), now=now)
        session.add(Membership(competition_id=competition_id, team_id=team.id, account_id=account.id, created_at=now))
    lookups.lock_team(session, team.id)
    return team


def benchmark_team(session: Session, competition_id: int, name: str, *, now: datetime) -> Team:
    """The reference line ``name`` of the board, made if there is none yet. The caller holds the competition's lock."""
    team = lookups.team_by_name(session, competition_id, name)
    if team is None or not team.benchmark:
        free = name if team is None else f"{name} (benchmark)"
        team = _add_team(session, competition_id, free, now=now, benchmark=True)
    return team


def _add_team(session: Session, competition_id: int, name: str, *, now: datetime, benchmark: bool = False) -> Team:
    team = Team(competition_id=competition_id, name=name, benchmark=benchmark, created_at=now)
    session.add(team)
    session.flush()
    return team


def _free_name(session: Session, competition_id: int, account: Account) -> str:
    # Handles are unique, names are not.
    taken = lookups.team_by_name(session, competition_id, account.name) is not None
    return f"{account.name} ({account.handle})" if taken else account.name
