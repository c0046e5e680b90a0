"""Rulings and rebuttals through the API: reasons shown to the team, one rebuttal each, a decision that is a ruling."""

from datetime import timedelta
from typing import Any

import pytest

from scorer.db.tables import AuditEntry
from tests.api.conftest import Service
from tests.api.kept_state import KeptState, kept_fixtures
from tests.api.review.test_review import Desk, near_copies, slug_of
from tests.api.teams.test_final_picks_and_code import close
from tests.factories import noise_images

REASON = "Its images are training images through a narrow network."


def closed_competition(service: Service) -> tuple[str, dict[str, str]]:
    """Ada is honest, Bob's entry is penalised; the competition has closed a minute ago."""
    service.hire("rita")
    slug = service.competition(review_days=5)
    entries = {
        "honest": service.scored("ada", slug, noise_images(10))["id"],
        "near": service.scored("bob", slug, near_copies())["id"],
    }
    close(service, slug)
    return slug, entries


kept, service = kept_fixtures(closed_competition)


@pytest.fixture
def desk(service: Service, kept: KeptState[tuple[str, dict[str, str]]]) -> Desk:
    """That competition."""
    return Desk(service, *kept.result)


def rule(desk: Desk, entry: str, kind: str, who: str = "organizer", **body: Any) -> Any:
    """The answer to a ruling."""
    path = f"/submissions/{desk.entries[entry]}/rulings"
    return desk.service.call(who, "POST", path, json={"kind": kind, "reason": REASON, **body})


def rebut(desk: Desk, who: str, entry: str) -> Any:
    """The answer to a rebuttal."""
    path = f"/submissions/{desk.entries[entry]}/rebuttals"
    return desk.service.call(who, "POST", path, json={"text": "We trained it ourselves."})


def reply(desk: Desk, rebuttal: int, ruling: str | None, who: str = "organizer") -> Any:
    """The answer to an answer."""
    body = {"answer": "We have read the code."} | ({} if ruling is None else {"ruling": ruling})
    return desk.service.call(who, "POST", f"/rebuttals/{rebuttal}/answer", json=body)


def case(desk: Desk, who: str, entry: str) -> Any:
    """Rulings and rebuttals as a person reads them."""
    return desk.service.call(who, "GET", f"/submissions/{desk.entries[entry]}/rulings").json()


def test_ranks_follow_a_ruling_at_once(desk: Desk) -> None:
    def board() -> tuple[list[str], list[str], list[bool]]:
        leaderboard = desk.service.call("organizer", "GET", f"/competitions/{desk.slug}/leaderboard").json()
        places = leaderboard["entries"]
        return (
            [each["team"] for each in places],
            [each["team"] for each in leaderboard["disqualified"]],
            [each["penalised"] for each in places],
        )

    before = board()
    assert set(before[0]) == {"Ada", "Bob"}
    assert before[2][before[0].index("Bob")]
    rule(desk, "honest", "disqualify")
    assert board() == (["Bob"], ["Ada"], [True])
    rule(desk, "near", "waive")
    assert board() == (["Bob"], ["Ada"], [False])
    rule(desk, "honest", "keep")
    rule(desk, "near", "keep")
    assert board() == before


