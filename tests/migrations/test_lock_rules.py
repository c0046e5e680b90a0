"""The rules about what a migration may do, on statements one by one, and the way around a lock that they ask for."""

import os
from pathlib import Path

import pytest
import sqlalchemy
from alembic import command
from sqlalchemy import text

import migrations
from deploy.standalone.database_roles import APP
from deploy.standalone.ephemeral import Servers
from tests.conftest import empty_database
from tests.migrations.lock_rules import RULES, broken_rules
from tests.migrations.test_every_migration import revisions


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("CREATE INDEX ix ON jobs (worker)", "index"),
        ("CREATE UNIQUE INDEX ix ON jobs (worker)", "index"),
        ("CREATE INDEX CONCURRENTLY ix ON jobs (worker)", None),
        ("CREATE INDEX ix ON others (worker)", None),
        ("ALTER TABLE jobs ADD CONSTRAINT c CHECK (turn > 0)", "constraint"),
        ("ALTER TABLE jobs ADD CONSTRAINT c CHECK (turn > 0) NOT VALID", None),
        ("ALTER TABLE jobs ADD CONSTRAINT c FOREIGN KEY (a) REFERENCES b (id)", "constraint"),
        ("ALTER TABLE jobs ADD CONSTRAINT c UNIQUE USING INDEX ix", None),
        ("ALTER TABLE jobs VALIDATE CONSTRAINT c", None),
        ("ALTER TABLE jobs ADD COLUMN a TEXT", None),
        ("ALTER TABLE jobs ADD COLUMN a TEXT NOT NULL", "column"),
        ("ALTER TABLE jobs ADD COLUMN a INTEGER DEFAULT '0' NOT NULL", None),
        ("ALTER TABLE jobs ADD COLUMN a TIMESTAMP DEFAULT clock_timestamp() NOT NULL", "rewrite"),
        ("ALTER TABLE jobs ADD COLUMN a TIMESTAMP DEFAULT now() NOT NULL", None),
        ("ALTER TABLE jobs ALTER COLUMN a SET NOT NULL", "rewrite"),
        ("ALTER TABLE jobs ALTER COLUMN a TYPE BIGINT", "rewrite"),
        ("ALTER TABLE jobs ALTER COLUMN a DROP NOT NULL", None),
        ("ALTER TABLE jobs ALTER COLUMN a DROP DEFAULT", "default"),
        ("ALTER TABLE jobs DROP COLUMN a", "removal"),
        ("ALTER TABLE jobs RENAME a TO b", "removal"),
        ("ALTER TABLE jobs RENAME TO works", "removal"),
        ("DROP TABLE jobs", "removal"),
        ("DROP TABLE others", None),
        ("UPDATE jobs SET a = 1", "rows"),
        ("DELETE FROM jobs", "rows"),
        ("INSERT INTO others (a)\n SELECT id FROM jobs", "rows"),
        ("INSERT INTO others (a) VALUES (1)", None),
        ("CREATE TABLE others (a BIGINT REFERENCES jobs (id))", None),
    ],
)
def test_a_statement_breaks_its_rule(statement: str, rule: str | None) -> None:
    assert broken_rules([statement], ["jobs"]) == ({rule} if rule else set())
    assert rule is None or rule in RULES


INDEX_OF_A_LARGE_TABLE = """
from alembic import op

revision = "later"
down_revision = {former!r}


def upgrade():
    with op.get_context().autocommit_block():
        op.drop_index("ix_jobs_worker", "jobs", if_exists=True, postgresql_concurrently=True)
        op.create_index("ix_jobs_worker", "jobs", ["worker"], postgresql_concurrently=True)
    op.execute("CREATE TABLE later (id BIGINT)")
"""


def test_an_index_is_made_while_others_write(servers: Servers, tmp_path: Path) -> None:
    """The way that the rules ask for works in this project's environment of migrations."""
    newest = revisions()[-1]
    (tmp_path / "later.py").write_text(INDEX_OF_A_LARGE_TABLE.format(former=newest))
    with empty_database(servers) as (app_url, owner_url):
        migrations.upgrade(owner_url, APP)
        config = migrations.config_for(owner_url, APP)
        versions = Path(migrations.__file__).parent / "versions"
        config.set_main_option("path_separator", "os")
        config.set_main_option("version_locations", os.pathsep.join(map(str, (versions, tmp_path))))
        command.upgrade(config, "head")
        engine = sqlalchemy.create_engine(app_url)
        with engine.connect() as connection:
            valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'ix_jobs_worker'::regclass"
            assert connection.execute(text(valid)).scalar_one() is True
            assert migrations.current_revision(connection) == "later"
            assert connection.execute(text("SELECT count(*) FROM jobs")).scalar_one() == 0
            migrations.require_migrated(connection)
        engine.dispose()
        assert migrations.upgrade(owner_url, APP) is False, "the former version leaves it as it is"
