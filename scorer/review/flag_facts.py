"""What flags need beside a board's columns, as columns: equal contents, shared images and signs of copying.

The web process keeps them (:class:`FlagFactsCache`): a request reads only what was added since the last one. Contents
and evidence never change, apart from the images of submissions that are still to be checked, so those and the newest
rows are read again.
"""

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.evidence import shared_images, signs
from scorer.db.review import contents
from scorer.db.session import Connection, ConnectionLost, Connections, end_reading
from scorer.ranking.columns import EMPTY, Ints

OVERLAP = 5_000
"""Newest rows that are read again: a row may be committed after rows with higher ids, but no transaction that adds one
lasts while so many others are added."""
MAX_COMPETITIONS = 4
"""Competitions whose facts are kept; the least recently used is dropped first."""


class EqualContents(NamedTuple):
    """The submissions whose content at least one other has, in the order of ``group``, a number of each content."""

    ref: Ints
    team: Ints
    """The submitting team, before any merges."""
    group: Ints


@dataclass(frozen=True)
class ContentIndex:
    """Submissions in the order of a hash of their content."""

    hash: Ints
    ref: Ints
    team: Ints

    def with_rows(self, hashes: Ints, refs: Ints, teams: Ints) -> "ContentIndex":
        """With more submissions."""
        if not len(refs):
            return self
        columns = zip((self.hash, self.ref, self.team), (hashes, refs, teams), strict=True)
        both = [np.concatenate(pair) for pair in columns]
        order = np.argsort(both[0], kind="stable")  # nearly sorted, which a stable sort makes use of
        return ContentIndex(*(column[order] for column in both))

    @cached_property
    def equal(self) -> EqualContents:
        """Those whose content is not their own alone."""
        same = self.hash[1:] == self.hash[:-1]
        rows = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False)) if len(self.hash) else EMPTY
        group = np.cumsum(~np.insert(same, 0, False)[rows]) if len(rows) else EMPTY
        return EqualContents(self.ref[rows], self.team[rows], group)


def _no_contents() -> ContentIndex:
    return ContentIndex(EMPTY, EMPTY, EMPTY)


def _no_refs() -> Ints:
    return EMPTY


class SharingPairs(NamedTuple):
    """Pairs of entries that share images; teams are those before any merges."""

    ref: Ints
    other_ref: Ints
    team: Ints
    other_team: Ints


def _no_pairs() -> SharingPairs:
    return SharingPairs(EMPTY, EMPTY, EMPTY, EMPTY)


class FlagFacts(NamedTuple):
    """The facts of a competition at one moment."""

    zips: EqualContents
    images: EqualContents
    signs_ref: Ints
    """Entries whose newest evidence shows a sign of copying on a track, in the order of ``ref``."""
    signs_bits: Ints
    """Their signs on either track: bit i is the sign ``SIGNS[i]``."""
    sharing: SharingPairs


