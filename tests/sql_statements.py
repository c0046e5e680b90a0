"""The SQL statements that a piece of code takes, and their plans: tests of cost look at these instead of seconds."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, event
from sqlalchemy.orm import Session


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
