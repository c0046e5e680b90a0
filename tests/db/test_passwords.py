"""Passwords with special characters, and secrets in files, on real connections."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from sqlalchemy import create_engine, make_url

from deploy.standalone.ephemeral import Servers
from scorer.db.session import connected, ping
from scorer.errors import Unavailable
from scorer.jobs.broker import create_celery_app
from scorer.settings import Settings, read_settings

ODD = "a@b:c/d#e%f?g[h]i\"j'k\\l m&n=o+p"


@pytest.fixture
def odd_servers(servers: Servers) -> Iterator[dict[str, str]]:
    """The addresses of both servers for a user with an odd password."""
    with Redis.from_url(servers.redis.url) as redis:
        redis.acl_setuser("odd", enabled=True, passwords=[f"+{ODD}"], categories=["+@all"], keys=["*"], channels=["*"])
    url = make_url(servers.postgres.app_url)
    admin = create_engine(servers.postgres.admin_url, isolation_level="AUTOCOMMIT")
    quoted = ODD.replace("'", "''").replace("%", "%%")
    with admin.connect() as connection:
        connection.exec_driver_sql(f"CREATE ROLE odd LOGIN PASSWORD '{quoted}'")
        connection.exec_driver_sql(f'GRANT CONNECT ON DATABASE "{url.database}" TO odd')
    queue = make_url(servers.redis.url)
    yield {
        "DATABASE_URL": f"postgresql://odd@{url.host}:{url.port}/{url.database}",
        "REDIS_URL": f"redis://odd@{queue.host}:{queue.port}/0",
        "BLOB_URL": "file:///none",
    }
    with admin.connect() as connection:
        connection.exec_driver_sql("DROP OWNED BY odd; DROP ROLE odd")
    admin.dispose()


@pytest.mark.parametrize("in_files", [False, True], ids=["variables", "files"])
def test_any_password_connects(
    odd_servers: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_files: bool
) -> None:
    secret = tmp_path / "password"
    secret.write_text(f"{ODD}\n")
    for name, value in odd_servers.items():
        monkeypatch.setenv(name, value)
    for name in ("DATABASE_PASSWORD", "REDIS_PASSWORD"):
        monkeypatch.setenv(f"{name}_FILE" if in_files else name, str(secret) if in_files else ODD)
    settings = read_settings()
    with connected(settings) as sessions:
        ping(sessions)
    with Redis.from_url(settings.redis_url.get_secret_value()) as redis:
        assert redis.ping()
    broker = create_celery_app(settings)
    broker.connection().ensure_connection(max_retries=1, timeout=5).release()
    broker.close()


def test_a_password_in_the_address_wins() -> None:
    settings = Settings(
        database_url="postgresql://a:b@host/c",
        database_password="d",
        redis_url="redis://:e@host/0",
        redis_password="f",
        blob_url="file:///none",
    )
    assert settings.database_url.get_secret_value() == "postgresql+psycopg2://a:b@host/c"
    assert settings.redis_url.get_secret_value() == "redis://:e@host/0"


def test_secrets_of_every_kind_come_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "REDIS_URL", "BLOB_URL"):
        monkeypatch.delenv(name, raising=False)
    contents = {
        "DATABASE_URL": "postgresql://a:b@host/c\n",
        "REDIS_URL": "redis://host/0",
        "AWS_SECRET_ACCESS_KEY": "s",
    }
    contents |= {"KENNEL_SMTP_URL": "", "KENNEL_OIDC_CLIENT_SECRET": "two\nlines\n"}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        monkeypatch.setenv(f"{name}_FILE", str(tmp_path / name))
    monkeypatch.setenv("BLOB_URL", "file:///none")
    monkeypatch.setenv("KENNEL_BATCH_SIZE", "")  # compose passes on empty variables of .env
    settings = read_settings()
    assert settings.database_url.get_secret_value() == "postgresql+psycopg2://a:b@host/c"
    assert settings.s3_secret_key is not None
    assert settings.s3_secret_key.get_secret_value() == "s"
    assert settings.oidc_client_secret.get_secret_value() == "two\nlines"
    assert (settings.smtp_url, settings.batch_size) == (None, None)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_PASSWORD_FILE", str(tmp_path / "none"))
    with pytest.raises(Unavailable, match="REDIS_PASSWORD_FILE cannot be read"):
        read_settings()
