"""All places of a board as columns: for a hundred thousand teams, without an object for each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from scorer.accounts.roles import is_organizer
from scorer.competitions.competition_state import CompetitionState
from scorer.competitions.shown_tracks import visible_shown_tracks
from scorer.db.leaderboard import board
from scorer.db.leaderboard.columns import from_microseconds
from scorer.db.leaderboard.shown_tracks import ShownValue, values_of_entries
from scorer.db.submissions import labels
from scorer.db.tables import Account, ShownTrack
from scorer.leaderboard.board_access import state_of_board
from scorer.leaderboard.rows import judged_entries_of, rows_of, teams_named, terms_names
from scorer.lifecycle import TrackKind
from scorer.ranking.awards import Awards
from scorer.ranking.columns import Ints
from scorer.ranking.judged_entries import JudgedEntries
from scorer.ranking.vectorised import BoardListing

PLACES_AT_A_TIME = 2_000


class PlaceLine(NamedTuple):
    """A ranked team, as :class:`scorer.leaderboard.board.Place` has it."""

    rank: int
    team: str
    score: float
    fid: float
    memorization_distance: float
    penalised: bool
    entries: int
    last_entry_at: datetime
    public_rank: int | None
    shake_up: int | None
    medal: str | None
    prize: str | None
    measured_by: str | None
    submission_id: str
    label: str | None
    """The decided label, for organizers."""
    shown: Mapping[str, ShownValue]
    """By shown track: the entry's value, where it has been measured."""


class TeamEntries(NamedTuple):
    """The scored entries of teams, in the order of ``team``: how many, and when the newest was accepted."""

    team: Ints
    entries: Ints
    last_entry_at: Ints


@dataclass(frozen=True)
class AllPlaces:
    """The places of a board, of all teams or of those that were searched for."""

    state: CompetitionState
    kind: TrackKind
    late: bool
    as_of: datetime | None
    board: BoardListing
    ranks: Ints
    organizer: bool
    """Whether it is for an organizer, who sees labels."""
    public: BoardListing | None
    """The public board beside the private one."""
    measured_by: Mapping[int, str]
    """By terms: how entries were measured that were not measured as most of the board."""
    entries: TeamEntries | None
    """None for a past board, whose columns do not have every entry: they are counted team by team."""
    shown: Sequence[ShownTrack]
    """The shown tracks that the viewer may see."""
    awards: Awards

    def lines(self, begin: Callable[[], AbstractContextManager[Session]]) -> Iterator[list[PlaceLine]]:
        """The places from the first rank on, some thousands at a time. Names are read in a transaction for each part,
        since whoever receives them may be slow."""
        for start in range(0, len(self.ranks), PLACES_AT_A_TIME):
            ranks = self.ranks[start : start + PLACES_AT_A_TIME]
            rows = self.board.rows[ranks - 1]
            with begin() as session:
                entries = self._entries(session, rows)
                decided = labels.labels_of(session, list(entries)) if self.organizer else {}
                shown = values_of_entries(session, self.shown, list(entries), until=self.as_of)
            numbers = zip(self._numbers(ranks, rows), self._public_ranks(rows), strict=True)
            yield [
                self._line(
                    values,
                    entries[values[1]],
                    public_rank,
                    label=decided.get(values[1]),
                    shown=shown.get(values[1], {}),
                )
                for values, public_rank in numbers
            ]

    def _numbers(self, ranks: Ints, rows: Ints) -> Iterator[tuple[int, int, float, float, float, bool, int]]:
        judged = self.board.judged
        entry = judged.columns
        columns = (entry.ref, judged.score, entry.fid, entry.distance, judged.penalised, entry.terms)
        return zip(ranks.tolist(), *(column[rows].tolist() for column in columns), strict=True)

    def _entries(self, session: Session, rows: Ints) -> dict[int, tuple[str, int, datetime, str]]:
        """By ref: the team's name, how many entries it has, when the newest was accepted; the entry's id."""
        refs = self.board.judged.columns.ref[rows].tolist()
        if self.entries is None:
            infos = board.entry_info_of(session, refs, late=self.late, at=self.as_of).values()
            return {info.ref: (info.team, info.entries, info.last_entry_at, info.id) for info in infos}
        names = board.names_of_entries(session, refs)
        teams = np.searchsorted(self.entries.team, self.board.judged.team[rows])
        counts, newest = self.entries.entries[teams].tolist(), self.entries.last_entry_at[teams].tolist()
        return {
            ref: (names[ref][1], count, from_microseconds(last), names[ref][0])
            for ref, count, last in zip(refs, counts, newest, strict=True)
        }

    def _public_ranks(self, rows: Ints) -> list[int | None]:
        if self.public is None:
            return [None] * len(rows)
        ranks = self.public.rank_of_each(self.board.judged.team[rows])
        return [rank or None for rank in ranks.tolist()]

    def _line(
        self,
        values: tuple[int, int, float, float, float, bool, int],
        entry: tuple[str, int, datetime, str],
        public_rank: int | None,
        *,
        label: str | None,
        shown: Mapping[str, ShownValue],
    ) -> PlaceLine:
        rank, _, score, fid, distance, penalised, terms = values
        team, entries, last_entry_at, submission_id = entry
        award = self.awards.of_rank(rank)
        shake_up = None if public_rank is None else public_rank - rank
        numbers = (rank, team, score, fid, distance, penalised, entries, last_entry_at)
        mark = self.measured_by.get(terms)
        return PlaceLine(*numbers, public_rank, shake_up, award.medal, award.prize, mark, submission_id, label, shown)


def all_places(
    session: Session,
    state: CompetitionState,
    kind: TrackKind,
    *,
    account: Account | None,
    late: bool = False,
    as_of: datetime | None = None,
    search: str = "",
) -> AllPlaces:
    """Every place of a board, with the options and errors of :func:`scorer.leaderboard.standings.standings`."""
    track, then, awards = state_of_board(session, state, kind, account=account, late=late, as_of=as_of)
    rows = rows_of(session, then, track.board_kind, late=late, at=as_of)
    ranks = np.arange(len(rows)) + 1
    if search.strip():
        found = teams_named(session, then, rows, text=search.strip(), at=as_of)
        ranks = rows.board.ranks_of_teams(found)
    private = track.board_kind == "private"
    public = rows_of(session, then, "public", at=as_of).board if private else None
    entries = None
    if as_of is None:
        entries = _entries_of_teams(judged_entries_of(session, then, "public"), late=late)
    measured_by = dict(list(terms_names(session, then.tracks[track.board_kind].id, rows, at=as_of).items())[1:])
    organizer = is_organizer(account, then.competition.id)
    shown = visible_shown_tracks(session, state, account)
    kind = track.board_kind
    return AllPlaces(then, kind, late, as_of, rows.board, ranks, organizer, public, measured_by, entries, shown, awards)


def _entries_of_teams(public: JudgedEntries, *, late: bool) -> TeamEntries:
    """Of entries in time or ``late``. Whatever is scored has a public measurement."""
    codes, count = public.codes
    teams, newest = np.zeros(count, np.int64), np.zeros(count, np.int64)
    teams[codes] = public.team
    chosen = public.columns.late == late
    np.maximum.at(newest, codes[chosen], public.columns.accepted_at[chosen])
    return TeamEntries(teams, np.bincount(codes[chosen], minlength=count), newest)
