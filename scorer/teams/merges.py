"""Team merges: another team gets all members and submissions of a team, within the limits of a single team.

The leader of one team asks and the leader of the other accepts (:mod:`scorer.teams.invitations`).
"""

from datetime import datetime

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Team, TeamMerge
from scorer.db.teams import members
from scorer.db.teams.merges import absorbed_ids
from scorer.errors import Conflict
from scorer.teams import teams
from scorer.teams.quotas import possible_from


def require_mergeable(session: Session, state: CompetitionState, team: Team, *, other: Team, now: datetime) -> None:
    """``Conflict`` if the merged team would exceed the team size or the submissions possible for a single team."""
    teams.require_place(state, sum(len(members.load_members(session, part.id)) for part in (team, other)))
    daily = state.competition.daily_limit
    opens_at = state.competition.opens_at or now
    ids = [team_id for part in (team, other) for team_id in (part.id, *absorbed_ids(session, part.id))]
    entries = members.count_charged(session, ids)
    earliest = possible_from(entries, daily, opens_at)
    if now < earliest:
        last = state.competition.team_merge_deadline or state.competition.closes_at
        outlook = (
            f"You can merge from {earliest:%Y-%m-%d %H:%M} UTC if neither team submits before then."
            if last is None or earliest < last
            else "The limit would only allow this after the deadline for merging, so your teams can't merge."
        )
        raise Conflict(
            "too-many-entries",
            f"Together, your teams have made {entries} entries. At {daily} per day, a single team could not have made "
            f"this many yet. {outlook}",
        )


def merge_teams(acting: Acting, state: CompetitionState, team: Team, *, other: Team) -> None:
    """Merge ``other`` permanently into ``team``, with its members and submissions."""
    members.lock_teams(acting.session, [team.id, other.id])
    require_mergeable(acting.session, state, team, other=other, now=acting.now)
    other_members = members.load_members(acting.session, other.id)
    for team_id in (other.id, *absorbed_ids(acting.session, other.id)):
        acting.session.add(
            TeamMerge(
                competition_id=team.competition_id,
                team_id=team_id,
                into_team_id=team.id,
                account_id=acting.actor.id,
                created_at=acting.now,
            )
        )
    teams.join(acting.session, team, other_members, now=acting.now)
    teams.disband_if_empty(acting.session, other, now=acting.now)
