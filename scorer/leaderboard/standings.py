"""Standings: a page of a track's board for one viewer, judged and ranked when it is read.

Measurements are stored and everything else follows from them, so the board of a past moment is the same computation
over the rows that there were then. ``board_version`` names all inputs of a board, for ETags.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState, visible_track
from scorer.db import tuning
from scorer.db.leaderboard import board
from scorer.db.leaderboard.board import EntryInfo, UnrankedReason
from scorer.db.submissions import labels
from scorer.db.tables import Account, Track
from scorer.db.teams import members
from scorer.errors import NotFound
from scorer.leaderboard import board_cache
from scorer.leaderboard.board import Benchmark, Board, CopyingTeam, DisqualifiedTeam, Place
from scorer.leaderboard.board_access import state_of_board
from scorer.leaderboard.explanations import shorten_reason, why_copy
from scorer.leaderboard.rows import (
    BoardRow,
    BoardRows,
    day_start_rows_of,
    ranks_by_team,
    rows_of,
    teams_named,
    terms_names,
)
from scorer.leaderboard.team_names import is_among
from scorer.lifecycle import TrackKind, utc_day
from scorer.ranking.awards import Award, award_of
from scorer.ranking.columns import Ints

SNAPSHOT_KEY = "board_snapshot"
"""Where a database session keeps the board snapshot that its request has taken."""


def visible_state(session: Session, slug: str, account: Account | None, now: datetime) -> CompetitionState:
    """The state of a competition that this person may see, from the board cache where there is one; ``NotFound``
    otherwise (:func:`scorer.competitions.competition_state.visible_state`)."""
    cache = board_cache.cache_of(session)
    if cache is None:
        return competition_state.visible_state(session, slug, account, now)
    snapshot = session.info[SNAPSHOT_KEY] = cache.current_snapshot(slug, now)
    return competition_state.require_visible(snapshot.state, account)


def states_to_show(session: Session, slug: str, account: Account | None, now: datetime) -> Iterator[CompetitionState]:
    """The states of a competition whose rendered boards this person may be shown, the current one last
    (:func:`visible_state`). Visitors are shown the former one, where it was rendered, while the new board is ranked."""
    cache = board_cache.cache_of(session)
    former = cache.former_snapshot(slug, now) if cache is not None and account is None else None
    if former is not None:
        session.info[SNAPSHOT_KEY] = former
        yield competition_state.require_visible(former.state, account)
    yield visible_state(session, slug, account, now)


def board_version(
    session: Session, state: CompetitionState, kind: TrackKind, account: Account | None, now: datetime | None = None
) -> str:
    """A hash of everything that a viewer's board depends on, for ETags: equal hashes, equal boards. ``now``: for boards
    that show who has moved since the day began."""
    track = visible_track(state, kind, account)
    organizer = is_organizer(account, state.competition.id)
    counts = change_counts(session, state, track, labels=organizer)
    day = None if now is None else utc_day(now)[0]
    inputs = (track.id, state.phase, organizer, day, _own_team_id(session, state, account), counts)
    return hashlib.sha256(repr(inputs).encode()).hexdigest()[:20]


def change_counts(session: Session, state: CompetitionState, track: Track, *, labels: bool) -> tuple[int, ...]:
    """How many changes of a track's board there have been: equal counts, equal boards. ``labels``: of the board that
    organizers see."""
    snapshot = session.info.get(SNAPSHOT_KEY)
    if snapshot is not None and snapshot.state is state:  # taken by this very request
        counts: tuple[int, ...] = snapshot.version(track.id, labels=labels)
        return counts
    return board.version_of(session, track, labels=labels)


def _own_team_id(session: Session, state: CompetitionState, account: Account | None) -> int | None:
    team = None if account is None else members.team_of(session, state.competition.id, account.id)
    return None if team is None else team.id


def standings(  # noqa: PLR0913 - every option of a board
    session: Session,
    state: CompetitionState,
    kind: TrackKind,
    account: Account | None,
    *,
    after: int = 0,
    limit: int | None = None,
    late: bool = False,
    as_of: datetime | None = None,
    search: str = "",
    now: datetime | None = None,
) -> Board:
    """The board of a track from rank ``after + 1`` on, at most ``limit`` places.

    ``late``: the board of entries after the close, which have no private track (``Invalid``: ``late-is-public``).
    ``as_of``: as it was at a past moment. ``search``: only teams whose name contains this. ``now``: with the ranks that
    teams have gained since the UTC day began. ``Forbidden`` for the private track before publication.
    """
    track, then = state_of_board(session, state, kind, account, late=late, as_of=as_of)
    return _BoardReader(session, then, track, account, late, as_of, now).board(after, limit, search)


def rank_of(session: Session, state: CompetitionState, kind: TrackKind, account: Account) -> int | None:
    """The rank of a person's team on a track; ``Forbidden`` for the private track before publication."""
    visible_track(state, kind, account)
    team_id = _own_team_id(session, state, account)
    rows = [] if team_id is None else rows_of(session, state.competition, state.tracks, kind).of_teams([team_id])
    return rows[0].rank if rows else None


