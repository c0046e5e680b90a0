"""Alembic's entry: one owner connection, one transaction, and the service's rights renewed at its end.

A migration makes an index of a large table outside of the transaction (``autocommit_block``), so Alembic has to begin
the transaction itself.
"""

from alembic import context
from sqlalchemy import create_engine, make_url, pool

from scorer.db.grants import grant
from scorer.db.tables import Table
from scorer.settings import read_settings

LOCK_TIMEOUT = "10s"
"""How long a migration waits for a table that others use: whoever comes after it waits for it."""


def run() -> None:
    """Run the migrations against the owner's address (given by the caller, or from the settings)."""
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
