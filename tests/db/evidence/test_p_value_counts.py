"""Counts of p-values: of each entry's newest evidence, whoever adds it beside whom, and what they say of a sign."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from scipy.stats import false_discovery_control
from sqlalchemy import text
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.evidence.p_value_counts import add_up_changes, counts_of
from scorer.db.session import Sessions, engine_of, sessions_of
from scorer.db.tables import PValueChange
from scorer.evidence.visibility import visible_evidence
from scorer.findings.signs import SIGNS
from scorer.metrics.cosine import Indices
from scorer.metrics.statistics.false_discovery import BINS, bins_of, upper_edges
from scorer.settings import Settings
from tests.factories import add_evidence, make_competition, make_scored, make_team

P_VALUES = sorted({sign.p_value for sign in SIGNS if sign.p_value is not None})
COPIES: dict[str, Any] = {"thumbnail_share": 0.5, "thumbnail_expected": 0.01, "thumbnail_mirrored": 0}


def counted(p_values: list[float]) -> Indices:
    return np.bincount(bins_of(np.array(p_values)), minlength=BINS)


def tracks_of(state: CompetitionState) -> list[int]:
    return [track.id for track in state.tracks.values()]


def test_every_p_value_of_the_signs_is_counted_in_its_bin(session: Session, now: datetime) -> None:
    """Whether added up by a sweep or not."""
    state = make_competition(session, now)
    team = make_team(session, state, now)
    random = np.random.default_rng(0)
    expected: list[float] = []
    for number in range(40):
        entry = make_scored(session, state, team, fid=1.0, distance=0.3, now=now)
        values: dict[str, Any] = dict(
            zip(P_VALUES, (10.0 ** random.uniform(-14, 0, len(P_VALUES))).tolist(), strict=True)
        )
        if number < 4:
            values["z_u_p"] = (0.0, 1.0, float(upper_edges()[50]), 1e-12)[number]
        add_evidence(session, state, entry, now=now, **values)
        expected += values.values()
    unknown = make_scored(session, state, team, fid=1.0, distance=0.3, now=now)
    add_evidence(session, state, unknown, now=now, z_u_p=float("nan"), repeats_p=None)
    for _ in range(2):
        np.testing.assert_array_equal(counts_of(session, tracks_of(state)), counted(expected))
        add_up_changes(session)
    assert session.query(PValueChange).count() == 0


def test_newer_evidence_replaces_the_older(session: Session, now: datetime) -> None:
    state = make_competition(session, now)
    entry = make_scored(session, state, make_team(session, state, now), fid=1.0, distance=0.3, now=now)
    for hours, p_value in enumerate((0.001, 0.2, 0.7)):
        add_evidence(session, state, entry, now=now + timedelta(hours=hours), z_u_p=p_value)
        np.testing.assert_array_equal(counts_of(session, tracks_of(state)), counted([p_value]))
        if hours:
            add_up_changes(session)
    np.testing.assert_array_equal(counts_of(session, tracks_of(state)), counted([0.7]))
    assert not counts_of(session, [0]).any()


def test_a_sign_is_told_with_its_rate_among_all_entries(session: Session, now: datetime) -> None:
    state = make_competition(session, now)
    team = make_team(session, state, now)
    entry = make_scored(session, state, team, fid=1.0, distance=0.3, now=now)
    p_value = float(upper_edges()[70])  # 5.6e-4
    add_evidence(session, state, entry, now=now, thumbnail_p=p_value, **COPIES)
    for others, is_sure in ((9, True), (190, False)):
        for number in range(others):
            other = make_scored(session, state, team, fid=1.0, distance=0.3, now=now)
            add_evidence(session, state, other, now=now, thumbnail_p=0.5 + number / 1000)
        visible = visible_evidence(session, entry, "public", None)
        (sign,) = visible.signs
        known = [p_value, *(0.5 + number / 1000 for number in range(9))]
        known += [0.5 + number / 1000 for number in range(190)] if others == 190 else []
        exact = false_discovery_control(known)[0]
        assert sign.q_value is not None
        assert exact <= sign.q_value <= exact * (1 + 1e-9)
        assert sign.is_sure is is_sure
        assert visible.summary is not None
        assert visible.summary.verdict == ("copies" if is_sure else "none")


# Beside each other


@pytest.fixture
def sessions(settings: Settings) -> Iterator[Sessions]:
    engine = engine_of(settings)
    yield sessions_of(engine)
    engine.dispose()


def test_nobody_waits_for_anybody_and_nothing_is_lost(sessions: Sessions, now: datetime) -> None:
    """Two workers add evidence with the same p-values, and a sweep adds up meanwhile."""
    with sessions.begin() as session:
        state = make_competition(session, now)
        team = make_team(session, state, now)
        entries = [make_scored(session, state, team, fid=1.0, distance=0.3, now=now) for _ in range(3)]
        add_evidence(session, state, entries[0], now=now, z_u_p=0.5)
    with sessions.begin() as one:
        add_evidence(one, state, entries[1], now=now, z_u_p=0.5)
        with sessions.begin() as other:
            other.execute(text("SET LOCAL lock_timeout = '1ms'"))
            add_evidence(other, state, entries[2], now=now, z_u_p=0.5)
        with sessions.begin() as sweep:
            sweep.execute(text("SET LOCAL lock_timeout = '1ms'"))
            add_up_changes(sweep)
        with sessions.begin() as reader:
            assert counts_of(reader, tracks_of(state)).sum() == 2
    with sessions.begin() as sweep:
        add_up_changes(sweep)
        np.testing.assert_array_equal(counts_of(sweep, tracks_of(state)), counted([0.5] * 3))
