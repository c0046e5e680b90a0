"""Scores in SQL, and standings read from the tables, compared with their executable definitions."""

import math
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from deploy.standalone.ephemeral import Servers
from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard import board_details
from scorer.db.leaderboard.changes import EXTRA_KINDS, SEEN_BY_ALL
from scorer.db.leaderboard.scores import Score, judged_entries
from scorer.metrics.mifid import mifid
from tests.db.leaderboard.board_oracle import load_board
from tests.examples import examples
from tests.factories import add_measurement, make_competition, make_scored, make_team, set_label, set_tau
from tests.pure.ranking import specification

MOMENT = datetime.fromisoformat("2026-03-14T12:00:00+00:00")
TAU = 0.25


@pytest.fixture
def state(session: Session, now: datetime) -> CompetitionState:
    """A competition with a threshold on both tracks."""
    made = make_competition(session, now)
    for kind in ("public", "private"):
        set_tau(session, made, kind, TAU, now)
    return made


def load_scores_view(session: Session, state: CompetitionState, kind: str = "public") -> dict[str, float | None]:
    """MiFID by submission id, from the view for people with psql."""
    rows = session.execute(
        text("SELECT id, mifid FROM scores WHERE competition = :slug AND track = :kind"),
        {"slug": state.competition.slug, "kind": kind},
    )
    return {row.id: row.mifid for row in rows}


@pytest.mark.parametrize("distance", [0.0, 5e-7, 1e-6, 0.1, TAU - 1e-15, TAU, TAU + 1e-15, 1.0])
def test_sql_scores_equal_the_formula_exactly(
    session: Session, state: CompetitionState, now: datetime, distance: float
) -> None:
    entry = make_scored(session, state, make_team(session, state, now), fid=12.345, distance=distance, now=now)
    expected = mifid(12.345, distance, TAU, state.tracks["public"].epsilon)
    score = load_scores_view(session, state)[entry.id]
    assert score is not None
    assert score == expected or (math.isnan(score) and math.isnan(expected))


