"""Teams: creating, naming, leaving. A person alone is a team of one, created at their first submission or invitation.

Every change of members holds the lock of the competition's teams (:func:`lock_changeable`) and of the team's row. A
submission only locks the row, so uploads of different teams don't wait for each other.
"""

import itertools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions import rules
from scorer.competitions.competition_state import CompetitionState, visible_state
from scorer.db import competitions
from scorer.db.tables import Account, Membership, Team, TeamInvitation, TeamRenaming
from scorer.db.teams import members
from scorer.errors import Conflict, Forbidden, Invalid, NotFound
from scorer.lifecycle import Phase

MAX_TEAM_NAME_LENGTH = 60


@dataclass(frozen=True)
class Roster:
    """A team with its members and open invitations."""

    team: Team
    members: Sequence[Account]
    """Members in the order of joining; the first one leads the team."""
    invitations: Sequence[TeamInvitation]
    """The team's open invitations."""

    @property
    def leader(self) -> Account:
        return self.members[0]


def find_or_create_team(acting: Acting, competition_id: int) -> Team:
    """Return the account's team in a competition, locked for this transaction; create it if needed."""
    team = members.load_team(acting.session, competition_id, acting.actor.id)
    if team is None:
        members.lock_changes(acting.session, competition_id)
        # Of two concurrent first submissions, the second finds the team of the first.
        team = members.load_team(acting.session, competition_id, acting.actor.id) or _create_single_team(
            acting.session, competition_id, acting.actor, now=acting.now
        )
    return lock_current_team(acting.session, team, acting.actor)


def lock_current_team(session: Session, team: Team, account: Account) -> Team:
    """Return the account's team, locked for this transaction: ``team``, or the team it was just merged into."""
    while True:
        members.lock_teams(session, [team.id])
        current = members.load_team(session, team.competition_id, account.id)
        if current is None:
            raise Conflict("team-changed", "You have just left your team. Please try again.")
        if current.id == team.id:
            return team
        team = current  # merged while we waited for the lock


def benchmark_team(session: Session, competition_id: int, name: str, *, now: datetime) -> Team:
    """Return the team of the benchmark entries called ``name``; create it if needed."""
    members.lock_changes(session, competition_id)
    names = (name, f"{name} (benchmark)")
    team = members.benchmark_by_name(session, competition_id, names)
    return team or _add_team(session, competition_id, names, now=now, benchmark=True)


def lock_changeable(acting: Acting, slug: str) -> CompetitionState:
    """Return the competition with its times and teams locked for this transaction; ``Conflict`` unless it is open."""
    competitions.lock_competition(acting.session, slug, share=True)
    state = visible_state(acting, slug)
    members.lock_changes(acting.session, state.competition.id)
    if state.phase is Phase.DRAFT:
        raise Conflict("not-open", "The competition is not open yet. You can create a team when it opens.")
    if state.phase is not Phase.OPEN:
        raise Conflict("closed", "The deadline has passed. You can no longer create or change teams.")
    return state


def is_changeable(state: CompetitionState, now: datetime) -> bool:
    """Whether members may change: the competition is open and the merge deadline has not passed."""
    deadline = state.competition.team_merge_deadline
    return state.phase is Phase.OPEN and (deadline is None or now < deadline)


def require_before_deadline(state: CompetitionState, now: datetime) -> None:
    """``Conflict`` after the team merge deadline."""
    deadline = state.competition.team_merge_deadline
    if deadline is not None and not is_changeable(state, now):
        raise Conflict(
            "merge-deadline",
            f"The team merge deadline was {deadline:%Y-%m-%d %H:%M} UTC. Nobody can join or leave a team any more.",
        )


def own_team(session: Session, state: CompetitionState, account: Account) -> Team:
    """Return the account's team; ``NotFound`` without a team."""
    team = members.load_team(session, state.competition.id, account.id)
    if team is None:
        raise NotFound("no-team", "You have no team in this competition yet. Your first entry creates one.")
    return team


def own_roster(session: Session, state: CompetitionState, account: Account) -> Roster:
    """Return the account's team with its members; ``NotFound`` without a team."""
    team = own_team(session, state, account)
    return Roster(team, members.load_members(session, team.id), members.invitations_sent_by(session, team.id))


def led_roster(session: Session, state: CompetitionState, account: Account) -> Roster:
    """Return the team that the account leads; ``Forbidden`` for another member, ``NotFound`` without a team."""
    roster = own_roster(session, state, account)
    if roster.leader.id != account.id:
        raise Forbidden("leader-needed", f"Only the leader of your team, {roster.leader.name}, can do this.")
    return roster


def led_or_new_team(acting: Acting, state: CompetitionState) -> Roster:
    """Return the team that the account leads, or create a team of one. Call after :func:`lock_changeable`."""
    if members.load_team(acting.session, state.competition.id, acting.actor.id) is None:
        rules.require_entrant(acting.session, state.competition, acting.actor)
        _create_single_team(acting.session, state.competition.id, acting.actor, now=acting.now)
    return led_roster(acting.session, state, acting.actor)


