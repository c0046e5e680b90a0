"""Notices to teams with penalised or disqualified entries: that they can appeal, and until when."""

from datetime import UTC, datetime

import numpy as np
from sqlalchemy.orm import Session

from scorer.competitions import appeal_windows
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Submission
from scorer.db.teams import merges
from scorer.lifecycle import Phase
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText
from scorer.ranking.columns import Flags, Ints
from scorer.ranking.judged_entries import JudgedEntries


def newly_penalised(before: JudgedEntries, after: JudgedEntries) -> Ints:
    """Return the sorted ids of the teams with an entry in time that ``after`` penalises and ``before`` does not.

    Entries that are copies or disqualified in ``before`` do not count: nothing changes for them.
    """
    earlier = before.columns.ref[_is_burdened(before)]
    return np.unique(after.team[_is_burdened(after) & after.is_competing & ~np.isin(after.columns.ref, earlier)])


def _is_burdened(judged: JudgedEntries) -> Flags:
    return judged.penalised | judged.is_copy | judged.is_disqualified


def notify_newly_penalised(
    session: Session, state: CompetitionState, before: JudgedEntries, *, after: JudgedEntries, why: str, now: datetime
) -> None:
    """Notify the teams that a change of the private track penalises. ``why``: a sentence about the change.

    Does nothing unless a provisional board is published, because private scores are hidden before.
    """
    if state.phase is not Phase.PROVISIONAL:
        return
    team_ids = newly_penalised(before, after).tolist()
    if team_ids:
        title, link = state.competition.title, f"/competitions/{state.competition.slug}/entries"
        subject = f"Your team's entries in {title} are penalised"
        body = f"{why} As a result, the provisional board of {title} now penalises more of your team's entries."
        body += _appeal_words(state, appeal_windows.AppealableDecision(None, "private", now), now)
        notices.notify(session, NoticeText(Kind.RULING, subject, body, link), now, teams=team_ids)


def notify_measured(session: Session, state: CompetitionState, submission: Submission, *, now: datetime) -> None:
    """Notify a team if its entry is penalised and was measured after the provisional board was published."""
    decision = appeal_windows.find_appealable_decision(session, state, submission)
    if state.phase is not Phase.PROVISIONAL or submission.late or decision is None or decision.track is None:
        return
    name = f"{submission.file_name} in {state.competition.title}"
    body = f"Your entry {name} was measured after the provisional board was published, and it is penalised."
    body += _appeal_words(state, decision, now)
    team_id = merges.current_team(session, submission.team_id).id
    notice = NoticeText(Kind.RULING, f"{name} is penalised", body, f"/submissions/{submission.id}#ruling")
    notices.notify(session, notice, now, teams=[team_id])


def appeal_words(session: Session, state: CompetitionState, submission: Submission, *, now: datetime) -> str:
    """Return a sentence, after a space, about when the team of an entry may appeal; empty if it may not."""
    decision = appeal_windows.find_appealable_decision(session, state, submission)
    return "" if decision is None else _appeal_words(state, decision, now)


def _appeal_words(state: CompetitionState, decision: appeal_windows.AppealableDecision, now: datetime) -> str:
    begins, ends = appeal_windows.compute_decision_window(state, decision)
    when = None
    if state.phase in {Phase.DRAFT, Phase.OPEN}:
        when = f"from {_moment(begins)} to {_moment(ends)}" if begins and ends else "after the competition has closed"
    elif state.phase is not Phase.FINAL and ends is not None and now < ends:
        when = f"until {_moment(ends)}"
    elif appeal_windows.opens_again(state, decision, now):
        when = "after the provisional board is published"
    return "" if when is None else f" Your team can appeal once per entry, on the entry's page, {when}."


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
