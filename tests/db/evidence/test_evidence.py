"""Rows of evidence: the newest one counts, and its jobs are visible."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from scorer.db.evidence import evidence as evidence_rows
from scorer.db.evidence.evidence import newest_evidence, newest_evidence_job
from scorer.db.tables import Evidence
from scorer.evidence.visibility import visible_evidence
from scorer.jobs import leases
from scorer.lifecycle import Queue
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


def test_evidence_that_comes_while_it_is_looked_up_is_not_told_as_none(
    session: Session, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its job ends after the evidence was read in vain, as on a busy machine."""
    state = make_competition(session, now)
    entry = make_scored(session, state, make_team(session, state, now), fid=1.0, distance=0.3, now=now)
    leases.add_job(session, Queue.EVIDENCE, submission=entry, track_id=state.tracks["public"].id, private=True, now=now)
    read = evidence_rows.newest_evidence

    def read_before_the_job_ends(*words: Any) -> Evidence | None:
        found = read(*words)
        add_evidence(session, state, entry, now=now)
        return found

    monkeypatch.setattr(evidence_rows, "newest_evidence", read_before_the_job_ends)
    assert visible_evidence(session, entry, "public", account=None).state == "waiting"
