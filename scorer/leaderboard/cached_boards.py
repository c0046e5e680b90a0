"""What a process keeps of one competition: entry columns, judged entries, ranked boards, team names.

From raw to finished, and dropped from raw to finished as the change feed reports changes
(:mod:`scorer.leaderboard.board_cache`).
"""

from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Lock
from typing import NamedTuple

import numpy as np

from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard import board, columns
from scorer.db.leaderboard.changes import ChangeCounts, ChangeFeed, FeedRow
from scorer.db.session import Connection
from scorer.leaderboard.team_names import TeamNames
from scorer.ranking.columns import EntryColumns, FinalPicks, Ints
from scorer.ranking.vectorised import BoardListing, JudgedEntries, RankedBoard, finals_of, order_of

MAX_PAST_BOARDS = 2
"""Listings of past moments kept of one competition."""
NEVER = datetime(1, 1, 2, tzinfo=UTC)
"""A moment before all others."""
MAX_REREAD = 10_000
"""Entries whose earlier measurements are read one by one; those of more entries are read all at once, and kept."""


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

    def version(self, track_id: int, *, labels: bool) -> tuple[int, ...]:
        """The version of a track's board: equal versions, equal boards."""
        return self.counts.version({track_id, self.public_id}, labels=labels)


@dataclass
class CachedBoards:
    """What is cached of one competition. One thread at a time uses it, holding ``lock``."""

    public_id: int
    private_id: int
    max_final_picks: int
    """How many final picks a team has."""
    feed: ChangeFeed
    state: CompetitionState | None = None
    lock: Lock = field(default_factory=Lock)
    nbytes: int = 0
    """The size of all arrays that are kept, as of the last board that was made."""
    generation: int = 0
    """How often anything was dropped: what was computed from an earlier generation must not be kept."""
    _columns: dict[int, EntryColumns] = field(default_factory=dict)
    """By track, as are ``_superseded``, ``_stale_refs`` (entries to read again) and ``_judged``."""
    _superseded: dict[int, EntryColumns] = field(default_factory=dict)
    _stale_refs: dict[int, set[int]] = field(default_factory=dict)
    _judged: dict[int, JudgedEntries] = field(default_factory=dict)
    _picks: FinalPicks | None = None
    _boards: dict[BoardKey, RankedBoard] = field(default_factory=dict)
    _day_start: dict[BoardKey, BoardListing] = field(default_factory=dict)
    _past: OrderedDict[BoardKey, BoardListing] = field(default_factory=OrderedDict)
    _names: TeamNames | None = None

    def refresh(self, connection: Connection) -> None:
        """Drop everything that the change feed reports as changed since the last call."""
        for change in self.feed.read(connection):
            self._invalidate(change)

    def _invalidate(self, change: FeedRow) -> None:
        if change.kind == "label":
            return  # labels are shown beside ranks and change none
        self.generation += 1
        if change.kind == "entries":
            self._invalidate_entries({change.track_id} if change.track_id else set(self._columns), change.refs)
        elif change.kind == "picks":
            self._picks = None
        elif change.kind == "team":
            self._names = None
        elif change.kind in {"competition", "publication", "track"}:
            self.state = None
        self._invalidate_boards(change)

    def _invalidate_boards(self, change: FeedRow) -> None:
        # A private board depends on the public one, by which teams without picks are ranked; never the reverse.
        all_tracks = change.track_id in {None, self.public_id}
        for track_id in [id_ for id_ in self._judged if all_tracks or id_ != self.public_id]:
            del self._judged[track_id]
        for boards in (self._boards, self._day_start, self._past):
            for key in [key for key in boards if all_tracks or key.track_id != self.public_id]:
                del boards[key]

    def _invalidate_entries(self, track_ids: set[int], refs: Collection[int] | None) -> None:
        for track_id in track_ids & self._columns.keys():
            if refs is None:  # too many to name
                del self._columns[track_id]
                self._superseded.pop(track_id, None)
            else:
                self._stale_refs.setdefault(track_id, set()).update(refs)

    def ranked_board(self, connection: Connection, track_id: int, *, late: bool) -> RankedBoard:
        """The board of a track as it is, ranked now if it is not cached."""
        key = BoardKey(track_id, late, None)
        if key not in self._boards:
            self._boards[key] = order_of(self._with_finals(connection, track_id), late=late)
            self.nbytes = _size_of(self)
        return self._boards[key]

    def cached(self, key: BoardKey) -> RankedBoard | None:
        """The board under ``key``, if it is of now and cached."""
        return self._boards.get(key)

    def day_start_listing(self, connection: Connection, key: BoardKey) -> BoardListing:
        """The board as it was when the day began, with which every reader compares that of now; one day's is kept."""
        if key not in self._day_start:
            past = self.begin_past_board(connection, key)
            self._day_start = {key: past.listing(connection)}
            self._superseded.update(past.superseded)
            self.nbytes = _size_of(self)
        return self._day_start[key]

    def cached_day_start(self, key: BoardKey) -> BoardListing | None:
        """The board as it was when the day began, if it is cached."""
        return self._day_start.get(key)

    def begin_past_board(self, connection: Connection, key: BoardKey) -> "PastBoard":
        """Everything in memory that a past board is made of. Making it then needs the same snapshot of the database,
        and the lock no longer."""
        track_ids = {key.track_id, self.public_id} if key.track_id != self.public_id else {key.track_id}
        current = {track_id: self._current_columns(connection, track_id) for track_id in track_ids}
        superseded = {id_: self._superseded[id_] for id_ in track_ids & self._superseded.keys()}
        return PastBoard(self.feed.competition_id, self.public_id, self.max_final_picks, key, current, superseded)

    def past_listing(self, key: BoardKey) -> BoardListing | None:
        """The listing of a past moment if it is cached. Needs no lock."""
        return self._past.get(key)

    def keep_past(self, past: "PastBoard", listing: BoardListing, generation: int) -> None:
        """Keep a past board that was made from what there was in ``generation``, unless that has changed since; it
        counts as the most recently used."""
        if generation != self.generation:
            return
        self._superseded.update(past.superseded)
        self._past[past.key] = listing
        self._past.move_to_end(past.key)
        while len(self._past) > MAX_PAST_BOARDS:
            self._past.popitem(last=False)
        self.nbytes = _size_of(self)

    def teams_named(self, connection: Connection, text: str, listed: Ints) -> Ints:
        """Those of the teams ``listed`` whose name contains ``text``, in NFKC and whatever the letter case."""
        if self._names is None:
            self._names = TeamNames.of(board.normalised_names(connection, self.feed.competition_id))
        unknown = self._names.unknown(listed)
        if len(unknown):
            self._names = self._names.with_names(board.normalised_names_of(connection, unknown.tolist()))
        return self._names.containing(board.normalised_text(connection, text), among=listed)

    def _with_finals(self, connection: Connection, track_id: int) -> JudgedEntries:
        judged = self._judge(connection, track_id)
        if track_id == self.public_id:
            return judged
        if self._picks is None:
            self._picks = columns.picks_of(connection, self.feed.competition_id)
        public = self._judge(connection, self.public_id)
        return replace(judged, finals=finals_of(public, self._picks, self.max_final_picks))

    def _judge(self, connection: Connection, track_id: int) -> JudgedEntries:
        if track_id not in self._judged:
            rules = columns.judging_rules_of(connection, track_id)
            self._judged[track_id] = JudgedEntries(self._current_columns(connection, track_id), rules)
        return self._judged[track_id]

    def _current_columns(self, connection: Connection, track_id: int) -> EntryColumns:
        """The columns of a track's entries, of which those that have changed are read again."""
        stale = self._stale_refs.pop(track_id, set())
        if track_id not in self._columns:
            self._columns[track_id] = columns.columns_of(connection, track_id)
        elif stale:
            reread = columns.columns_of(connection, track_id, refs=stale)
            self._columns[track_id] = self._columns[track_id].without(stale).updated_with(reread)
            if track_id in self._superseded:
                earlier = columns.superseded_columns_of(connection, track_id, refs=stale)
                self._superseded[track_id] = self._superseded[track_id].without(stale).updated_with(earlier)
        return self._columns[track_id]


