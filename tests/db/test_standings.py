"""The standings in SQL and in columns against their readable definition, on random competitions."""

from datetime import datetime, timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.orm import Session

from scorer import ranking
from scorer.db import board, fields
from scorer.db.changes import Reader
from scorer.field import Order
from scorer.memory import Asked, Kept
from tests.db.drawing import BASE, DECIMALS, MOST, PRIVATE, PUBLIC, START, Competition, competitions, write
from tests.factories import make_account

NOW = 99
TRACKS = {"public": PUBLIC, "private": PRIVATE}


def moment_of(minute: int) -> datetime | None:
    return None if minute == NOW else START + timedelta(minutes=minute)


def lines_of(found: ranking.Standings) -> list[tuple[int, float, int, object]]:
    """(rank, score, ref, team) of each rank."""
    return [(line.rank, line.score, line.entry.ref, line.entry.team) for line in found.placings if line.rank]


def benchmarks_of(found: ranking.Standings) -> list[int]:
    return [line.entry.ref for line in found.placings if line.rank is None]


def refs_of(entries: tuple[ranking.Entry, ...]) -> list[int]:
    return [entry.ref for entry in entries]


def sql_is_the_definition(session: Session, drawn: Competition, kind: str, minute: int, *, late: bool = False) -> None:
    """Ranks, benchmarks, and what is listed apart."""
    track, expected = TRACKS[kind], drawn.standings(kind, minute, late=late)
    how = {"decimals": DECIMALS, "late": late, "at": moment_of(minute)}
    rows = board.standings(session, track, **how)
    assert [(row.rank, row.score, row.ref, row.team_id) for row in rows] == lines_of(expected)
    assert [row.team for row in rows] == [drawn.name_at(row.team_id - BASE, minute) for row in rows]
    assert board.count_ranked(session, track, **how) == len(rows)
    assert [row.ref for row in board.copies(session, track, **how)] == refs_of(expected.copies)
    assert [row.ref for row in board.disqualified(session, track, **how)] == refs_of(expected.disqualified)
    if not late:
        assert [row.ref for row in board.benchmarks(session, track, **how)] == benchmarks_of(expected)


def columns_are_the_definition(order: Order, drawn: Competition, kind: str, minute: int, *, late: bool = False) -> None:
    """The same of a board in memory."""
    expected, judged = drawn.standings(kind, minute, late=late), order.judged
    found = [
        (rank, float(judged.score[row]), int(judged.field.ref[row]), int(judged.team[row]))
        for rank, row in enumerate(order.rows, 1)
    ]
    assert found == lines_of(expected)
    assert judged.field.ref[order.copies].tolist() == refs_of(expected.copies)
    assert judged.field.ref[order.disqualified].tolist() == refs_of(expected.disqualified)
    if not late:
        assert judged.field.ref[order.benchmarks].tolist() == benchmarks_of(expected)
    entries = drawn.field(kind, minute, late=late)
    for entry in entries if kind == "public" else ():
        assert order.would_be_rank(entry.ref) == ranking.would_be_rank(entries, entry.ref, DECIMALS)
        placed = next((line.rank for line in expected.placings if line.entry.ref == entry.ref), None)
        assert order.rank_of(entry.ref) == placed
        teams = {line.entry.team: line.rank for line in expected.placings}
        assert order.rank_of_team(int(str(entry.team))) == teams.get(entry.team)


def kept() -> Kept:
    return Kept(PUBLIC, PRIVATE, MOST, Reader(BASE))


from hypothesis import Phase as _P
EXAMPLES = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), phases=[_P.generate])


@EXAMPLES
@given(competitions(), st.sampled_from([NOW, NOW, 0, 3, 6]), st.sampled_from(["public", "private", "late"]))
def test_sql_and_columns_are_the_readable_definition(session: Session, drawn: Competition, minute: int, which: str) -> None:
    with session.begin_nested() as savepoint:
        write(session, drawn, make_account(session, START).id)
        late, kind = which == "late", "public" if which == "late" else which
        sql_is_the_definition(session, drawn, kind, minute, late=late)
        order = kept().order(session.connection(), Asked(TRACKS[kind], late, moment_of(minute)))
        columns_are_the_definition(order, drawn, kind, minute, late=late)
        savepoint.rollback()
