"""The connection budget: an installation does not start if it could open more connections than the server has."""

import gc
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.testclient import TestClient

from api import main
from scorer.db import session
from scorer.db.session import connected, max_open_connections, require_connections, server_connections
from scorer.errors import Unavailable
from scorer.settings import Settings
from worker.runtime import startup

MANY = {"web_processes": 16, "worker_processes": 8}
ROOT = Path(__file__).parents[2]


def test_the_budget_is_the_sum_of_all_pools(settings: Settings) -> None:
    sizes = {"web_processes": 3, "web_connections": 20, "worker_processes": 7, "worker_connections": 4}
    changed = settings.model_copy(update=sizes)
    assert max_open_connections(changed) == 3 * 20 + 7 * 4 + session.SPARE_CONNECTIONS


def test_a_web_process_opens_no_more_than_its_setting(settings: Settings) -> None:
    app = main.create_app(settings.model_copy(update={"web_connections": 7}))
    pools = [app.state.engine.pool, app.state.readers._engine.pool]
    assert sum(pool.size() + pool._max_overflow for pool in pools) == 7


def test_too_many_connections_are_refused_in_one_sentence(settings: Settings) -> None:
    with connected(settings) as sessions:
        require_connections(sessions, settings)
        assert 0 < server_connections(sessions) <= 300
        with pytest.raises(
            Unavailable, match=r"16 web processes with 30 .* 8 worker processes with 5 each .* 530 conn"
        ):
            require_connections(sessions, settings.model_copy(update=MANY))
        require_connections(sessions, settings.model_copy(update={**MANY, "database_pooler": True}))


def test_a_worker_does_not_start_with_too_many_connections(settings: Settings) -> None:
    with pytest.raises(Unavailable, match="may open 530 connections"):
        startup.require_database(settings.model_copy(update=MANY))


@pytest.mark.parametrize("many", [True, False])
def test_a_web_server_ends_with_one_sentence(settings: Settings, monkeypatch: pytest.MonkeyPatch, many: bool) -> None:
    changed = settings.model_copy(update=MANY) if many else settings
    monkeypatch.setattr(main, "read_settings", lambda: changed)
    if many:
        with pytest.raises(SystemExit, match="may open 530 connections"):
            main.served_app()
    else:
        main.served_app()


def test_garbage_collection_skips_the_web_servers_initial_objects(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "read_settings", lambda: settings)
    try:
        app = main.served_app()
        assert not any(instance is app for instance in gc.get_objects())
        assert TestClient(app).get("/nothing-of-that-name").status_code == 404  # tries every route
        assert not any(isinstance(instance, Dependant) for instance in gc.get_objects())
    finally:
        gc.unfreeze()
    assert any(instance is app for instance in gc.get_objects())


def test_a_web_server_without_settings_ends_with_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "uvicorn", "--factory", "api.main:served_app", "--port", "0"]
    done = subprocess.run(command, cwd=ROOT, env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stderr.strip().splitlines() == [done.stderr.strip()]
    assert done.stderr.startswith("Settings are missing or wrong: DATABASE_URL: ")


def test_a_web_server_starts_without_its_database(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    url = type(settings.database_url)("postgresql+psycopg2://nobody@127.0.0.1:1/none")
    monkeypatch.setattr(main, "read_settings", lambda: settings.model_copy(update={"database_url": url}))
    main.served_app()
