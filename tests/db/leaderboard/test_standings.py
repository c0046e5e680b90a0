"""Ranked columns and scores in SQL, compared with their executable definition on random competitions."""

import itertools
import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Select, text
from sqlalchemy.orm import Session

from scorer.db import tables
from scorer.db.competitions import CompetitionBoards
from scorer.db.leaderboard import board_details
from scorer.db.leaderboard.changes import ChangeFeed
from scorer.db.leaderboard.scores import judged_entries
from scorer.db.tables import Track
from scorer.leaderboard.board_snapshots import BoardKey
from scorer.leaderboard.cached_boards import CachedBoards
from scorer.leaderboard.rows import read_ranked_board
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.ranking.vectorised import BoardListing
from tests.db.leaderboard.board_oracle import assert_matches_specification
from tests.db.leaderboard.strategies import (
    BASE,
    DIALECT,
    MAX_FINAL_PICKS,
    PRIVATE,
    PUBLIC,
    START,
    DrawnCompetition,
    Writer,
    competitions,
    write_competition,
)
from tests.examples import examples
from tests.factories import make_account

NOW = 99
TRACKS: dict[TrackKind, Track] = {"public": Track(id=PUBLIC), "private": Track(id=PRIVATE)}
COMPETITION_BOARDS = CompetitionBoards(
    tables.Competition(id=BASE, final_picks=MAX_FINAL_PICKS), TRACKS, published=False
)
BOARD_TRACKS: dict[str, Track] = {"late": TRACKS["public"], **{kind: TRACKS[kind] for kind in TRACK_KINDS}}
BOARDS = st.sampled_from(list(BOARD_TRACKS))
MINUTES = st.sampled_from([NOW, NOW, 0, 3, 6])


def to_moment(minute: int) -> datetime | None:
    return None if minute == NOW else START + timedelta(minutes=minute)


class Prepared:
    """Statements that the server plans only once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._numbers = itertools.count()
        self._names: dict[int, str] = {}

    def all(self, statement: Select[Any]) -> list[Any]:
        name = self._names.get(id(statement))
        if name is None:
            name = self._names[id(statement)] = f"read_{next(self._numbers)}"
            bound = statement.compile(dialect=DIALECT, compile_kwargs={"literal_binds": True})
            self.session.execute(text(f"PREPARE {name} AS {str(bound).replace(':', chr(92) + ':')}"))
        return list(self.session.execute(text(f"EXECUTE {name}")))


def assert_scores_match_the_definition(ask: Any, drawn: DrawnCompetition, which: str) -> None:
    """Compare the scores in SQL, with everything that they join, as of now."""
    kind = "private" if which == "private" else "public"
    expected = [entry for late in (False, True) for entry in drawn.field(kind, NOW, late=late)]
    rows = {row.ref: row for row in ask(build_statement(BOARD_TRACKS[which].id))}
    assert rows.keys() == {entry.ref for entry in expected}
    for entry in expected:
        row = rows[entry.ref]
        score = entry.score if entry.score is not None else math.nan
        values = (row.team_id, row.accepted_at, row.copy, row.benchmark, row.disqualified)
        assert values == (entry.team, entry.accepted_at, entry.copy, entry.benchmark, entry.disqualified)
        assert row.mifid == score or (math.isnan(row.mifid) and math.isnan(score))


@cache
def build_statement(track_id: int) -> Select[Any]:
    return judged_entries(track_id=track_id)


@pytest.fixture
def tools(session: Session) -> Iterator[tuple[Writer, Prepared]]:
    """A writer of competitions, and prepared statements that read them."""
    yield Writer(session, make_account(session, START).id), Prepared(session)
    session.execute(text("DEALLOCATE ALL"))


@settings(max_examples=examples(1000, everyday=80), deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=competitions(), minute=MINUTES, which=BOARDS)
def test_columns_from_the_tables_match_the_definition(
    session: Session, tools: tuple[Writer, Prepared], drawn: DrawnCompetition, minute: int, which: str
) -> None:
    writer, ask = tools
    with session.begin_nested() as savepoint:
        write_competition(writer, drawn)
        late = which == "late"
        at = to_moment(minute)
        kind: TrackKind = "private" if which == "private" else "public"
        order = read_ranked_board(session, COMPETITION_BOARDS, kind, late=late, at=at)
        assert_matches_specification(order, drawn, which, minute)
        names = board_details.load_entry_info(session, order.refs, late=late, at=at)
        teams = order.judged.team[order.rows].tolist()
        assert [names[ref].team for ref in order.refs] == [drawn.name_at(team - BASE, minute) for team in teams]
        assert_scores_match_the_definition(ask.all, drawn, which)
        savepoint.rollback()


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=competitions(), minute=MINUTES, which=BOARDS)
def test_a_newly_cached_board_matches_the_definition(
    session: Session, tools: tuple[Writer, Prepared], drawn: DrawnCompetition, minute: int, which: str
) -> None:
    writer, _ = tools
    with session.begin_nested() as savepoint:
        write_competition(writer, drawn)
        boards = CachedBoards(PUBLIC, PRIVATE, MAX_FINAL_PICKS, ChangeFeed(BASE))
        connection, track_id, late, at = (
            session.connection(),
            BOARD_TRACKS[which].id,
            which == "late",
            to_moment(minute),
        )
        if at is None:
            order: BoardListing = boards.ranked_board(connection, track_id, late=late)
        else:
            order = boards.day_start_listing(connection, BoardKey(track_id, late, at))
        assert_matches_specification(order, drawn, which, minute)
        savepoint.rollback()


@settings(max_examples=examples(200, everyday=60), deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=competitions(), minute=st.integers(-1, 10), second=st.sampled_from([0, 0, 30]), which=BOARDS)
def test_a_past_board_is_that_of_the_last_change_before(
    session: Session, tools: tuple[Writer, Prepared], drawn: DrawnCompetition, minute: int, second: int, which: str
) -> None:
    writer, _ = tools
    with session.begin_nested() as savepoint:
        write_competition(writer, drawn)
        boards = CachedBoards(PUBLIC, PRIVATE, MAX_FINAL_PICKS, ChangeFeed(BASE))
        connection, track_id, late = session.connection(), BOARD_TRACKS[which].id, which == "late"
        asked = BoardKey(track_id, late, START + timedelta(minutes=minute, seconds=second))
        past = boards.begin_past_board(connection, asked)
        past.normalise(connection)
        if past.key.at is None:
            order: BoardListing = boards.ranked_board(connection, track_id, late=late)
        else:
            assert past.key.at <= asked.at  # type: ignore[operator] # it is past
            order = past.listing(connection)
            again = boards.begin_past_board(connection, asked._replace(at=past.key.at))
            again.normalise(connection)
            assert again.key == past.key
        assert_matches_specification(order, drawn, which, minute)
        savepoint.rollback()
