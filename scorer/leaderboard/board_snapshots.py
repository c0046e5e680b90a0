"""The key of a board, and the state of a competition that its boards depend on."""

import time
from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard.changes import ChangeCounts

MAX_FORMER_SECONDS = 1.0
"""How long visitors may be shown the earlier board while the new one is ranked, in seconds."""


class BoardKey(NamedTuple):
    """Identifies a board of a competition: its track, whether it shows late entries, and the past moment (None:
    now)."""

    track_id: int
    late: bool
    at: datetime | None


class BoardSnapshot(NamedTuple):
    """A competition's state and its change counts at one moment. Its boards depend on nothing else.

    Only the part of ``state.missing`` about reference images may be older, because the feed doesn't report those.
    """

    state: CompetitionState
    public_id: int
    counts: ChangeCounts

    def version(self, track_id: int, *, extra_kinds: Collection[str] = ()) -> tuple[int, ...]:
        """The version of a track's board; equal versions mean equal boards. Kinds of
        :data:`scorer.db.leaderboard.changes.EXTRA_KINDS` can be added to it."""
        return self.counts.version({track_id, self.public_id}, extra_kinds=extra_kinds)


class FormerSnapshot(NamedTuple):
    """The snapshot before a change. Visitors may be shown it for a moment."""

    snapshot: BoardSnapshot
    until: float
    """A time of the monotonic clock."""

    @classmethod
    def of(cls, snapshot: BoardSnapshot) -> "FormerSnapshot":
        return cls(snapshot, time.monotonic() + MAX_FORMER_SECONDS)

    @property
    def may_be_shown(self) -> bool:
        return time.monotonic() < self.until
