"""The uncertainty of ranks in JSON, on the board's page, on the page of publication and in releases."""

from typing import Any

import pytest

from scorer.competitions.competition_state import load_state
from scorer.db.tables import SharedImages, Submission
from scorer.import_export.release_columns import TABLES
from scorer.import_export.release_tables import Pseudonyms, table_rows
from tests.api.conftest import Service
from tests.api.leaderboard.arena import TAU, Arena, add_errors
from tests.factories import add_measurement, add_recovery
from tests.web.pages import start_session


def uncertainty(arena: Arena, who: str | None = None, track: str = "public") -> Any:
    path = f"/competitions/{arena.slug}/leaderboard/uncertainty"
    return arena.service.call(who, "GET", path, params={"track": track})


def boundary(arena: Arena) -> tuple[float, float]:
    """Return the lead of the last gold medal over the next place, and its standard error."""
    gold = uncertainty(arena).json()["boundaries"][0]
    return gold["difference"], round(gold["standard_error"], 6)


def places(answer: Any) -> list[tuple[Any, ...]]:
    return [(place["team"], place["first_rank"], place["last_rank"]) for place in answer.json()["places"]]


def released_ranks(arena: Arena) -> list[dict[str, Any]]:
    """Return the table of ranks in a data release."""
    with arena.begin() as session:
        rows = list(table_rows(session, load_state(session, arena.slug, arena.now), "ranks", names=Pseudonyms(b"key")))
    return [dict(zip((column.name for column in TABLES["ranks"]), row, strict=True)) for row in rows]


@pytest.fixture
def arena(service: Service) -> Arena:
    """A competition of three entries. Ada's entry leads by half a standard error once errors are known."""
    prizes = [{"place": 1, "amount": "a bone"}, {"place": 7, "amount": "nothing"}]
    arena = Arena(service, medals={"gold": 1, "silver": 2, "bronze": 3}, prizes=prizes, final_picks=1)
    for who, public, private in (("ada", 10.0, 20.0), ("bob", 10.1, 20.1), ("eve", 15.0, 25.0)):
        arena.entry(who, public, private)
    return arena


def add_all_errors(arena: Arena) -> None:
    with arena.begin() as session:
        entries = session.query(Submission).order_by(Submission.ref).all()
    add_errors(arena, entries, 0.2 / 2**0.5)


def test_a_board_shows_rank_intervals_once_errors_are_known(arena: Arena) -> None:
    before = uncertainty(arena)
    assert places(before) == [("Ada", None, None), ("Bob", None, None), ("Eve", None, None)]
    assert before.json()["without_error"] == 3
    page = " ".join(arena.service.http.get(f"/competitions/{arena.slug}/uncertainty").text.split())
    assert "3 entries have no standard error" in page
    assert "This assumes that teams did not select the images that they submitted." in page
    assert "keeping 400 of 1,600 images lowered the FID of honest generators by 4 to 11 %" in page
    assert before.json()["boundaries"][0]["in_standard_errors"] is None

    add_all_errors(arena)
    known = uncertainty(arena)
    assert places(known) == [("Ada", 1, 2), ("Bob", 1, 2), ("Eve", 3, 3)]
    assert known.headers["etag"] != before.headers["etag"]
    first, last = known.json()["places"][0], known.json()["places"][2]
    assert 0.6 < first["medals"]["gold"] < 0.8
    assert last["medals"] == {"gold": 0.0, "silver": 0.0, "bronze": 1.0}
    assert abs(first["standard_error"] - 0.2 / 2**0.5) < 1e-12
    gold = known.json()["boundaries"][0]
    assert (gold["rank"], gold["awards"], round(gold["in_standard_errors"], 6)) == (1, ["gold"], 0.5)
    assert uncertainty(arena, "ada").content == known.content


def test_board_checklist_and_releases_agree_on_rank_intervals(service: Service, arena: Arena) -> None:
    add_all_errors(arena)
    known = uncertainty(arena)
    assert uncertainty(arena, "bob", "private").status_code == 403
    checklist = arena.service.call("organizer", "GET", f"/competitions/{arena.slug}/publication").json()
    assert [(boundary["rank"], boundary["awards"]) for boundary in checklist["boundaries"]] == [
        (1, ["a bone", "gold"]),
        (2, ["silver"]),
    ]
    hidden = uncertainty(arena, "organizer", "private").json()
    assert checklist["boundaries"] == hidden["boundaries"]
    cookie = {"Cookie": f"kennel={start_session(service, 'organizer')}", "Accept": "text/html"}
    page = service.http.get(f"/competitions/{arena.slug}/publication", headers=cookie)
    assert "(0.5 standard errors). <span" in page.text
    for track, view in (("public", known.json()), ("private", hidden)):
        ranks = [row for row in released_ranks(arena) if row["track"] == track]
        fields = ("standard_error", "first_rank", "last_rank")
        for released, place in zip(ranks, view["places"], strict=True):
            assert {name: released[name] for name in fields} == {name: place[name] for name in fields}
            assert released["gold_probability"] == place["medals"]["gold"]


def test_a_new_measurement_has_no_error_before_its_evidence(arena: Arena) -> None:
    add_all_errors(arena)
    page = arena.service.http.get(f"/competitions/{arena.slug}/uncertainty")
    assert '1 <span class="muted">(1 to 2)</span>' in page.text
    assert "(0.5 standard errors). <span" in page.text
    assert arena.service.http.get(f"/competitions/{arena.slug}/uncertainty?track=private").status_code == 403

    with arena.begin() as session:
        bob = session.query(Submission).order_by(Submission.ref).all()[1]
        add_measurement(session, arena.state, bob, fid=10.05, distance=0.5, now=arena.now)
    assert places(uncertainty(arena)) == [("Ada", 1, 2), ("Bob", None, None), ("Eve", 3, 3)]


