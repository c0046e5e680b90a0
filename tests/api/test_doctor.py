"""``kennel admin doctor``: what is there, and what is wrong, a line each."""

from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import create_engine, make_url, text
from typer.testing import CliRunner

from deploy.cli import doctor
from deploy.standalone.ephemeral import Servers
from scorer.settings import Settings
from tests.api.conftest import Service


def run(monkeypatch: pytest.MonkeyPatch, settings: Settings, **changes: Any) -> tuple[int, dict[str, str]]:
    """Exit status, and each line by the name of its check."""
    monkeypatch.setattr(doctor, "settings_of", lambda _: settings.model_copy(update=changes))
    result = CliRunner().invoke(doctor.app, [])
    lines = dict(line[7:].split(": ", 1) for line in result.stdout.splitlines())
    wrong = {line[7:].split(": ", 1)[0] for line in result.stdout.splitlines() if line.startswith("WRONG")}
    return result.exit_code, {name: ("WRONG " if name in wrong else "") + line for name, line in lines.items()}


def test_all_is_well(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.competition()
    status, lines = run(monkeypatch, service.context.settings)
    assert status == 0
    assert list(lines) == ["database", "clock", "connections", "queue server", "blob store", "weights"]
    assert lines["connections"] == "all processes may open 50 of 297"
    assert list(service.context.blobs.older_than("uploads/", service.context.now())) == []


def test_each_fault_is_told_beside_the_others(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    url = make_url(service.context.settings.database_url.get_secret_value()).set(port=1)
    status, lines = run(
        monkeypatch,
        service.context.settings,
        redis_url=SecretStr("redis://127.0.0.1:1/0"),
        database_url=SecretStr(url.render_as_string(hide_password=False)),
        blob_url="file:///proc/nowhere",
    )
    assert status == 1
    wrong = {name for name, line in lines.items() if line.startswith("WRONG")}
    assert wrong == {"database", "clock", "connections", "queue server", "blob store", "weights"}
    assert "Connection refused" in lines["database"]


def test_tables_of_another_version_are_told(
    service: Service, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = make_url(service.context.settings.database_url.get_secret_value()).database
    owner = create_engine(make_url(servers.postgres.owner_url).set(database=database))
    with owner.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0016'"))
    owner.dispose()
    status, lines = run(monkeypatch, service.context.settings)
    assert status == 1
    assert lines["database"].startswith("WRONG The database's tables are of migration 0016, not ")
    assert {name for name, line in lines.items() if line.startswith("WRONG")} == {"database"}