def test_an_entry_of_mostly_copied_images_has_no_score(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    team = make_team(session, state, now)
    half = make_scored(session, state, team, fid=10, distance=0.3, now=now, copied_share=0.5)
    more = make_scored(session, state, team, fid=10, distance=0.3, now=now, copied_share=0.51)
    scores = load_scores_view(session, state)
    assert scores[half.id] == 10
    assert math.isnan(scores[more.id] or 0)


def test_the_newest_measurement_and_the_newest_threshold_count(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    entry = make_scored(session, state, make_team(session, state, now), fid=10, distance=0.2, now=now)
    assert load_scores_view(session, state)[entry.id] == mifid(10, 0.2, TAU)
    add_measurement(session, state, entry, fid=11, distance=0.21, now=now)
    assert load_scores_view(session, state)[entry.id] == mifid(11, 0.21, TAU)
    set_tau(session, state, "public", 0.1, now)
    assert load_scores_view(session, state)[entry.id] == 11


def test_without_a_threshold_nothing_is_scored_and_nothing_ranks(session: Session, now: datetime) -> None:
    bare = make_competition(session, now)
    make_scored(session, bare, make_team(session, bare, now), fid=1, distance=0.5, now=now)
    assert all(score is None or math.isnan(score) for score in load_scores_view(session, bare).values())
    assert len(load_board(session, bare)) == 0


def test_a_benchmark_is_shown_unranked_and_never_penalised(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    honest, line = make_team(session, state, now), make_team(session, state, now)
    line.benchmark = True
    make_scored(session, state, honest, fid=20, distance=0.5, now=now)
    make_scored(session, state, line, fid=3, distance=0.01, now=now)
    lines = load_board(session, state)
    assert [line.team_id for line in lines.page(0, None)] == [honest.id]
    assert [(line.team_id, line.score, line.penalised) for line in lines.unranked(lines.benchmarks)] == [
        (line.id, 3.0, False)
    ]


def test_copies_are_listed_separately_if_the_team_has_no_honest_entry(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    copier, both = make_team(session, state, now), make_team(session, state, now)
    make_scored(session, state, copier, fid=0.1, distance=0.0, now=now)
    make_scored(session, state, both, fid=0.1, distance=0.0, now=now)
    make_scored(session, state, both, fid=30, distance=0.5, now=now)
    lines = load_board(session, state)
    assert [line.team_id for line in lines.unranked(lines.copies)] == [copier.id]
    assert [line.team_id for line in lines.page(0, None)] == [both.id]


@pytest.mark.parametrize("status", ["scoring", "failed"])
def test_an_entry_that_did_not_end_as_scored_is_on_no_board(
    session: Session, state: CompetitionState, now: datetime, status: str
) -> None:
    entry = make_scored(session, state, make_team(session, state, now), fid=1, distance=0.5, now=now, kind="private")
    entry.status = status
    session.flush()
    assert load_scores_view(session, state, "private") == {}
    assert len(load_board(session, state, "private")) == 0


def test_labels_change_the_version_only_for_people_who_see_them(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    entry = make_scored(session, state, make_team(session, state, now), fid=1, distance=0.5, now=now)
    track = state.tracks["public"]
    before = [board_details.compute_version(session, track, extra_kinds=seen) for seen in (SEEN_BY_ALL, EXTRA_KINDS)]
    set_label(session, entry, "ae", now)
    after = [board_details.compute_version(session, track, extra_kinds=seen) for seen in (SEEN_BY_ALL, EXTRA_KINDS)]
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_a_score_has_the_columns_of_the_statement() -> None:
    assert tuple(judged_entries().selected_columns.keys()) == Score._fields


def test_the_stored_view_matches_the_code(servers: Servers) -> None:
    """A migration made the view. If the formula changes, a new migration must recreate it with this statement."""
    query = judged_entries().compile(dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True})  # type: ignore[no-untyped-call]
    engine = create_engine(servers.postgres.owner_url)
    with engine.connect() as connection:
        stored = connection.scalar(text("SELECT pg_get_viewdef('scores'::regclass)"))
        connection.execute(text(f"CREATE TEMPORARY VIEW current_scores AS {query}"))
        current = connection.scalar(text("SELECT pg_get_viewdef('current_scores'::regclass)"))
    engine.dispose()
    assert stored == current


def test_the_service_role_cannot_rewrite_history(session: Session, state: CompetitionState, now: datetime) -> None:
    make_scored(session, state, make_team(session, state, now), fid=1, distance=0.5, now=now)
    for statement in ("UPDATE measurements SET fid = 0", "DELETE FROM thresholds", "UPDATE labels SET label = 'ae'"):
        with pytest.raises(ProgrammingError, match="permission denied"), session.begin_nested():
            session.execute(text(statement))


entries = st.lists(
    st.tuples(
        st.integers(0, 4),  # team
        st.sampled_from([0.5, 1.0, 1.000004, 1.000006, 7.5, 100.0]),  # fid, with ties once rounded
        st.sampled_from([0.0, 0.05, 0.2, TAU, 0.4]),  # distance: copies, penalised, on the edge, free
        st.integers(0, 3),  # minute
    ),
    max_size=12,
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries)
def test_the_board_matches_the_definition(session: Session, drawn: list[tuple[int, float, float, int]]) -> None:
    with session.begin_nested() as savepoint:
        made = make_competition(session, MOMENT)
        set_tau(session, made, "public", TAU, MOMENT)
        teams = [make_team(session, made, MOMENT) for _ in range(5)]
        teams[4].benchmark = True
        expected = []
        for team, fid, distance, minute in drawn:
            at = MOMENT + timedelta(minutes=minute)
            made_entry = make_scored(session, made, teams[team], fid=fid, distance=distance, now=at)
            benchmark = team == 4
            score = mifid(fid, distance, 0.0 if benchmark else TAU)
            expected.append(
                specification.ScoredEntry(
                    ref=made_entry.ref,
                    team=None if benchmark else teams[team].id,
                    score=score,
                    accepted_at=at,
                    copy=math.isnan(score),
                    benchmark=benchmark,
                )
            )
        wanted = [
            (line.rank, line.score, line.entry.ref)
            for line in specification.standings(expected, 5).placings
            if line.rank is not None
        ]
        placings = load_board(session, made).page(0, None)
        assert [(line.rank, line.score, line.ref) for line in placings] == wanted
        savepoint.rollback()
