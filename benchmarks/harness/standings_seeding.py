"""Seeding of a large competition by SQL, straight into the tables."""

from sqlalchemy import create_engine, text

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
"""Every entry is measured on both tracks by a job each, under the thresholds of the first moment; every 499th has a
decided label; half of the teams have picked. The rows that workers and triggers would write one by one are inserted at
once."""


def fill(admin_url: str, values: dict[str, object]) -> None:
    """Insert the rows with triggers and foreign keys disabled, then collect statistics for the planner."""
    engine = create_engine(admin_url)
    with engine.begin() as connection:
        connection.execute(text("SET session_replication_role = replica"))
        for statement in BULK.split(";\n"):
            if statement.strip():
                names = {name: value for name, value in values.items() if f":{name}" in statement}
                connection.execute(text(statement), names)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))
    engine.dispose()
