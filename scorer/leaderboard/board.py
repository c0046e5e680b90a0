"""The content of a board: ranked places, benchmark entries, and teams listed without a rank. Plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard.shown_tracks import ShownValue
from scorer.db.tables import ShownTrack, Track
from scorer.ranking.awards import NO_AWARDS, Awards
from scorer.ranking.vectorised import BoardRow


@dataclass(frozen=True, kw_only=True)
class Place(BoardRow):
    """A row of the board as shown: a team's best entry and what its rank wins, or a benchmark entry at the position
    where it would rank."""

    team: str
    submission_id: str
    entries: int
    last_entry_at: datetime
    label: str | None = None
    """The decided label of the entry. Only organizers get it."""
    measured_by: str | None = None
    """The scorer version or references that it was measured with, if most of the board was measured with others."""
    moved: int | None = None
    """Ranks gained since the UTC day began. None for a team that had no rank then, and on private, late and past
    boards."""
    fid_spread: float | None = None
    """The standard deviation of the FID over draws. None for a zip and for a single draw."""
    public_rank: int | None = None
    """The team's rank on the public board. Set on the private board only."""
    medal: str | None = None
    prize: str | None = None
    """What the rank wins, like ``medal`` (:meth:`scorer.ranking.awards.Awards.find_award`)."""
    shown: Mapping[str, ShownValue] = field(default_factory=dict)
    """The entry's values by shown track, as far as they have been measured."""

    @property
    def shake_up(self) -> int | None:
        """Ranks gained from the public to the private board."""
        return None if self.public_rank is None else self.public_rank - self.rank


@dataclass(frozen=True)
class UnrankedTeam:
    """A team that is listed without a rank or score, and the reason: all its entries are training-image copies, or one
    was disqualified."""

    team: str
    reason: str
    memorization_distance: float
    submission_id: str
    label: str | None = None


@dataclass(frozen=True)
class Board:
    state: CompetitionState
    track: Track
    tau: float | None
    """None if no threshold has been chosen."""
    places: Sequence[Place]
    benchmarks: Sequence[Place]
    copies: Sequence[UnrankedTeam]
    teams: int
    """How many teams have a rank."""
    late: bool = False
    disqualified: Sequence[UnrankedTeam] = ()
    own: Place | None = None
    """The place of the viewer's own team, even if it is on another page."""
    measured_by: Sequence[str] = ()
    """The scorer versions and references of the entries, the most common first. Empty if all were measured alike."""
    as_of: datetime | None = None
    """The past moment that the board shows; None for the current board."""
    shown_tracks: Sequence[ShownTrack] = ()
    """The shown tracks that the viewer may see."""
    awards: Awards = NO_AWARDS
