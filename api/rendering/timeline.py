"""The phases of a competition with their times, and what teams may do in each, for its page. Pure."""

from dataclasses import dataclass
from datetime import datetime

from api.rendering.formatting import counted, exact
from scorer.competitions.competition_state import CompetitionState
from scorer.lifecycle import Phase
from scorer.review.rebuttals import newest_provisional, window_of


@dataclass(frozen=True)
class TimelineStep:
    """One phase; without ``begins`` where that is not known yet."""

    phase: Phase
    title: str
    words: str
    begins: datetime | None = None
    ends: datetime | None = None


def timeline_of(state: CompetitionState) -> list[TimelineStep]:
    """The phases from the opening to the final board."""
    return [_open(state), _review(state), _provisional(state), _final(state)]


def _open(state: CompetitionState) -> TimelineStep:
    competition = state.competition
    words = "Teams enter, and pick the entries by which they want to be ranked in the end."
    if competition.team_merge_deadline is not None:
        words += f" Teams may merge until {exact(competition.team_merge_deadline)}."
    return TimelineStep(Phase.OPEN, "Open", words, competition.opens_at, competition.closes_at)


def _review(state: CompetitionState) -> TimelineStep:
    days = counted(state.competition.review_days, "day")
    words = (
        "Organizers and reviewers look at entries. A team may appeal once against a disqualification, and once against"
        f" an entry's penalty on the public board, for {days} after the close or until a board is published."
    )
    return TimelineStep(Phase.REVIEW, "Review", words, state.competition.closes_at)


def _provisional(state: CompetitionState) -> TimelineStep:
    days = counted(state.competition.appeal_days, "day")
    words = (
        f"The board that decides is shown, and may still move. For {days} a team may appeal once against a"
        " disqualification, and once against an entry's penalty there."
    )
    act = newest_provisional(state)
    if act is None or not state.published:
        return TimelineStep(Phase.PROVISIONAL, "Provisional board", words)
    return TimelineStep(Phase.PROVISIONAL, "Provisional board", words, act.created_at, window_of(state).ends)


def _final(state: CompetitionState) -> TimelineStep:
    words = "Ranks, medals and prizes stand: the final board does not move unless it is withdrawn."
    begins = state.publications[0].created_at if state.phase is Phase.FINAL and state.publications else None
    return TimelineStep(Phase.FINAL, "Final board", words, begins)
