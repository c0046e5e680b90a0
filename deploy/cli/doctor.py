"""``kennel admin doctor``: whether everything that an installation needs is there, in plain sentences."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

import migrations
from deploy.standalone.data_folder import settings_of
from scorer.blobs import blobs_of
from scorer.db.connection_budget import max_open_connections, require_connections, server_connections
from scorer.db.session import Sessions, connected, ping, require_right_clock
from scorer.errors import KennelError, Unavailable
from scorer.identifiers import new_public_id
from scorer.jobs.broker import create_celery_app
from scorer.settings import Settings
from worker.runtime.startup import require_weights

app = typer.Typer()
BROKER_SECONDS = 5


@app.command()
def doctor(
    data: Annotated[Path | None, typer.Option(help="The data folder of a `kennel up` that is running.")] = None,
) -> None:
    """Check database, clock, connections, queue server, blob store and weights with the settings of the environment, or
    of --data. Exit status 1 if something is wrong."""
    settings = settings_of(data)
    with connected(settings) as sessions:
        outcomes = [_outcome_of(name, check) for name, check in _checks(settings, sessions)]
    for line, _ in outcomes:
        print(line)
    if not all(passed for _, passed in outcomes):
        raise typer.Exit(1)


def _checks(settings: Settings, sessions: Sessions) -> Sequence[tuple[str, Callable[[], str]]]:
    return (
        ("database", lambda: _check_database(sessions)),
        ("clock", lambda: _check_clock(sessions)),
        ("connections", lambda: _check_connections(sessions, settings)),
        ("queue server", lambda: _check_broker(settings)),
        ("blob store", lambda: _check_blobs(settings)),
        ("weights", lambda: _check_weights(settings)),
    )


def _outcome_of(name: str, check: Callable[[], str]) -> tuple[str, bool]:
    """A line for people, and whether the check has passed."""
    try:
        return f"ok     {name}: {check()}", True
    except KennelError as error:
        return f"WRONG  {name}: {error.message}", False
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the operator must know
        return f"WRONG  {name}: {type(error).__name__}: {str(error).strip().splitlines()[0]}", False


def _check_database(sessions: Sessions) -> str:
    ping(sessions)
    with sessions() as session:
        migrations.require_migrated(session.connection())
    return "it answers, and its tables are those of this version"


def _check_clock(sessions: Sessions) -> str:
    require_right_clock(sessions, lambda: datetime.now(UTC))
    return "that of this machine is that of the database"


def _check_connections(sessions: Sessions, settings: Settings) -> str:
    require_connections(sessions, settings)
    if settings.database_pooler:
        return f"all processes may open {max_open_connections(settings)}, to a pooler"
    return f"all processes may open {max_open_connections(settings)} of {server_connections(sessions)}"


def _check_broker(settings: Settings) -> str:
    broker = create_celery_app(settings)
    try:
        broker.connection().ensure_connection(max_retries=1, timeout=BROKER_SECONDS).release()
    finally:
        broker.close()
    return "it answers"


def _check_blobs(settings: Settings) -> str:
    blobs = blobs_of(settings)
    key = f"uploads/doctor-{new_public_id()}"  # what a killed command leaves there is removed with lost uploads
    blobs.write(key, b"doctor")
    try:
        if blobs.read(key) != b"doctor":
            raise Unavailable("blob-store", "What was written is not what is read.")
    finally:
        blobs.delete(key)
    return "it can be written, read and deleted"


def _check_weights(settings: Settings) -> str:
    require_weights(settings)
    return "those of all tracks are there"