def create(acting: Acting, slug: str, name: str) -> Roster:
    """Create a team; ``Conflict`` if the account already has a team or the name is taken."""
    state = lock_changeable(acting, slug)
    team = members.load_team(acting.session, state.competition.id, acting.actor.id)
    if team is not None:
        raise Conflict("in-a-team", f"You are already in the team {team.name!r}. Its leader can rename it.")
    rules.require_entrant(acting.session, state.competition, acting.actor)
    team = _add_team(acting.session, state.competition.id, [_free_name(acting.session, state, name)], now=acting.now)
    join(acting.session, team, [acting.actor], now=acting.now)
    return own_roster(acting.session, state, acting.actor)


def rename(acting: Acting, slug: str, name: str) -> Roster:
    state = lock_changeable(acting, slug)
    roster = led_roster(acting.session, state, acting.actor)
    team = roster.team
    if name.strip() != team.name:
        after = _free_name(acting.session, state, name, own_name=team.name)
        acting.session.add(
            TeamRenaming(
                competition_id=team.competition_id,
                team_id=team.id,
                before=team.name,
                after=after,
                account_id=acting.actor.id,
                created_at=acting.now,
            )
        )
        team.name = after
        acting.session.flush()
    return roster


def leave(acting: Acting, slug: str) -> None:
    """Leave the account's team. ``Conflict`` if it has submitted: nobody may use the limits of two teams."""
    state = lock_changeable(acting, slug)
    require_before_deadline(state, acting.now)
    team = own_team(acting.session, state, acting.actor)
    members.lock_teams(acting.session, [team.id])
    if members.has_entered(acting.session, state.competition.id, acting.actor.id):
        raise Conflict(
            "has-entries", "You have submitted entries with your team. They stay in the team, so you can't leave it."
        )
    depart(acting.session, team, acting.actor, now=acting.now)


def depart(session: Session, team: Team, account: Account, *, now: datetime) -> None:
    """End an account's membership of its team. The caller has locked the competition's teams and the team."""
    session.add(_membership(team, account, joined=False, now=now))
    session.flush()
    disband_if_empty(session, team, now=now)


def join(session: Session, team: Team, accounts: Sequence[Account], *, now: datetime) -> None:
    """Make accounts members of a team, in this order; they leave any other team. Call after :func:`lock_changeable`."""
    for account in accounts:
        session.add(_membership(team, account, joined=True, now=now))
        session.flush()


def disband_if_empty(session: Session, team: Team, *, now: datetime) -> None:
    """Close all invitations from and to a team without members."""
    if not members.load_members(session, team.id):
        members.close_invitations(session, team.id, now)


def _membership(team: Team, account: Account, *, joined: bool, now: datetime) -> Membership:
    return Membership(
        competition_id=team.competition_id, team_id=team.id, account_id=account.id, joined=joined, created_at=now
    )


def _create_single_team(session: Session, competition_id: int, account: Account, *, now: datetime) -> Team:
    # Handles are unique, names are not.
    team = _add_team(session, competition_id, (account.name, f"{account.name} ({account.handle})"), now=now)
    join(session, team, [account], now=now)
    return team


def _add_team(
    session: Session, competition_id: int, names: Sequence[str], *, now: datetime, benchmark: bool = False
) -> Team:
    name = first_free_name(session, competition_id, names)
    team = Team(competition_id=competition_id, name=name, benchmark=benchmark, created_at=now)
    session.add(team)
    session.flush()
    return team


def first_free_name(session: Session, competition_id: int, names: Sequence[str]) -> str:
    """Return the first name that no team of a competition has; if all are taken, the last one with a number."""
    numbered = (f"{names[-1]} {number}" for number in itertools.count(2))
    candidates = itertools.chain(names, numbered)
    return next(name for name in candidates if not members.is_name_taken(session, competition_id, name))


def _free_name(session: Session, state: CompetitionState, name: str, *, own_name: str = "") -> str:
    name = unicodedata.normalize("NFC", name).strip()
    if not 0 < len(name) <= MAX_TEAM_NAME_LENGTH:
        raise Invalid("bad-name", f"The name has {len(name)} characters. Use 1 to {MAX_TEAM_NAME_LENGTH} characters.")
    if any(unicodedata.category(character)[0] == "C" for character in name):
        raise Invalid("bad-name", "The name contains invisible characters or line breaks. Remove them.")
    respelled = unicodedata.normalize("NFKC", name).lower() == unicodedata.normalize("NFKC", own_name).lower()
    if not respelled and members.is_name_taken(session, state.competition.id, name):
        raise Conflict("name-taken", f"There is already a team {name!r} in this competition. Choose another name.")
    return name


def require_place(state: CompetitionState, size: int) -> None:
    """``Conflict`` if a team of this size would be too large."""
    limit = state.competition.max_team_size
    if size > limit:
        raise Conflict("team-full", f"The team would have {size} members. The limit is {limit} members.")