def row_of_team(session: Session, state: CompetitionState, kind: TrackKind, name: str) -> tuple[BoardRow, int]:
    """The row of the team with this name on the board that everybody sees, and how many teams have a rank; ``NotFound``
    if it has none, ``Forbidden`` for the private track before publication."""
    visible_track(state, kind, None)
    rows = rows_of(session, state.competition, state.tracks, kind)
    team = members.competing_team(session, state.competition.id, name)
    for row in rows.of_teams([team.id]) if team else ():
        return row, len(rows)
    raise NotFound("no-place", "No team of this name has a place on the board.")


def count_teams(session: Session, states: Sequence[CompetitionState]) -> dict[int, int]:
    """How many teams have a rank on the public board of each of the competitions, by its id."""
    cache = board_cache.cache_of(session)
    if cache is not None:
        return cache.team_counts(states)
    return {each.competition.id: len(rows_of(session, each.competition, each.tracks, "public")) for each in states}


@dataclass(frozen=True)
class _BoardReader:
    """Reads one board: rows of the ranking, then names, labels and reasons for the rows of the page alone."""

    session: Session
    state: CompetitionState
    track: Track
    account: Account | None
    late: bool
    as_of: datetime | None
    now: datetime | None

    def board(self, after: int, limit: int | None, search: str) -> Board:
        """The page of at most ``limit`` places after rank ``after``; with ``search``, of the teams found."""
        rows = self._rows(self.track.board_kind, self.as_of)
        team_ids = self._teams_matching(rows, search)
        page = rows.page(after, limit) if team_ids is None else rows.of_teams(team_ids, after, limit)
        own_team_id = _own_team_id(self.session, self.state, self.account)
        own = [] if own_team_id is None else rows.of_teams([own_team_id])
        measured_by = terms_names(self.session, self.state.tracks[self.track.board_kind].id, rows, self.as_of)
        others = dict(list(measured_by.items())[1:])
        places = self._places([*page, *own], others)
        return Board(
            state=self.state,
            track=self.track,
            threshold=tuning.newest_threshold(self.session, self.state.tracks[self.track.board_kind].id, self.as_of),
            places=places[: len(page)],
            benchmarks=self._benchmarks(_of_teams(rows.benchmarks(), team_ids), others),
            copies=self._copies(_of_teams(rows.copies(), team_ids)),
            teams=len(rows),
            late=self.late,
            disqualified=self._disqualified(_of_teams(rows.disqualified(), team_ids)),
            own=places[-1] if own else None,
            measured_by=list(measured_by.values()),
            as_of=self.as_of,
        )

    def _rows(self, kind: TrackKind, at: datetime | None) -> BoardRows:
        return rows_of(self.session, self.state.competition, self.state.tracks, kind, late=self.late, at=at)

    def _teams_matching(self, rows: BoardRows, search: str) -> Ints | None:
        text = search.strip()
        competition, tracks = self.state.competition, self.state.tracks
        return teams_named(self.session, competition, tracks, rows, text, self.as_of) if text else None

    def _entry_info(self, rows: Sequence[BoardRow]) -> dict[int, EntryInfo]:
        return board.entry_info_of(self.session, [row.ref for row in rows], late=self.late, at=self.as_of)

    def _labels(self, rows: Sequence[BoardRow]) -> dict[int, str]:
        refs = [row.ref for row in rows]
        shown = refs and is_organizer(self.account, self.state.competition.id)
        return labels.labels_of(self.session, refs) if shown else {}

    def _places(self, rows: Sequence[BoardRow], measured_by: Mapping[int, str]) -> list[Place]:
        entries = self._entry_info(rows)
        labels = self._labels(rows)
        earlier_ranks = self._ranks_at_day_start(rows)
        public_ranks = self._public_ranks(rows)

        def place(row: BoardRow) -> Place:
            rank = row.rank or 0
            entry = entries[row.ref]
            earlier_rank = earlier_ranks.get(row.team_id)
            award = self._award(rank)
            return Place(
                rank=rank,
                team_id=row.team_id,
                team=entry.team,
                score=row.score,
                fid=row.fid,
                memorization_distance=row.memorization_distance,
                penalised=row.penalised,
                submission_id=entry.id,
                accepted_at=row.accepted_at,
                entries=entry.entries,
                last_entry_at=entry.last_entry_at,
                label=labels.get(row.ref),
                measured_by=measured_by.get(row.terms),
                moved=None if earlier_rank is None else earlier_rank - rank,
                public_rank=public_ranks.get(row.team_id),
                medal=award.medal,
                prize=award.prize,
            )

        return [place(row) for row in rows]

    def _award(self, rank: int) -> Award:
        competition, kind = self.state.competition, self.track.board_kind
        return award_of(rank, kind, medals=competition.medals, prizes=competition.prizes, late=self.late)

    def _ranks_at_day_start(self, rows: Sequence[BoardRow]) -> dict[int, int | None]:
        """The teams' ranks when the UTC day began, by team id; empty unless this is today's public board in time."""
        if self.now is None or self.late or self.as_of is not None or self.track.kind != "public" or not rows:
            return {}
        competition, tracks = self.state.competition, self.state.tracks
        earlier = day_start_rows_of(self.session, competition, tracks, "public", utc_day(self.now)[0])
        return ranks_by_team(earlier.of_teams({row.team_id for row in rows}))

    def _public_ranks(self, rows: Sequence[BoardRow]) -> dict[int, int | None]:
        if self.track.kind != "private" or not rows:
            return {}
        return ranks_by_team(self._rows("public", self.as_of).of_teams({row.team_id for row in rows}))

    def _benchmarks(self, rows: Sequence[BoardRow], measured_by: Mapping[int, str]) -> list[Benchmark]:
        entries = self._entry_info(rows)
        return [
            Benchmark(
                team=entries[row.ref].team,
                score=row.score,
                fid=row.fid,
                memorization_distance=row.memorization_distance,
                submission_id=entries[row.ref].id,
                measured_by=measured_by.get(row.terms),
            )
            for row in rows
        ]

    def _copies(self, rows: Sequence[BoardRow]) -> list[CopyingTeam]:
        entries = self._entry_info(rows)
        labels = self._labels(rows)
        reasons = self._unranked_reasons(rows)

        def copy(row: BoardRow) -> CopyingTeam:
            reason = reasons[row.ref]
            entry = entries[row.ref]
            why = why_copy(reason.exact_copies or 0, reason.mirrored_copies or 0, reason.copied_share or 0.0)
            distance = row.memorization_distance
            label = labels.get(row.ref)
            return CopyingTeam(entry.team, why, distance, entry.id, row.accepted_at, label)

        return [copy(row) for row in rows]

    def _disqualified(self, rows: Sequence[BoardRow]) -> list[DisqualifiedTeam]:
        entries = self._entry_info(rows)
        labels = self._labels(rows)
        reasons = self._unranked_reasons(rows)

        def disqualified(row: BoardRow) -> DisqualifiedTeam:
            entry = entries[row.ref]
            reason = shorten_reason(reasons[row.ref].reason or "")
            return DisqualifiedTeam(entry.team, reason, entry.id, row.accepted_at, labels.get(row.ref))

        return [disqualified(row) for row in rows]

    def _unranked_reasons(self, rows: Sequence[BoardRow]) -> dict[int, UnrankedReason]:
        return board.unranked_reasons_of(self.session, [row.ref for row in rows], at=self.as_of)


def _of_teams(rows: list[BoardRow], team_ids: Ints | None) -> list[BoardRow]:
    """Those of the rows that are of these teams, whose ids are sorted; all, where it is not asked for teams."""
    if team_ids is None or not rows:
        return rows
    wanted = is_among(np.array([row.team_id for row in rows], np.int64), team_ids)
    return [row for row, is_wanted in zip(rows, wanted.tolist(), strict=True) if is_wanted]
