"""Reads a board, one page at a time or all of it: the rows of the ranking and what is shown with them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard import board_details
from scorer.db.leaderboard.board_details import UnrankedReason
from scorer.db.leaderboard.shown_tracks import load_shown_values
from scorer.db.submissions import labels
from scorer.db.tables import ShownTrack, Track
from scorer.leaderboard.board import Board, Place, UnrankedTeam
from scorer.leaderboard.explanations import shorten_reason, why_copy
from scorer.leaderboard.rows import load_fid_spreads
from scorer.ranking.awards import Awards
from scorer.ranking.columns import Ints, is_among
from scorer.ranking.vectorised import BoardListing, BoardRow

PLACES_AT_A_TIME = 2_000


@dataclass(frozen=True)
class BoardReader:
    """A board. It reads names, labels, shown values and reasons only for the rows of a page."""

    state: CompetitionState
    track: Track
    listing: BoardListing
    day_start: BoardListing | None
    """The board when the UTC day began. None unless this is the current public board, without late entries."""
    public: BoardListing | None
    """The public board, if this is the private one."""
    found: Ints | None
    """The ids of the teams that match a search; None without a search."""
    measured_by: Mapping[int, str]
    """How entries were measured, by ``conditions``, the most common first. Empty if all were measured alike."""
    own_team_id: int | None
    """The team whose place is read even if it is on another page."""
    organizer: bool
    """Whether the viewer is an organizer, who also sees labels."""
    late: bool
    as_of: datetime | None
    shown: Sequence[ShownTrack]
    """The shown tracks that the viewer may see."""
    awards: Awards

    def board(self, session: Session, after: int, limit: int | None) -> Board:
        """The page of at most ``limit`` places after rank ``after``."""
        listing = self.listing
        tau = listing.judged.rules.tau
        ranks = self.ranks[np.searchsorted(self.ranks, after, side="right") :][:limit]
        own = None if self.own_team_id is None else listing.find_team_row(self.own_team_id)
        rows = [*listing.at_ranks(ranks), *self._unranked_rows(listing.benchmarks), *([own] if own else [])]
        places = self._places(session, rows)
        return Board(
            state=self.state,
            track=self.track,
            tau=None if np.isnan(tau) else tau,
            places=places[: len(ranks)],
            benchmarks=places[len(ranks) : len(places) - bool(own)],
            copies=self._unranked_teams(session, listing.copies, _why_copy),
            teams=len(listing),
            late=self.late,
            disqualified=self._unranked_teams(session, listing.disqualified, _why_disqualified),
            own=places[-1] if own else None,
            measured_by=list(self.measured_by.values()),
            as_of=self.as_of,
            shown_tracks=self.shown,
            awards=self.awards,
        )

    @property
    def ranks(self) -> Ints:
        listing = self.listing
        return np.arange(1, len(listing) + 1) if self.found is None else listing.sorted_ranks(self.found)

    def places(self, begin: Callable[[], AbstractContextManager[Session]]) -> Iterator[list[Place]]:
        """All places, a few thousand at a time. Each part reads its names in its own transaction, because the receiver
        may be slow."""
        ranks = self.ranks
        for start in range(0, len(ranks), PLACES_AT_A_TIME):
            with begin() as session:
                part = self._places(session, self.listing.at_ranks(ranks[start : start + PLACES_AT_A_TIME]))
            yield part

    def _places(self, session: Session, rows: Sequence[BoardRow]) -> list[Place]:
        refs = [row.ref for row in rows]
        entries = board_details.load_entry_info(session, refs, late=self.late, at=self.as_of)
        labels = self._labels(session, refs)
        shown = load_shown_values(session, self.shown, refs, until=self.as_of)
        spreads = load_fid_spreads(session, self.state.competition, self.track, refs=refs, at=self.as_of)
        others = dict(list(self.measured_by.items())[1:])
        earlier_ranks, public_ranks = (_ranks_in(ranking, rows) for ranking in (self.day_start, self.public))

        def place(row: BoardRow, earlier_rank: int, public_rank: int) -> Place:
            entry, award, spread = entries[row.ref], self.awards.find_award(row.rank), spreads.get(row.ref)
            return Place(
                **vars(row),
                team=entry.team,
                submission_id=entry.id,
                entries=entry.entries,
                last_entry_at=entry.last_entry_at,
                label=labels.get(row.ref),
                measured_by=others.get(row.conditions),
                moved=earlier_rank - row.rank if earlier_rank else None,
                fid_spread=spread.deviation if spread else None,
                public_rank=public_rank or None,
                medal=award.medal,
                prize=award.prize,
                shown=shown.get(row.ref, {}),
            )

        return [place(*row_and_ranks) for row_and_ranks in zip(rows, earlier_ranks, public_ranks, strict=True)]

    def _unranked_teams(self, session: Session, rows: Ints, why: Callable[[UnrankedReason], str]) -> list[UnrankedTeam]:
        unranked = self._unranked_rows(rows)
        refs = [row.ref for row in unranked]
        entries = board_details.load_entry_info(session, refs, late=self.late, at=self.as_of)
        labels = self._labels(session, refs)
        reasons = board_details.load_unranked_reasons(session, refs, at=self.as_of)
        return [
            UnrankedTeam(
                team=entries[row.ref].team,
                reason=why(reasons[row.ref]),
                memorization_distance=row.memorization_distance,
                submission_id=entries[row.ref].id,
                label=labels.get(row.ref),
            )
            for row in unranked
        ]

    def _unranked_rows(self, rows: Ints) -> list[BoardRow]:
        listing = self.listing
        if self.found is not None:
            rows = rows[is_among(listing.judged.team[rows], self.found)]
        return listing.unranked(rows)

    def _labels(self, session: Session, refs: Sequence[int]) -> Mapping[int, str]:
        return labels.load_labels(session, refs) if refs and self.organizer else {}


def _ranks_in(ranking: BoardListing | None, rows: Sequence[BoardRow]) -> list[int]:
    """The ranks of the rows' teams in another ranking; 0 for teams without a rank there."""
    if ranking is None:
        return [0] * len(rows)
    ranks: list[int] = ranking.find_ranks(np.array([row.team_id for row in rows], np.int64)).tolist()
    return ranks


def _why_copy(reason: UnrankedReason) -> str:
    return why_copy(reason.exact_copies or 0, reason.mirrored_copies or 0, reason.copied_share or 0.0)


def _why_disqualified(reason: UnrankedReason) -> str:
    return shorten_reason(reason.reason or "")
