"""Whose entries are whose, once teams were merged: in the view, on the board, for limits and in the queue."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from scorer import limits, teams, work
from scorer.competitions import State
from scorer.db import board, lookups, merges, rosters
from scorer.db.tables import Team, TeamMerge
from tests.factories import make_account, make_competition, make_scored, make_submission, make_team, set_tau


@pytest.fixture
def state(session: Session, now: datetime) -> State:
    made = make_competition(session, now, daily_limit=5)
    set_tau(session, made, "public", 0.2, now)
    return made


def merge(session: Session, team: Team, into: Team, now: datetime) -> None:
    """What accepting a merge writes down."""
    author = make_account(session, now)
    for team_id in (team.id, *merges.absorbed_ids(session, team.id)):
        session.add(
            TeamMerge(
                competition_id=team.competition_id,
                team_id=team_id,
                into_team_id=into.id,
                account_id=author.id,
                created_at=now,
            )
        )
    session.flush()


def test_a_merged_team_is_ranked_by_the_best_entry_of_all(session: Session, state: State, now: datetime) -> None:
    first, second, third, other = (make_team(session, state, now) for _ in range(4))
    fids = {first: 30.0, second: 20.0, third: 10.0, other: 15.0}
    entries = {team: make_scored(session, state, team, fid=fid, distance=0.5, now=now) for team, fid in fids.items()}
    merge(session, third, second, now)
    merge(session, second, first, now)
    ranked = board.standings(session, state.tracks["public"].id, decimals=5)
    assert [(row.team_id, row.score, row.entries) for row in ranked] == [(first.id, 10.0, 3), (other.id, 15.0, 1)]
    assert board.count_ranked(session, state.tracks["public"].id) == 2
    view = "SELECT team_id, count(*) FROM scores WHERE competition_id = :id GROUP BY team_id ORDER BY team_id"
    stored = session.execute(text(view), {"id": state.competition.id}).all()
    assert [tuple(row) for row in stored] == [(first.id, 3), (other.id, 1)]
    assert merges.current(session, third.id) is first
    assert merges.absorbed_ids(session, first.id) == sorted([second.id, third.id])
    assert merges.absorbed_ids(session, second.id) == [], "the newest row of a team counts"
    assert entries[third].team_id == third.id, "what was, stays"


def test_each_merge_is_another_version_of_the_board(session: Session, state: State, now: datetime) -> None:
    first, second = (make_team(session, state, now) for _ in range(2))
    track = state.tracks["public"]
    before = board.version_of(session, track, labels=False)
    merge(session, second, first, now)
    assert board.version_of(session, track, labels=False) != before


def test_usage_and_lists_hold_what_was_merged(session: Session, state: State, now: datetime) -> None:
    first, second, other = (make_team(session, state, now) for _ in range(3))
    for team, status in ((first, "scored"), (second, "queued"), (second, "rejected"), (other, "scored")):
        make_submission(session, state, team, now=now, status=status)
    merge(session, second, first, now)
    usage = lookups.usage_of(session, first.id, now)
    assert (usage.charged, usage.pending, usage.rejected) == (2, 1, 1)
    listed = lookups.submissions_of(session, state.competition.id, team_id=first.id, before=None, limit=10)
    assert sorted(each.team_id for each in listed) == [first.id, second.id, second.id]
    assert rosters.count_charged(session, [first.id, second.id]) == 2


def test_the_queue_is_fair_to_the_merged_team_as_to_one(session: Session, state: State, now: datetime) -> None:
    first, second = (make_team(session, state, now) for _ in range(2))
    merge(session, second, first, now)
    jobs = []
    for team in (first, second):
        entry = make_submission(session, state, team, now=now, status="received")
        jobs.append(work.add_job(session, "check", submission=entry, now=now))
        session.flush()
    assert [job.team_id for job in jobs] == [first.id, first.id]
    assert jobs[1].turn == jobs[0].turn + 1


def test_members_are_those_whose_newest_row_says_so(session: Session, state: State, now: datetime) -> None:
    account = make_account(session, now)
    team = teams.team_for(session, state.competition.id, account, now=now)
    elsewhere = make_team(session, state, now)
    assert rosters.members_of(session, team.id) == [account]
    teams.join(session, elsewhere, [account], now=now)
    assert rosters.members_of(session, team.id) == []
    assert rosters.members_of(session, elsewhere.id)[1:] == [account]
    assert lookups.team_of(session, state.competition.id, account.id) is elsewhere
    assert teams.team_for(session, state.competition.id, account, now=now) is elsewhere


def test_the_next_slot_before_the_start_is_the_start(session: Session, now: datetime) -> None:
    opens_at = now + timedelta(days=1)
    draft = make_competition(session, now, opens_at=opens_at)
    organizer = make_account(session, now, "organizer")
    assert limits.allowance(session, draft, organizer, now=now).next_entry_at == opens_at
