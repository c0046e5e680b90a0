"""The cache of one competition: entry columns, judged entries, ranked boards, team names.

Each is computed from the one before it, and recomputed when the change feed reports a change
(:mod:`scorer.leaderboard.board_cache`). Parts with unchanged inputs are reused. For example, a new tau changes neither
columns nor teams nor rulings, nor the board of a past moment.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

import numpy as np

from scorer.competitions.competition_state import CompetitionState, may_see_private
from scorer.db.leaderboard import board_details, ranked_entries
from scorer.db.leaderboard.changes import EXTRA_KINDS, ChangeFeed, FeedRow
from scorer.db.session import Connection
from scorer.leaderboard.board_snapshots import BoardKey, BoardSnapshot, FormerSnapshot
from scorer.leaderboard.past_boards import PastBoard, judged_by
from scorer.ranking.columns import EntryColumns, FinalPicks, Ints, JudgingRules, is_among
from scorer.ranking.judged_entries import JudgedEntries
from scorer.ranking.vectorised import BoardListing, RankedBoard, choose_finals, rank_entries


@dataclass(frozen=True)
class TeamNames:
    """Teams sorted by id, with their names."""

    ids: Ints
    names: Sequence[str]

    @classmethod
    def of(cls, names: Mapping[int, str]) -> "TeamNames":
        ids = sorted(names)
        return cls(np.array(ids, np.int64), [names[id_] for id_ in ids])

    def unknown(self, ids: Ints) -> Ints:
        """The ids that have no name here."""
        return ids[~is_among(ids, self.ids)]

    def with_names(self, names: Mapping[int, str]) -> "TeamNames":
        return TeamNames.of(dict(zip(self.ids.tolist(), self.names, strict=True)) | dict(names))

    def containing(self, text: str, *, among: Ints) -> Ints:
        """The sorted ids of the teams in ``among`` (sorted) with ``text`` in their name."""
        found = self.ids[np.fromiter((text in name for name in self.names), np.bool_, len(self.names))]
        return found[is_among(found, among)]


MAX_PAST_BOARDS = 2
"""How many listings of past moments are cached per competition."""


class DayStartListing(NamedTuple):
    """A board when the day began, and the inputs that it was computed from."""

    listing: BoardListing
    columns: EntryColumns
    rules: JudgingRules


class FinalBoard(NamedTuple):
    """A published final board, which does not change while it is published."""

    key: BoardKey
    board: RankedBoard


@dataclass
class CachedBoards:
    """The cached data of one competition. Hold ``lock`` while you use it."""

    public_id: int
    private_id: int
    max_final_picks: int
    feed: ChangeFeed
    state: CompetitionState | None = None
    lock: Lock = field(default_factory=Lock)
    nbytes: int = 0
    """The size of all cached arrays when the last board was made."""
    served: BoardSnapshot | None = None
    """The newest snapshot that a request was given."""
    former: FormerSnapshot | None = None
    """The snapshot before a change, while the current boards are ranked again. Read without the lock."""
    begun_refreshes: int = 0
    """How many refreshes have begun. ``refreshed`` is the number of the last one that succeeded."""
    refreshed: int = 0
    generation: int = 0
    """How often anything was dropped. Results computed in an earlier generation must not be cached."""
    _columns: dict[int, EntryColumns] = field(default_factory=dict)
    """By track, like ``_superseded``, ``_stale_refs`` (entries to read again) and ``_judged``."""
    _superseded: dict[int, EntryColumns] = field(default_factory=dict)
    _stale_refs: dict[int, set[int]] = field(default_factory=dict)
    _judged: dict[int, JudgedEntries] = field(default_factory=dict)
    _unsure_judged: set[int] = field(default_factory=set)
    """Tracks whose rules or columns may have changed since they were judged."""
    _picks: FinalPicks | None = None
    _boards: dict[BoardKey, RankedBoard] = field(default_factory=dict)
    _asked: set[BoardKey] = field(default_factory=set)
    """The current boards that were requested since they were last ranked."""
    _day_start: dict[BoardKey, DayStartListing] = field(default_factory=dict)
    _unsure_day_start: set[BoardKey] = field(default_factory=set)
    """The keys in ``_day_start`` whose inputs may have changed."""
    _final: FinalBoard | None = None
    _past: OrderedDict[BoardKey, BoardListing] = field(default_factory=OrderedDict)
    _names: TeamNames | None = None

    def refresh(self, connection: Connection) -> None:
        """Drop everything that the change feed reports as changed since the last call."""
        self.begun_refreshes += 1
        for change in self.feed.read(connection):
            self._invalidate(change)
        self.refreshed = self.begun_refreshes

    def _invalidate(self, change: FeedRow) -> None:
        if change.kind in EXTRA_KINDS:
            return
        self.generation += 1
        if change.kind == "entries":
            self._invalidate_entries({change.track_id} if change.track_id else set(self._columns), change.refs)
        elif change.kind == "picks":
            self._picks = None
        elif change.kind == "team":
            self._names = None
        elif change.kind in {"competition", "publication", "track"}:
            self.state = self._final = None
        self._invalidate_boards(change)

    def _invalidate_boards(self, change: FeedRow) -> None:
        # A private board depends on the public one, which ranks the teams without picks. The reverse never holds.
        all_tracks = change.track_id in {None, self.public_id}
        self._unsure_judged |= {id_ for id_ in self._judged if all_tracks or id_ != self.public_id}
        self._unsure_day_start |= {key for key in self._day_start if all_tracks or key.track_id != self.public_id}
        for boards in (self._boards, self._past):
            for key in [key for key in boards if all_tracks or key.track_id != self.public_id]:
                del boards[key]

    def _invalidate_entries(self, track_ids: set[int], refs: Collection[int] | None) -> None:
        for track_id in track_ids & self._columns.keys():
            self._judged.pop(track_id, None)  # it would keep the old columns in memory
            if refs is None:  # too many to list
                del self._columns[track_id]
                self._superseded.pop(track_id, None)
            else:
                self._stale_refs.setdefault(track_id, set()).update(refs)

    def ranked_board(self, connection: Connection, track_id: int, *, late: bool) -> RankedBoard:
        """The current board of a track, ranked now if it is not cached."""
        key = BoardKey(track_id, late, None)
        if key not in self._boards:
            self._boards[key] = self._ranked(connection, key)
            self.nbytes = _count_bytes(self)
        self._asked.add(key)
        return self._boards[key]

    def _ranked(self, connection: Connection, key: BoardKey) -> RankedBoard:
        private = key.track_id != self.public_id
        as_of = ranked_entries.final_as_of(connection, self.feed.competition_id) if private else None
        if as_of is None:
            return rank_entries(self._with_finals(connection, key.track_id), late=key.late)
        final_key = key._replace(at=as_of)
        if self._final is None or self._final.key != final_key:
            past = self.begin_past_board(connection, final_key)
            self._final = FinalBoard(final_key, past.ranked_board(connection))
            self._superseded.update(past.superseded)
            self._judged.pop(key.track_id, None)  # the final board has its own
        return self._final.board

    def cached(self, key: BoardKey) -> RankedBoard | None:
        """The current board under ``key``, if it is cached."""
        if key in self._boards:
            self._asked.add(key)
        return self._boards.get(key)

    @property
    def in_demand(self) -> set[BoardKey]:
        """Current boards that were dropped, were requested since they were last ranked, and are open to visitors."""
        dropped = self._asked - self._boards.keys()
        if self.served is None or may_see_private(self.served.state, None):
            return dropped
        return {key for key in dropped if key.track_id == self.public_id}

    def rank_again(self, connection: Connection) -> None:
        """Rank the current boards that are in demand, and the board at the start of the day."""
        keys = self.in_demand
        for key in keys:
            self.ranked_board(connection, key.track_id, late=key.late)
        for key in list(self._unsure_day_start):
            self.day_start_listing(connection, key)
        self._asked -= keys

    def day_start_listing(self, connection: Connection, key: BoardKey) -> BoardListing:
        """The board when the day began, which every reader compares with the current one. One day's is cached."""
        cached = self._day_start.get(key)
        if cached is None or key in self._unsure_day_start:
            past = self.begin_past_board(connection, key)
            columns_, rules = past.current[key.track_id], past.rules(connection, key.track_id)
            same = cached is not None and cached.columns is columns_ and cached.rules.equals(rules)
            if cached is None or not same or key.track_id != self.public_id:  # others also depend on picks
                cached = DayStartListing(past.listing(connection), columns_, rules)
                self._superseded.update(past.superseded)
            self._day_start = {key: cached}
            self._unsure_day_start.clear()
            self.nbytes = _count_bytes(self)
        return cached.listing

    def cached_day_start(self, key: BoardKey) -> BoardListing | None:
        cached = None if key in self._unsure_day_start else self._day_start.get(key)
        return cached and cached.listing

    def begin_past_board(self, connection: Connection, key: BoardKey) -> PastBoard:
        """All cached inputs of a past board. Making the board then needs the same database snapshot, but no longer the
        lock."""
        track_ids = {key.track_id, self.public_id} if key.track_id != self.public_id else {key.track_id}
        current = {track_id: self._current_columns(connection, track_id) for track_id in track_ids}
        superseded = {id_: self._superseded[id_] for id_ in track_ids & self._superseded.keys()}
        judged = {id_: self._judged[id_] for id_ in track_ids & self._judged.keys()}
        return PastBoard(
            self.feed.competition_id, self.public_id, self.max_final_picks, key, current, superseded, judged
        )

    def past_listing(self, key: BoardKey) -> BoardListing | None:
        """The listing of a past moment if it is cached. Needs no lock."""
        return self._past.get(key)

    def keep_past(self, past: PastBoard, listing: BoardListing, generation: int) -> None:
        """Cache a past board that was made in ``generation``, unless the cache has changed since. It counts as the most
        recently used."""
        if generation != self.generation:
            return
        self._superseded.update(past.superseded)
        self._past[past.key] = listing
        self._past.move_to_end(past.key)
        while len(self._past) > MAX_PAST_BOARDS:
            self._past.popitem(last=False)
        self.nbytes = _count_bytes(self)

    def teams_named(self, connection: Connection, text: str, listed: Ints) -> Ints:
        """The ids in ``listed`` of teams with ``text`` in their name, ignoring case and comparing in NFKC."""
        if self._names is None:
            self._names = TeamNames.of(board_details.normalised_names(connection, self.feed.competition_id))
        unknown = self._names.unknown(listed)
        if len(unknown):
            self._names = self._names.with_names(board_details.load_normalised_names(connection, unknown.tolist()))
        return self._names.containing(board_details.normalised_text(connection, text), among=listed)

    def _with_finals(self, connection: Connection, track_id: int) -> JudgedEntries:
        judged = self._judge(connection, track_id)
        if track_id == self.public_id:
            return judged
        if self._picks is None:
            self._picks = ranked_entries.load_picks(connection, self.feed.competition_id)
        public = self._judge(connection, self.public_id)
        return judged.with_finals(choose_finals(public, self._picks, self.max_final_picks))

    def _judge(self, connection: Connection, track_id: int) -> JudgedEntries:
        former = self._judged.get(track_id)
        if former is None or track_id in self._unsure_judged:
            rules = ranked_entries.load_judging_rules(connection, track_id)
            current = self._current_columns(connection, track_id)
            self._judged[track_id] = former = judged_by(rules, current, former)
            self._unsure_judged.discard(track_id)
        return former

    def _current_columns(self, connection: Connection, track_id: int) -> EntryColumns:
        """The columns of a track's entries; reads changed entries again."""
        stale = self._stale_refs.get(track_id, set())
        if track_id not in self._columns:
            self._columns[track_id] = ranked_entries.load_columns(connection, track_id)
        elif stale:
            reread = ranked_entries.load_columns(connection, track_id, refs=stale)
            self._columns[track_id] = self._columns[track_id].without(stale).updated_with(reread)
            if track_id in self._superseded:
                earlier = ranked_entries.load_superseded_columns(connection, track_id, refs=stale)
                self._superseded[track_id] = self._superseded[track_id].without(stale).updated_with(earlier)
        self._stale_refs.pop(track_id, None)  # last, so that a failed read is repeated
        return self._columns[track_id]


def _count_bytes(boards: CachedBoards) -> int:
    """The size of all arrays that a competition's cache holds, in bytes, each counted once."""
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