@dataclass
class CompetitionFacts:
    """What is kept of one competition. One thread at a time uses it, holding ``lock``."""

    competition_id: int
    track_ids: Collection[int]
    image_count: int
    lock: Lock = field(default_factory=Lock)
    _zips: ContentIndex = field(default_factory=_no_contents)
    _images: ContentIndex = field(default_factory=_no_contents)
    _newest_ref: int | None = None
    _unchecked: Ints = field(default_factory=_no_refs)
    """Refs of submissions whose images may still be hashed."""
    _read_zips: Ints = field(default_factory=_no_refs)
    """Refs of the submissions in ``_zips`` that the next reading will find again; so ``_read_images``."""
    _read_images: Ints = field(default_factory=_no_refs)
    _newest_evidence: int | None = None
    _bits: dict[tuple[int, int], int] = field(default_factory=dict)
    """The signs of each track and entry that has any."""
    _sharing: SharingPairs = field(default_factory=_no_pairs)
    _sharing_id: Ints = field(default_factory=_no_refs)
    _newest: FlagFacts | None = None

    def read(self, connection: Connection) -> FlagFacts:
        """The facts as this connection sees them: the same object as before while nothing has changed."""
        changes = [each(connection) for each in (self._read_contents, self._read_signs, self._read_sharing)]
        if self._newest is None or any(changes):
            self._newest = FlagFacts(self._zips.equal, self._images.equal, *self._signs(), self._sharing)
        return self._newest

    def _read_contents(self, connection: Connection) -> bool:
        """Read what was added; whether anything was. So the two below."""
        above = None if self._newest_ref is None else max(self._newest_ref - OVERLAP, 0)
        rows = contents.content_rows(connection, self.competition_id, above=above, refs=self._unchecked.tolist())
        new_zips = rows.has_zip & ~np.isin(rows.ref, self._read_zips)
        new_images = rows.has_pixels & ~np.isin(rows.ref, self._read_images)
        self._zips = self._zips.with_rows(rows.zip_hash[new_zips], rows.ref[new_zips], rows.team[new_zips])
        self._images = self._images.with_rows(rows.pixel_hash[new_images], rows.ref[new_images], rows.team[new_images])
        self._unchecked = rows.ref[rows.unchecked]
        self._newest_ref = max(self._newest_ref or 0, int(rows.ref.max(initial=0)))
        # The next reading repeats no others: a content is never changed once it is there.
        repeated = (rows.ref > self._newest_ref - OVERLAP) | rows.unchecked
        self._read_zips = rows.ref[repeated & rows.has_zip]
        self._read_images = rows.ref[repeated & rows.has_pixels]
        return bool(new_zips.any() or new_images.any())

    def _read_signs(self, connection: Connection) -> bool:
        newest = signs.newest_evidence_id(connection)
        above = None if self._newest_evidence is None else max(self._newest_evidence - OVERLAP, 0)
        rows = signs.sign_rows(connection, self.track_ids, self.image_count, above=above)
        order = np.argsort(rows.id)
        changed = False
        for ref, track_id, bits in zip(*(each[order].tolist() for each in rows[1:]), strict=True):
            changed |= self._bits.get((track_id, ref), 0) != bits
            if bits:
                self._bits[track_id, ref] = bits
            else:  # of newer evidence, which counts
                self._bits.pop((track_id, ref), None)
        self._newest_evidence = newest
        return changed

    def _read_sharing(self, connection: Connection) -> bool:
        newest = int(self._sharing_id.max(initial=0))
        rows = shared_images.pair_rows(connection, self.competition_id, above=max(newest - OVERLAP, 0))
        added = ~np.isin(rows.id, self._sharing_id)
        if added.any():
            self._sharing_id = np.concatenate([self._sharing_id, rows.id[added]])
            columns = zip(self._sharing, rows[1:], strict=True)
            self._sharing = SharingPairs(*(np.concatenate([kept, column[added]]) for kept, column in columns))
        return bool(added.any())

    def _signs(self) -> tuple[Ints, Ints]:
        either: dict[int, int] = {}
        for (_, ref), bits in self._bits.items():
            either[ref] = either.get(ref, 0) | bits
        refs = np.array(sorted(either), np.int64)
        return refs, np.array([either[ref] for ref in refs.tolist()], np.int64)


class FlagFactsCache:
    """The facts that one process keeps, of the most recently used competitions; safe to use from any thread."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = Lock()
        self._competitions: OrderedDict[tuple[int, ...], CompetitionFacts] = OrderedDict()
        """By the ids of the competition and its tracks: another private track has other evidence."""

    def facts_of(self, state: CompetitionState) -> FlagFacts:
        """The facts of a competition as of this call. They are shared between threads: read them, never write."""
        try:
            return self._facts_of(state)
        except ConnectionLost:  # the server may have been restored to an earlier state
            with self._lock:
                self._competitions.clear()
            return self._facts_of(state)

    def _facts_of(self, state: CompetitionState) -> FlagFacts:
        key = (state.competition.id, *sorted(track.id for track in state.tracks.values()))
        with self._lock:
            facts = self._competitions.setdefault(key, _no_facts(state))
            self._competitions.move_to_end(key)
            while len(self._competitions) > MAX_COMPETITIONS:
                self._competitions.popitem(last=False)
        with facts.lock, self._connections.snapshot() as connection:
            return facts.read(connection)


def facts_of(session: Session, state: CompetitionState) -> FlagFacts:
    """The facts of a competition: from the process's cache, which has what is committed; without a cache, or after
    writing, from the database as this transaction sees it."""
    cache: FlagFactsCache | None = session.info.get("flag_facts")
    if cache is not None and end_reading(session):
        return cache.facts_of(state)
    session.flush()  # columns are read past the session, whose own queries would flush
    return _no_facts(state).read(session.connection())


def _no_facts(state: CompetitionState) -> CompetitionFacts:
    """Those of a competition of which nothing has been read."""
    track_ids = [track.id for track in state.tracks.values()]
    return CompetitionFacts(state.competition.id, track_ids, state.competition.image_count)
