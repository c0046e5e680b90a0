"""The content of a board: ranked places, benchmarks, and the teams listed without a rank. Plain data."""

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
    """A row of the board as it is shown: a team's best entry, and what its rank wins; or a benchmark, an organizer's
    reference, shown where it would be ranked."""

    team: str
    submission_id: str
    entries: int
    last_entry_at: datetime
    label: str | None = None
    """The decided label of the entry, for organizers alone."""
    measured_by: str | None = None
    """The scorer version, or references, by which it was measured, where most of the board were measured by others."""
    moved: int | None = None
    """Ranks gained since the UTC day began; None for a team that had no rank then, and on private, late and past
    boards."""
    public_rank: int | None = None
    """On the private board: the team's rank on the public one."""
    medal: str | None = None
    prize: str | None = None
    """What the rank wins, as ``medal`` (:meth:`scorer.ranking.awards.Awards.of_rank`)."""
    shown: Mapping[str, ShownValue] = field(default_factory=dict)
    """By shown track: the entry's value, where it has been measured."""

    @property
    def shake_up(self) -> int | None:
        """Ranks gained from the public to the private board."""
        return None if self.public_rank is None else self.public_rank - self.rank


@dataclass(frozen=True)
class UnrankedTeam:
    """A team that is listed without a rank or score, with the reason: it has nothing but copies of the training images,
    or an entry of it was disqualified."""

    team: str
    reason: str
    memorization_distance: float
    submission_id: str
    label: str | None = None


@dataclass(frozen=True)
class Board:
    """One page of a track's board."""

    state: CompetitionState
    track: Track
    tau: float | None
    """None without a threshold."""
    places: Sequence[Place]
    benchmarks: Sequence[Place]
    copies: Sequence[UnrankedTeam]
    teams: int
    """How many teams have a rank."""
    late: bool = False
    """Whether this is the board of late entries."""
    disqualified: Sequence[UnrankedTeam] = ()
    own: Place | None = None
    """The place of the viewer's own team, on whatever page it is."""
    measured_by: Sequence[str] = ()
    """Where not all were measured alike: the scorer versions and references, that of most entries first."""
    as_of: datetime | None = None
    """The past moment that it shows; None: now."""
    shown_tracks: Sequence[ShownTrack] = ()
    """The shown tracks that the viewer may see."""
    awards: Awards = NO_AWARDS
    """What its ranks win."""
