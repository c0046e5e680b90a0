"""``kennel migrate`` on older and later tables, and processes that wait for it."""

import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sqlalchemy
from pydantic import SecretStr
from sqlalchemy import text

import migrations
from deploy.cli.migrate import migrate_database, wait_for_tables
from deploy.standalone.data_folder import open_data_folder
from deploy.standalone.database_roles import APP
from deploy.standalone.ephemeral import Servers
from deploy.standalone.log import Log
from deploy.standalone.service import start_service
from deploy.standalone.supervisor import Supervisor
from migrations import FIRST
from scorer.errors import Unavailable
from scorer.settings import Settings
from tests.conftest import empty_database
from tests.migrations.planted import PLANTED, planted

PATIENCE = 60


def make_settings(app_url: str, owner_url: str, folder: Path) -> Settings:
    """Settings with a database; the other servers don't exist."""
    return Settings(
        database_url=SecretStr(app_url),
        database_owner_url=SecretStr(owner_url),
        redis_url=SecretStr("redis://127.0.0.1:1/0"),
        blob_url=folder.as_uri(),
    )


def test_a_process_waits_until_another_has_migrated(
    servers: Servers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    column = 'op.execute("ALTER TABLE jobs ADD COLUMN planted TEXT")'
    with empty_database(servers) as (app_url, owner_url), planted(tmp_path, column):
        settings = make_settings(app_url, owner_url, tmp_path)
        messages: list[str] = []
        waiting = threading.Thread(target=lambda: messages.append(wait_for_tables(settings, poll_seconds=0.01)))
        waiting.start()
        migrations.upgrade(owner_url, APP, FIRST)
        waiting.join(0.1)
        assert waiting.is_alive()
        assert migrate_database(settings) == "The database is at the newest version."
        waiting.join(PATIENCE)
        assert messages == ["The database has this version's tables."]
    assert f"have migration {FIRST}, not {PLANTED}: run `kennel migrate`" in capsys.readouterr().err


def test_an_older_version_leaves_later_tables_unchanged(servers: Servers, tmp_path: Path) -> None:
    with empty_database(servers) as (app_url, owner_url):
        settings = make_settings(app_url, owner_url, tmp_path)
        migrate_database(settings)
        engine = sqlalchemy.create_engine(owner_url)
        with engine.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
            connection.execute(text(f"CREATE TABLE later (id BIGINT); GRANT SELECT ON later TO {APP}"))
        assert migrate_database(settings).startswith("The database has later migrations")
        with engine.connect() as connection:
            migrations.require_migrated(connection)
            assert migrations.current_revision(connection) == "9999"
            rights = text(f"SELECT has_table_privilege('{APP}', 'later', 'SELECT')")
            assert connection.execute(rights).scalar_one(), "a later version that also runs keeps its rights"
        engine.dispose()
        assert wait_for_tables(settings) == "The database has this version's tables."


def test_a_process_waits_for_its_rights(servers: Servers, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rights come last, after others can already see some of the migrations."""
    with empty_database(servers) as (app_url, owner_url):
        settings = make_settings(app_url, owner_url, tmp_path)
        migrations.upgrade(owner_url)
        waiting = threading.Thread(target=lambda: wait_for_tables(settings, poll_seconds=0.01))
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
        migrations.upgrade(owner_url, APP)
        waiting.join(PATIENCE)
        assert not waiting.is_alive()
    assert "Waiting: " in capsys.readouterr().err


def run_as_admin(servers: Servers, *statements: str) -> None:
    engine = sqlalchemy.create_engine(servers.postgres.admin_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


@pytest.mark.parametrize("role", ["kennel-app.eu", 'Kennel "app"'])
def test_a_role_has_any_name(servers: Servers, role: str) -> None:
    quoted = '"{}"'.format(role.replace('"', '""'))
    run_as_admin(servers, f"CREATE ROLE {quoted}")
    with empty_database(servers) as (_, owner_url):
        migrations.upgrade(owner_url, role)
        engine = sqlalchemy.create_engine(owner_url)
        with engine.connect() as connection:
            right = text("SELECT has_table_privilege(:role, 'jobs', 'UPDATE')")
            assert connection.execute(right, {"role": role}).scalar_one()
        engine.dispose()
    run_as_admin(servers, f"DROP ROLE {quoted}")


def test_another_schema_is_refused_before_the_first_statement(servers: Servers) -> None:
    with empty_database(servers) as (_, owner_url):
        engine = sqlalchemy.create_engine(owner_url)
        with engine.begin() as connection:
            connection.execute(text("CREATE SCHEMA other"))
        elsewhere = sqlalchemy.make_url(owner_url).update_query_dict({"options": "-csearch_path=other"})
        with pytest.raises(Unavailable, match="in the schema public"):
            migrations.upgrade(elsewhere.render_as_string(hide_password=False), APP)
        with engine.connect() as connection:
            assert sqlalchemy.inspect(connection).get_table_names("other") == []
            assert migrations.current_revision(connection) is None
        engine.dispose()


def test_tables_of_a_development_version_are_left_unchanged(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with empty_database(servers) as (app_url, owner_url):
        settings = make_settings(app_url, owner_url, tmp_path)
        migrate_database(settings)
        engine = sqlalchemy.create_engine(owner_url)
        with engine.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = '0051'"))
        with pytest.raises(Unavailable, match="development version") as migrated:
            migrate_database(settings)
        with pytest.raises(Unavailable, match="development version") as started:
            start_on(monkeypatch, app_url, owner_url)
        with engine.connect() as connection:
            with pytest.raises(Unavailable, match="development version"):
                migrations.require_migrated(connection)
            assert migrations.current_revision(connection) == "0051"
        engine.dispose()
    assert migrated.value.message == started.value.message
    assert "(migration 0051)" in started.value.message
    assert "Nothing in it was changed" in started.value.message


def start_on(monkeypatch: pytest.MonkeyPatch, app_url: str, owner_url: str) -> None:
    """Run ``kennel up`` with an existing database."""
    addresses = {"DATABASE_URL": app_url, "DATABASE_OWNER_URL": owner_url, "REDIS_URL": "redis://127.0.0.1:1/0"}
    for name, value in addresses.items():
        monkeypatch.setenv(name, value)
    with TemporaryDirectory(prefix="kennel-test-") as folder:
        Path(folder).chmod(0o711)  # the accounts of the processes must pass through it
        with open_data_folder(Path(folder)) as data, Supervisor(Log(None), hold=[data.lock]) as supervisor:
            monkeypatch.setattr(supervisor, "preload", lambda _: None)
            start_service(supervisor, data)
