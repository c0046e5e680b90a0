"""Rights of the service's database role: no DDL, no changes of append-only tables, DELETE only where rows expire."""

import re

from sqlalchemy import Connection, inspect, text

from scorer.db.tables import Table

ROLE = re.compile(r"[a-z_][a-z0-9_]*")


def grant(connection: Connection, role: str) -> None:
    """Grant ``role`` its rights on every table: append-only tables it may read and add to. Run after each migration."""
    if not ROLE.fullmatch(role):
        raise ValueError(f"not a role name: {role!r}")
    connection.execute(text(f"GRANT USAGE ON SCHEMA public TO {role}"))
    connection.execute(text(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}"))
    existing = set(inspect(connection).get_table_names())  # after a downgrade, fewer than the code has
    for table in (table for table in Table.metadata.sorted_tables if table.name in existing):
        rights = "SELECT, INSERT" if table.info.get("append_only") else "SELECT, INSERT, UPDATE"
        rights += ", DELETE" if table.info.get("expiring") else ""
        connection.execute(text(f"GRANT {rights} ON {table.name} TO {role}"))
    connection.execute(text(f"GRANT SELECT ON scores, alembic_version TO {role}"))
    connection.execute(text(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}"))