@dataclass
class PastBoard:
    """A board of a past moment in the making. It shares nothing that changes with the cache, so no lock is needed."""

    competition_id: int
    public_id: int
    max_final_picks: int
    key: BoardKey
    current: dict[int, EntryColumns]
    """By track: the columns as they are."""
    superseded: dict[int, EntryColumns]
    """By track: every measurement that is not its entry's newest, where these have been read."""

    @property
    def at(self) -> datetime:
        """The past moment."""
        if self.key.at is None:
            raise ValueError("a board of now is not past")
        return self.key.at

    def normalise(self, connection: Connection) -> None:
        """Move the moment back to the last change until then: the boards of both are the same. To now (None) if nothing
        has changed since."""
        at, changed_later = columns.rule_changes_around(connection, self.competition_id, list(self.current), self.at)
        asked = columns.to_microseconds(self.at)
        never = columns.to_microseconds(NEVER)
        last = never if at is None else columns.to_microseconds(at)
        for track_id, current in self.current.items():
            earlier = self._superseded(connection, track_id)
            for measured_at in (current.measured_at, earlier.measured_at):
                past = measured_at[measured_at <= asked]
                changed_later |= len(past) < len(measured_at)
                last = max(last, int(past.max(initial=last)))
        self.key = self.key._replace(at=columns.from_microseconds(last) if changed_later else None)

    def listing(self, connection: Connection) -> BoardListing:
        """The board of that moment, as far as it is listed."""
        judged = self._judged(connection, self.key.track_id)
        if self.key.track_id != self.public_id:  # the private track, or a former one
            picks = columns.picks_of(connection, self.competition_id, at=self.at)
            public = self._judged(connection, self.public_id)
            judged = replace(judged, finals=finals_of(public, picks, self.max_final_picks))
        return order_of(judged, late=self.key.late).compacted()

    def _judged(self, connection: Connection, track_id: int) -> JudgedEntries:
        rules = columns.judging_rules_of(connection, track_id, at=self.at)
        return JudgedEntries(self._columns(connection, track_id), rules)

    def _columns(self, connection: Connection, track_id: int) -> EntryColumns:
        """The columns as they were: an entry that was measured later appears with its newest earlier measurement, or
        not at all."""
        current, moment = self.current[track_id], columns.to_microseconds(self.at)
        unchanged = current.measured_at <= moment
        measured_later = current.ref[~unchanged]
        if track_id in self.superseded or len(measured_later) > MAX_REREAD:
            return current.before(moment, self._superseded(connection, track_id))
        if not len(measured_later):
            return current
        earlier = columns.columns_of(connection, track_id, refs=measured_later.tolist(), at=self.at)
        return current.take(unchanged).updated_with(earlier)

    def _superseded(self, connection: Connection, track_id: int) -> EntryColumns:
        if track_id not in self.superseded:
            self.superseded[track_id] = columns.superseded_columns_of(connection, track_id)
        return self.superseded[track_id]


def _size_of(boards: CachedBoards) -> int:
    """Bytes of all arrays that a competition's cache holds, each counted once."""
    return sum({id(array): array.nbytes for array in _arrays_in(vars(boards))}.values())


def _arrays_in(thing: object) -> Iterator[np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from _arrays_in(value)
    elif isinstance(thing, tuple):
        for value in thing:
            yield from _arrays_in(value)
    elif isinstance(thing, EntryColumns | JudgedEntries | BoardListing | TeamNames):
        yield from _arrays_in(vars(thing))
