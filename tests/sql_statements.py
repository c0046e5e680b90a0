"""The SQL statements that a piece of code takes, and their plans: tests of cost look at these instead of seconds."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, event
from sqlalchemy.orm import Session

from scorer.db.leaderboard import binary_copy, columns


@contextmanager
def counted_statements() -> Iterator[list[str]]:
    """The statements of all connections of this process meanwhile."""
    statements: list[str] = []

    def note(_: object, __: object, statement: str, *___: object) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@contextmanager
def explained_statements(session: Session) -> Iterator[list[str]]:
    """PostgreSQL's plans of the statements that a session executes meanwhile."""
    plans: list[str] = []

    def explain(connection: Connection, cursor: object, statement: str, parameters: object, *_: object) -> None:
        del cursor
        if not statement.startswith(("EXPLAIN", "SAVEPOINT", "RELEASE", "ROLLBACK")):
            rows = connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)  # type: ignore[arg-type]
            plans.append("\n".join(row[0] for row in rows))

    connection = session.connection()
    event.listen(connection, "before_cursor_execute", explain)
    try:
        yield plans
    finally:
        event.remove(connection, "before_cursor_execute", explain)


@contextmanager
def counted_rows() -> Iterator[list[int]]:
    """How many rows each statement of this process has read meanwhile, those of COPY included."""
    rows: list[int] = []

    def note(_: object, cursor: Any, *__: object) -> None:
        rows.append(max(0, cursor.rowcount))

    def read_columns(*arguments: Any) -> dict[str, NDArray[Any]]:
        read: dict[str, NDArray[Any]] = whole(*arguments)
        rows.append(len(next(iter(read.values()))))
        return read

    whole = binary_copy.read_columns
    event.listen(Engine, "after_cursor_execute", note)
    try:
        with patch.object(columns, "read_columns", read_columns):
            yield rows
    finally:
        event.remove(Engine, "after_cursor_execute", note)
