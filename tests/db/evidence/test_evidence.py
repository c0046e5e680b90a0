"""Rows of evidence: the newest one counts, and its jobs are visible."""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.db.evidence.evidence import newest_evidence, newest_evidence_job
from tests.factories import add_evidence, make_competition, make_scored, make_team


def test_the_newest_evidence_of_a_track_counts(session: Session, now: datetime) -> None:
    state = make_competition(session, now)
    entry = make_scored(session, state, make_team(session, state, now), fid=1.0, distance=0.3, now=now)
    public = state.tracks["public"].id
    private = state.tracks["private"].id
    assert newest_evidence(session, entry.ref, public) is None
    assert newest_evidence_job(session, entry.ref, public) is None
    add_evidence(session, state, entry, now=now, c_t=-4.5)
    later = add_evidence(session, state, entry, now=now + timedelta(hours=1), c_t=-5.0, copied_cells=2)
    assert newest_evidence(session, entry.ref, public) is later
    assert newest_evidence(session, entry.ref, private) is None
    job = newest_evidence_job(session, entry.ref, public)
    assert job is not None
    assert (job.id, job.queue, job.state) == (later.job_id, "evidence", "done")
