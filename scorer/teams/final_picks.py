"""Final picks: the submissions that a team wants to be ranked by. New sets are added; the newest counts.

Teams can pick a submission while it waits for its score, so a last-minute submission can be a pick. Without a score it
does not count. A team without a counting pick is ranked by its best public submissions
(:func:`tests.pure.ranking.specification.final_refs`). After a merge the picks of the absorbing team remain, and it can
pick the absorbed team's submissions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState, grace_end, require_not_final, visible_state
from scorer.db import competitions
from scorer.db.leaderboard import board_details, final_picks, ranked_entries
from scorer.db.submissions import submissions
from scorer.db.tables import PickSet, Submission, Team
from scorer.errors import Conflict, Invalid
from scorer.lifecycle import PICKABLE, Phase
from scorer.ranking.vectorised import find_best
from scorer.teams import teams


@dataclass(frozen=True)
class FinalEntries:
    """The submissions that rank a team, as far as known now."""

    chosen: PickSet | None
    """The team's picks; None if it has none or has withdrawn them, or if none of them can get a score."""
    picks: Sequence[Submission]
    """The picked submissions that have a score or may get one. Without picks, the best public submissions."""


def load_picks(session: Session, team_id: int, at: datetime | None = None) -> tuple[int, ...]:
    """Return the refs of a team's picks (at the moment ``at``), in the order of picking.

    Empty without picks; the best public submissions then count (:func:`best_public`).
    """
    newest = final_picks.newest_picks(session, team_id, at)
    return tuple(newest.submission_refs) if newest is not None else ()


def best_public(session: Session, state: CompetitionState, team_id: int) -> tuple[int, ...]:
    """Return the refs of a team's best submissions on the public track, which count without picks, best first."""
    refs = board_details.load_team_refs(session, team_id)
    track = state.tracks["public"]
    judged = ranked_entries.load_judged_entries(session.connection(), track.id, refs=refs)
    return tuple(find_best(judged, state.competition.final_picks).tolist())


def load_final_entries(session: Session, state: CompetitionState, team: Team) -> FinalEntries:
    """Return the submissions that rank a team: its picks, or its best public submissions."""
    newest = final_picks.newest_picks(session, team.id)
    picked = submissions.submissions_by_ref(session, newest.submission_refs) if newest is not None else []
    counting = [submission for submission in picked if submission.status in PICKABLE]
    if counting:
        return FinalEntries(newest, counting)
    return FinalEntries(None, submissions.submissions_by_ref(session, best_public(session, state, team.id)))


def pick(acting: Acting, slug: str, submission_ids: Sequence[str]) -> FinalEntries:
    """Replace the team's picks; an empty list withdraws them.

    The lock on the competition prevents a change of the pick limit and a publication in the meantime. ``Conflict`` if
    the final board is published or picks are closed (:func:`can_be_changed`). ``Invalid`` for too many submissions, or
    a submission that can't be picked.
    """
    competitions.lock_competition(acting.session, slug, share=True)
    state = visible_state(acting, slug)
    team = teams.own_team(acting.session, state, acting.actor)
    require_not_final(acting.session, state.competition)
    _require_open(state, acting.now)
    team = teams.lock_current_team(acting.session, team, acting.actor)
    wanted = list(dict.fromkeys(submission_ids))
    limit = state.competition.final_picks
    if len(wanted) > limit:
        raise Invalid("too-many-picks", f"You picked {len(wanted)} entries. Pick at most {limit}.", most=limit)
    refs = final_picks.pickable(acting.session, team.id, wanted)
    faults = [
        f"{submission_id} is not an entry of your team that has a score or may get one"
        for submission_id in wanted
        if submission_id not in refs
    ]
    if faults:
        raise Invalid(
            "not-pickable", "Only pick entries of your own team that have a score or may still get one.", faults=faults
        )
    chosen = [refs[submission_id] for submission_id in wanted]
    if tuple(chosen) != load_picks(acting.session, team.id):
        acting.add(PickSet(team_id=team.id, submission_refs=chosen))
    return load_final_entries(acting.session, state, team)


def can_be_changed(state: CompetitionState, now: datetime) -> bool:
    """Whether teams may change their picks: until the end of the grace period for uploads."""
    until = grace_end(state.competition)
    return state.phase is Phase.OPEN or (state.phase is Phase.REVIEW and until is not None and now < until)


def _require_open(state: CompetitionState, now: datetime) -> None:
    if not can_be_changed(state, now):
        closes_at = state.competition.closes_at
        deadline = f"was {closes_at:%Y-%m-%d %H:%M} UTC" if closes_at is not None else "has passed"
        raise Conflict("closed", f"The deadline {deadline}. You can no longer change your picks.")
