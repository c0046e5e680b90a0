"""The standings in SQL and in columns against their readable definition, on random competitions."""

import itertools
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Select, text
from sqlalchemy.orm import Session

from scorer.db import board
from scorer.db.changes import Reader
from scorer.memory import Asked, Kept
from tests.db.drawing import (
    BASE,
    DECIMALS,
    DIALECT,
    MOST,
    PRIVATE,
    PUBLIC,
    START,
    Competition,
    Writer,
    competitions,
    write,
)
from tests.db.judging import benchmarks_of, columns_are_the_definition, lines_of, refs_of
from tests.examples import examples
from tests.factories import make_account

NOW = 99
TRACKS = {"public": PUBLIC, "private": PRIVATE, "late": PUBLIC}
BOARDS = st.sampled_from(list(TRACKS))
MINUTES = st.sampled_from([NOW, NOW, 0, 3, 6])


def moment_of(minute: int) -> datetime | None:
    return None if minute == NOW else START + timedelta(minutes=minute)


class Prepared:
    """Statements that the server plans once."""

    def __init__(self, session: Session) -> None:
        self.session, self._numbers = session, itertools.count()
        self._names: dict[int, str] = {}

    def all(self, statement: Select[Any]) -> list[Any]:
        name = self._names.get(id(statement))
        if name is None:
            name = self._names[id(statement)] = f"read_{next(self._numbers)}"
            bound = statement.compile(dialect=DIALECT, compile_kwargs={"literal_binds": True})
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


@pytest.fixture
def tools(session: Session) -> Iterator[tuple[Writer, Prepared]]:
    """What writes a competition, and what reads it."""
    yield Writer(session, make_account(session, START).id), Prepared(session)
    session.execute(text("DEALLOCATE ALL"))


@settings(max_examples=examples(1000), deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=competitions(), minute=MINUTES, which=BOARDS)
def test_sql_is_the_readable_definition(
    session: Session, tools: tuple[Writer, Prepared], drawn: Competition, minute: int, which: str
) -> None:
    writer, ask = tools
    with session.begin_nested() as savepoint:
        write(writer, drawn)
        sql_is_the_definition(ask.all, drawn, which, minute)
        savepoint.rollback()


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
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
