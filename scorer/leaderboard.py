"""The leaderboard: measurements judged and ranked at the moment they are read."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from scorer.competitions import State, is_organizer, visible_track
from scorer.db import board, lookups
from scorer.db.tables import Account, Threshold, Track
from scorer.errors import Invalid


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


@dataclass(frozen=True)
class Benchmark:
    """An organizer's reference line: shown where it would stand, without a rank."""

    team: str
    score: float
    fid: float
    memorization_distance: float
    submission_id: str


@dataclass(frozen=True)
class Copy:
    """A team whose entries are copies of the training images: listed apart, without a score."""

    team: str
    reason: str
    memorization_distance: float
    submission_id: str
    accepted_at: datetime
    label: str | None


@dataclass(frozen=True)
class Board:
    """A page of the board of one track."""

    state: State
    track: Track
    threshold: Threshold | None
    places: Sequence[Place]
    benchmarks: Sequence[Benchmark]
    copies: Sequence[Copy]
    teams: int
    """How many teams have a rank."""
    late: bool = False
    """Whether this is the board of late entries."""


def version(session: Session, state: State, kind: str, account: Account | None) -> str:
    """A short name of everything the board depends on, for ETags: equal names, equal boards."""
    track = visible_track(state, kind, account)
    organizer = is_organizer(account)
    inputs = (track.id, state.phase, organizer, *board.version_of(session, track, labels=organizer))
    return hashlib.sha256(repr(inputs).encode()).hexdigest()[:20]


def standings(
    session: Session,
    state: State,
    kind: str,
    account: Account | None,
    *,
    after: int = 0,
    limit: int | None = None,
    late: bool = False,
) -> Board:
    """The board of a track from rank ``after + 1`` on, at most ``limit`` places; ``Forbidden`` for the private
    track before publication. ``late``: of the entries after the close, which have no private track."""
    track = visible_track(state, kind, account)
    if late and kind != "public":
        raise Invalid("late-is-public", "Entries after the close are scored on the public track alone.")
    decimals = state.competition.score_decimals
    labels = lookups.decided_labels(session, state.competition.id) if is_organizer(account) else {}
    rows = board.standings(session, track.id, decimals=decimals, after=after, limit=limit, late=late)
    return Board(
        state=state,
        track=track,
        threshold=lookups.newest_threshold(session, track.id),
        places=[_place(row, labels) for row in rows],
        benchmarks=[_benchmark(row) for row in board.benchmarks(session, track.id, decimals=decimals)],
        copies=[_copy(row, labels) for row in board.copies(session, track.id, late=late)],
        teams=board.count_ranked(session, track.id, late=late),
        late=late,
    )


def rank_of(session: Session, state: State, kind: str, account: Account) -> int | None:
    """The rank of a person's team on a track; ``Forbidden`` for the private one before publication."""
    track = visible_track(state, kind, account)
    team = lookups.team_of(session, state.competition.id, account.id)
    if team is None:
        return None
    return board.rank_of_team(session, track.id, team.id, decimals=state.competition.score_decimals)


def count_teams(session: Session, state: State) -> int:
    """How many teams have a rank on the public board."""
    return board.count_ranked(session, state.tracks["public"].id)


def _place(row: Any, labels: dict[int, str]) -> Place:
    return Place(
        rank=row.rank,
        team_id=row.team_id,
        team=row.team,
        score=row.score,
        fid=row.fid,
        memorization_distance=row.memorization_distance,
        penalised=row.penalised,
        submission_id=row.id,
        accepted_at=row.accepted_at,
        entries=row.entries,
        last_entry_at=row.last_entry_at,
        label=labels.get(row.ref),
    )


def _benchmark(row: Any) -> Benchmark:
    return Benchmark(
        team=row.team,
        score=row.score,
        fid=row.fid,
        memorization_distance=row.memorization_distance,
        submission_id=row.id,
    )


def _copy(row: Any, labels: dict[int, str]) -> Copy:
    return Copy(
        team=row.team,
        reason=why_copy(row.exact_copies or 0, row.mirrored_copies or 0, row.copied_share or 0.0),
        memorization_distance=row.memorization_distance,
        submission_id=row.id,
        accepted_at=row.accepted_at,
        label=labels.get(row.ref),
    )


def why_copy(exact: int, mirrored: int, share: float) -> str:
    """One sentence on why an entry has no score."""
    if exact + mirrored == 0:
        return "The features of its images equal those of training images."
    return f"{share:.0%} of its images are training images, pixel by pixel ({exact} as they are, {mirrored} mirrored)."
