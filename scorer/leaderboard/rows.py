"""The rows of a track's board: who ranks where, with which entry and score.

The ranked board comes from the process's cache if there is one (:mod:`scorer.leaderboard.board_cache`), else it is read
from the database. Names and reasons are added later, only for the rows of one page
(:mod:`scorer.leaderboard.standings`).
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType

import numpy as np
from sqlalchemy.orm import Session

from scorer.db import rescoring
from scorer.db.leaderboard import board_details, standard_errors
from scorer.db.leaderboard.ranked_entries import final_as_of, load_judged_entries, load_picks
from scorer.db.leaderboard.standard_errors import FidSpread
from scorer.db.tables import Competition, Track
from scorer.leaderboard import board_cache
from scorer.leaderboard.board_cache import BoardTracks
from scorer.lifecycle import TrackKind
from scorer.ranking.columns import Ints
from scorer.ranking.judged_entries import JudgedEntries
from scorer.ranking.vectorised import BoardListing, RankedBoard, choose_finals, rank_entries


def load_listing(
    session: Session,
    state: BoardTracks,
    kind: TrackKind,
    *,
    late: bool = False,
    at: datetime | None = None,
) -> BoardListing:
    """A track's board: of late entries (``late``), or at a past moment (``at``)."""
    if at is None:
        return load_ranked_board(session, state, kind, late=late)
    cache = board_cache.find_cache(session)
    if cache is not None:
        return cache.past_listing(state, kind, late=late, at=at)
    return read_ranked_board(session, state, kind, late=late, at=at)


def load_day_start_listing(session: Session, state: BoardTracks, kind: TrackKind, *, at: datetime) -> BoardListing:
    """A track's board when the day began (``at``). The process's cache, if there is one, always has it."""
    cache = board_cache.find_cache(session)
    if cache is not None:
        refreshed = board_cache.has_snapshot(session, state.competition)
        return cache.day_start_listing(state, kind, at, refreshed=refreshed)
    return read_ranked_board(session, state, kind, at=at)


def teams_named(
    session: Session,
    state: BoardTracks,
    listing: BoardListing,
    *,
    text: str,
    at: datetime | None,
) -> Ints:
    """The ids of the teams on a board with ``text`` in their name, ignoring case and comparing in NFKC. Names are those
    of the moment ``at``."""
    cache = board_cache.find_cache(session)
    if cache is not None and at is None:
        return cache.teams_named(state, text, listing.teams)
    found = board_details.teams_named(session, state.competition.id, text, at=at)
    return np.intersect1d(np.array(list(found), np.int64), listing.teams)


def load_ranked_board(
    session: Session,
    state: BoardTracks,
    kind: TrackKind,
    *,
    late: bool = False,
) -> RankedBoard:
    """The ranked board of a track: from the process's cache, which has all committed changes, or from
    :func:`read_ranked_board`.

    Threads share its columns: read them, never write to them.
    """
    cache = board_cache.find_cache(session)
    if cache is not None:
        refreshed = board_cache.has_snapshot(session, state.competition)
        return cache.ranked_board(state, kind, late=late, refreshed=refreshed)
    return read_ranked_board(session, state, kind, late=late)


def read_ranked_board(
    session: Session,
    state: BoardTracks,
    kind: TrackKind,
    *,
    late: bool = False,
    at: datetime | None = None,
    campaigns: Collection[int] | None = None,
    taus: Mapping[int, float] = MappingProxyType({}),
) -> RankedBoard:
    """The ranked board of a track, read from the database in this transaction, including the transaction's own changes.

    If the final board is published, the private board is read as of its publication. ``campaigns``: as if exactly these
    rescoring campaigns were in force. ``taus``: under these thresholds, by track id.
    """
    session.flush()  # the columns are read without the session, so nothing else flushes it
    connection = session.connection()
    if kind == "private":
        at = final_as_of(connection, state.competition.id, at=at) or at

    def judged_on(track_id: int) -> JudgedEntries:
        judged = load_judged_entries(connection, track_id, at=at, campaigns=campaigns)
        return judged.under(taus[track_id]) if track_id in taus else judged

    judged = judged_on(state.tracks[kind].id)
    if kind == "private":
        public = judged_on(state.tracks["public"].id)
        picks = load_picks(connection, state.competition.id, at=at)
        judged = judged.with_finals(choose_finals(public, picks, state.competition.final_picks))
    return rank_entries(judged, late=late)


def load_fid_spreads(
    session: Session, competition: Competition, track: Track, *, refs: Collection[int], at: datetime | None = None
) -> dict[int, FidSpread]:
    """The spreads of the FIDs of entries on a track's board (at the moment ``at``), by ref."""
    if not refs or competition.count_draws(track.kind) == 1:
        return {}
    if track.kind == "private":
        at = final_as_of(session.connection(), competition.id, at=at) or at
    return standard_errors.load_fid_spreads(session, track.id, refs, at=at)


def name_conditions(session: Session, track_id: int, listing: BoardListing, *, at: datetime | None) -> dict[int, str]:
    """Names for ``listing.conditions``, the most common first: the scorer version, and the references and extractor if
    they differ. For a track's board at the moment ``at``."""
    if not listing.conditions:
        return {}
    made_by = rescoring.load_conditions(session, track_id, list(listing.conditions.values()), at=at)
    references_differ = len({entry.references for entry in made_by.values()}) > 1
    extractors_differ = len({entry.extractor for entry in made_by.values()}) > 1

    def name(conditions: rescoring.MeasurementConditions) -> str:
        parts = [f"scorer version {conditions.scorer_version}"]
        parts += [f"references {conditions.references}"] if references_differ else []
        parts += [conditions.extractor] if extractors_differ else []
        return ", ".join(parts)

    return {conditions: name(made_by[ref]) for conditions, ref in listing.conditions.items()}
