"""Lists of competitions: pages, team counts and a constant number of SQL statements."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from api.competitions import pages
from api.kaggle.competitions import BY_TEAMS
from scorer.acting import Acting
from scorer.competitions import announcements, competition_state
from scorer.db.tables import Account, AllowlistEntry, Competition, DataFile, RulesAcceptance
from tests.api.conftest import Service
from tests.api.leaderboard.arena import Arena
from tests.factories import set_tau
from tests.sql_statements import counted_statements

LIST = "/competitions.CompetitionApiService/ListCompetitions"
MAX_STATEMENTS_OF_A_CACHED_LIST = 4


def crowded(service: Service, **changes: Any) -> Arena:
    """Create a competition with a row in every table that lists read."""
    arena = Arena(service, rules="Be kind.", **changes)
    arena.entry("ada", 10.0, 10.0)
    arena.publish(final=False)
    with arena.begin() as session:
        state = competition_state.load_state(session, arena.slug, arena.now)
        author, ids = state.competition.created_by, {"competition_id": state.competition.id}
        for name in ("a.csv", "b.csv"):
            file = {"bytes": 1, "sha256": "0" * 64, "crc32": 0, "blob_key": "k", "author_id": author}
            session.add(DataFile(name=name, offered=True, created_at=arena.now, **file, **ids))
        session.add(AllowlistEntry(account_id=author, invited=True, author_id=author, created_at=arena.now, **ids))
        session.add(RulesAcceptance(account_id=author, rules_sha256="0" * 64, created_at=arena.now, **ids))
    return arena


LISTS: dict[str, Callable[[Service], Any]] = {
    "for visitors": lambda service: service.call(None, "GET", "/competitions"),
    "for an account": lambda service: service.call("ada", "GET", "/competitions"),
    "for the kaggle client": lambda service: service.call("eve", "POST", LIST, json={}),
    "by teams": lambda service: service.call("eve", "POST", LIST, json={"sortBy": BY_TEAMS}),
    "the page": lambda service: service.http.get("/"),
}


def test_long_lists_take_no_more_statements_than_short_ones(service: Service) -> None:
    def statements() -> dict[str, int]:
        numbers = {}
        for name, ask in LISTS.items():
            assert ask(service).status_code == 200  # the first request also ranks new boards
            with counted_statements() as taken:
                assert ask(service).status_code == 200
            numbers[name] = len(taken)
        return numbers

    crowded(service, invitation_only=True)
    few = statements()
    for invitation_only in (True, False, True, False):
        crowded(service, invitation_only=invitation_only)
    assert statements() == few


def test_states_loaded_together_equal_states_loaded_alone(service: Service) -> None:
    arenas = [crowded(service), Arena(service, opens_at=None), crowded(service)]
    with arenas[0].begin() as session:
        state = competition_state.load_state(session, arenas[2].slug, arenas[0].now)
        author = session.get_one(Account, state.competition.created_by)
        for number in range(competition_state.MAX_ANNOUNCEMENTS + 1):
            announcements.announce(Acting(session, author, arenas[0].now), state, f"No. {number}", text="Text")
    with arenas[0].begin() as session:
        alone = [competition_state.load_state(session, arena.slug, arena.now) for arena in arenas]
        ids = [state.competition.id for state in alone]
        assert competition_state.load_states(session, ids, arenas[0].now) == alone
        assert [len(state.files) for state in alone] == [2, 0, 2]
        assert [announcement.title for announcement in alone[2].announcements] == ["No. 3", "No. 2", "No. 1"]
        assert [state.phase.value for state in alone] == ["provisional", "draft", "provisional"]


def test_the_list_for_visitors_is_cached_until_it_changes(service: Service) -> None:
    arenas = [Arena(service) for _ in range(2)]
    draft = Arena(service, opens_at=arenas[0].now + timedelta(days=1), closes_at=None)

    def listed(etag: str = "") -> Any:
        return service.call(None, "GET", "/competitions?limit=2", headers={"If-None-Match": etag})

    def opens() -> None:
        with arenas[0].begin() as session:
            session.get_one(Competition, draft.state.competition.id).opens_at = arenas[0].now

    def retitle() -> None:
        title = {"title": "Another title"}
        assert service.call("organizer", "PATCH", f"/competitions/{arenas[0].slug}", json=title).is_success

    def retune() -> None:
        with arenas[0].begin() as session:
            set_tau(session, arenas[1].state, "public", 0.123, arenas[0].now)

    changes: list[tuple[Callable[[], None], Callable[[Any], Any], Any]] = [
        (retitle, lambda rows: rows[1]["title"], "Another title"),
        (retune, lambda rows: rows[0]["tracks"][0]["tau"], 0.123),
        (lambda: arenas[1].publish(final=False), lambda rows: rows[0]["phase"], "provisional"),
        (opens, lambda rows: [row["slug"] for row in rows], [draft.slug, arenas[1].slug]),
    ]
    assert listed().json()["next_after"] is None
    for change, seen, expected in changes:
        known = listed()
        with counted_statements() as taken:
            assert (listed().content, listed(known.headers["etag"]).status_code) == (known.content, 304)
        assert len(taken) / 2 <= MAX_STATEMENTS_OF_A_CACHED_LIST
        change()
        renewed = listed(known.headers["etag"])
        assert (renewed.status_code, seen(renewed.json()["competitions"])) == (200, expected)
    assert listed().json()["next_after"] == 2
    (last,) = service.call(None, "GET", "/competitions?limit=2&after=2").json()["competitions"]
    assert last["slug"] == arenas[0].slug


def test_the_page_lists_competitions_in_parts(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "LISTED_COMPETITIONS", 2)
    arenas = [Arena(service, title=f"Number {number}") for number in range(5)]
    Arena(service, title="A draft", opens_at=arenas[0].now + timedelta(days=1), closes_at=None)

    def titles(path: str) -> tuple[list[int], bool, bool]:
        text = service.http.get(path).text
        assert "A draft" not in text
        shown = [number for number in range(5) if f">Number {number}<" in text]
        return shown, 'rel="prev"' in text, 'rel="next"' in text

    assert titles("/") == ([3, 4], False, True)
    assert titles("/?after=2") == ([1, 2], True, True)
    assert titles("/?after=4") == ([0], True, False)
    assert titles("/?after=90") == ([], False, False)


def test_team_counts_follow_the_boards(service: Service) -> None:
    arena = Arena(service)

    def on_the_board() -> bool:
        return "1 team on the board" in service.http.get("/").text

    assert not on_the_board()
    entry = arena.entry("ada", 10.0)
    assert on_the_board()
    arena.rule(entry, "disqualify", "Copied.")
    assert not on_the_board()
