"""MiFID with one formula for floats, arrays and SQL."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Column, Float, MetaData, Table, case, create_engine, insert, literal_column, select

from scorer.metrics.memorization import memorization_distance
from scorer.metrics.mifid import COPY_DISTANCE, is_copy, is_penalised, mifid, penalty
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from tests.pure.oracles import golden, mifid_by_definition

distances = st.floats(COPY_DISTANCE, 2.0)
fids = st.floats(0.0, 1e6)


@given(fid=fids, distance=st.floats(COPY_DISTANCE, 0.998), tau=st.floats(0.0, 2.0), epsilon=st.floats(1e-16, 1e-3))
def test_the_score_follows_the_formula_of_the_paper(fid: float, distance: float, tau: float, epsilon: float) -> None:
    score = mifid(fid, distance, tau, epsilon)
    assert type(score) is float
    assert score == pytest.approx(mifid_by_definition(fid, distance, tau, epsilon), rel=1e-15, abs=0)


def test_the_golden_value_from_features_to_score() -> None:
    generated, training = golden().generated, golden().training
    fid = frechet_distance(statistics_of(generated), statistics_of(training))
    score = mifid(fid, memorization_distance(generated, training), tau=1.0, epsilon=1e-14)
    assert score == pytest.approx(6.063657994583631, rel=1e-12)


def test_a_distance_equal_to_the_threshold_is_not_penalised() -> None:
    assert mifid(10.0, 0.25, 0.25) == 10.0
    below = math.nextafter(0.25, 0.0)
    assert mifid(10.0, below, 0.25) == pytest.approx(40.0)
    assert (is_penalised(0.25, 0.25), is_penalised(below, 0.25)) == (False, True)


@given(fid=fids, distance=distances, low=st.floats(0, 2), high=st.floats(0, 2))
def test_a_higher_threshold_never_improves_a_score(fid: float, distance: float, low: float, high: float) -> None:
    low, high = sorted((low, high))
    assert mifid(fid, distance, low) <= mifid(fid, distance, high)


@given(fid=fids, distance=st.floats(COPY_DISTANCE, 0.99), taus=st.lists(st.floats(0, 2), min_size=2))
def test_a_rising_threshold_changes_a_score_once_at_its_distance(
    fid: float, distance: float, taus: list[float]
) -> None:
    taus = sorted([*taus, distance, math.nextafter(distance, 3.0)])
    scores = mifid(fid, distance, np.array(taus))
    assert (np.diff(scores) >= 0.0).all()
    np.testing.assert_array_equal(scores, np.where(np.array(taus) <= distance, fid, fid * (1.0 / (distance + 1e-15))))


@given(fid=fids, near=distances, far=distances)
def test_below_the_threshold_closer_is_worse(fid: float, near: float, far: float) -> None:
    near, far = sorted((near, far))
    assert mifid(fid, far, 3.0) <= mifid(fid, near, 3.0)


@pytest.mark.parametrize("distance", [0.0, -2e-17, 5.5e-9, 9.9e-7])
def test_a_copy_has_no_score(distance: float) -> None:
    assert is_copy(distance)
    assert math.isnan(mifid(0.0, distance, 0.1))
    assert math.isnan(mifid(31.0, distance, 0.0))


@pytest.mark.parametrize(("share", "copied"), [(0.0, False), (0.5, False), (0.5001, True), (1.0, True)])
def test_more_than_half_pixel_copies_make_an_entry_a_copy(share: float, copied: bool) -> None:
    assert is_copy(0.3, share) is copied
    assert math.isnan(mifid(20.0, 0.3, 0.1, copied_share=share)) is copied


def test_an_entry_at_the_copy_distance_is_not_a_copy() -> None:
    assert not is_copy(1e-6)
    assert mifid(2.0, 1e-6, 0.1) == pytest.approx(2e6)


@pytest.mark.parametrize(("fid", "distance", "tau"), [(math.nan, 0.3, 0.1), (5.0, math.nan, 0.1), (5.0, 0.3, math.nan)])
def test_unknown_values_give_no_score(fid: float, distance: float, tau: float) -> None:
    assert math.isnan(mifid(fid, distance, tau))
    scores = mifid(np.array([fid, 7.0]), np.array([distance, 0.3]), np.array([tau, 0.1]))
    assert math.isnan(scores[0])
    assert scores[1] == 7.0


def test_arrays_give_the_results_of_their_elements() -> None:
    fid = np.array([10.0, 20.0, 30.0, 40.0])
    distance = np.array([0.05, 0.1, 0.0, 0.2])
    share = np.array([0.0, 0.1, 0.2, 0.9])
    scores = mifid(fid, distance, 0.1, copied_share=share)
    single = [mifid(f, s, 0.1, copied_share=part) for f, s, part in zip(fid, distance, share, strict=True)]
    np.testing.assert_array_equal(scores, single)
    np.testing.assert_array_equal(scores[:2], [10.0 / (0.05 + 1e-15), 20.0])
    assert np.isnan(scores[2:]).all()
    assert isinstance(scores, np.ndarray)


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, np.asarray])
def test_scalars_of_any_kind_give_python_floats(kind: Any) -> None:
    assert type(mifid(kind(10.0), kind(0.5), kind(0.1))) is float
    assert type(penalty(kind(0.5), kind(0.1))) is float


def test_the_penalty() -> None:
    assert penalty(0.05, 0.1) == pytest.approx(20.0, rel=1e-13)
    assert penalty(0.05, 0.1, 0.05) == pytest.approx(10.0)
    assert penalty(0.2, 0.1) == 1.0


@given(distance=st.floats(1.0, 2.0), tau=st.floats(0.0, 2.0))
def test_a_penalty_is_never_a_reward(distance: float, tau: float) -> None:
    """In a signed feature space s can be 2, and the paper's 1 / (s + epsilon) is below 1."""
    assert penalty(distance, tau) == 1.0
    assert penalty(np.array([distance]), np.array([tau])).tolist() == [1.0]


