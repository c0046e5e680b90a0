"""Row locks: a transaction that decides something does not delay inserts of rows that refer to the locked row."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from scorer.accounts import accounts as account_rules
from scorer.accounts.credentials import KeptCredentials
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db import accounts, competitions, tuning
from scorer.db.session import Sessions, build_engine, build_sessions
from scorer.db.submissions import submissions
from scorer.db.tables import Submission, Team
from scorer.db.teams import members
from scorer.jobs import leases
from scorer.lifecycle import Queue
from scorer.settings import Settings
from scorer.submissions import outcomes
from scorer.tuning import thresholds
from scorer.tuning.thresholds import Retuning, TuningRequest
from tests.db.claimed_jobs import MEASURED, claim, queued
from tests.factories import add_measurement, make_account, make_competition, make_scored, make_submission, make_team

Lock = Callable[[Session, CompetitionState, Submission], object]

LOCKS: dict[str, Lock] = {
    "competition": lambda session, state, _: competitions.lock_competition(
        session, state.competition.slug, share=False
    ),
    "track": lambda session, state, _: tuning.lock_track(session, state.tracks["public"].id),
    "team": lambda session, _, submission: members.lock_teams(session, [submission.team_id]),
    "submission": lambda session, _, submission: submissions.lock_submission(session, submission.ref),
    "account": lambda session, _, submission: accounts.lock_account(session, submission.account_id),
    "password": lambda session, _, submission: account_rules.change_password(
        session, submission.account, None, new_hash="hash", keep=KeptCredentials(), now=submission.accepted_at
    ),
}


@pytest.fixture
def sessions(settings: Settings) -> Iterator[Sessions]:
    """Committing sessions on this test's own database."""
    engine = build_engine(settings)
    yield build_sessions(engine)
    engine.dispose()


@pytest.fixture
def state(sessions: Sessions, now: datetime) -> CompetitionState:
    with sessions.begin() as session:
        return make_competition(session, now)


@pytest.fixture
def submission(sessions: Sessions, state: CompetitionState, now: datetime) -> Submission:
    with sessions.begin() as session:
        return make_submission(session, state, make_team(session, state, now), now=now, status="received")


@pytest.mark.parametrize("name", LOCKS)
def test_rows_that_refer_to_a_locked_row_can_be_added(
    sessions: Sessions, state: CompetitionState, submission: Submission, now: datetime, name: str
) -> None:
    """If foreign keys conflicted with the lock, workers would lose finished scores while an organizer chooses tau."""
    with sessions.begin() as holding:
        LOCKS[name](holding, state, holding.merge(submission, load=False))
        with sessions.begin() as session:
            session.execute(text("SET LOCAL lock_timeout = '1ms'"))
            add_measurement(session, state, submission, fid=1.0, distance=0.5, now=now)
            make_submission(session, state, session.get_one(Team, submission.team_id), now=now, status="received")
    with sessions() as session:
        assert session.query(Submission).count() == 2


@pytest.mark.parametrize("name", LOCKS)
def test_only_one_transaction_at_a_time_has_a_lock(
    sessions: Sessions, state: CompetitionState, submission: Submission, name: str
) -> None:
    with sessions.begin() as holding, sessions() as session:
        LOCKS[name](holding, state, holding.merge(submission, load=False))
        session.execute(text("SET LOCAL lock_timeout = '1ms'"))
        with pytest.raises(OperationalError, match="lock timeout"):
            LOCKS[name](session, state, session.merge(submission, load=False))


def test_a_track_is_free_while_tau_and_its_impact_are_computed(
    sessions: Sessions, state: CompetitionState, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a million entries that takes a while, and everyone who chooses tau or replaces the track would wait."""
    with sessions.begin() as session:
        make_scored(session, state, make_team(session, state, now), fid=1.0, distance=0.5, now=now)
        author = make_account(session, now, "organizer")
    whole = thresholds.compute_impact
    times = []

    def compute_impact(*arguments: Any, **options: Any) -> Retuning:
        with sessions.begin() as other:
            other.execute(text("SET LOCAL lock_timeout = '1ms'"))
            times.append(tuning.lock_track(other, state.tracks["public"].id))
        return whole(*arguments, **options)

    monkeypatch.setattr(thresholds, "compute_impact", compute_impact)
    for tau in (0.2, 0.6):
        request = TuningRequest("manual", tau=tau, reason="because")
        with sessions.begin() as session:
            thresholds.retune(Acting(session, author, now), state, "public", request=request)
    with sessions.begin() as session:
        thresholds.undo(Acting(session, author, now), state, "public", reason="no", after=None)
    assert len(times) == 3


def test_no_board_is_published_while_a_private_measurement_is_recorded(
    sessions: Sessions, state: CompetitionState, now: datetime
) -> None:
    """The row would be dated before the publication but committed after it, and change the published board."""
    with sessions.begin() as session:
        entry = make_scored(session, state, make_team(session, state, now), fid=1.0, distance=0.5, now=now)
        private = state.tracks["private"].id
        leases.add_job(session, Queue.SCORE, submission=entry, track_id=private, private=True, now=now)
        held = claim(session, now)
    assert held is not None
    assert not held.public
    with sessions.begin() as recording, sessions() as session:
        assert outcomes.record_measurement(recording, held, MEASURED, now=now)
        recording.flush()
        session.execute(text("SET LOCAL lock_timeout = '1ms'"))
        with pytest.raises(OperationalError, match="lock timeout"):
            LOCKS["competition"](session, state, entry)


def test_a_worker_that_waits_for_the_competition_holds_no_job(
    sessions: Sessions, state: CompetitionState, now: datetime
) -> None:
    """A switch of a campaign and the replacement of a track lock the competition, and then jobs."""
    with sessions.begin() as session:
        queued(session, state, make_team(session, state, now), now)
        held = claim(session, now)
    assert held is not None
    with sessions.begin() as holding, sessions() as recording:
        LOCKS["competition"](holding, state, Submission())
        recording.execute(text("SET LOCAL lock_timeout = '50ms'"))
        statements = []
        event.listen(recording.get_bind(), "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
        with pytest.raises(OperationalError, match="lock timeout"):
            outcomes.record_measurement(recording, held, MEASURED, now=now)
    assert not [statement for statement in statements if statement.startswith("UPDATE jobs")]
