"""What names a board, and the state of a competition that its boards depend on."""

import time
from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard.changes import ChangeCounts

MAX_FORMER_SECONDS = 1.0
"""How long the board before a change may be shown to visitors while the new one is ranked."""


class BoardKey(NamedTuple):
    """Which board of a competition: its track, whether of late entries, and of which past moment (None: of now)."""

    track_id: int
    late: bool
    at: datetime | None


class BoardSnapshot(NamedTuple):
    """A competition's state and its change counts at one moment: all that its boards depend on.

    Only ``state.missing`` may be older, where it is about reference images: the feed does not report those.
    """

    state: CompetitionState
    public_id: int
    counts: ChangeCounts

    def version(self, track_id: int, *, beside: Collection[str] = ()) -> tuple[int, ...]:
        """The version of a track's board: equal versions, equal boards; ``beside``: with these of
        :data:`scorer.db.leaderboard.changes.BESIDE_RANKS`."""
        return self.counts.version({track_id, self.public_id}, beside=beside)


class FormerSnapshot(NamedTuple):
    """The snapshot before a change, which visitors may be shown for a moment."""

    snapshot: BoardSnapshot
    until: float
    """Of the monotonic clock."""

    @classmethod
    def of(cls, snapshot: BoardSnapshot) -> "FormerSnapshot":
        """A snapshot that a change has just made a former one."""
        return cls(snapshot, time.monotonic() + MAX_FORMER_SECONDS)

    @property
    def may_be_shown(self) -> bool:
        """Whether its time has not run out."""
        return time.monotonic() < self.until
