"""A thousand open competitions with their teams and entries, straight into the tables."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from scorer.accounts import accounts
from scorer.competitions import setup
from scorer.competitions.spec import CompetitionSpec, TrackSpec

ROWS = """
INSERT INTO reference_sets (sha256, bytes, blob_key, created_by, created_at)
SELECT md5('train'), 1, 'references/train.zip', min(id), now() FROM accounts;

INSERT INTO preparations (key, extractor, image_size, signed, reference_set_ids, created_at, finished_at)
SELECT md5('train'), min(tracks.extractor), 64, false, array_agg(DISTINCT reference_sets.id), now(), now()
FROM tracks, reference_sets;

INSERT INTO competition_references (competition_id, role, reference_set_id, attached_by, attached_at)
SELECT competitions.id, 'train', reference_sets.id, created_by, now()
FROM (SELECT id FROM competitions) AS competitions, reference_sets;

UPDATE tracks SET preparation_id = (SELECT id FROM preparations);

INSERT INTO thresholds (track_id, tau, method, choice, reason, author_id, created_at)
SELECT id, 0.2, 'manual', '{}', '', NULL, now() FROM tracks;

INSERT INTO teams (competition_id, name, benchmark, created_at)
SELECT competitions.id, handle, false, now() FROM competitions, accounts WHERE role = 'participant';

INSERT INTO memberships (competition_id, team_id, account_id, joined, created_at)
SELECT competition_id, teams.id, accounts.id, true, now() FROM teams JOIN accounts ON handle = teams.name;

INSERT INTO submissions (id, competition_id, team_id, account_id, file_name, bytes, sha256, note, blob_key, status,
                         accepted_at, finished_at, copied_share, late)
SELECT 'past-' || team_id || '-' || n, competition_id, team_id, account_id, 'entry.zip', 1, md5(team_id || '-' || n),
       '', '', 'scored', now() - n * interval '1 day', now() - n * interval '1 day', 0, false
FROM memberships, generate_series(1, :entries) AS n;

INSERT INTO jobs (queue, submission_ref, track_id, team_id, state, priority, turn, due_at, attempts, created_at,
                  started_at, finished_at)
SELECT 'score', ref, tracks.id, team_id, 'done', (tracks.kind = 'private')::int, 0, accepted_at, 1, accepted_at,
       accepted_at, finished_at
FROM submissions JOIN tracks USING (competition_id);

INSERT INTO jobs (queue, submission_ref, team_id, state, priority, turn, due_at, attempts, created_at, started_at,
                  finished_at)
SELECT 'check', ref, team_id, 'done', 0, 0, accepted_at, 1, accepted_at, accepted_at, finished_at FROM submissions;

INSERT INTO measurements (job_id, submission_ref, track_id, scorer_version, fid, memorization_distance, distance_se,
                          closest_pairs, histogram, artifact_key, provenance, created_at)
SELECT id, submission_ref, track_id, '1', 20 + id % 300, 0.1 + id % 7 * 0.05, 0.001, '[]', '{}', '', '{}', created_at
FROM jobs WHERE queue = 'score';

INSERT INTO board_changes (xid, competition_id, track_id, kind, submission_refs)
SELECT 3, competition_id, track_id, 'entries', ARRAY[submission_ref]
FROM measurements JOIN tracks ON tracks.id = track_id;
"""


def slug_of(number: int) -> str:
    """The name of a competition in addresses, by its number from 0."""
    return f"competition-{number}"


def handle_of(number: int) -> str:
    """The handle of a participant, by number from 0; each has a team of one in every competition."""
    return f"person-{number}"


def seed(url: str, competitions: int, people: int, entries: int) -> None:
    """Make them by the database's superuser at ``url``, each team with so many scored ``entries``."""
    engine = create_engine(url)
    now = datetime.now(UTC)
    tiny = TrackSpec(extractor="tiny")
    with Session(engine) as session, session.begin():
        organizer = accounts.create_account(session, handle="organizer", name="", role="organizer", now=now)
        for number in range(people):
            accounts.create_account(session, handle=handle_of(number), name="", role="participant", now=now)
        for number in range(competitions):
            spec = CompetitionSpec(
                slug=slug_of(number),
                title=slug_of(number),
                opens_at=now - timedelta(days=50),
                closes_at=now + timedelta(days=10),
                daily_limit=None,
                pending_limit=100,
                public=tiny,
                private=tiny,
            )
            setup.create(session, spec, author=organizer, now=now)
    with engine.begin() as connection:
        connection.execute(text("SET session_replication_role = replica"))
        for statement in ROWS.split(";\n"):
            if statement.strip():
                connection.execute(text(statement), {"entries": entries} if ":entries" in statement else {})
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))
    engine.dispose()
