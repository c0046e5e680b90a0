"""Appeal windows: when teams can appeal, and against which decisions."""

from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db import rescoring, tuning
from scorer.db.leaderboard import board_details
from scorer.db.newest_rows import newest_row
from scorer.db.review import rulings as rows
from scorer.db.tables import Publication, Ruling, Submission
from scorer.lifecycle import Phase, TrackKind


class Window(NamedTuple):
    """When teams can appeal; None if it is not known yet."""

    begins: datetime | None
    ends: datetime | None


class AppealableDecision(NamedTuple):
    """A decision that a team can appeal against: a disqualification, or, with ``track``, a penalty."""

    ruling_id: int | None
    """The newest ruling, also for a penalty."""
    track: TrackKind | None
    since: datetime
    """When the decision was made. For a penalty: the latest measurement, threshold, ruling or switch of a rescoring
    campaign."""


def compute_window(state: CompetitionState) -> Window:
    """Return the window of the phase: ``review_days`` after the deadline, or ``appeal_days`` from a provisional
    board."""
    competition = state.competition
    provisional = newest_provisional(state) if state.published else None
    if provisional is not None:
        return Window(provisional.created_at, provisional.created_at + timedelta(days=competition.appeal_days))
    if competition.closes_at is None:
        return Window(None, None)
    return Window(competition.closes_at, competition.closes_at + timedelta(days=competition.review_days))


def compute_entry_window(session: Session, state: CompetitionState, submission: Submission) -> Window:
    return compute_decision_window(state, find_appealable_decision(session, state, submission))


def compute_decision_window(state: CompetitionState, decision: AppealableDecision | None) -> Window:
    """Return the window of the phase. A decision during the provisional board extends it to ``appeal_days`` after the
    decision."""
    window = compute_window(state)
    if decision is None or window.ends is None or state.phase is not Phase.PROVISIONAL:
        return window
    return window._replace(ends=max(window.ends, decision.since + timedelta(days=state.competition.appeal_days)))


def takes_appeals(session: Session, state: CompetitionState, submission: Submission, *, now: datetime) -> bool:
    decision = find_appealable_decision(session, state, submission)
    return decision is not None and is_open(state, decision, now)


def is_open(state: CompetitionState, decision: AppealableDecision, now: datetime) -> bool:
    ends = compute_decision_window(state, decision).ends
    return state.phase in {Phase.REVIEW, Phase.PROVISIONAL} and ends is not None and now < ends


def opens_again(state: CompetitionState, decision: AppealableDecision, now: datetime) -> bool:
    """Whether the review's window is over, but the team can appeal again after the provisional board."""
    ends = compute_decision_window(state, decision).ends
    later = state.phase is Phase.REVIEW and decision.track is None and state.competition.appeal_days > 0
    return later and ends is not None and now >= ends


def appeals_end(session: Session, state: CompetitionState) -> datetime | None:
    """Return when the last appeal window of the provisional board ends; None if no provisional board is published."""
    ends = compute_window(state).ends
    if ends is None or state.phase is not Phase.PROVISIONAL:
        return None
    newest = newest_appealable_at(session, state)
    return ends if newest is None else max(ends, newest + timedelta(days=state.competition.appeal_days))


def newest_appealable_at(session: Session, state: CompetitionState) -> datetime | None:
    """Return the time of the newest decision that teams can appeal against on the provisional board; None without any.

    These are disqualifications, rulings that leave an entry penalised, and thresholds and measurements of the private
    track.
    """
    track_id = state.tracks["private"].id
    threshold = tuning.newest_threshold(session, track_id)
    moments = (
        None if threshold is None else threshold.created_at,
        rows.newest_disqualification(session, state.competition.id),
        _newest_upheld_penalty(session, state),
        rescoring.newest_change(session, track_id),
    )
    return max((at for at in moments if at is not None), default=None)


def _newest_upheld_penalty(session: Session, state: CompetitionState) -> datetime | None:
    """Return the time of the newest ``keep`` ruling on an entry that the private track penalises; None without any."""
    keeps = rows.newest_keeps(session, state.competition.id)
    scores = board_details.load_scores(session, state.tracks["private"].id, keeps) if keeps else {}
    return max((keeps[ref] for ref, score in scores.items() if score.penalised or score.copy), default=None)


def newest_provisional(state: CompetitionState) -> Publication | None:
    """Return the newest publication of a provisional board, even if withdrawn; None without any."""
    return next((act for act in state.publications if act.published and not act.final), None)


def had_time_to_appeal(session: Session, state: CompetitionState, now: datetime) -> bool:
    """Whether a provisional board has been public for ``appeal_days`` since the newest appealable decision."""
    days = timedelta(days=state.competition.appeal_days)
    if not days:
        return True
    ends = [now, *(act.created_at for act in state.publications)]
    acts = zip(state.publications, ends, strict=False)  # a publication or withdrawal counts until the next one
    periods = [(act.created_at, end) for act, end in acts if act.published and not act.final]
    newest = newest_appealable_at(session, state) if periods else None
    return any(end - (begin if newest is None else max(begin, newest)) >= days for begin, end in periods)


def find_appealable_decision(
    session: Session, state: CompetitionState, submission: Submission
) -> AppealableDecision | None:
    """Return the disqualification of an entry, or its penalty on the track that decides in this phase."""
    ruling = newest_row(session, Ruling, submission_ref=submission.ref)
    if ruling is not None and ruling.kind != "keep":
        return AppealableDecision(ruling.id, None, ruling.created_at) if ruling.kind == "disqualify" else None
    track: TrackKind = "private" if state.published else "public"
    score = board_details.load_score(session, state.tracks[track].id, submission.ref)
    if score is None or not (score.penalised or score.copy):
        return None
    threshold = tuning.newest_threshold(session, state.tracks[track].id)
    since = [at.created_at for at in (threshold, ruling) if at is not None]
    switched_at = rescoring.newest_switch(session, state.tracks[track].id)
    since += [at for at in (score.measured_at, switched_at) if at is not None]
    return AppealableDecision(None if ruling is None else ruling.id, track, max(since))
