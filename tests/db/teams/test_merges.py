"""Entries of merged teams in the view, on the board, in quotas and in the queue."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.db.leaderboard import board_details
from scorer.db.submissions import submissions
from scorer.db.tables import Team, TeamMerge
from scorer.db.teams import members, merges
from scorer.jobs import leases
from scorer.lifecycle import Queue
from scorer.submissions import access
from scorer.teams import final_picks, quotas, teams
from tests.db.leaderboard.board_oracle import load_board
from tests.factories import make_account, make_competition, make_scored, make_submission, make_team, set_tau


@pytest.fixture
def state(session: Session, now: datetime) -> CompetitionState:
    made = make_competition(session, now, daily_limit=5)
    set_tau(session, made, "public", 0.2, now)
    return made


def merge(session: Session, team: Team, into: Team, now: datetime) -> None:
    """Write the rows of an accepted merge."""
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


def test_a_merged_team_is_ranked_by_its_best_entry(session: Session, state: CompetitionState, now: datetime) -> None:
    first, second, third, other = (make_team(session, state, now) for _ in range(4))
    fids = {first: 30.0, second: 20.0, third: 10.0, other: 15.0}
    entries = {team: make_scored(session, state, team, fid=fid, distance=0.5, now=now) for team, fid in fids.items()}
    merge(session, third, second, now)
    merge(session, second, first, now)
    ranked = load_board(session, state).page(0, None)
    entries_by_ref = {
        ref: row.entries for ref, row in board_details.load_entry_info(session, [line.ref for line in ranked]).items()
    }
    assert [(line.team_id, line.score, entries_by_ref[line.ref]) for line in ranked] == [
        (first.id, 10.0, 3),
        (other.id, 15.0, 1),
    ]
    view = "SELECT team_id, count(*) FROM scores WHERE competition_id = :id GROUP BY team_id ORDER BY team_id"
    stored = session.execute(text(view), {"id": state.competition.id}).all()
    assert [tuple(row) for row in stored] == [(first.id, 3), (other.id, 1)]
    assert merges.current_team(session, third.id) is first
    assert merges.absorbed_ids(session, first.id) == sorted([second.id, third.id])
    assert merges.absorbed_ids(session, second.id) == [], "a team's newest row counts"
    assert entries[third].team_id == third.id, "earlier rows stay unchanged"


def test_a_merge_changes_the_boards_version(session: Session, state: CompetitionState, now: datetime) -> None:
    first, second = (make_team(session, state, now) for _ in range(2))
    track = state.tracks["public"]
    before = board_details.compute_version(session, track)
    merge(session, second, first, now)
    assert board_details.compute_version(session, track) != before


def test_usage_and_lists_include_merged_teams(session: Session, state: CompetitionState, now: datetime) -> None:
    first, second, other = (make_team(session, state, now) for _ in range(3))
    for team, status in ((first, "scored"), (second, "queued"), (second, "rejected"), (other, "scored")):
        make_submission(session, state, team, now=now, status=status)
    merge(session, second, first, now)
    usage = members.load_usage(session, first.id, now)
    assert (usage.charged, usage.pending, usage.rejected) == (2, 1, 1)
    listed = submissions.load_submissions(session, state.competition.id, team_id=first.id, before=None, limit=10)
    assert sorted(entry.team_id for entry in listed) == [first.id, second.id, second.id]
    assert members.count_charged(session, [first.id, second.id]) == 2


def test_the_queue_treats_merged_teams_as_one(session: Session, state: CompetitionState, now: datetime) -> None:
    first, second = (make_team(session, state, now) for _ in range(2))
    merge(session, second, first, now)
    jobs = []
    for team in (first, second):
        entry = make_submission(session, state, team, now=now, status="received")
        jobs.append(leases.add_job(session, Queue.CHECK, submission=entry, now=now))
        session.flush()
    assert [job.team_id for job in jobs] == [first.id, first.id]
    assert jobs[1].turn == jobs[0].turn + 1


def test_the_newest_row_decides_membership(session: Session, state: CompetitionState, now: datetime) -> None:
    account = make_account(session, now)
    team = teams.find_or_create_team(Acting(session, account, now), state.competition.id)
    elsewhere = make_team(session, state, now)
    assert members.load_members(session, team.id) == [account]
    teams.join(session, elsewhere, [account], now=now)
    assert members.load_members(session, team.id) == []
    assert members.load_members(session, elsewhere.id)[1:] == [account]
    assert members.load_team(session, state.competition.id, account.id) is elsewhere
    assert teams.find_or_create_team(Acting(session, account, now), state.competition.id) is elsewhere


def test_entries_and_picks_belong_to_the_merged_team(session: Session, state: CompetitionState, now: datetime) -> None:
    ada, bob = make_account(session, now), make_account(session, now)
    first, second = (
        teams.find_or_create_team(Acting(session, account, now), state.competition.id) for account in (ada, bob)
    )
    entries = [
        make_scored(session, state, team, fid=fid, distance=0.5, now=now)
        for team, fid in ((first, 30.0), (second, 10.0), (second, 20.0))
    ]
    final_picks.pick(Acting(session, bob, now), state.competition.slug, [entries[2].id])
    assert not access.is_own(session, entries[1], ada)
    merge(session, second, first, now)
    teams.join(session, first, [bob], now=now)
    assert all(access.is_own(session, entry, account) for entry in entries for account in (ada, bob))
    assert final_picks.load_final_entries(session, state, first).chosen is None, (
        "picks of a team that no longer exists don't count"
    )
    assert final_picks.best_public(session, state, first.id) == (entries[1].ref, entries[2].ref)
    chosen = final_picks.pick(Acting(session, bob, now), state.competition.slug, [entries[0].id, entries[2].id])
    assert [pick.ref for pick in chosen.picks] == [entries[0].ref, entries[2].ref]
    assert final_picks.load_picks(session, first.id) == (entries[0].ref, entries[2].ref)


def test_late_entries_keep_separate_limits_and_boards_after_a_merge(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    state.competition.late_submissions = True
    first = teams.find_or_create_team(Acting(session, ada := make_account(session, now), now), state.competition.id)
    second = make_team(session, state, now)
    for team in (first, second, second):
        make_scored(session, state, team, fid=10.0, distance=0.5, now=now).late = True
    make_scored(session, state, second, fid=10.0, distance=0.5, now=now)
    merge(session, second, first, now)
    assert members.load_usage(session, first.id, now).charged == 1
    assert members.load_usage(session, first.id, now, late=True).charged == 3
    assert members.count_charged(session, [first.id, second.id]) == 1
    for late, count in ((False, 1), (True, 3)):
        (line,) = load_board(session, state, late=late).page(0, None)
        assert line.team_id == first.id
        assert board_details.load_entry_info(session, [line.ref], late=late)[line.ref].entries == count
    assert quotas.load_quota(session, state, ada, now=now).remaining == 4
    state.competition.closes_at = now
    session.flush()
    after = quotas.load_quota(session, load_state(session, state.competition.slug, now), ada, now=now)
    assert (after.remaining, after.next_entry_at) == (2, now)


def test_the_next_slot_before_the_start_is_the_start(session: Session, now: datetime) -> None:
    opens_at = now + timedelta(days=1)
    draft = make_competition(session, now, opens_at=opens_at)
    organizer = make_account(session, now, "organizer")
    assert quotas.load_quota(session, draft, organizer, now=now).next_entry_at == opens_at
