"""Rights of the service's database role: no DDL, no changes of append-only tables, DELETE only where rows expire."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, inspect, select, text
from sqlalchemy.orm import Session

from scorer.db.tables import Table


def grant(connection: Connection, role: str) -> None:
    """Grant ``role`` its rights on every table. Run it after each migration."""
    role = '"{}"'.format(role.replace('"', '""').replace(":", r"\:"))
    connection.execute(text(f"GRANT USAGE ON SCHEMA public TO {role}"))
    connection.execute(text(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}"))
    existing = set(inspect(connection).get_table_names())  # after a downgrade, fewer than in the code
    for table in (table for table in Table.metadata.sorted_tables if table.name in existing):
        connection.execute(text(f"GRANT {', '.join(_rights_on(table.info))} ON {table.name} TO {role}"))
    connection.execute(text(f"GRANT SELECT ON scores, alembic_version TO {role}"))
    connection.execute(text(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}"))


def _rights_on(info: Mapping[Any, Any]) -> list[str]:
    rights = ["SELECT", "INSERT", *([] if info.get("append_only") else ["UPDATE"])]
    return [*rights, *(["DELETE"] if info.get("expiring") else [])]


def missing_rights(session: Session) -> list[str]:
    """The rights that the session's own role lacks, as ``INSERT on jobs``."""
    wanted = [(table.name, right) for table in Table.metadata.sorted_tables for right in _rights_on(table.info)]
    held = session.execute(select(*(func.has_table_privilege(name, right) for name, right in wanted))).one()
    return [f"{right} on {name}" for (name, right), has in zip(wanted, held, strict=True) if not has]


def excessive_rights(session: Session) -> list[str]:
    """The powers that the session's own role has but should not have: a superuser, or the owner of tables."""
    facts = text(
        "SELECT rolsuper, EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = 'public' AND tableowner = current_user)"
        " FROM pg_roles WHERE rolname = current_user"
    )
    superuser, owner = session.execute(facts).one()
    return [*(["a superuser"] if superuser else []), *(["the owner of tables"] if owner else [])]
