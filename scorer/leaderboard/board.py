"""What a board shows: places, reference lines, and what is listed apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Threshold, Track


@dataclass(frozen=True)
class Place:
    """A team's line on the board: its best entry, judged."""

    rank: int
    team_id: int
    team: str
    score: float
    fid: float
    memorization_distance: float
    penalised: bool
    submission_id: str
    accepted_at: datetime
    entries: int
    last_entry_at: datetime
    label: str | None
    """The decided label of the entry; organizers see it."""
    moved: int | None = None
    """Ranks gained since the UTC day began; None for a team that had none then, and on boards where nothing moves."""
    public_rank: int | None = None
    """On the private board: where the public one has the team."""
    medal: str | None = None
    prize: str | None = None
    """What the place wins (:func:`scorer.ranking.awards.award_of`)."""

    @property
    def shake_up(self) -> int | None:
        """Ranks gained from the public to the private board."""
        return None if self.public_rank is None else self.public_rank - self.rank


@dataclass(frozen=True)
class Benchmark:
    """An organizer's reference line: shown where it would stand, without a rank."""

    team: str
    score: float
    fid: float
    memorization_distance: float
    submission_id: str


@dataclass(frozen=True)
class CopyingTeam:
    """A team whose entries are copies of the training images: listed apart, without a score."""

    team: str
    reason: str
    memorization_distance: float
    submission_id: str
    accepted_at: datetime
    label: str | None


@dataclass(frozen=True)
class DisqualifiedTeam:
    """A team that is on no line because an entry of it was ruled out: listed apart, with the reason in short."""

    team: str
    reason: str
    submission_id: str
    accepted_at: datetime
    label: str | None


@dataclass(frozen=True)
class Board:
    """A page of the board of one track."""

    state: CompetitionState
    track: Track
    threshold: Threshold | None
    places: Sequence[Place]
    benchmarks: Sequence[Benchmark]
    copies: Sequence[CopyingTeam]
    teams: int
    """How many teams have a rank."""
    late: bool = False
    """Whether this is the board of late entries."""
    disqualified: Sequence[DisqualifiedTeam] = ()
    own: Place | None = None
    """The line of the team of whoever looks."""
    as_of: datetime | None = None
