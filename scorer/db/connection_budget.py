"""The connection budget: how many database connections all processes may open, and how many the server has.

One process too many would be refused in the middle of its work, long after the mistake was made; so every process
compares both when it starts.
"""

from sqlalchemy import text

from scorer.db.session import Sessions
from scorer.errors import Unavailable
from scorer.settings import Settings

BOARD_CONNECTIONS = 4
"""Of a web process's connections, those of its board cache, which has a pool of its own: requests that wait for a board
must not use up the connections with which it is read."""
SPARE_CONNECTIONS = 10
"""For migrations, commands, and the checks of processes that start."""


def max_open_connections(settings: Settings) -> int:
    """The most connections that all processes of the installation may have open at once."""
    web = settings.web_processes * settings.web_connections
    workers = settings.worker_processes * settings.worker_connections
    return web + workers + SPARE_CONNECTIONS


def server_connections(sessions: Sessions) -> int:
    """How many connections the server takes from roles that are no superusers."""
    with sessions() as session:
        query = (
            "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
        )
        return int(session.execute(text(query)).scalar_one())


def require_connections(sessions: Sessions, settings: Settings) -> None:
    """``Unavailable`` if all processes together may open more connections than the server has."""
    if settings.database_pooler:
        return
    wanted, available = max_open_connections(settings), server_connections(sessions)
    if wanted > available:
        raise Unavailable(
            "too-many-connections",
            f"{settings.web_processes} web processes with {settings.web_connections} database connections each, "
            f"{settings.worker_processes} worker processes with {settings.worker_connections} each and "
            f"{SPARE_CONNECTIONS} for commands may open {wanted} connections, and PostgreSQL takes {available}. Raise "
            "its max_connections, lower KENNEL_WEB_CONNECTIONS, KENNEL_WORKER_CONNECTIONS or the numbers of processes "
            "(KENNEL_WEB_PROCESSES, KENNEL_WORKER_PROCESSES), or put PgBouncer between and set KENNEL_DATABASE_POOLER.",
        )
