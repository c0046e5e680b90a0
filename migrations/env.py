"""Alembic's entry: one owner connection, one transaction, and the service's rights renewed at the end."""

from alembic import context
from sqlalchemy import create_engine, make_url, pool, text

from scorer.db.grants import grant
from scorer.db.tables import Table
from scorer.settings import read_settings


def run() -> None:
    """Run the migrations against the owner's address (given by the caller, or from the settings)."""
    url = context.config.attributes.get("url")
    role = context.config.attributes.get("app_role")
    if url is None:
        settings = read_settings()
        url = settings.migration_url
        role = make_url(settings.database_url.get_secret_value()).username
    engine = create_engine(url, poolclass=pool.NullPool)
    with engine.connect() as connection:
        connection.execute(text("SET lock_timeout = '10s'"))
        context.configure(connection=connection, target_metadata=Table.metadata, compare_type=True)
        with context.begin_transaction():
            context.run_migrations()
        if role is not None and role != make_url(url).username:
            grant(connection, role)
        connection.commit()
    engine.dispose()


run()
