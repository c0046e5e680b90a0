"""Compares ranked columns with the executable definition of a board."""

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.leaderboard import rows
from scorer.lifecycle import TrackKind
from scorer.ranking.vectorised import BoardListing, RankedBoard
from tests.db.leaderboard.strategies import DECIMALS, DrawnCompetition
from tests.pure.ranking import specification


def load_board(
    session: Session, state: CompetitionState, kind: TrackKind = "public", *, late: bool = False
) -> BoardListing:
    return rows.load_listing(session, state, kind, late=late)


def list_ranked_rows(standings: specification.Standings) -> list[tuple[int, float, int, object]]:
    """(rank, score, ref, team) of every ranked entry."""
    return [(line.rank, line.score, line.entry.ref, line.entry.team) for line in standings.placings if line.rank]


def list_benchmarks(standings: specification.Standings) -> list[int]:
    return [line.entry.ref for line in standings.placings if line.rank is None]


def list_refs(entries: tuple[specification.ScoredEntry, ...]) -> list[int]:
    return [entry.ref for entry in entries]


def assert_matches_specification(order: BoardListing, drawn: DrawnCompetition, which: str, minute: int) -> None:
    """Compare ranks, benchmarks, separately listed entries, the rank of every entry and team, and would-be ranks."""
    kind = "private" if which == "private" else "public"
    late = which == "late"
    judged = order.judged
    expected = drawn.standings(kind, minute, late=late)
    actual = [
        (rank, float(judged.score[row]), int(judged.columns.ref[row]), int(judged.team[row]))
        for rank, row in enumerate(order.rows, 1)
    ]
    assert actual == list_ranked_rows(expected)
    assert judged.columns.ref[order.copies].tolist() == list_refs(expected.copies)
    assert judged.columns.ref[order.disqualified].tolist() == list_refs(expected.disqualified)
    if not late:
        assert judged.columns.ref[order.benchmarks].tolist() == list_benchmarks(expected)
    teams = {line.entry.team: line.rank for line in expected.placings}
    best = {line.entry.ref: line.rank for line in expected.placings}
    entries = drawn.field(kind, minute, late=late)
    for entry in entries:
        assert order.find_team_rank(int(str(entry.team))) == teams.get(entry.team)
        assert order.find_entry_rank(entry.ref) == best.get(entry.ref)
        if kind == "public" and isinstance(order, RankedBoard):
            assert order.would_be_rank(entry.ref) == specification.would_be_rank(entries, entry.ref, DECIMALS)
