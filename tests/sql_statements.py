"""Records the SQL statements of a piece of code and their plans. Cost tests check these instead of measuring time."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import Compiled
from sqlalchemy.orm import Session

from scorer.db.leaderboard import binary_copy, ranked_entries
from scorer.db.tables import Table

READING_ALL = frozenset({"Sort", "Incremental Sort", "Aggregate", "Hash", "WindowAgg", "ModifyTable"})
"""Plan nodes that read all rows of their children, even below a LIMIT."""
WALKS = frozenset({"Index Scan", "Index Only Scan", "Bitmap Index Scan"})


@contextmanager
def counted_statements() -> Iterator[list[str]]:
    """Record the statements that this process executes during the block."""
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
    """Record PostgreSQL's plans for the statements that a session executes during the block."""
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
    """Record the number of rows that each statement of this process reads during the block, including COPY."""
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
        with patch.object(ranked_entries, "read_columns", read_columns):
            yield rows
    finally:
        event.remove(Engine, "after_cursor_execute", note)


@contextmanager
def recorded_statements() -> Iterator[dict[str, Any]]:
    """Record the statements of this process that read or change rows during the block, including COPY.

    The yielded mapping contains the first parameters of each statement by its text.
    """
    statements: dict[str, Any] = {}

    def note(_: object, __: object, statement: str, parameters: Any, *___: object) -> None:
        if statement.lstrip().upper().startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")):
            statements.setdefault(statement, parameters[0] if isinstance(parameters, list) else parameters)

    def read_columns(connection: Connection, query: Compiled, kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
        statements.setdefault(str(query), query.params)
        return whole(connection, query, kinds)

    whole = binary_copy.read_columns
    readers = [module for module in list(sys.modules.values()) if vars(module).get("read_columns") is whole]
    event.listen(Engine, "before_cursor_execute", note)
    try:
        with ExitStack() as stack:
            for module in readers:
                stack.enter_context(patch.object(module, "read_columns", read_columns))
            yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def whole_reads(connection: Connection, statement: str, parameters: Any) -> set[str]:
    """The tables that a statement must read completely, even if PostgreSQL avoids that at any cost.

    PostgreSQL reads a test's small tables completely because that is cheapest, so the default plan proves nothing.
    The first plan therefore forbids sequential scans, hash joins and merge joins: only tables that no index serves
    are read completely. A scan of a whole index also counts, unless a LIMIT ends it or the index is partial.
    PostgreSQL may choose such a scan only for its order. The second plan therefore forbids index scans; bitmap scans
    still find rows, but in no order.
    """
    rows = connection.exec_driver_sql("SELECT indexrelid::regclass::text FROM pg_index WHERE indpred IS NOT NULL")
    partial_indexes = frozenset(rows.scalars())
    tables: set[str] | None = None
    for ways in (("seqscan", "hashjoin", "mergejoin"), ("indexscan", "indexonlyscan")):
        for way in ways:
            connection.exec_driver_sql(f"SET LOCAL enable_{way} = off")
        (explained,) = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", parameters).scalar_one()
        found = set(_whole_reads(explained["Plan"], partial_indexes, ends_early=False))
        tables = found if tables is None else tables & found
    for way in ("indexscan", "indexonlyscan"):
        connection.exec_driver_sql(f"SET LOCAL enable_{way} = on")
    return tables or set()


def _whole_reads(plan: Mapping[str, Any], partial_indexes: frozenset[str], *, ends_early: bool) -> Iterator[str]:
    kind = plan["Node Type"]
    ends_early = kind == "Limit" or (ends_early and kind not in READING_ALL)
    if kind == "Seq Scan":
        yield plan["Relation Name"]
    elif kind in WALKS and "Index Cond" not in plan and plan["Index Name"] not in partial_indexes and not ends_early:
        yield plan.get("Relation Name", plan["Index Name"])
    for child in plan.get("Plans", ()):
        yield from _whole_reads(child, partial_indexes, ends_early=ends_early)


STAYING_SMALL = frozenset(
    {
        *("competitions", "publications", "competition_roles", "announcements", "tracks", "thresholds"),
        *("reference_sets", "competition_references", "preparations", "data_files", "releases", "release_acts"),
        *("rating_studies", "pauses", "last_sweep", "rescoring_campaigns", "rescoring_acts", "comparisons"),
        *("shown_tracks", "signing_keys", "webhooks", "worker_reports"),
        "rulings",  # organizers rule on entries they have looked at
        "team_merges",  # two teams agree on a merge, until the competition's merge deadline
    }
)
"""Tables with rows that people create one at a time."""
NAMES_IN_THE_LOG = "SELECT DISTINCT audit_entries.action"
"""The query for the action filter of the audit log, which reads the whole log."""
GROWING = frozenset(Table.metadata.tables) - STAYING_SMALL


def read_whole(connection: Connection, statements: Mapping[str, Any]) -> dict[str, set[str]]:
    """By statement: the growing tables that it must read completely. Other statements are left out."""
    reads = {text: whole_reads(connection, text, parameters) & GROWING for text, parameters in statements.items()}
    return {text: tables for text, tables in reads.items() if tables and not text.startswith(NAMES_IN_THE_LOG)}
