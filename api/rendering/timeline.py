"""The phases of a competition with their times, and what teams may do in each, for its page. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from api.rendering.formatting import counted
from scorer.competitions.appeal_windows import newest_provisional, window_of
from scorer.competitions.competition_state import CompetitionState, grace_end
from scorer.lifecycle import Phase


@dataclass(frozen=True)
class TimelineStep:
    """One phase; without ``begins`` where that is not known yet."""

    phase: Phase
    title: str
    words: str
    begins: datetime | None = None
    ends: datetime | None = None
    dates: tuple[tuple[str, datetime], ...] = ()
    """What else happens at a known time, as the beginning of a sentence that the time ends."""


def timeline_of(state: CompetitionState) -> list[TimelineStep]:
    """The phases from the opening to the final board."""
    return [_open(state), _review(state), _provisional(state), _final(state)]


def _open(state: CompetitionState) -> TimelineStep:
    competition = state.competition
    words = "Teams enter, and pick the entries by which they want to be ranked in the end."
    dates = (
        ("Teams may merge until", competition.team_merge_deadline),
        ("Uploads begun before the close may finish, and picks be changed, until", grace_end(competition)),
    )
    known = tuple((what, at) for what, at in dates if at is not None)
    return TimelineStep(Phase.OPEN, "Open", words, competition.opens_at, competition.closes_at, known)


def _review(state: CompetitionState) -> TimelineStep:
    competition = state.competition
    days = counted(competition.review_days, "day")
    words = (
        "Organizers and reviewers look at entries. A team may appeal once against a disqualification, and once against"
        f" an entry's penalty on the public board, for {days} after the close or until a board is published."
    )
    closes_at = competition.closes_at
    if closes_at is None or state.published:
        return TimelineStep(Phase.REVIEW, "Review", words, closes_at)
    dates = (("Appeals are taken until", closes_at + timedelta(competition.review_days)),)
    return TimelineStep(Phase.REVIEW, "Review", words, closes_at, dates=dates)


def _provisional(state: CompetitionState) -> TimelineStep:
    days = counted(state.competition.appeal_days, "day")
    words = (
        f"The board that decides is shown, and may still move. For {days} a team may appeal once against a"
        " disqualification, and once against an entry's penalty there. What comes later may be appealed against for as"
        " long from then on."
    )
    act = newest_provisional(state)
    if act is None or not state.published:
        return TimelineStep(Phase.PROVISIONAL, "Provisional board", words)
    return TimelineStep(Phase.PROVISIONAL, "Provisional board", words, act.created_at, window_of(state).ends)


def _final(state: CompetitionState) -> TimelineStep:
    words = "Ranks, medals and prizes stand: the final board does not move unless it is withdrawn."
    begins = state.publications[0].created_at if state.phase is Phase.FINAL and state.publications else None
    return TimelineStep(Phase.FINAL, "Final board", words, begins)
