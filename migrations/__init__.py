"""The history of the tables. ``upgrade`` brings a database to the newest version."""

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, pool

from scorer.errors import Unavailable

FOLDER = Path(__file__).parent
FIRST = "0100"
"""The first migration. Lower numbers belong to development versions before 0.2.0."""
DEVELOPMENT = "development-version"
"""The slug for databases and data of these development versions."""


def config_for(url: str, app_role: str | None = None) -> Config:
    """Alembic's configuration for a database. ``app_role`` is the service's own role; its rights are renewed after the
    migrations.
    """
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.attributes["url"] = url
    config.attributes["app_role"] = app_role
    return config


def upgrade(url: str, app_role: str | None = None, revision: str = "head") -> bool:
    """Apply the missing migrations up to ``revision`` to the database at ``url`` (as the tables' owner). Returns False
    and changes nothing if it has later ones than this version: after a downgrade the tables stay. Raises
    ``Unavailable`` and changes nothing if the tables would get into another schema than ``public``, or belong to a
    development version before 0.2.0.
    """
    engine = create_engine(url, poolclass=pool.NullPool)
    with engine.connect() as connection:
        schema = connection.dialect.default_schema_name
        if schema != "public":
            raise Unavailable(
                "other-schema",
                f"The tables belong in the schema public, but the owner's role would create them in {schema}. "
                "Remove search_path from its settings, and grant it USAGE and CREATE on the schema public.",
            )
        current = current_revision(connection)
    require_released(current)
    if current is not None and not is_known(current):
        return False
    command.upgrade(config_for(url, app_role), revision)
    return True


def current_revision(connection: Connection) -> str | None:
    """The newest migration that a database has; None if it has none."""
    return MigrationContext.configure(connection).get_current_revision()


@cache
def newest_revision() -> str | None:
    """The newest migration that this version has."""
    return ScriptDirectory.from_config(config_for("")).get_current_head()


def is_known(revision: str) -> bool:
    """Whether this version has a migration."""
    return revision in {script.revision for script in ScriptDirectory.from_config(config_for("")).walk_revisions()}


def check(url: str) -> None:
    """Raise if the tables in code and the newest migration differ."""
    command.check(config_for(url))


def require_released(revision: str | None, what: str = "database") -> None:
    """Raise ``Unavailable`` if a database, or other data (``what``) with this newest migration, comes from a
    development version before 0.2.0, which cannot be migrated.
    """
    if revision is not None and revision < FIRST:
        raise Unavailable(
            DEVELOPMENT,
            f"This {what} was made by a development version of Kennel before 0.2.0 (migration {revision}), which this "
            "version cannot read or upgrade. Nothing in it was changed. Use it with the version that made it, or start "
            "with a new database or data folder.",
        )


def require_migrated(connection: Connection) -> None:
    """Raise ``Unavailable`` if the database lacks a migration of this version. Later migrations pass: the next
    version's migrations keep everything that this version reads and writes.
    """
    newest, current = newest_revision(), current_revision(connection)
    require_released(current)
    if current is None or (current != newest and is_known(current)):
        raise Unavailable(
            "old-tables", f"The database's tables have migration {current}, not {newest}: run `kennel migrate`."
        )
