"""Ephemeral databases, and a large competition inserted directly into the tables."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, make_url, text
from sqlalchemy.orm import Session

import migrations
from deploy.standalone.database_roles import APP
from deploy.standalone.ephemeral import Servers, ephemeral_servers
from scorer.competitions.spec import CompetitionSpec, TrackSpec

SLUG = "bench"
OWN = "bench-own-token"
ORGANIZER = "bench-organizer-token"
SESSION = "bench-organizer-session"
"""The secret of the organizer's signed-in browser."""

BULK = """
INSERT INTO teams (competition_id, name, benchmark, created_at)
SELECT :competition, 'Team ' || n, false, :start FROM generate_series(1, :teams) AS n;

INSERT INTO submissions (id, competition_id, team_id, account_id, file_name, bytes, sha256, note, blob_key, status,
                         accepted_at, finished_at, copied_share, late)
SELECT 'bench-' || n, :competition, :first_team + (n * 7919::bigint) % :teams, :account, 'entry.zip', 1,
       md5(n::text), '', '', 'scored', :start + n * CAST(:step AS interval), :start + n * CAST(:step AS interval),
       CASE WHEN n % 997 = 0 THEN 0.9 ELSE 0 END, false
FROM generate_series(1, :entries) AS n;

INSERT INTO measurements (job_id, submission_ref, track_id, scorer_version, fid, memorization_distance, distance_se,
                          closest_pairs, histogram, artifact_key, provenance, created_at)
SELECT 1000000000 + row_number() OVER (), submission.ref, track.id, '1',
       20 + 400 * abs(hashint8extended(submission.ref, track.id)::float8 / 9.3e18),
       0.05 + 0.5 * abs(hashint8extended(submission.ref, 7 + track.id)::float8 / 9.3e18),
       0.001, '[]', '{}', '', '{}', submission.accepted_at
FROM submissions AS submission JOIN tracks AS track ON track.competition_id = submission.competition_id
WHERE submission.competition_id = :competition;

INSERT INTO pick_sets (team_id, submission_refs, author_id, created_at)
SELECT team_id, array_agg(ref), :account, :start
FROM (SELECT team_id, ref, row_number() OVER (PARTITION BY team_id ORDER BY ref) AS nth
      FROM submissions WHERE competition_id = :competition) AS entry
WHERE nth <= 2 AND team_id % 2 = 0 GROUP BY team_id;

INSERT INTO board_changes (xid, competition_id, track_id, kind, submission_refs)
SELECT 3, :competition, track_id, 'entries', ARRAY[submission_ref] FROM measurements;

INSERT INTO jobs (id, queue, submission_ref, track_id, team_id, state, priority, turn, due_at, attempts, created_at,
                  started_at, finished_at) OVERRIDING SYSTEM VALUE
SELECT job_id, 'score', submission_ref, track_id, team_id, 'done', 0, 0, accepted_at, 1, accepted_at, accepted_at,
       finished_at
FROM measurements JOIN submissions ON submissions.ref = submission_ref WHERE competition_id = :competition;

INSERT INTO thresholds (track_id, tau, method, choice, reason, author_id, created_at)
SELECT id, 0.2, 'manual', '{}', '', :account, :start FROM tracks WHERE competition_id = :competition;

INSERT INTO labels (submission_ref, label, note, author_id, created_at)
SELECT ref, CASE WHEN copied_share > 0.5 OR ref % 3 = 0 THEN 'aug' ELSE 'legitimate' END, '', :account, finished_at
FROM submissions WHERE competition_id = :competition AND ref % 499 = 0;
"""
"""Insert all rows that workers and triggers would write separately.

One job per track has measured every entry, under the first thresholds. Every 499th entry has a decided label. Half of
the teams have final picks.
"""


@contextmanager
def migrated_servers() -> Iterator[tuple[Servers, str]]:
    """Ephemeral servers with the tables, and the superuser's URL of the database."""
    with ephemeral_servers() as servers:
        migrations.upgrade(servers.postgres.owner_url, APP)
        yield servers, build_admin_url(servers.postgres.admin_url, servers.postgres.app_url)


def tiny_spec(slug: str, opens_at: datetime, **changes: Any) -> CompetitionSpec:
    """A competition with the extractor ``tiny``, unless ``changes`` name others."""
    tiny = TrackSpec(extractor="tiny")
    return CompetitionSpec(
        **{"slug": slug, "title": slug, "opens_at": opens_at, "public": tiny, "private": tiny} | changes
    )


def build_admin_url(admin_url: str, url: str) -> str:
    """The superuser's URL of the database at ``url``."""
    return make_url(admin_url).set(database=make_url(url).database).render_as_string(hide_password=False)


def fill(admin_url: str, values: Mapping[str, object], rows: str = BULK) -> None:
    """Insert the rows with triggers and foreign keys disabled, then collect statistics for the planner."""
    engine = create_engine(admin_url)
    with engine.begin() as connection:
        connection.execute(text("SET session_replication_role = replica"))
        execute_each(connection, rows, values)
    vacuum(engine)
    engine.dispose()


def execute_each(connection: Connection | Session, statements: str, values: Mapping[str, object]) -> None:
    """Execute statements divided by ``;`` at the end of a line, each with the values that it names."""
    for statement in filter(str.strip, statements.split(";\n")):
        connection.execute(text(statement), {name: value for name, value in values.items() if f":{name}" in statement})


def vacuum(engine: Engine) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))
