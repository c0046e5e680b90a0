"""All places in parts, as CSV has them, against a page that has them all."""

from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest

from scorer.competitions.competition_state import CompetitionState, state_of
from scorer.db.tables import Account, TeamMerge
from scorer.leaderboard import board_reader
from scorer.leaderboard.standings import standings
from tests.api.conftest import Service
from tests.api.leaderboard.arena import Arena


def test_all_places_are_those_of_the_standings(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_reader, "PLACES_AT_A_TIME", 2)
    arena = Arena(service, medals={"gold": 1, "silver": 2, "bronze": 3}, prizes=[{"place": 1, "amount": "a bone"}])
    for number, handle in enumerate(("ada", "bob", "eve", "organizer")):
        arena.entry(handle, 10 + number, 40 - number, days=3)
        arena.entry(handle, 30 - number, 50, days=1)
    late = arena.entry("ada", 3, days=0.5)
    with arena.begin() as session:
        session.merge(late).late = True
        ids = {handle: arena.team(session, handle).id for handle in ("bob", "eve")}
        account = arena.state.competition.created_by
        merge: dict[str, Any] = {"competition_id": arena.state.competition.id, "account_id": account}
        session.add(
            TeamMerge(team_id=ids["eve"], into_team_id=ids["bob"], created_at=arena.now - timedelta(days=1), **merge)
        )
    everything: list[dict[str, Any]] = [
        {"kind": "public"},
        {"kind": "private"},
        {"kind": "public", "late": True},
        {"kind": "public", "as_of": arena.now - timedelta(days=2)},
        {"kind": "private", "as_of": arena.now - timedelta(days=2)},
        {"kind": "public", "search": "b"},
    ]
    with arena.begin() as session:
        organizer = session.query(Account).filter_by(handle="organizer").one()
        state: CompetitionState = state_of(session, arena.slug, arena.now)
        for options in everything:
            kind = options.pop("kind")
            board = standings(session, state, kind, account=organizer, **options)
            expected = board.board(session, 0, None).places
            assert expected
            places = [place for part in board.places(lambda: nullcontext(session)) for place in part]
            assert places == expected, (kind, options)
