"""Who is told that there is an appeal, and until when: teams whose entries are penalised or disqualified, above all
while a provisional board is published."""

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
    """The ids of the teams with an entry in time that ``after`` penalises and ``before`` does not, sorted. Entries that
    are copies or disqualified either way are left out: of these nothing changes."""
    former = before.columns.ref[_is_burdened(before)]
    return np.unique(after.team[_is_burdened(after) & after.is_competing & ~np.isin(after.columns.ref, former)])


def _is_burdened(judged: JudgedEntries) -> Flags:
    return judged.penalised | judged.is_copy | judged.is_disqualified


def notify_newly_penalised(
    session: Session, state: CompetitionState, before: JudgedEntries, *, after: JudgedEntries, why: str, now: datetime
) -> None:
    """Tell the teams that a change of the private track penalises that they may appeal, and until when; before the
    provisional board is published nobody, since private scores are hidden. ``why``: what has changed, a sentence."""
    if state.phase is not Phase.PROVISIONAL:
        return
    team_ids = newly_penalised(before, after).tolist()
    if team_ids:
        title, link = state.competition.title, f"/competitions/{state.competition.slug}/entries"
        subject = f"Entries of your team in {title} are penalised"
        body = f"{why} Entries of your team in {title} are now penalised on the provisional board that were not before."
        body += _appeal_words(state, appeal_windows.Grounds(None, "private", now), now)
        notices.notify(session, NoticeText(Kind.RULING, subject, body, link), now, teams=team_ids)


def notify_measured(session: Session, state: CompetitionState, submission: Submission, *, now: datetime) -> None:
    """Tell the team of an entry whose private track was measured only after the provisional board was published that it
    is penalised there, if it is."""
    grounds = appeal_windows.grounds_of(session, state, submission)
    if state.phase is not Phase.PROVISIONAL or submission.late or grounds is None or grounds.track is None:
        return
    name = f"{submission.file_name} in {state.competition.title}"
    body = f"Your entry {name} was measured for the provisional board after it was published, and is penalised"
    body += f" there.{_appeal_words(state, grounds, now)}"
    team_id = merges.current_team(session, submission.team_id).id
    notice = NoticeText(Kind.RULING, f"{name} is penalised", body, f"/submissions/{submission.id}#ruling")
    notices.notify(session, notice, now, teams=[team_id])


def appeal_words(session: Session, state: CompetitionState, submission: Submission, *, now: datetime) -> str:
    """A sentence, after a space, that says when the team of an entry may appeal; empty where there is nothing to appeal
    against, or no time for it."""
    grounds = appeal_windows.grounds_of(session, state, submission)
    return "" if grounds is None else _appeal_words(state, grounds, now)


def _appeal_words(state: CompetitionState, grounds: appeal_windows.Grounds, now: datetime) -> str:
    begins, ends = appeal_windows.window_against(state, grounds)
    when = None
    if state.phase in {Phase.DRAFT, Phase.OPEN}:
        when = f"from {_moment(begins)} to {_moment(ends)}" if begins and ends else "once the competition has closed"
    elif state.phase is not Phase.FINAL and ends is not None and now < ends:
        when = f"until {_moment(ends)}"
    elif appeal_windows.opens_again(state, grounds, now):
        when = "once the provisional board is published"
    return "" if when is None else f" Your team may appeal against it, once, on the page of the entry: {when}."


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