def test_sql_gives_the_same_bits() -> None:
    """A database computes the same function over columns. SQLite also has IEEE doubles, but no nan."""
    rows = Table(
        "rows",
        MetaData(),
        Column("fid", Float),
        Column("distance", Float),
        Column("tau", Float),
        Column("share", Float),
    )
    none: Any = literal_column("NULL")

    def where(condition: Any, then: Any, otherwise: Any) -> Any:
        def value(number: Any) -> Any:
            return none if isinstance(number, float) and math.isnan(number) else number

        return case((condition, value(then)), else_=value(otherwise))

    given_rows = [
        (31.06345, 0.2, 0.1, 0.0),
        (31.06345, 0.0957, 0.1, 0.0),
        (31.06345, 0.1, 0.1, 0.5),
        (0.5, 0.0, 0.1, 0.0),
        (5.0, 0.3, 0.1, 0.7),
        (5.0, 1.5, 1.75, 0.0),
    ]
    names = ("fid", "distance", "tau", "share")
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        rows.metadata.create_all(connection)
        connection.execute(insert(rows), [dict(zip(names, row, strict=True)) for row in given_rows])
        c = rows.c
        query = select(
            mifid(c.fid, c.distance, c.tau, 1e-15, copied_share=c.share, where=where),
            is_copy(c.distance, c.share),
            is_copy(c.distance),
            is_penalised(c.distance, c.tau),
            mifid(c.fid, c.distance, 0.1, where=where),
        )
        sql_rows = connection.execute(query).all()
    engine.dispose()
    for (fid, distance, tau, share), row in zip(given_rows, sql_rows, strict=True):
        expected = mifid(fid, distance, tau, copied_share=share)
        assert row[0] == (None if math.isnan(expected) else expected)
        judged = is_copy(distance, share), is_copy(distance), is_penalised(distance, tau)
        assert tuple(bool(value) for value in row[1:4]) == judged
        alone = mifid(fid, distance, 0.1)
        assert row[4] == (None if math.isnan(alone) else alone)
