"""Would-be ranks, late boards, final picks and the late window, compared with their definitions."""

from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.blobs import ReceivedBlob
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.db.tables import PickSet
from scorer.errors import Conflict
from scorer.jobs import leases
from scorer.leaderboard.rows import load_ranked_board
from scorer.lifecycle import is_late
from scorer.metrics.mifid import is_copy, mifid
from scorer.submissions import intake
from scorer.submissions.intake import NewSubmission
from scorer.teams import final_picks, teams
from tests.db.leaderboard.board_oracle import load_board
from tests.examples import examples
from tests.factories import make_account, make_competition, make_scored, make_team, set_tau
from tests.pure.ranking import specification

MOMENT = datetime.fromisoformat("2026-03-14T12:00:00+00:00")
TAU = 0.25
DECIMALS = 1

entries = st.lists(
    st.tuples(
        st.integers(0, 3),  # team; the last one is a benchmark
        st.sampled_from([1.0, 1.04, 1.06, 2.0, 7.5]),
        st.sampled_from([0.0, 0.1, 0.25, 0.5]),
        st.integers(0, 2),  # minutes
        st.booleans(),  # late
    ),
    min_size=1,
    max_size=9,
)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries)
def test_late_boards_and_would_be_ranks_match_the_definition(
    session: Session, rows: list[tuple[int, float, float, int, bool]]
) -> None:
    with session.begin_nested() as savepoint:
        state = make_competition(session, MOMENT, score_decimals=DECIMALS)
        set_tau(session, state, "public", TAU, MOMENT)
        competitors = [make_team(session, state, MOMENT) for _ in range(4)]
        competitors[3].benchmark = True
        expected_fields: dict[bool, list[specification.ScoredEntry]] = {False: [], True: []}
        for team, fid, distance, minutes, late in rows:
            at = MOMENT + timedelta(minutes=minutes)
            made = make_scored(session, state, competitors[team], fid=fid, distance=distance, now=at)
            made.late = late
            score = fid if team == 3 and not is_copy(distance) else mifid(fid, distance, TAU)
            line = specification.ScoredEntry(
                made.ref, team, score, at, copy=bool(is_copy(distance)), benchmark=team == 3
            )
            expected_fields[late].append(line)
        session.flush()
        for late, field in expected_fields.items():
            expected = [
                (line.rank, line.entry.ref) for line in specification.standings(field, DECIMALS).placings if line.rank
            ]
            lines = load_board(session, state, late=late)
            order = load_ranked_board(session, state, "public", late=late)
            assert [(line.rank, line.ref) for line in lines.page(0, None)] == expected
            assert len(lines) == len(expected)
            apart = [entry.ref for entry in specification.standings(field, DECIMALS).copies]
            assert [line.ref for line in lines.unranked(lines.copies)] == apart
            for entry in field:
                assert order.would_be_rank(entry.ref) == specification.would_be_rank(field, entry.ref, DECIMALS)
        savepoint.rollback()


def test_the_best_entry_would_rank_where_it_ranks(session: Session, now: datetime) -> None:
    state = make_competition(session, now)
    set_tau(session, state, "public", TAU, now)
    made_teams = [make_team(session, state, now) for _ in range(3)]
    made = [
        make_scored(session, state, team, fid=fid, distance=0.5, now=now)
        for team, fid in zip(made_teams, (3, 1, 2), strict=True)
    ]
    worse = make_scored(session, state, made_teams[1], fid=9, distance=0.5, now=now)
    order = load_ranked_board(session, state, "public")
    would = [order.would_be_rank(entry.ref) for entry in (*made, worse)]
    assert would == [3, 1, 2, 3], "two other teams are better than the last entry; its own team's best does not count"


def test_earlier_picks_can_be_read(session: Session, now: datetime) -> None:
    state = make_competition(session, now)
    account = make_account(session, now)
    team = teams.find_or_create_team(Acting(session, account, now), state.competition.id)
    made = [make_scored(session, state, team, fid=fid, distance=0.5, now=now) for fid in (1, 2)]
    assert final_picks.load_picks(session, team.id) == ()
    for minute, entry in enumerate(made):
        at = now + timedelta(minutes=minute)
        final_picks.pick(Acting(session, account, at), state.competition.slug, [entry.id])
    assert final_picks.load_picks(session, team.id) == (made[1].ref,)
    assert final_picks.load_picks(session, team.id, at=now) == (made[0].ref,)
    assert final_picks.load_picks(session, team.id, at=now - timedelta(seconds=1)) == ()


