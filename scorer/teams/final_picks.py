"""Final picks: the submissions by which a team wants to be ranked in the end. Sets are only added; the newest counts.

A submission can be picked while it waits for its score, so that one of the last minute is not lost to a team that
picks. If it gets none, it is no pick; a team without another one is ranked by its best public submissions
(:func:`tests.pure.ranking.specification.final_refs`). After a merge the picks of the absorbing team stand; it may
pick the absorbed team's submissions from then on.
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
from scorer.ranking.vectorised import best_of
from scorer.teams import teams


@dataclass(frozen=True)
class FinalEntries:
    """The submissions by which a team will be ranked, as far as known now."""

    chosen: PickSet | None
    """The team's picks; None if it has made none or has withdrawn them, or if none of them can have a score."""
    picks: Sequence[Submission]
    """The picked submissions that have a score or may get one or, without picks, the best public ones."""


def picks_of(session: Session, team_id: int, at: datetime | None = None) -> tuple[int, ...]:
    """The refs of the submissions that a team has picked (by the moment ``at``), in the order of picking. Empty without
    picks: then the best public submissions count (:func:`best_public`)."""
    newest = final_picks.newest_picks(session, team_id, at)
    return tuple(newest.submission_refs) if newest is not None else ()


def best_public(session: Session, state: CompetitionState, team_id: int) -> tuple[int, ...]:
    """The refs of the submissions that count for a team without picks: its best on the public track, best first."""
    refs = board_details.refs_of_team(session, team_id)
    track = state.tracks["public"]
    judged = ranked_entries.judged_of(session.connection(), track.id, refs=refs)
    return tuple(best_of(judged, state.competition.final_picks).tolist())


def final_entries_of(session: Session, state: CompetitionState, team: Team) -> FinalEntries:
    """The submissions by which a team will be ranked: its picks, or its best public ones."""
    newest = final_picks.newest_picks(session, team.id)
    picked = submissions.submissions_by_ref(session, newest.submission_refs) if newest is not None else []
    counting = [submission for submission in picked if submission.status in PICKABLE]
    if counting:
        return FinalEntries(newest, counting)
    return FinalEntries(None, submissions.submissions_by_ref(session, best_public(session, state, team.id)))


def pick(acting: Acting, slug: str, submission_ids: Sequence[str]) -> FinalEntries:
    """Replace the team's picks; an empty list withdraws them. The competition is locked: neither the number of picks
    nor the board is changed, or published, meanwhile.

    ``Conflict`` for a final board that is published, and once picks are closed (:func:`can_be_changed`), ``Invalid``
    for too many submissions or one that cannot be picked.
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
        raise Invalid("too-many-picks", f"A team picks {limit} at most; these are {len(wanted)}.", most=limit)
    refs = final_picks.pickable(acting.session, team.id, wanted)
    faults = [f"{each} is no entry of your team that has a score or may get one" for each in wanted if each not in refs]
    if faults:
        raise Invalid("not-pickable", "Only entries of your own team that have a score, or may get one.", faults=faults)
    chosen = [refs[each] for each in wanted]
    if tuple(chosen) != picks_of(acting.session, team.id):
        acting.add(PickSet(team_id=team.id, submission_refs=chosen))
    return final_entries_of(acting.session, state, team)


def can_be_changed(state: CompetitionState, now: datetime) -> bool:
    """Whether teams may change their picks: as long as the last uploads may finish."""
    until = grace_end(state.competition)
    return state.phase is Phase.OPEN or (state.phase is Phase.REVIEW and until is not None and now < until)


def _require_open(state: CompetitionState, now: datetime) -> None:
    if not can_be_changed(state, now):
        closes_at = state.competition.closes_at
        when = f" at {closes_at:%Y-%m-%d %H:%M} UTC" if closes_at is not None else ""
        raise Conflict("closed", f"The competition closed{when}; picks can no longer be changed.")
