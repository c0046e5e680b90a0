"""Reads a page of a board: the ranking's rows, and what stands beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard import board
from scorer.db.leaderboard.board import EntryInfo, UnrankedReason
from scorer.db.leaderboard.shown_tracks import ShownValue, values_of_entries
from scorer.db.submissions import labels
from scorer.db.tables import ShownTrack, Track
from scorer.leaderboard.board import Benchmark, Board, CopyingTeam, DisqualifiedTeam, Place
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
from scorer.lifecycle import TrackKind, utc_day
from scorer.ranking.awards import Awards
from scorer.ranking.columns import Ints, is_among


@dataclass(frozen=True)
class Rankings:
    """A board's ranking, and those that it is compared with."""

    rows: BoardRows
    day_start: BoardRows | None
    """When the UTC day began; None unless this is today's public board in time."""
    public: BoardRows | None
    """The public ranking, for the private board."""


def rankings_of(
    session: Session,
    state: CompetitionState,
    kind: TrackKind,
    *,
    late: bool,
    as_of: datetime | None,
    now: datetime | None,
) -> Rankings:
    """The rankings of a board. To be read first: while the session holds no connection, the board cache need not ask
    whether it has written."""
    rows = rows_of(session, state, kind, late=late, at=as_of)
    day_start = public = None
    if now is not None and not late and as_of is None and kind == "public" and len(rows):
        day_start = day_start_rows_of(session, state, kind, at=utc_day(now)[0])
    if kind == "private" and len(rows):
        public = rows_of(session, state, "public", late=late, at=as_of)
    return Rankings(rows, day_start, public)


@dataclass(frozen=True)
class BoardReader:
    """Reads one board: rows of the ranking, then names, labels, shown values and reasons for the rows of the page
    alone."""

    session: Session
    state: CompetitionState
    track: Track
    rankings: Rankings
    own_team_id: int | None
    """The team whose place is read on whatever page it is."""
    organizer: bool
    """Whether it is for an organizer, who sees labels."""
    late: bool
    as_of: datetime | None
    shown: Sequence[ShownTrack]
    """The shown tracks whose values are read as well."""
    awards: Awards

    def board(self, after: int, limit: int | None, search: str) -> Board:
        """The page of at most ``limit`` places after rank ``after``; with ``search``, of the teams found."""
        rows = self.rankings.rows
        tau = rows.board.judged.rules.tau
        team_ids = self._teams_matching(rows, search)
        page = rows.page(after, limit) if team_ids is None else rows.of_teams(team_ids, after, limit)
        own = [] if self.own_team_id is None else rows.of_teams([self.own_team_id])
        measured_by = terms_names(self.session, self.state.tracks[self.track.board_kind].id, rows, at=self.as_of)
        others = dict(list(measured_by.items())[1:])
        places = self._places([*page, *own], others)
        return Board(
            state=self.state,
            track=self.track,
            tau=None if np.isnan(tau) else tau,
            places=places[: len(page)],
            benchmarks=self._benchmarks(_of_teams(rows.benchmarks(), team_ids), others),
            copies=self._copies(_of_teams(rows.copies(), team_ids)),
            teams=len(rows),
            late=self.late,
            disqualified=self._disqualified(_of_teams(rows.disqualified(), team_ids)),
            own=places[-1] if own else None,
            measured_by=list(measured_by.values()),
            as_of=self.as_of,
            shown_tracks=self.shown,
            awards=self.awards,
        )

    def _teams_matching(self, rows: BoardRows, search: str) -> Ints | None:
        text = search.strip()
        return teams_named(self.session, self.state, rows, text=text, at=self.as_of) if text else None

    def _entry_info(self, rows: Sequence[BoardRow]) -> dict[int, EntryInfo]:
        return board.entry_info_of(self.session, [row.ref for row in rows], late=self.late, at=self.as_of)

    def _labels(self, rows: Sequence[BoardRow]) -> dict[int, str]:
        refs = [row.ref for row in rows]
        return labels.labels_of(self.session, refs) if refs and self.organizer else {}

    def _shown_values(self, rows: Sequence[BoardRow]) -> Mapping[int, Mapping[str, ShownValue]]:
        return values_of_entries(self.session, self.shown, [row.ref for row in rows], until=self.as_of)

    def _places(self, rows: Sequence[BoardRow], measured_by: Mapping[int, str]) -> list[Place]:
        entries = self._entry_info(rows)
        labels = self._labels(rows)
        shown_values = self._shown_values(rows)
        earlier_ranks = _ranks_in(self.rankings.day_start, rows)
        public_ranks = _ranks_in(self.rankings.public, rows)

        def place(row: BoardRow) -> Place:
            rank = row.rank or 0
            entry = entries[row.ref]
            earlier_rank = earlier_ranks.get(row.team_id)
            award = self.awards.of_rank(rank)
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
                shown=shown_values.get(row.ref, {}),
            )

        return [place(row) for row in rows]

    def _benchmarks(self, rows: Sequence[BoardRow], measured_by: Mapping[int, str]) -> list[Benchmark]:
        entries = self._entry_info(rows)
        shown_values = self._shown_values(rows)
        return [
            Benchmark(
                team=entries[row.ref].team,
                score=row.score,
                fid=row.fid,
                memorization_distance=row.memorization_distance,
                submission_id=entries[row.ref].id,
                measured_by=measured_by.get(row.terms),
                shown=shown_values.get(row.ref, {}),
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


def _ranks_in(ranking: BoardRows | None, rows: Sequence[BoardRow]) -> dict[int, int | None]:
    """The ranks of the rows' teams in another ranking, by team id."""
    return {} if ranking is None or not rows else ranks_by_team(ranking.of_teams({row.team_id for row in rows}))


def _of_teams(rows: list[BoardRow], team_ids: Ints | None) -> list[BoardRow]:
    """Those of the rows that are of these teams, whose ids are sorted; all, where it is not asked for teams."""
    if team_ids is None or not rows:
        return rows
    wanted = is_among(np.array([row.team_id for row in rows], np.int64), team_ids)
    return [row for row, is_wanted in zip(rows, wanted.tolist(), strict=True) if is_wanted]
