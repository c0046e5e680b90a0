"""The standings in SQL and in columns against their readable definition, on random competitions."""

import itertools
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from scorer import ranking
from scorer.db import board
from scorer.db.changes import Reader
from scorer.field import Order
from scorer.memory import Asked, Kept
from tests.db.drawing import BASE, DECIMALS, MOST, PRIVATE, PUBLIC, START, Competition, Writer, competitions, write
from tests.factories import make_account

NOW = 99
TRACKS = {"public": PUBLIC, "private": PRIVATE, "late": PUBLIC}
BOARDS = st.sampled_from(list(TRACKS))
MINUTES = st.sampled_from([NOW, NOW, 0, 3, 6])


def moment_of(minute: int) -> datetime | None:
    return None if minute == NOW else START + timedelta(minutes=minute)


def lines_of(found: ranking.Standings) -> list[tuple[int, float, int, object]]:
    """(rank, score, ref, team) of each rank."""
    return [(line.rank, line.score, line.entry.ref, line.entry.team) for line in found.placings if line.rank]


def benchmarks_of(found: ranking.Standings) -> list[int]:
    return [line.entry.ref for line in found.placings if line.rank is None]


def refs_of(entries: tuple[ranking.Entry, ...]) -> list[int]:
    return [entry.ref for entry in entries]


class Prepared:
    """Statements that the server plans once."""

    def __init__(self, session: Session) -> None:
        self.session, self._names, self._numbers = session, {}, itertools.count()

    def all(self, statement: Select[Any]) -> list[Any]:
        name = self._names.get(id(statement))
        if name is None:
            name = self._names[id(statement)] = f"read_{next(self._numbers)}"
            bound = statement.compile(dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True})
            self.session.execute(text(f"PREPARE {name} AS {str(bound).replace(':', chr(92) + ':')}"))
        return list(self.session.execute(text(f"EXECUTE {name}")))


def sql_is_the_definition(ask: Any, drawn: Competition, which: str, minute: int) -> None:
    """Ranks, benchmarks, and what is listed apart."""
    track, late = TRACKS[which], which == "late"
    expected = drawn.standings("private" if which == "private" else "public", minute, late=late)
    how: dict[str, Any] = {"decimals": DECIMALS, "at": moment_of(minute)}
    rows = ask(board.page(track, late=late, **how))
    assert [(row.rank, row.score, row.ref, row.team_id) for row in rows] == lines_of(expected)
    assert [row.team for row in rows] == [drawn.name_at(row.team_id - BASE, minute) for row in rows]
    assert [row.ref for row in ask(board.copies_apart(track, late=late, **how))] == refs_of(expected.copies)
    assert [row.ref for row in ask(board.disqualified_apart(track, late=late, **how))] == refs_of(expected.disqualified)
    if not late:
        assert [row.ref for row in ask(board.reference_lines(track, **how))] == benchmarks_of(expected)


def columns_are_the_definition(order: Order, drawn: Competition, which: str, minute: int) -> None:
    """The same of a board in memory."""
    kind, late, judged = "private" if which == "private" else "public", which == "late", order.judged
    expected = drawn.standings(kind, minute, late=late)
    found = [
        (rank, float(judged.score[row]), int(judged.field.ref[row]), int(judged.team[row]))
        for rank, row in enumerate(order.rows, 1)
    ]
    assert found == lines_of(expected)
    assert judged.field.ref[order.copies].tolist() == refs_of(expected.copies)
    assert judged.field.ref[order.disqualified].tolist() == refs_of(expected.disqualified)
    if not late:
        assert judged.field.ref[order.benchmarks].tolist() == benchmarks_of(expected)
    teams = {line.entry.team: line.rank for line in expected.placings}
    best = {line.entry.ref: line.rank for line in expected.placings}
    entries = drawn.field(kind, minute, late=late)
    for entry in entries:
        assert order.rank_of_team(int(str(entry.team))) == teams.get(entry.team)
        assert order.rank_of(entry.ref) == best.get(entry.ref)
        if kind == "public":
            assert order.would_be_rank(entry.ref) == ranking.would_be_rank(entries, entry.ref, DECIMALS)


@pytest.fixture
def tools(session: Session) -> Iterator[tuple[Writer, Prepared]]:
    """What writes a competition, and what reads it."""
    yield Writer(session, make_account(session, START).id), Prepared(session)
    session.execute(text("DEALLOCATE ALL"))


@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=competitions(), minute=MINUTES, which=BOARDS)
def test_sql_is_the_readable_definition(
    session: Session, tools: tuple[Writer, Prepared], drawn: Competition, minute: int, which: str
) -> None:
    writer, ask = tools
    with session.begin_nested() as savepoint:
        write(writer, drawn)
        sql_is_the_definition(ask.all, drawn, which, minute)
        savepoint.rollback()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=competitions(), minute=MINUTES, which=BOARDS)
def test_columns_read_from_the_tables_are_too(
    session: Session, tools: tuple[Writer, Prepared], drawn: Competition, minute: int, which: str
) -> None:
    writer, _ = tools
    with session.begin_nested() as savepoint:
        write(writer, drawn)
        asked = Asked(TRACKS[which], which == "late", moment_of(minute))
        order = Kept(PUBLIC, PRIVATE, MOST, Reader(BASE)).order(session.connection(), asked)
        columns_are_the_definition(order, drawn, which, minute)
        savepoint.rollback()
