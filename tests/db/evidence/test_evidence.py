"""Rows of evidence: the newest one counts, and its jobs are visible."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from scorer.db.evidence.evidence import newest_evidence, newest_evidence_job
from scorer.db.evidence.signs import count_p_values
from scorer.evidence.visibility import visible_evidence
from scorer.metrics.statistics.false_discovery import false_discovery_rate
from tests.factories import add_evidence, make_competition, make_scored, make_team


def test_signs_say_how_many_tests_as_significant_are_chance(session: Session, now: datetime) -> None:
    """Over all entries and both tracks, by the newest evidence."""
    state = make_competition(session, now)
    tracks = [state.tracks[kind].id for kind in ("public", "private")]
    first, second = (
        make_scored(session, state, make_team(session, state, now), fid=1.0, distance=0.3, now=now) for _ in range(2)
    )
    add_evidence(session, state, first, now=now, near_copies_p=0.0, z_u_p=0.5)  # replaced
    strong: dict[str, Any] = {"near_copies_p": 1e-6, "near_copies_share": 0.5, "near_copies_mirrored": 0, "z_u_p": 0.5}
    add_evidence(session, state, first, now=now, identical=8, **strong)
    add_evidence(session, state, second, now=now, hash_p=1e-8, repeats_p=0.3, near_copies_p=1e-6)
    counts = count_p_values(session, tracks, [1e-9, 1e-6, 0.4, 1.0])
    assert (counts.tests, counts.at_most) == (5, [0, 3, 4, 5])
    visible = visible_evidence(session, first, "public", None)
    assert [sign.name for sign in visible.signs] == ["near-copies", "identical-images"]
    rate = false_discovery_rate(1e-6, at_most=3, tests=5)
    assert visible.false_discovery_rates == {"near-copies": pytest.approx(rate)}
    assert rate == pytest.approx(1e-6 * 5 * (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 3)


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
