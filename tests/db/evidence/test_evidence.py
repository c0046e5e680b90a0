"""Evidence and generators in the database: which rows count, who may upload and when, and what flags an entry."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db.evidence import generators as rows
from scorer.db.jobs.job_queue import newest_job
from scorer.db.newest_rows import newest_row
from scorer.db.tables import Evidence, GeneratorFile, Recovery, Submission
from scorer.errors import Conflict
from scorer.evidence import generator_audits, generator_uploads, visibility
from scorer.evidence.visibility import visible_evidence
from scorer.jobs import leases
from scorer.lifecycle import Queue
from tests.factories import (
    add_evidence,
    add_recovery,
    give_role,
    make_account,
    make_competition,
    make_scored,
    make_submission,
    make_team,
)


def test_the_newest_evidence_of_a_track_counts(session: Session, now: datetime) -> None:
    state = make_competition(session, now)
    entry = make_scored(session, state, make_team(session, state, now), fid=1.0, distance=0.3, now=now)
    public = state.tracks["public"].id
    private = state.tracks["private"].id
    assert newest_row(session, Evidence, submission_ref=entry.ref, track_id=public) is None
    assert newest_job(session, submission_ref=entry.ref, track_id=public, queue=Queue.EVIDENCE) is None
    add_evidence(session, state, entry, now=now, c_t=-4.5)
    later = add_evidence(session, state, entry, now=now + timedelta(hours=1), c_t=-5.0, copied_cells=2)
    assert newest_row(session, Evidence, submission_ref=entry.ref, track_id=public) is later
    assert newest_row(session, Evidence, submission_ref=entry.ref, track_id=private) is None
    job = newest_job(session, submission_ref=entry.ref, track_id=public, queue=Queue.EVIDENCE)
    assert job is not None
    assert (job.id, job.queue, job.state) == (later.job_id, "evidence", "done")


def test_evidence_that_arrives_during_a_lookup_is_not_reported_missing(
    session: Session, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine the job can end between reading the evidence and reading the job."""
    state = make_competition(session, now)
    entry = make_scored(session, state, make_team(session, state, now), fid=1.0, distance=0.3, now=now)
    leases.add_job(session, Queue.EVIDENCE, submission=entry, track_id=state.tracks["public"].id, private=True, now=now)

    def read_before_the_job_ends(*words: Any, **columns: Any) -> Evidence | None:
        found: Evidence | None = newest_row(*words, **columns)
        add_evidence(session, state, entry, now=now)
        return found

    monkeypatch.setattr(visibility, "newest_row", read_before_the_job_ends)
    assert visible_evidence(session, entry, "public", account=None).state == "waiting"


def test_only_comparable_entries_accept_a_generator(session: Session, now: datetime) -> None:
    state = make_competition(session, now)
    team = make_team(session, state, now)
    organizer = make_account(session, now, "organizer")
    give_role(session, state.competition.id, organizer, "organizer", now)
    scored = make_scored(session, state, team, fid=10.0, distance=0.4, now=now)
    waiting = make_submission(session, state, team, now=now, status="queued")
    imported = make_scored(session, state, team, fid=11.0, distance=0.4, now=now)
    imported.external_id = "1"
    imported.blob_key = None
    imported.sha256 = None
    session.flush()
    for entry, why in ((scored, "no-held-out"), (waiting, "not-scored"), (imported, "imported")):
        with pytest.raises(Conflict) as refused:
            generator_uploads.require_generator_change(Acting(session, organizer, now), entry.id)
        assert refused.value.slug == why


@pytest.mark.parametrize("p_value", [0.009, 0.01, None])
@pytest.mark.parametrize("gap", [0.11, 0.1, -0.5, None])
@pytest.mark.parametrize("share", [0.9, 0.89, None])
def test_entries_with_the_verdict_copies_are_flagged(
    session: Session, now: datetime, p_value: float | None, gap: float | None, share: float | None
) -> None:
    state = make_competition(session, now)
    entry = make_scored(session, state, make_team(session, state, now), fid=10.0, distance=0.4, now=now)
    recovery = add_recovery(session, entry, now=now, p_value=p_value, gap=gap, recovered_share=share)
    assert _flagged(session, state, entry) == (generator_audits.decide_verdict(recovery) == "copies")
    assert (generator_audits.decide_verdict(recovery) == "copies") == (
        p_value == 0.009 and gap == 0.11 and share != 0.89
    )


def test_a_later_file_hides_no_earlier_verdict(session: Session, now: datetime) -> None:
    state = make_competition(session, now)
    entry = make_scored(session, state, make_team(session, state, now), fid=10.0, distance=0.4, now=now)
    add_recovery(session, entry, now=now, p_value=1e-5, gap=0.5, recovered_share=1.0)
    newest = add_recovery(session, entry, now=now, refusal="It is no ONNX.")
    assert _flagged(session, state, entry)
    generator = newest_row(session, GeneratorFile, submission_ref=entry.ref)
    assert generator is not None
    assert generator.id == newest.generator_id
    former = rows.earlier_recoveries(session, generator)
    assert [(type(one), type(other)) for one, other in former] == [(GeneratorFile, Recovery)]


def _flagged(session: Session, state: CompetitionState, entry: Submission) -> bool:
    return entry.ref in session.scalars(rows.refs_with_overfitted_generator(state.competition.id)).all()
