"""Alembic's entry: one owner connection and one transaction; renews the service's rights at the end.

A migration creates the index of a large table outside the transaction (``autocommit_block``), so Alembic has to begin
the transaction itself.
"""

from alembic import context
from sqlalchemy import create_engine, make_url, pool

from scorer.db.grants import grant
from scorer.db.tables import Table
from scorer.settings import read_settings

LOCK_TIMEOUT = "10s"
"""How long a migration waits for the lock of a table in use; later requests for the table wait behind it."""


def run() -> None:
    """Run the migrations as the owner (with the caller's address, or the settings')."""
    url = context.config.attributes.get("url")
    role = context.config.attributes.get("app_role")
    if url is None:
        settings = read_settings()
        url = settings.migration_url
        role = make_url(settings.database_url.get_secret_value()).username
    engine = create_engine(url, poolclass=pool.NullPool, connect_args={"options": f"-c lock_timeout={LOCK_TIMEOUT}"})
    with engine.connect() as connection:
        context.configure(connection=connection, target_metadata=Table.metadata, compare_type=True)
        with context.begin_transaction():
            context.run_migrations()
            if role is not None and role != make_url(url).username:
                grant(connection, role)
    engine.dispose()


run()
