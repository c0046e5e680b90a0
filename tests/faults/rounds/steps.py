"""The steps of an entry from upload to evidence, as conditions on the database that stay true."""

from types import MappingProxyType

OF_ROUND = "FROM submissions s JOIN competitions c ON c.id = s.competition_id WHERE c.slug = %(slug)s"
JOBS = "FROM jobs j JOIN submissions s ON s.ref = j.submission_ref JOIN competitions c ON c.id = s.competition_id"
STARTED = f"SELECT count(*) {JOBS} WHERE c.slug = %(slug)s AND j.started_at IS NOT NULL AND j.queue ="

STEPS = MappingProxyType(
    {
        "receiving": "SELECT count(*) FROM uploads u JOIN competitions c ON c.id = u.competition_id"
        " WHERE c.slug = %(slug)s",
        "accepted": f"SELECT count(*) {OF_ROUND}",
        "checking": f"{STARTED} 'check'",
        "queued": f"SELECT count(*) {JOBS} WHERE c.slug = %(slug)s AND j.queue = 'score'",
        "scoring": f"{STARTED} 'score' AND j.priority = 0",
        "recorded": "SELECT count(*) FROM measurements m JOIN submissions s ON s.ref = m.submission_ref"
        " JOIN competitions c ON c.id = s.competition_id WHERE c.slug = %(slug)s",
        "private": f"{STARTED} 'score' AND j.priority = 1",
        "evidence": f"{STARTED} 'evidence'",
    }
)
"""By step: the query for the number of entries that have reached it."""

UNFINISHED_JOBS = f"""
SELECT (SELECT count(*) {JOBS} WHERE c.slug = %(slug)s AND j.state IN ('waiting', 'running')),
       (SELECT count(*) {OF_ROUND} AND s.status NOT IN ('scored', 'rejected', 'failed', 'cancelled')),
       (SELECT count(*) FROM uploads u JOIN competitions c ON c.id = u.competition_id
        WHERE c.slug = %(slug)s AND u.state = 'receiving' AND u.completed_at IS NOT NULL)
"""
"""The numbers of unfinished jobs, unfinished entries, and complete uploads without an entry."""
