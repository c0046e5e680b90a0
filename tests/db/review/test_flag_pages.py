"""Pages of flagged entries, compared with all rows."""

import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard import binary_copy
from scorer.db.review import flags as query
from scorer.db.review.flag_query import FlaggedRow, FlagQuery, QueueState
from scorer.db.tables import Account, Review, Ruling, Submission, TeamMerge, Threshold
from scorer.lifecycle import TRACK_KINDS
from scorer.review import review_queue
from scorer.review.review_queue import STATES
from tests.factories import (
    SIGNS,
    add_evidence,
    add_measurement,
    add_recovery,
    add_shared_images,
    make_account,
    make_competition,
    make_submission,
    make_team,
    set_label,
    set_tau,
)

TAU = 0.25
TEAMS, ENTRIES = 8, 45


def competition(session: Session, now: datetime, draw: random.Random) -> CompetitionState:
    """A competition with random combinations of everything that decides flags."""
    state = make_competition(session, now, medals={"gold": 1, "silver": 2, "bronze": 3})
    for kind in draw.sample(TRACK_KINDS, draw.choice([1, 2, 2, 2])):
        set_tau(session, state, kind, TAU, now)
    interval = {"interval": {"low": 0.24, "high": draw.choice([None, 0.26])}}
    track = state.tracks["public"].id
    if draw.random() < 0.5:
        session.add(Threshold(track_id=track, tau=TAU, method="margin", choice=interval, reason="", created_at=now))
    teams = [make_team(session, state, now) for _ in range(TEAMS)]
    teams[0].benchmark = True
    for number in range(ENTRIES):
        _add_entry(session, state, draw, make_entry(session, state, draw, teams, now - timedelta(hours=number)), now)
    if draw.random() < 0.5:
        account = state.competition.created_by
        merge = TeamMerge(
            competition_id=state.competition.id,
            team_id=teams[2].id,
            into_team_id=teams[3].id,
            created_at=now,
            account_id=account,
        )
        session.add(merge)
    session.flush()
    _add_pairs(session, state, draw, now)
    return state


def _add_pairs(session: Session, state: CompetitionState, draw: random.Random, now: datetime) -> None:
    """Make some entries share images, also within a team."""
    refs = sorted(session.scalars(select(Submission.ref).where(Submission.competition_id == state.competition.id)))
    for _ in range(4):
        add_shared_images(session, *draw.sample(refs, 2), share=draw.choice([0.01, 0.05, 0.9]), now=now)


def make_entry(
    session: Session, state: CompetitionState, draw: random.Random, teams: list[Any], now: datetime
) -> Submission:
    """An entry of a random team. Some entries share their zip or their images."""
    status = draw.choices(["scored", "queued", "rejected"], [8, 1, 1])[0]
    copied = draw.choice([0.0, 0.0, 0.0, 0.1, 0.9])
    entry = make_submission(session, state, draw.choice(teams), now=now, status=status, copied_share=copied)
    entry.late = draw.random() < 0.1
    if draw.random() < 0.3:
        entry.sha256 = f"{draw.randrange(4):064x}"
    if draw.random() < 0.8:
        entry.pixels_sha256 = f"{draw.randrange(100):064x}"
    session.flush()
    return entry


def _add_entry(
    session: Session, state: CompetitionState, draw: random.Random, entry: Submission, now: datetime
) -> None:
    author = state.competition.created_by
    for kind in TRACK_KINDS[: draw.choice([1, 2, 2])] if entry.status == "scored" else ():
        numbers: dict[str, Any] = {
            "fid": draw.uniform(1, 100),
            "distance": draw.choice([0.1, 0.2499, 0.2519, 0.256, 0.4]),
        }
        error = draw.choice([None, 0.001, 0.01])
        add_measurement(session, state, entry, **numbers, now=now, kind=kind, distance_se=error)
        if draw.random() < 0.2:
            name = draw.choice(sorted(SIGNS))
            add_evidence(session, state, entry, now=now, kind=kind, **SIGNS[name])
    if draw.random() < 0.1:
        add_recovery(session, entry, now=now, p_value=1e-9, gap=10.0, recovered_share=1.0)
    if draw.random() < 0.1:
        set_label(session, entry, "ae", now)
    if draw.random() < 0.1:
        kind_ = draw.choice(["disqualify", "waive", "keep"])
        session.add(Ruling(submission_ref=entry.ref, kind=kind_, reason="", author_id=author, created_at=now))


