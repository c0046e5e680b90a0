"""A point of the checklist before publication, and the submissions behind it."""

from collections.abc import Sequence
from dataclasses import dataclass

from scorer.competitions.competition_state import CompetitionState

MAX_CONCERNS = 10
"""Submissions of an open point that are listed."""


@dataclass(frozen=True)
class Concern:
    """One submission behind an open point, with a sentence about it."""

    submission_id: str
    team: str
    words: str
    evidence: str | None = None
    """The page that shows it, as a path on this site; None: there is only the submission's."""


@dataclass(frozen=True)
class ChecklistPoint:
    """One condition of the checklist. ``count`` is the number of open cases."""

    name: str
    title: str
    count: int
    words: str
    link: str
    """The page on which to settle it, as a path on this site."""
    concerns: Sequence[Concern] = ()

    @property
    def passed(self) -> bool:
        """Whether no case is open."""
        return self.count == 0


def competition_path(state: CompetitionState) -> str:
    """The competition's page, as a path on this site."""
    return f"/competitions/{state.competition.slug}"