def test_without_evidence_the_error_follows_from_the_spread(service: Service) -> None:
    """Student's t for three draws; the evidence of one draw, divided by the root of three, replaces it."""
    arena = Arena(service, entries="generator", draws={"public": 3, "private": 1}, medals={"gold": 1})
    entries = [arena.entry("ada", 10.0), arena.entry("bob", 12.0)]
    with arena.begin() as session:
        ada = session.merge(entries[0])
        add_measurement(session, arena.state, ada, fid=10.0, distance=0.5, now=arena.now, draws=[9.9, 10.0, 10.1])
    known, unknown = uncertainty(arena).json()["places"]
    assert known["highest_score"] == pytest.approx(10.0 + 4.30265273 * 0.1 / 3**0.5)
    assert (unknown["standard_error"], uncertainty(arena).json()["without_error"]) == (None, 1)
    add_errors(arena, entries, 0.3, private=False)
    known, other = uncertainty(arena).json()["places"]
    assert (known["standard_error"], other["standard_error"]) == pytest.approx((0.3 / 3**0.5, 0.3))


def test_entries_with_the_same_images_are_compared_as_a_pair(service: Service) -> None:
    """Their difference has no error, so the copy that was submitted later is certainly behind."""
    arena = Arena(service, medals={"gold": 1, "silver": 2, "bronze": 3})
    entries = [arena.entry("ada", 10.0, days=3), arena.entry("bob", 10.0, days=2)]
    add_errors(arena, entries, 0.5, private=False)
    assert places(uncertainty(arena)) == [("Ada", 1, 2), ("Bob", 1, 2)]
    assert boundary(arena) == (0.0, round(0.5 * 2**0.5, 6))
    with arena.begin() as session:
        numbers = {"competition_id": arena.state.competition.id, "images": 7, "equal": 6, "share": 7 / 8}
        refs = {"submission_ref": entries[1].ref, "other_ref": entries[0].ref}
        session.add(SharedImages(**refs, **numbers, examples=[], created_at=arena.now))
    assert boundary(arena) == (0.0, round(0.5 * (2 - 2 * 7 / 8) ** 0.5, 6))
    with arena.begin() as session:
        for entry in entries:
            session.merge(entry).pixels_sha256 = "ab" * 32
    arena.entry("eve", 12.0)
    uncertain = uncertainty(arena).json()
    assert [round(place["medals"]["gold"], 3) for place in uncertain["places"][:2]] == [1.0, 0.0]
    assert uncertain["without_error"] == 1


def test_close_to_tau_a_score_may_be_penalised_or_not(service: Service) -> None:
    """Ada leads by more than ten standard errors, but chance decides whether her entry is penalised."""
    arena = Arena(service, medals={"gold": 1, "silver": 2, "bronze": 3})
    entries = [arena.entry("ada", 10.0, s=TAU + 0.0005), arena.entry("bob", 12.0), arena.entry("eve", 14.0)]
    add_errors(arena, entries, 0.1, private=False)
    uncertain = uncertainty(arena).json()
    ada, bob, _ = uncertain["places"]
    assert [place["beside_tau"] for place in (ada, bob)] == [True, False]
    assert ada["lowest_score"] == pytest.approx(10.0 - 1.96 * 0.1, abs=1e-3)
    assert ada["highest_score"] > 10.0 / TAU
    assert (bob["lowest_score"], bob["highest_score"]) == pytest.approx((12.0 - 0.196, 12.0 + 0.196), abs=1e-3)
    gold, silver = uncertain["boundaries"][:2]
    assert gold["in_standard_errors"] > 10.0
    assert gold["lowest_difference"] < 12.0 - 10.0 / TAU < 0.0 < gold["highest_difference"]
    assert silver["lowest_difference"] > 1.0
    page = arena.service.http.get(f"/competitions/{arena.slug}/uncertainty").text
    assert page.count("may be due to chance</span>") == 1
    assert page.count("One of the two entries is so close to tau that its penalty is uncertain.") == 1
    assert page.count("close to tau: 9.8") == 1


def test_entries_that_their_generator_cannot_produce_are_marked(service: Service) -> None:
    """Only reviewers see an audit's verdict before the final board."""
    arena = Arena(service)
    verdicts = {"ada": "other-distribution", "bob": "no-difference", "eve": "another-generator"}
    entries = {who: arena.entry(who, 10.0 + number) for number, who in enumerate(verdicts)}
    before = uncertainty(arena, "organizer")
    with arena.begin() as session:
        for who, verdict in verdicts.items():
            add_recovery(session, session.merge(entries[who]), now=arena.now, report={"match": {"verdict": verdict}})
        add_recovery(
            session, session.merge(entries["eve"]), now=arena.now, report={"match": None}
        )  # replaces the earlier audit
    seen = uncertainty(arena, "organizer")
    assert seen.headers["etag"] != before.headers["etag"]
    assert [place["other_generator"] for place in seen.json()["places"]] == [True, False, False]
    for reader in (None, "ada"):
        assert {place["other_generator"] for place in uncertainty(arena, reader).json()["places"]} == {None}
    cookie = {"Cookie": f"kennel={start_session(service, 'organizer')}", "Accept": "text/html"}
    path = f"/competitions/{arena.slug}/uncertainty"
    assert service.http.get(path, headers=cookie).text.count("generator mismatch") == 1
    service.http.cookies.clear()
    assert "generator mismatch" not in service.http.get(path).text
