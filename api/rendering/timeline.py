"""The phases of a competition for its page, with their times and what teams can do in each. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from api.rendering.formatting import counted
from scorer.competitions.appeal_windows import compute_window, newest_provisional
from scorer.competitions.competition_state import CompetitionState, grace_end
from scorer.lifecycle import Phase


@dataclass(frozen=True)
class TimelineStep:
    """``begins`` is None if the time is not known yet."""

    phase: Phase
    title: str
    words: str
    begins: datetime | None = None
    ends: datetime | None = None
    dates: tuple[tuple[str, datetime], ...] = ()
    """Other events at known times, each as the start of a sentence that ends with the time."""


def build_timeline(state: CompetitionState) -> list[TimelineStep]:
    return [_open(state), _review(state), _provisional(state), _final(state)]


def _open(state: CompetitionState) -> TimelineStep:
    competition = state.competition
    words = "Teams submit entries and pick the entries that count for the final ranking."
    dates = (
        ("Teams can merge until", competition.team_merge_deadline),
        ("You can finish uploads that began before the deadline, and change your picks, until", grace_end(competition)),
    )
    known = tuple((what, at) for what, at in dates if at is not None)
    return TimelineStep(Phase.OPEN, "Open", words, competition.opens_at, competition.closes_at, known)


def _review(state: CompetitionState) -> TimelineStep:
    competition = state.competition
    days = counted(competition.review_days, "day")
    words = (
        "Organizers and reviewers review entries. A team can appeal once against a disqualification, and once against"
        f" an entry's penalty on the public board. Teams can appeal for {days} after the deadline, or until a board is"
        " published, whichever comes first."
    )
    closes_at = competition.closes_at
    if closes_at is None or state.published:
        return TimelineStep(Phase.REVIEW, "Review", words, closes_at)
    dates = (("Rebuttals are accepted until", closes_at + timedelta(competition.review_days)),)
    return TimelineStep(Phase.REVIEW, "Review", words, closes_at, dates=dates)


def _provisional(state: CompetitionState) -> TimelineStep:
    days = counted(state.competition.appeal_days, "day")
    words = (
        "The provisional board is published and may still change. A team can appeal once against a disqualification,"
        f" and once against an entry's penalty on this board, within {days}. If a decision comes later, the period"
        " starts from that decision."
    )
    act = newest_provisional(state)
    if act is None or not state.published:
        return TimelineStep(Phase.PROVISIONAL, "Provisional board", words)
    return TimelineStep(Phase.PROVISIONAL, "Provisional board", words, act.created_at, compute_window(state).ends)


def _final(state: CompetitionState) -> TimelineStep:
    words = "Ranks, medals and prizes are final. The board changes only if it is withdrawn."
    begins = state.publications[0].created_at if state.phase is Phase.FINAL and state.publications else None
    return TimelineStep(Phase.FINAL, "Final board", words, begins)
