"""``kennel migrate``: migrate the database to this version, or wait until another process has done it."""

import sys
import time

from sqlalchemy import make_url

import migrations
from scorer.db.session import DATABASE_ERROR, UNAVAILABLE, Sessions, connected, unavailability
from scorer.errors import Unavailable
from scorer.settings import Settings

POLL_SECONDS = 2.0


def migrate_database(settings: Settings) -> str:
    """Apply missing migrations; returns a sentence about the result."""
    role = make_url(settings.database_url.get_secret_value()).username
    if migrations.upgrade(settings.migration_url, role):
        return "The database is at the newest version."
    return "The database has later migrations than this version, which are compatible: nothing was changed."


def wait_for_tables(settings: Settings, *, poll_seconds: float = POLL_SECONDS) -> str:
    """Prints to stderr what it waits for. Needs only the rights of the service's own role."""
    reported = None
    with connected(settings) as sessions:
        while (missing := _missing(sessions)) is not None:
            if missing != reported:
                print(f"Waiting: {missing}", file=sys.stderr)
            reported = missing
            time.sleep(poll_seconds)
    return "The database has this version's tables."


def _missing(sessions: Sessions) -> str | None:
    try:
        with sessions() as session:
            migrations.require_migrated(session.connection())
    except Unavailable as error:
        return error.message
    except (DATABASE_ERROR, *UNAVAILABLE) as error:  # the rights on new tables are granted last
        return unavailability(error)
    return None
