"""The database's roles and grants. The only SQL outside ``scorer/db`` and the migrations.

The owner creates and changes tables (migrations). The service reads and writes rows, and is neither superuser nor
owner, so that a flaw in it can neither drop a table nor read the server's files.
"""

from collections.abc import Mapping
from contextlib import closing

import psycopg2
from psycopg2.extensions import connection, cursor, encrypt_password
from psycopg2.sql import SQL, Identifier, Literal

from scorer.errors import Unavailable

ADMIN = "kennel_admin"
OWNER = "kennel_owner"
APP = "kennel_app"
DATABASE = "kennel"


def accepts_connections(url: str) -> bool:
    """Whether the server at ``url`` (libpq's form) accepts connections yet.

    Raises Unavailable if it never will, because the password is wrong.
    """
    try:
        psycopg2.connect(url, connect_timeout=2).close()
    except psycopg2.OperationalError as error:
        if "password authentication failed" in str(error):
            raise Unavailable(
                "secrets-mismatch",
                "The password in secrets.json is not that of this folder's database: restore both from the same "
                "backup.",
            ) from None
        return False
    return True


def provision(admin_url: str, passwords: Mapping[str, str]) -> None:
    """Create or update the roles and the database; idempotent.

    ``admin_url`` is the superuser's URL of the database ``postgres``; ``passwords`` has the passwords of OWNER and APP.
    The migrations grant APP its rights on the owner's tables.
    """
    with closing(psycopg2.connect(admin_url)) as admin, admin.cursor() as query:
        admin.autocommit = True  # a database cannot be created in a transaction
        for role, password in passwords.items():
            _provision_role(admin, query, role, password=password)
        query.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
        if query.fetchone() is None:
            query.execute(SQL("CREATE DATABASE {} OWNER {}").format(Identifier(DATABASE), Identifier(OWNER)))
        query.execute(SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(Identifier(DATABASE)))
        query.execute(SQL("GRANT CONNECT ON DATABASE {} TO {}").format(Identifier(DATABASE), Identifier(APP)))


def _provision_role(admin: connection, query: cursor, role: str, *, password: str) -> None:
    query.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role])
    verb = "CREATE" if query.fetchone() is None else "ALTER"
    # Hashed here, so that no log of the server can contain the password.
    verifier = encrypt_password(password, role, scope=admin, algorithm="scram-sha-256")
    attributes = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD"
    query.execute(SQL(f"{verb} ROLE {{}} {attributes} {{}}").format(Identifier(role), Literal(verifier)))