def add_reviews(session: Session, draw: random.Random, refs: list[int], people: list[Account], now: datetime) -> None:
    """Add reviews of some entries, by one or two people."""
    for ref in draw.sample(refs, len(refs) // 3):
        for person in draw.sample(people, draw.choice([1, 2])):
            fields = {"submission_ref": ref, "label": "ae", "intent": None, "note": "", "created_at": now}
            session.add(Review(reviewer_id=person.id, **fields))
    session.flush()


def all_rows(session: Session, flag_query: FlagQuery) -> list[FlaggedRow]:
    """All flagged entries, the most decisive first."""

    def order(row: FlaggedRow) -> tuple[float, ...]:
        ranks = [row.found[f"{kind}_rank"] for kind in TRACK_KINDS if row.found[f"{kind}_rank"] is not None]
        return -row.weight, min(ranks, default=float("inf")), row.ref

    return sorted(query.flagged_rows(session, flag_query), key=order)


@pytest.mark.parametrize("seed", range(6))
def test_pages_are_slices_of_all_rows(session: Session, now: datetime, seed: int) -> None:
    draw = random.Random(seed)
    state = competition(session, now, draw)
    people = [make_account(session, now) for _ in range(3)]
    flag_query = review_queue._flag_query(session, state, people[0])
    add_reviews(session, draw, [row.ref for row in all_rows(session, flag_query)], people, now)
    expected = all_rows(session, flag_query)
    assert len(expected) > ENTRIES // 4
    page = review_queue.list_flagged(session, state, people[0], limit=10 * ENTRIES)
    assert [(entry.ref, entry.weight, entry.state) for entry in page.entries] == [
        (row.ref, row.weight, row.state) for row in expected
    ]
    assert [entry.reasons for entry in page.entries] == [
        entry.reasons for entry in review_queue._with_reasons(session, state, expected)
    ]
    assert page.counts == {name: sum(row.state == name for row in expected) for name in STATES}
    for goal in page.goals:
        winning = [row for row in expected if row.found[f"{goal.track}_rank"] is not None]
        reviewed = [row for row in winning if row.state in {"unruled", "decided"}]
        assert (goal.places, goal.reviewed) == (len(winning), len(reviewed))
    assert_pages_are_slices(session, state, people[0], expected)


def assert_pages_are_slices(
    session: Session, state: CompetitionState, reviewer: Account, expected: list[FlaggedRow]
) -> None:
    """Compare pages of some states, from several starts, with all rows."""
    choices: tuple[tuple[QueueState, ...], ...] = (("open",), ("decided", "waiting"), STATES)
    for states in choices:
        of_states = [row.ref for row in expected if row.state in states]
        for after in (0, 3, len(of_states) - 1, len(of_states) + 5):
            page = review_queue.list_flagged(session, state, reviewer, states=states, after=max(after, 0), limit=4)
            assert [entry.ref for entry in page.entries] == of_states[max(after, 0) :][:4]
            assert page.more == (len(of_states) > max(after, 0) + 4)


def test_the_statement_is_compiled_once_per_shape(
    session: Session, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tau, reviewer and entries don't change the shape. Compiling takes longer than the query in PostgreSQL."""
    made = []
    whole = binary_copy.compiled

    def compiled(statement: Any) -> Any:
        made.append(statement)
        return whole(statement)

    monkeypatch.setattr(query, "compiled", compiled)
    query._rows_statement.cache_clear()
    state = make_competition(session, now)
    team = make_team(session, state, now)
    for number in range(4):
        set_tau(session, state, "public", TAU + 0.01 * number, now)
        entry = make_submission(session, state, team, now=now, status="scored", copied_share=0.1)
        add_measurement(session, state, entry, fid=5.0, distance=0.1, now=now)
        flag_query = review_queue._flag_query(session, state, make_account(session, now))
        rows = query.flagged_rows(session, replace(flag_query, only=[entry.ref]))
        assert [(row.ref, row.found["public_tau"]) for row in rows] == [(entry.ref, TAU + 0.01 * number)]
    assert len(made) == 1
