"""A published final board does not change: Kennel refuses changes, and later measurements are not on the board."""

import csv
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scorer.db.tables import Competition
from scorer.leaderboard import past_boards, rows
from scorer.ranking.vectorised import rank_entries
from scorer.review import checklist, publication
from tests.api.conftest import Service, read_problem
from tests.api.leaderboard.arena import Arena, private, read_board, retune, rule
from tests.factories import add_measurement, make_scored

PUBLISHED = (409, "published")


@pytest.fixture
def arena(service: Service) -> Arena:
    """A closed competition. On both boards, Ada is first, Bob second and Eve third."""
    arena = Arena(service, review_days=0)
    for handle, fid in (("ada", 10.0), ("bob", 20.0), ("eve", 30.0)):
        arena.entry(handle, fid, fid, s=0.3)
    with arena.begin() as session:
        session.merge(arena.state.competition).closes_at = arena.now - timedelta(days=1)
    return arena


def publish(arena: Arena, *, published: bool = True, reason: str = "Done.") -> Any:
    body = {"published": published, "reason": reason, "override": "a test"}
    answer = arena.service.call("organizer", "POST", f"/competitions/{arena.slug}/publication", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_published_board_cannot_be_changed_before_withdrawal(arena: Arena) -> None:
    service, slug = arena.service, arena.slug
    service.hire("rita")
    cheat = arena.entry("eve", 1.0, 1.0, s=0.4)
    late = arena.entry("eve", 2.0)
    with arena.begin() as session:
        session.merge(late).late = True
    assert retune(arena, "private", 0.2).status_code == 201
    publish(arena)
    assert private(arena) == ["Eve", "Ada", "Bob"]

    label = f"/competitions/{slug}/submissions/{cheat.id}/label"
    tau = f"/competitions/{slug}/tracks/private/thresholds"

    def attempts() -> list[Any]:
        return [
            retune(arena, "private", 0.35),
            retune(arena, "public", 0.35),
            service.call("organizer", "POST", f"{tau}/undo", json={"reason": "Back."}),
            rule(arena, cheat, "disqualify"),
            service.call("organizer", "PUT", label, json={"label": "ae"}),
            service.call("rita", "POST", f"/submissions/{cheat.id}/reviews", json={"label": "ae"}),
            service.call("eve", "PUT", f"/competitions/{slug}/picks", json={"submissions": []}),
        ]

    for answer in attempts():
        assert read_problem(answer) == PUBLISHED, answer.request.url
    assert private(arena) == ["Eve", "Ada", "Bob"]
    assert rule(arena, late, "disqualify").status_code == 201, "late entries are not on the final board"

    publish(arena, published=False, reason="A cheater was overlooked.")
    assert service.call("organizer", "PUT", label, json={"label": "ae"}).status_code == 200
    assert rule(arena, cheat, "disqualify").status_code == 201
    publish(arena, reason="Corrected.")
    assert private(arena) == ["Ada", "Bob", "Eve"]
    assert read_problem(rule(arena, cheat, "keep")) == PUBLISHED


def test_later_measurements_are_not_on_the_published_board(arena: Arena) -> None:
    with arena.begin() as session:
        waiting = make_scored(session, arena.state, arena.team(session, "bob"), fid=1.0, distance=0.5, now=arena.now)
    publish(arena)
    as_of = datetime.now(UTC)
    with arena.begin() as session:
        numbers: dict[str, Any] = {"fid": 1.0, "distance": 0.5, "now": as_of, "kind": "private"}
        add_measurement(session, arena.state, waiting, **numbers)
    assert private(arena) == private(arena, "organizer") == ["Ada", "Bob", "Eve"]
    with arena.begin() as session:
        for kind, at in (("private", None), ("public", None), ("private", as_of)):
            cached = read_board(session, arena.state, kind, late=False, at=at)  # type: ignore[arg-type]
            plain = rows.read_ranked_board(session, arena.state, kind, at=at)  # type: ignore[arg-type]
            assert [row.ref for row in cached[1]] == plain.refs, kind
    publish(arena, published=False)
    assert private(arena, "organizer") == ["Bob", "Ada", "Eve"]
    publish(arena)
    assert private(arena) == ["Bob", "Ada", "Eve"]


def test_measurements_with_a_later_time_stay_on_the_published_board(arena: Arena) -> None:
    with arena.begin() as session:
        ahead = datetime.now(UTC) + timedelta(minutes=5)
        entry = make_scored(session, arena.state, arena.team(session, "eve"), fid=1.0, distance=0.5, now=arena.now)
        add_measurement(session, arena.state, entry, fid=1.0, distance=0.5, now=ahead, kind="private")
    assert datetime.fromisoformat(publish(arena)["as_of"]) == ahead
    assert private(arena) == ["Eve", "Ada", "Bob"]


def test_a_published_board_is_ranked_once_despite_late_entries(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(arena)
    arena.board(track="private")
    ranked = []

    def counted(*arguments: Any, **options: Any) -> Any:
        ranked.append(arguments)
        return rank_entries(*arguments, **options)

    monkeypatch.setattr(past_boards, "rank_entries", counted)
    with arena.begin() as session:
        late = make_scored(session, arena.state, arena.team(session, "bob"), fid=1.0, distance=0.5, now=arena.now)
        late.late = True
    assert private(arena) == ["Ada", "Bob", "Eve"]
    assert ranked == []


def test_a_second_publication_shows_changes_and_notifies_teams(arena: Arena) -> None:
    service = arena.service
    versions = f"/competitions/{arena.slug}/leaderboard/versions"
    assert read_problem(service.call(None, "GET", versions)) == (403, "not-published")
    first = publish(arena)
    assert service.call(None, "GET", versions).json()["changes"] == 0
    publish(arena, published=False, reason="An error.")
    assert read_problem(service.call(None, "GET", versions)) == (403, "not-published")
    with arena.begin() as session:
        entry = make_scored(session, arena.state, arena.team(session, "eve"), fid=15.0, distance=0.5, now=arena.now)
        add_measurement(session, arena.state, entry, fid=15.0, distance=0.5, now=datetime.now(UTC), kind="private")
    publish(arena, reason="Corrected.")
    view = service.call(None, "GET", versions).json()
    assert [(version["published"], version["reason"]) for version in view["versions"]] == [
        (True, "Corrected."),
        (False, "An error."),
        (True, "Done."),
    ]
    moves = [{"team": "Eve", "before": 3, "after": 2}, {"team": "Bob", "before": 2, "after": 3}]
    assert (view["changes"], view["moves"], view["next_after"]) == (2, moves, None)
    assert private(arena, as_of=first["as_of"]) == ["Ada", "Bob", "Eve"], "everybody can see the earlier version"
    assert private(arena) == ["Ada", "Eve", "Bob"]

    def newest_notice(who: str) -> Any:
        return service.call(who, "GET", "/notices").json()["notices"][0]

    for who, moved in (("ada", False), ("bob", True), ("eve", True)):
        notice = newest_notice(who)
        assert ("your rank has changed" in notice["subject"]) is moved
        assert notice["link"].endswith("/versions") is moved
    page = service.http.get(f"/competitions/{arena.slug}/versions", headers={"Accept": "text/html"}).text
    assert "2 teams have changed rank since" in page
    assert "An error." in page
    board = service.http.get(f"/competitions/{arena.slug}?track=private", headers={"Accept": "text/html"}).text
    assert "Changes since" in board


def change(arena: Arena, **changes: Any) -> None:
    answer = arena.service.call("organizer", "PATCH", f"/competitions/{arena.slug}", json=changes)
    assert answer.status_code == 200, answer.text


def awards(arena: Arena, **params: Any) -> list[Any]:
    """Return medals and prizes by rank. Require that the board and its CSV agree."""
    places = arena.board(None, track="private", **params)["entries"]
    path = f"/competitions/{arena.slug}/leaderboard"
    answer = arena.service.call(None, "GET", path, params={"track": "private", "format": "csv"} | params)
    lines = answer.text.splitlines()
    rows = list(csv.DictReader(lines))
    assert [(row["medal"] or None, row["prize"] or None) for row in rows] == [
        (place["medal"], place["prize"]) for place in places
    ]
    return [(place["medal"], place["prize"]) for place in places]


def test_an_earlier_version_shows_its_medals_and_prizes(arena: Arena) -> None:
    with arena.begin() as session:
        competition = session.get_one(Competition, arena.state.competition.id)
        competition.medals = {"gold": 1, "silver": 2, "bronze": 2}
        competition.prizes = [{"place": 1, "amount": "$ 100"}]
    first = publish(arena)
    expected = [("gold", "$ 100"), ("silver", None), (None, None)]
    assert awards(arena) == expected
    publish(arena, published=False)
    change(arena, medals={"gold": 2})
    change(arena, prizes=[{"place": 1, "amount": "$ 150"}])
    change(arena, prizes=[{"place": 1, "amount": "$ 200"}, {"place": 3, "amount": "a book"}])
    second = publish(arena)
    assert awards(arena) == [("gold", "$ 200"), ("gold", None), (None, "a book")]
    assert awards(arena, as_of=second["as_of"]) == awards(arena)
    assert awards(arena, as_of=first["as_of"]) == expected


@pytest.mark.parametrize(
    "changes", [{"prizes": [{"place": 1, "amount": "$ 100"}]}, {"medals": {"gold": 11}}, {"appeal_days": 9}]
)
def test_a_board_with_unseen_changes_is_not_published(
    arena: Arena, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings change after the checklist is read and before the competition is locked."""

    def meanwhile(*arguments: Any, **options: Any) -> Any:
        seen = checklist.checklist(*arguments, **options)
        monkeypatch.setattr(publication, "checklist", checklist.checklist)
        change(arena, **changes)
        return seen

    path = f"/competitions/{arena.slug}/publication?final=false"
    seen = arena.service.call("organizer", "GET", path).json()["version"]
    monkeypatch.setattr(publication, "checklist", meanwhile)
    body = {"published": True, "final": False, "reason": "Done.", "override": "a test", "after": seen}
    answer = arena.service.call("organizer", "POST", path, json=body)
    assert read_problem(answer) == (409, "board-has-moved")
    assert arena.service.call("organizer", "GET", path).json()["version"] != seen
