"""Every migration in turn, on a database with rows in all tables.

No row is lost, no rule is broken, every migration can be repeated after a failure, and this version serves the result.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, event, inspect, make_url, text

import migrations
from deploy.standalone.database_roles import APP
from deploy.standalone.ephemeral import Servers
from scorer.db.tables import Table
from scorer.settings import Settings
from tests.api.conftest import API, running_service
from tests.conftest import empty_database
from tests.migrations.lock_rules import broken_rules
from tests.migrations.planted import PLANTED, planted
from tests.migrations.rows import ROWS, SLUG, TOKEN, add_rows

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
"""By table: its rows as columns."""
BLOCK = re.compile(r"autocommit_block|concurrent_indexes")
ALLOWED: Mapping[str, Mapping[str, str]] = {}
"""By migration: the rules that it may break, with reasons."""
WITH_BLOCKS = """
op.execute("ALTER TABLE jobs DROP CONSTRAINT IF EXISTS c")
op.execute("ALTER TABLE jobs ADD CONSTRAINT c CHECK (id > 0) NOT VALID")
with op.get_context().autocommit_block():
    op.execute("ALTER TABLE jobs VALIDATE CONSTRAINT c")
create_index("ix_jobs_planted", "jobs", ["created_at"])
"""
"""A migration that changes a table while others write to it, as CONTRIBUTING.md requires."""


@dataclass
class Walk:
    """A database that went through every migration and got rows after each one."""

    app_url: str
    owner_url: str
    broken: dict[str, set[str]] = field(default_factory=dict)
    """By migration: the rules that its statements break."""
    faults: dict[str, int] = field(default_factory=dict)
    """By migration: how often it failed in a block and ran again."""


def revisions() -> list[str]:
    """Every migration, oldest first."""
    script = ScriptDirectory.from_config(migrations.config_for(""))
    return [migration.revision for migration in script.walk_revisions()][::-1]


def load_all_rows(connection: Connection) -> Rows:
    """All rows of a database."""
    tables = set(inspect(connection).get_table_names()) - {"alembic_version"}
    if not tables:
        return {}
    query = " UNION ALL ".join(f"SELECT '{name}', to_jsonb({name}) FROM {name}" for name in sorted(tables))
    rows: dict[str, list[Mapping[str, Any]]] = {name: [] for name in tables}
    for name, row in connection.execute(text(query)):
        rows[name].append(row)
    return rows


def lost_rows(before: Rows, after: Rows) -> list[str]:
    """The rows that are missing, or have another value in a column that still exists."""
    return [
        f"{table}: {row}"
        for table, rows in before.items()
        for row in rows
        if not any(all(now[name] == row[name] for name in row.keys() & now.keys()) for now in after.get(table, ()))
    ]


class FaultInBlock(Exception):
    """A migration lost its connection in a block that commits separately."""


@dataclass
class FaultyBlocks:
    """Makes a run fail after statement ``fails_at``, counted from 1 over all blocks, or before the first one if 0. An
    index that the statement created becomes invalid."""

    admin: Engine
    executed: list[str] = field(default_factory=list)
    fails_at: int = 0
    _done: int = 0

    def run(self, owner_url: str, revision: str) -> None:
        """Migrate repeatedly, failing one statement later each time, until a run succeeds."""
        event.listen(Engine, "before_cursor_execute", self._before)
        event.listen(Engine, "after_cursor_execute", self._after)
        try:
            for self.fails_at in itertools.count():
                self._done = 0
                try:
                    migrations.upgrade(owner_url, APP, revision)
                except FaultInBlock:
                    continue
                return
        finally:
            event.remove(Engine, "before_cursor_execute", self._before)
            event.remove(Engine, "after_cursor_execute", self._after)

    def _before(self, connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
        self.executed.append(statement)
        if self.fails_at == 0 and self._is_in_block(connection):
            raise FaultInBlock

    def _after(self, connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
        if not self._is_in_block(connection):
            return
        self._done += 1
        if self._done == self.fails_at:
            if statement.startswith("CREATE INDEX"):
                self._invalidate(statement.split()[statement.split().index("ON") - 1])
            raise FaultInBlock

    def _is_in_block(self, connection: Connection) -> bool:
        driver = connection.connection.driver_connection
        return driver is not None and driver.autocommit

    def _invalidate(self, index: str) -> None:
        with self.admin.begin() as connection:
            change = text("UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass(:index)")
            assert connection.execute(change, {"index": index}).rowcount == 1


@pytest.fixture(scope="module")
def walk(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    """Walk from the first migration to the newest one and a planted one with blocks, with a fault at every place of the
    blocks."""
    with empty_database(servers) as (app_url, owner_url):
        admin = sqlalchemy.create_engine(
            make_url(servers.postgres.admin_url).set(database=make_url(owner_url).database)
        )
        walk = Walk(app_url, owner_url)
        with planted(tmp_path_factory.mktemp("migrations"), WITH_BLOCKS):
            take(walk, FaultyBlocks(admin))
        yield walk
        admin.dispose()


def take(walk: Walk, faulty: FaultyBlocks) -> None:
    """Migrate step by step, add rows after each step and record the results."""
    engine = sqlalchemy.create_engine(walk.owner_url)
    before: Rows = {}
    for revision in revisions():
        faulty.executed.clear()
        faulty.run(walk.owner_url, revision)
        walk.faults[revision] = faulty.fails_at
        walk.broken[revision] = broken_rules(faulty.executed, {*before, "scores"})
        with engine.begin() as connection:
            assert lost_rows(before, load_all_rows(connection)) == [], revision
            add_rows(connection, revision)
            before = load_all_rows(connection)
    engine.dispose()


def one(url: str, query: str) -> Any:
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        value = connection.execute(text(query)).scalar_one()
    engine.dispose()
    return value


def test_every_migration_keeps_the_rules_or_gives_a_reason(walk: Walk) -> None:
    assert {revision: rules for revision, rules in walk.broken.items() if rules} == {
        revision: set(rules) for revision, rules in ALLOWED.items()
    }
    assert all(reason for rules in ALLOWED.values() for reason in rules.values())


def test_a_migration_that_failed_in_a_block_ran_again(walk: Walk) -> None:
    invalid = "SELECT count(*) FROM pg_index WHERE NOT indisvalid"
    assert one(walk.owner_url, invalid) == 0
    assert one(walk.owner_url, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'ix_jobs_planted'::regclass")
    sources = migrations.FOLDER.glob("versions/*.py")
    with_blocks = {source.name[:4] for source in sources if BLOCK.search(source.read_text())}
    assert {revision for revision, faults in walk.faults.items() if faults} == {*with_blocks, PLANTED}


def test_every_table_has_rows(walk: Walk) -> None:
    engine = sqlalchemy.create_engine(walk.owner_url)
    with engine.connect() as connection:
        rows = load_all_rows(connection)
    engine.dispose()
    assert set(rows) == set(Table.metadata.tables)
    assert [name for name in Table.metadata.tables if not rows[name]] == []
    assert set(ROWS) <= set(revisions())


def test_the_tables_match_the_code(servers: Servers) -> None:
    migrations.check(servers.postgres.owner_url)


def test_this_version_serves_the_result(walk: Walk, servers: Servers, tmp_path: Path) -> None:
    settings = Settings(
        database_url=walk.app_url,
        redis_url=servers.redis.url,
        blob_url=(tmp_path / "blobs").as_uri(),
        scratch=tmp_path / "scratch",
    )
    with running_service(settings) as service:
        service.tokens["kay"] = TOKEN
        board = service.call(None, "GET", f"/competitions/{SLUG}/leaderboard").json()
        assert [(entry["team"], entry["score"]) for entry in board["entries"]] == [("Kay", 30.0)]
        assert service.call("kay", "GET", "/submissions/first").json()["status"] == "scored"
        assert service.http.get(f"{API}/competitions/{SLUG}").json()["slug"] == SLUG