def test_a_team_without_picks_gets_its_best_entries_that_can_rank(session: Session, now: datetime) -> None:
    state = make_competition(session, now, final_picks=2)
    set_tau(session, state, "public", TAU, now)
    team = make_team(session, state, now)
    fids = {5: 0.5, 4: 0.5, 3: 0.5, 1: 0.1, 0.5: 0.0}
    made = {fid: make_scored(session, state, team, fid=fid, distance=s, now=now) for fid, s in fids.items()}
    late = make_scored(session, state, team, fid=0.1, distance=0.5, now=now)
    late.late = True
    session.flush()
    assert final_picks.best_public(session, state, team.id) == (made[3].ref, made[4].ref)


@pytest.mark.parametrize("table", ["pick_sets", "code_attachments"])
def test_picks_and_attachments_are_append_only(session: Session, table: str) -> None:
    for change in (f"UPDATE {table} SET created_at = now()", f"DELETE FROM {table}"):
        with pytest.raises(ProgrammingError, match="permission denied"), session.begin_nested():
            session.execute(text(change))


def test_a_pick_set_records_its_author(session: Session, now: datetime) -> None:
    state = make_competition(session, now)
    account = make_account(session, now)
    team = teams.find_or_create_team(Acting(session, account, now), state.competition.id)
    entry = make_scored(session, state, team, fid=1, distance=0.5, now=now)
    final_picks.pick(Acting(session, account, now), state.competition.slug, [entry.id])
    (row,) = session.query(PickSet).filter_by(team_id=team.id)
    assert (row.author_id, row.created_at, row.submission_refs) == (account.id, now, [entry.ref])


# The window

CLOSES = MOMENT
GRACE = timedelta(minutes=15)


@pytest.mark.parametrize(
    ("begun", "complete", "late"),
    [(-60, -1, False), (-1, 0, False), (-1, 899, False), (-1, 900, True), (0, 1, True), (5, 6, True)],
)
def test_uploads_begun_after_the_close_or_longer_than_the_grace_are_late(begun: int, complete: int, late: bool) -> None:
    moments = {"begun": CLOSES + timedelta(seconds=begun), "complete": CLOSES + timedelta(seconds=complete)}
    assert is_late(CLOSES, GRACE, **moments) is late


def accept(session: Session, state: CompetitionState, *, begun: int | None, complete: int) -> bool:
    """Accept an upload with these times, in seconds after the close, and return whether it is late."""
    slug = state.competition.slug
    now = CLOSES + timedelta(seconds=complete)
    account = make_account(session, MOMENT)
    taken = intake.accept(
        Acting(session, account, now),
        slug,
        NewSubmission("a.zip"),
        received=ReceivedBlob("key", 1, "0" * 64),
        public_id=f"id-{account.id}",
        begun=None if begun is None else CLOSES + timedelta(seconds=begun),
    )
    return taken.late


@pytest.fixture
def ready(session: Session, monkeypatch: pytest.MonkeyPatch) -> CompetitionState:
    """A competition that closed at ``CLOSES`` and lacks nothing."""
    monkeypatch.setattr(intake, "_require_ready", lambda _: None)
    monkeypatch.setattr(leases, "add_job", lambda *_, **__: None)
    return make_competition(session, MOMENT, opens_at=MOMENT - timedelta(days=1), closes_at=CLOSES)


def test_an_upload_begun_before_the_close_is_not_late_within_the_grace(
    session: Session, ready: CompetitionState
) -> None:
    ready.competition.late_submissions = True
    assert accept(session, ready, begun=-5, complete=100) is False
    assert accept(session, ready, begun=-5, complete=900) is True
    assert accept(session, ready, begun=1, complete=100) is True
    assert accept(session, ready, begun=None, complete=100) is True, "nothing shows that it began in time"


def test_without_late_entries_only_the_grace_period_accepts(session: Session, ready: CompetitionState) -> None:
    assert accept(session, ready, begun=-5, complete=100) is False
    assert accept(session, ready, begun=None, complete=100) is False
    for begun, complete in ((1, 100), (-5, 900), (None, 900)):
        with pytest.raises(Conflict, match="closed at"):
            accept(session, ready, begun=begun, complete=complete)


def test_the_state_knows_whether_late_entries_are_accepted(session: Session, now: datetime) -> None:
    state = make_competition(session, now, late_submissions=True)
    assert load_state(session, state.competition.slug, now).competition.late_submissions is True