def test_a_ruling_is_shown_with_its_reason_and_taken_back_by_the_next(desk: Desk) -> None:
    assert slug_of(rule(desk, "honest", "disqualify", who="rita")) == (403, "wrong-role")
    assert slug_of(rule(desk, "honest", "disqualify", who="ada")) == (403, "wrong-role")
    assert slug_of(rule(desk, "honest", "disqualify", reason="  ")) == (422, "no-reason")
    made = rule(desk, "honest", "disqualify", memorising=True)
    assert (made.status_code, made.json()["author"], made.json()["memorising"]) == (201, "organizer", True)
    assert rule(desk, "honest", "keep", reason="We were wrong.").json()["memorising"] is True  # as it was said before
    view = case(desk, "ada", "honest")
    assert [(each["kind"], each["reason"]) for each in view["rulings"]] == [
        ("keep", "We were wrong."),
        ("disqualify", REASON),
    ]
    assert {each["author"] for each in view["rulings"]} == {None}
    assert {each["memorising"] for each in view["rulings"]} == {None}
    assert {each["author"] for each in case(desk, "rita", "honest")["rulings"]} == {"organizer"}
    assert desk.service.call("bob", "GET", f"/submissions/{desk.entries['honest']}/rulings").status_code == 404
    assert desk.notices("ada")[:2] == ["submission.zip in A competition: a ruling"] * 2
    with desk.service.context.sessions() as session:
        logged = session.query(AuditEntry).filter_by(action="ruling.made").order_by(AuditEntry.id).all()
        assert [(each.before and each.before["kind"], each.after and each.after["kind"]) for each in logged] == [
            (None, "disqualify"),
            ("disqualify", "keep"),
        ]


def test_a_team_sees_the_evidence_for_a_ruling(desk: Desk) -> None:
    path = f"/submissions/{desk.entries['near']}/pairs/public"
    rule(desk, "near", "disqualify")
    assert desk.service.call("bob", "GET", path).headers["content-type"] == "image/png"
    assert desk.service.call("ada", "GET", path).status_code == 404
    assert desk.service.call("bob", "GET", path.replace("public", "private")).status_code == 404
    assert desk.service.call("bob", "GET", f"{path}/1/reference").status_code == 403


def test_one_rebuttal_against_a_penalty_and_one_against_each_ruling(desk: Desk) -> None:
    assert slug_of(rebut(desk, "ada", "honest")) == (409, "nothing-to-rebut")
    assert slug_of(rebut(desk, "ada", "near")) == (404, "no-submission")
    assert slug_of(rebut(desk, "organizer", "near")) == (403, "not-yours")
    first = rebut(desk, "bob", "near")
    assert (first.status_code, first.json()["ruling_id"], first.json()["written_by"]) == (201, None, "bob")
    assert slug_of(rebut(desk, "bob", "near")) == (409, "rebutted")
    assert "A rebuttal in A competition" in desk.notices("organizer")
    path = f"/competitions/{desk.slug}/rebuttals"
    (waiting,) = desk.service.call("organizer", "GET", path).json()["rebuttals"]
    assert waiting["id"] == first.json()["id"]
    assert slug_of(desk.service.call("rita", "GET", path)) == (403, "wrong-role")

    refused = reply(desk, first.json()["id"], None)
    assert (refused.status_code, refused.json()["granted"], refused.json()["ruling_id"]) == (201, False, None)
    assert slug_of(reply(desk, first.json()["id"], "waive")) == (409, "answered")
    assert desk.notices("bob")[0].endswith("your rebuttal is not granted")
    assert case(desk, "bob", "near")["rulings"] == []
    assert slug_of(rebut(desk, "bob", "near")) == (409, "rebutted")

    ruling = rule(desk, "near", "disqualify").json()["id"]
    second = rebut(desk, "bob", "near").json()
    assert second["ruling_id"] == ruling
    assert slug_of(rebut(desk, "bob", "near")) == (409, "rebutted")
    granted = reply(desk, second["id"], "waive").json()
    view = case(desk, "bob", "near")
    assert (view["rulings"][0]["kind"], view["rulings"][0]["id"]) == ("waive", granted["ruling_id"])
    assert [each["answer"]["granted"] for each in view["rebuttals"]] == [True, False]
    # One notice for the answer and the ruling that it brings.
    assert desk.notices("bob")[0].endswith("your rebuttal is granted")
    assert desk.notices("bob")[1].endswith("a ruling")
    assert slug_of(rebut(desk, "bob", "near")) == (409, "nothing-to-rebut")
    assert desk.service.call("organizer", "GET", path).json()["rebuttals"] == []


