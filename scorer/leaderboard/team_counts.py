"""How many teams have a rank on the public boards of many competitions, kept by a web process.

Lists of competitions show these numbers, and asking for the board of each would rank them all: a process keeps the
boards of few. One statement asks the change feeds of all competitions whose numbers are kept.
"""

from collections.abc import Callable, Sequence
from threading import Lock

from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard.changes import ManyFeeds
from scorer.db.session import Connections


class TeamCounts:
    """The numbers that one process keeps; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._feeds = ManyFeeds()
        self._counts: dict[int, int] = {}
        """By the id of the competition."""

    def counts_of(
        self,
        states: Sequence[CompetitionState],
        connections: Connections,
        count: Callable[[CompetitionState], int],
    ) -> dict[int, int]:
        """The number of each competition, by its id; ``count`` says it where its board has changed since."""
        with self._lock:
            with connections.moment() as connection:
                for id_ in self._feeds.changed(connection, self._counts.keys()):
                    del self._counts[id_]
            # Counted after the feeds were read: so a number is as new as they are, or newer.
            for state in states:
                if state.competition.id not in self._counts:
                    self._counts[state.competition.id] = count(state)
            return {state.competition.id: self._counts[state.competition.id] for state in states}
