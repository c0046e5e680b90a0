"""The weights of flags over columns against their definition, the query; and facts that are kept against the tables."""

import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard import binary_copy
from scorer.db.review import flags as query
from scorer.db.review.flag_query import FlaggedRow, FlagQuery, QueueState
from scorer.db.tables import Account, Review, Ruling, Submission, TeamMerge, Threshold
from scorer.findings.signs import SIGNS
from scorer.lifecycle import TRACK_KINDS
from scorer.review import flag_facts, flags
from scorer.review.flag_facts import CompetitionFacts, FlagFacts
from scorer.review.flag_weights import STATES
from tests.db.review.test_flags import SIGNS as NUMBERS_OF_SIGNS
from tests.factories import (
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
    """A competition in which everything that decides flags occurs, in random combinations."""
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
    """Some entries share images, with those of their own team, too."""
    refs = sorted(session.scalars(select(Submission.ref).where(Submission.competition_id == state.competition.id)))
    for _ in range(4):
        add_shared_images(session, *draw.sample(refs, 2), share=draw.choice([0.01, 0.05, 0.9]), now=now)


def make_entry(
    session: Session, state: CompetitionState, draw: random.Random, teams: list[Any], now: datetime
) -> Submission:
    """An entry of some team; some share their zip or their images."""
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
        numbers = {"fid": draw.uniform(1, 100), "distance": draw.choice([0.1, 0.2499, 0.2519, 0.256, 0.4])}
        error = draw.choice([None, 0.001, 0.01])
        add_measurement(session, state, entry, **numbers, now=now, kind=kind, distance_se=error)
        if draw.random() < 0.2:
            name = draw.choice(sorted(NUMBERS_OF_SIGNS))
            add_evidence(session, state, entry, now=now, kind=kind, **NUMBERS_OF_SIGNS[name])
    if draw.random() < 0.1:
        add_recovery(session, entry, now=now, p_value=1e-9, gap=10.0, recovered_share=1.0)
    if draw.random() < 0.1:
        set_label(session, entry, "ae", now)
    if draw.random() < 0.1:
        kind_ = draw.choice(["disqualify", "waive", "keep"])
        session.add(Ruling(submission_ref=entry.ref, kind=kind_, reason="", author_id=author, created_at=now))


def add_reviews(session: Session, draw: random.Random, refs: list[int], people: list[Account], now: datetime) -> None:
    """Reviews of some of the entries, by one or two people."""
    for ref in draw.sample(refs, len(refs) // 3):
        for person in draw.sample(people, draw.choice([1, 2])):
            fields = {"submission_ref": ref, "label": "ae", "intent": None, "note": "", "created_at": now}
            session.add(Review(reviewer_id=person.id, **fields))
    session.flush()


def by_definition(session: Session, flag_query: FlagQuery) -> list[FlaggedRow]:
    """All flagged entries by the query alone, most decisive first."""

    def order(row: FlaggedRow) -> tuple[float, ...]:
        ranks = [row.found[f"{kind}_rank"] for kind in TRACK_KINDS if row.found[f"{kind}_rank"] is not None]
        return -row.weight, min(ranks, default=float("inf")), row.ref

    return sorted(query.flagged_rows(session, flag_query), key=order)


@pytest.mark.parametrize("seed", range(6))
def test_pages_over_columns_are_those_of_the_query(session: Session, now: datetime, seed: int) -> None:
    draw = random.Random(seed)
    state = competition(session, now, draw)
    people = [make_account(session, now) for _ in range(3)]
    flag_query = flags._flag_query(session, state, people[0])
    add_reviews(session, draw, [row.ref for row in by_definition(session, flag_query)], people, now)
    expected = by_definition(session, flag_query)
    assert len(expected) > ENTRIES // 4
    page = flags.list_flagged(session, state, people[0], limit=10 * ENTRIES)
    assert [(each.ref, each.weight, each.state) for each in page.entries] == [
        (row.ref, row.weight, row.state) for row in expected
    ]
    assert [each.reasons for each in page.entries] == [
        each.reasons for each in flags._with_reasons(session, state, expected)
    ]
    assert page.counts == {name: sum(row.state == name for row in expected) for name in STATES}
    for goal in page.goals:
        winning = [row for row in expected if row.found[f"{goal.track}_rank"] is not None]
        reviewed = [row for row in winning if row.state in {"unruled", "decided"}]
        assert (goal.places, goal.reviewed) == (len(winning), len(reviewed))
    pages_are_parts_of_the_whole(session, state, people[0], expected)


def pages_are_parts_of_the_whole(
    session: Session, state: CompetitionState, reviewer: Account, expected: list[FlaggedRow]
) -> None:
    """Pages of some states, from anywhere."""
    choices: tuple[tuple[QueueState, ...], ...] = (("open",), ("decided", "waiting"), STATES)
    for states in choices:
        of_states = [row.ref for row in expected if row.state in states]
        for after in (0, 3, len(of_states) - 1, len(of_states) + 5):
            page = flags.list_flagged(session, state, reviewer, states=states, after=max(after, 0), limit=4)
            assert [each.ref for each in page.entries] == of_states[max(after, 0) :][:4]
            assert page.more == (len(of_states) > max(after, 0) + 4)


def test_the_statement_is_made_once_for_pages_of_one_shape(
    session: Session, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the tau, the reviewer and the entries are: making it takes longer than PostgreSQL does."""
    made = []
    whole = binary_copy.compiled

    def compiled(statement: Any) -> Any:
        made.append(statement)
        return whole(statement)

    monkeypatch.setattr(query, "compiled", compiled)
    query._statement.cache_clear()
    state = make_competition(session, now)
    team = make_team(session, state, now)
    for number in range(4):
        set_tau(session, state, "public", TAU + 0.01 * number, now)
        entry = make_submission(session, state, team, now=now, status="scored", copied_share=0.1)
        add_measurement(session, state, entry, fid=5.0, distance=0.1, now=now)
        flag_query = flags._flag_query(session, state, make_account(session, now))
        rows = query.flagged_rows(session, replace(flag_query, only=[entry.ref]))
        assert [(row.ref, row.found["public_tau"]) for row in rows] == [(entry.ref, TAU + 0.01 * number)]
    assert len(made) == 1


def same(one: FlagFacts, other: FlagFacts) -> bool:
    """Whether the facts are the same; groups of equal contents may be numbered otherwise."""

    def plain(facts: FlagFacts) -> Any:
        def groups(contents: flag_facts.EqualContents) -> list[list[tuple[int, int]]]:
            rows = list(zip(contents.group.tolist(), contents.ref.tolist(), contents.team.tolist(), strict=True))
            return sorted(sorted(row[1:] for row in rows if row[0] == group) for group in {row[0] for row in rows})

        signs = facts.signs_ref.tolist(), facts.signs_bits.tolist()
        pairs = sorted(zip(*(column.tolist() for column in facts.sharing), strict=True))
        return groups(facts.zips), groups(facts.images), signs, pairs

    return bool(plain(one) == plain(other))


def test_facts_that_are_kept_are_those_of_the_tables(
    session: Session, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is added or hashed later, however much; also rows that become visible after rows with higher ids."""
    draw = random.Random(1)
    state = competition(session, now, draw)
    teams = [make_team(session, state, now) for _ in range(3)]

    def fresh() -> CompetitionFacts:
        return flag_facts._no_facts(state)

    kept = fresh()
    connection = session.connection()
    assert same(kept.read(connection), fresh().read(connection))
    monkeypatch.setattr(flag_facts, "OVERLAP", 4)
    first = make_submission(session, state, teams[0], now=now, status="checking")
    for number in range(10):
        entry = make_entry(session, state, draw, teams, now)
        _add_entry(session, state, draw, entry, now)
        session.flush()
        add_shared_images(session, first.ref, entry.ref, share=0.05, now=now)
        facts = kept.read(connection)
        assert same(facts, fresh().read(connection)), number
        assert kept.read(connection) is facts, "nothing has changed"
    entry = make_submission(session, state, teams[1], now=now, status="checking")
    assert same(kept.read(connection), fresh().read(connection)), "not hashed yet"
    first.pixels_sha256 = f"{1:064x}"
    entry.pixels_sha256, other = first.pixels_sha256, make_entry(session, state, draw, teams, now)
    other.pixels_sha256 = first.pixels_sha256
    first.status = "queued"
    session.flush()
    facts = kept.read(connection)
    assert same(facts, fresh().read(connection))
    assert {first.ref, other.ref} <= set(facts.images.ref.tolist()), "the first one was far below the newest"
    assert len(facts.sharing.ref) >= 10


def test_newer_evidence_without_a_sign_takes_an_older_one_back(session: Session, now: datetime) -> None:
    state = make_competition(session, now)
    entry = make_submission(session, state, make_team(session, state, now), now=now, status="scored")
    for kind in TRACK_KINDS:
        add_measurement(session, state, entry, fid=1, distance=0.5, now=now, kind=kind)
    names = [sign.name for sign in SIGNS]
    kept = flag_facts._no_facts(state)

    def signs() -> list[str]:
        facts = kept.read(session.connection())
        assert np.isin(facts.signs_ref, [entry.ref]).all()
        bits = int(facts.signs_bits[0]) if len(facts.signs_bits) else 0
        return [name for number, name in enumerate(names) if bits >> number & 1]

    assert signs() == []
    add_evidence(session, state, entry, now=now, **NUMBERS_OF_SIGNS["repeats"])
    assert signs() == ["repeats"]
    add_evidence(session, state, entry, now=now, kind="private", **NUMBERS_OF_SIGNS["data-copying"])
    assert signs() == ["data-copying", "repeats"]
    add_evidence(session, state, entry, now=now)
    assert signs() == ["data-copying"]
