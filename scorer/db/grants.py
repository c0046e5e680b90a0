"""What the service's role may do: everything but change tables, rewrite history, and delete what does not pass."""

import re

from sqlalchemy import Connection, inspect, text

from scorer.db.tables import Table

ROLE = re.compile(r"[a-z_][a-z0-9_]*")


def grant(connection: Connection, role: str) -> None:
    """Give ``role`` its rights on every table; history may be added to, not changed. Run after each migration."""
    if not ROLE.fullmatch(role):
        raise ValueError(f"not a role name: {role!r}")
    connection.execute(text(f"GRANT USAGE ON SCHEMA public TO {role}"))
    connection.execute(text(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}"))
    there = set(inspect(connection).get_table_names())  # after a step back, not all that the code knows
    for table in (each for each in Table.metadata.sorted_tables if each.name in there):
        rights = "SELECT, INSERT" if table.info.get("append_only") else "SELECT, INSERT, UPDATE"
        rights += ", DELETE" if table.info.get("passing") else ""
        connection.execute(text(f"GRANT {rights} ON {table.name} TO {role}"))
    connection.execute(text(f"GRANT SELECT ON scores, alembic_version TO {role}"))
    connection.execute(text(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}"))
