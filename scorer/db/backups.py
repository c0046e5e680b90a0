"""SQL for backups: reading the rows of every table in one snapshot, and loading them into empty tables.

Rows are copied in PostgreSQL's text format, which every version reads. So a backup needs no ``pg_dump`` of the server's
version, and can be restored into another version.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, create_engine, exists, func, inspect, select, text
from sqlalchemy import column as sql_column
from sqlalchemy import table as sql_table
from sqlalchemy.engine import Engine

from scorer.db.answer_timeouts import connection_options
from scorer.db.session import allow_long_statements
from scorer.db.tables import Account, Competition, Table
from scorer.errors import Conflict

STATEMENT_SECONDS = 6 * 3600.0
"""How long the copy of one table may take."""
FROZEN_XID = 3
"""The lowest transaction id of any database; its transaction ended long ago."""
TABLES = tuple(Table.metadata.sorted_tables)
"""Every table, after the tables that it refers to."""
SEQUENCES = """
    SELECT class.relname AS table_name, attribute.attname AS column_name,
           pg_get_serial_sequence(quote_ident(class.relname), attribute.attname) AS sequence_name
    FROM pg_attribute AS attribute JOIN pg_class AS class ON class.oid = attribute.attrelid
    WHERE class.relname = ANY(:tables) AND class.relkind = 'r' AND attribute.attnum > 0
      AND pg_get_serial_sequence(quote_ident(class.relname), attribute.attname) IS NOT NULL
"""


def engine_for_backups(url: str) -> Engine:
    """An engine with connections that see one snapshot per transaction."""
    return create_engine(
        url,
        isolation_level="REPEATABLE READ",
        pool_size=1,
        connect_args={**connection_options(), "application_name": "kennel-backup"},
    )


@contextmanager
def long_transaction(engine: Engine) -> Iterator[Connection]:
    """A transaction with statements that may take hours. Commits at the end."""
    with engine.begin() as connection:
        allow_long_statements(connection, STATEMENT_SECONDS)
        yield connection


def tables_in(connection: Connection) -> Sequence[str]:
    """The existing tables, sorted so that none refers to a later one. An older database lacks newer tables."""
    existing = set(inspect(connection).get_table_names())
    return [table.name for table in TABLES if table.name in existing]


def list_columns(connection: Connection, table: str) -> Sequence[str]:
    """The columns of a table in this database, which may be of an older version. Excludes computed columns."""
    return [column["name"] for column in inspect(connection).get_columns(table) if "computed" not in column]


def copy_out(connection: Connection, table: str, columns: Sequence[str], *, file: io.BufferedIOBase) -> int:
    """Write the rows of a table to ``file``; returns how many."""
    with _cursor(connection) as cursor:
        cursor.copy_expert(f"COPY {_quoted(table)} ({_listed(columns)}) TO STDOUT", file)
        rows: int = cursor.rowcount
    return rows


def copy_in(connection: Connection, table: str, columns: Sequence[str], *, file: io.BufferedIOBase) -> int:
    """Load rows into a table without running its triggers; returns how many."""
    name = _quoted(table)
    with _cursor(connection) as cursor:
        cursor.execute(f"ALTER TABLE {name} DISABLE TRIGGER USER")
        cursor.copy_expert(f"COPY {name} ({_listed(columns)}) FROM STDIN", file)
        rows: int = cursor.rowcount
        cursor.execute(f"ALTER TABLE {name} ENABLE TRIGGER USER")
    return rows


def require_unused(connection: Connection) -> None:
    """``Conflict`` (``not-empty``) if an installation has a competition, or any account except its first admin's."""
    if Competition.__tablename__ not in inspect(connection).get_table_names():
        return
    if connection.scalar(select(exists().select_from(Competition))):
        raise Conflict("not-empty", "The database has a competition, so it is in use. Restore into a new database.")
    if len(connection.scalars(select(Account.id).limit(2)).all()) > 1:
        raise Conflict("not-empty", "The database has user accounts, so it is in use. Restore into a new database.")


def drop_unused_tables(connection: Connection) -> None:
    """Drop all tables of an installation that nobody has used (:func:`require_unused`). Its first start created them at
    the newest migration, with the first admin."""
    require_unused(connection)
    connection.execute(text("DROP SCHEMA public CASCADE"))
    connection.execute(text("CREATE SCHEMA public"))


def settle_loaded_rows(connection: Connection, tables: Sequence[str]) -> None:
    """Make new rows get numbers above those of the loaded rows, and mark loaded rows of the change feed as old. Their
    transaction ids are from another server."""
    for table, column, sequence in connection.execute(text(SEQUENCES), {"tables": list(tables)}).all():
        highest = select(func.max(sql_column(column))).select_from(sql_table(table)).scalar_subquery()
        connection.execute(select(func.setval(sequence, func.coalesce(highest, 0) + 1, False)))
    connection.execute(text("UPDATE board_changes SET xid = :xid"), {"xid": FROZEN_XID})


def analyse(engine: Engine) -> None:
    """Make PostgreSQL collect statistics about the loaded rows, so that its plans suit them."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))


def _cursor(connection: Connection) -> Any:
    driver: Any = connection.connection.driver_connection
    return driver.cursor()


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(_quoted(column) for column in columns)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
