"""The messages of server commands when the database or the queue server is down or refuses."""

import json
from typing import Any

import pytest
import sqlalchemy
import typer
from redis import Redis
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError

from deploy.cli import main
from deploy.cli.server_faults import in_words
from deploy.standalone.ephemeral import Servers
from deploy.standalone.ports import free_port
from kennel_client.cli.connection import reported_errors, translations

assert main.app is not None  # importing it adds the sentences


def catch_error(url: sqlalchemy.URL, statement: str = "SELECT 1") -> Exception:
    engine = sqlalchemy.create_engine(url)
    with pytest.raises(DBAPIError) as raised, engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()
    return raised.value


@pytest.mark.parametrize(
    ("changes", "statement", "words"),
    [
        ({"port": None}, "SELECT 1", "Connection refused"),
        ({"password": "sekret"}, "SELECT 1", "password authentication failed"),
        ({"query": {"sslmode": "verify-full"}}, "SELECT 1", "server does not support SSL"),
        ({}, "DROP TABLE jobs", "must be owner of table jobs"),
        ({}, "SET TRANSACTION READ ONLY; DELETE FROM jobs", "read-only transaction"),
    ],
)
def test_a_database_fault_is_one_sentence(
    servers: Servers, changes: dict[str, Any], statement: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = make_url(servers.postgres.app_url)
    changes = {name: free_port() if value is None else value for name, value in changes.items()}
    error = catch_error(url.set(**changes), statement)
    with pytest.raises(typer.Exit), reported_errors(as_json=True):
        raise error
    problem = json.loads(capsys.readouterr().out)["problem"]
    assert problem["type"].endswith(":database-unreachable")
    assert words in problem["title"]
    assert not [word for word in ("sekret", "FROM jobs", "\n") if word in problem["title"]]


def test_a_queue_server_fault_is_one_sentence() -> None:
    with pytest.raises(Exception, match="refused") as refused:
        Redis(port=free_port()).ping()
    translated = in_words(refused.value)
    assert translated is not None
    assert "refused" in translated.message
    assert "REDIS_URL" in translated.message


def test_a_programming_error_stays_an_exception(servers: Servers) -> None:
    assert main.in_words in translations
    assert main.in_words(ValueError("x")) is None
    assert in_words(catch_error(make_url(servers.postgres.app_url), "SELECT nothing")) is None