def test_rebuttals_are_taken_while_the_review_lasts(desk: Desk) -> None:
    close(desk.service, desk.slug, ago=-timedelta(hours=1))  # it closes in an hour
    assert slug_of(rebut(desk, "bob", "near")) == (409, "review-not-begun")
    close(desk.service, desk.slug, ago=timedelta(days=5))
    assert slug_of(rebut(desk, "bob", "near")) == (409, "review-over")
    close(desk.service, desk.slug, ago=timedelta(days=5) - timedelta(minutes=1))
    view = case(desk, "bob", "near")
    assert view["rebuttals_from"] < view["rebuttals_until"]
    body = {"published": True, "reason": "done", "override": "the medals are not reviewed"}
    path = f"/competitions/{desk.slug}/publication"
    assert desk.service.call("organizer", "POST", path, json=body).is_success
    assert slug_of(rebut(desk, "bob", "near")) == (409, "review-over")
    assert desk.service.call("organizer", "POST", path, json=body | {"published": False}).is_success
    assert rebut(desk, "bob", "near").status_code == 201


def test_the_team_reads_what_a_ruling_did_to_its_score(desk: Desk) -> None:
    def explained(entry: str, who: str) -> tuple[bool, bool, str]:
        measurement = desk.service.call(who, "GET", f"/submissions/{desk.entries[entry]}").json()["measurements"][0]
        return measurement["penalised"], measurement["disqualified"], measurement["explanation"]

    assert explained("near", "bob")[:2] == (True, False)
    rule(desk, "near", "waive")
    words = "The organizers have waived its penalty: its score is its FID, whatever its memorization distance."
    assert explained("near", "bob") == (False, False, words)
    rule(desk, "near", "disqualify")
    penalised, disqualified, words = explained("near", "bob")
    assert (penalised, disqualified) == (True, True)
    assert words.startswith("It is disqualified and ranks nowhere. Its memorization distance")
    rule(desk, "near", "keep")
    assert explained("near", "bob")[:2] == (True, False)


def stakes(desk: Desk, who: str, entry: str) -> Any:
    """The impact of a ruling as a person sees it."""
    return desk.service.call(who, "GET", f"/submissions/{desk.entries[entry]}/rulings/stakes")


def test_what_hangs_on_a_ruling_is_what_the_ruling_does(desk: Desk) -> None:
    def ranks(track: str) -> dict[str, int]:
        leaderboard = desk.service.call(
            "organizer", "GET", f"/competitions/{desk.slug}/leaderboard?track={track}"
        ).json()
        return {each["team"]: each["rank"] for each in leaderboard["entries"]}

    assert slug_of(stakes(desk, "rita", "honest")) == (403, "wrong-role")
    assert slug_of(stakes(desk, "ada", "honest")) == (403, "wrong-role")
    teams = {"honest": "Ada", "near": "Bob"}
    for entry, ruled in (("honest", "disqualify"), ("near", "waive"), ("near", "disqualify"), ("honest", "keep")):
        effects = [each for each in stakes(desk, "organizer", entry).json()["stakes"] if each["kind"] == ruled]
        before = {track: ranks(track) for track in ("private", "public")}
        rule(desk, entry, ruled)
        for each, track in zip(effects, ("private", "public"), strict=True):
            after = ranks(track)
            team = teams[entry]
            assert (each["track"], each["before"], each["after"]) == (track, before[track].get(team), after.get(team))
            turns = {turn["team"]: (turn["before"]["rank"], turn["after"]["rank"]) for turn in each["turns"]}
            # Every place of the private board wins a medal here; the public board wins nothing after the close.
            gone = before[track].keys() ^ after.keys()
            assert gone <= turns.keys() if track == "private" else not turns
            assert turns == {name: (before[track].get(name), after.get(name)) for name in turns}
    assert {each["kind"] for each in stakes(desk, "organizer", "honest").json()["stakes"]} == {"disqualify", "waive"}
