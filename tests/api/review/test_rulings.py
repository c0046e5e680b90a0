"""Rulings and rebuttals through the API: reasons, one rebuttal for each ruling, and answers with new rulings."""

from datetime import timedelta
from typing import Any

import pytest

from scorer.db.tables import AuditEntry
from tests.api.cached_state import CachedState, cached_fixtures
from tests.api.conftest import Service, read_problem
from tests.api.review.reviewed_competition import ReviewedCompetition
from tests.factories import near_copies, noise_images

REASON = "Its images are training images through a narrow network."


def closed_competition(service: Service) -> tuple[str, dict[str, str]]:
    """Create a closed competition: Ada is honest, Bob's entry is penalised."""
    service.hire("rita")
    slug = service.competition(review_days=5)
    entries = {
        "honest": service.scored("ada", slug, noise_images(10))["id"],
        "near": service.scored("bob", slug, near_copies())["id"],
    }
    service.close(slug)
    return slug, entries


cached, service = cached_fixtures(closed_competition)


@pytest.fixture
def reviewed(service: Service, cached: CachedState[tuple[str, dict[str, str]]]) -> ReviewedCompetition:
    return ReviewedCompetition(service, *cached.result)


def rule(reviewed: ReviewedCompetition, entry: str, kind: str, who: str = "organizer", **body: Any) -> Any:
    path = f"/submissions/{reviewed.entries[entry]}/rulings"
    return reviewed.service.call(who, "POST", path, json={"kind": kind, "reason": REASON, **body})


def rebut(reviewed: ReviewedCompetition, who: str, entry: str) -> Any:
    path = f"/submissions/{reviewed.entries[entry]}/rebuttals"
    return reviewed.service.call(who, "POST", path, json={"text": "We trained it ourselves."})


def reply(reviewed: ReviewedCompetition, rebuttal: int, ruling: str | None, who: str = "organizer") -> Any:
    """Answer a rebuttal, with a new ruling or without."""
    body = {"answer": "We have read the code."} | ({} if ruling is None else {"ruling": ruling})
    return reviewed.service.call(who, "POST", f"/rebuttals/{rebuttal}/answer", json=body)


def case(reviewed: ReviewedCompetition, who: str, entry: str) -> Any:
    """Return the rulings and rebuttals as a person sees them."""
    return reviewed.service.call(who, "GET", f"/submissions/{reviewed.entries[entry]}/rulings").json()


def test_ranks_follow_a_ruling_immediately(reviewed: ReviewedCompetition) -> None:
    def board() -> tuple[list[str], list[str], list[bool]]:
        leaderboard = reviewed.service.call("organizer", "GET", f"/competitions/{reviewed.slug}/leaderboard").json()
        places = leaderboard["entries"]
        return (
            [place["team"] for place in places],
            [entry["team"] for entry in leaderboard["disqualified"]],
            [place["penalised"] for place in places],
        )

    before = board()
    assert set(before[0]) == {"Ada", "Bob"}
    assert before[2][before[0].index("Bob")]
    rule(reviewed, "honest", "disqualify")
    assert board() == (["Bob"], ["Ada"], [True])
    rule(reviewed, "near", "waive")
    assert board() == (["Bob"], ["Ada"], [False])
    rule(reviewed, "honest", "keep")
    rule(reviewed, "near", "keep")
    assert board() == before


def test_a_ruling_is_shown_with_its_reason_and_replaced_by_the_next(reviewed: ReviewedCompetition) -> None:
    assert read_problem(rule(reviewed, "honest", "disqualify", who="rita")) == (403, "wrong-role")
    assert read_problem(rule(reviewed, "honest", "disqualify", who="ada")) == (403, "wrong-role")
    assert read_problem(rule(reviewed, "honest", "disqualify", reason="  ")) == (422, "no-reason")
    made = rule(reviewed, "honest", "disqualify", memorising=True)
    assert (made.status_code, made.json()["author"], made.json()["memorising"]) == (201, "organizer", True)
    assert (
        rule(reviewed, "honest", "keep", reason="We were wrong.").json()["memorising"] is True
    )  # the earlier answer stays
    view = case(reviewed, "ada", "honest")
    assert [(ruling["kind"], ruling["reason"]) for ruling in view["rulings"]] == [
        ("keep", "We were wrong."),
        ("disqualify", REASON),
    ]
    assert {ruling["author"] for ruling in view["rulings"]} == {None}
    assert {ruling["memorising"] for ruling in view["rulings"]} == {None}
    assert {ruling["author"] for ruling in case(reviewed, "rita", "honest")["rulings"]} == {"organizer"}
    assert reviewed.service.call("bob", "GET", f"/submissions/{reviewed.entries['honest']}/rulings").status_code == 404
    assert reviewed.notices("ada")[:2] == ["submission.zip in A competition: a ruling"] * 2
    with reviewed.service.context.sessions() as session:
        logged = session.query(AuditEntry).filter_by(action="ruling.made").order_by(AuditEntry.id).all()
        assert [(entry.before and entry.before["kind"], entry.after and entry.after["kind"]) for entry in logged] == [
            (None, "disqualify"),
            ("disqualify", "keep"),
        ]


def test_a_team_sees_the_evidence_for_a_ruling(reviewed: ReviewedCompetition) -> None:
    path = f"/submissions/{reviewed.entries['near']}/pairs/public"
    rule(reviewed, "near", "disqualify")
    assert reviewed.service.call("bob", "GET", path).headers["content-type"] == "image/png"
    assert reviewed.service.call("ada", "GET", path).status_code == 404
    assert reviewed.service.call("bob", "GET", path.replace("public", "private")).status_code == 404


def test_a_team_can_only_rebut_decisions_on_its_entries(reviewed: ReviewedCompetition) -> None:
    assert read_problem(rebut(reviewed, "ada", "honest")) == (409, "nothing-to-rebut")
    assert read_problem(rebut(reviewed, "ada", "near")) == (404, "no-submission")
    assert read_problem(rebut(reviewed, "organizer", "near")) == (403, "not-yours")


def test_one_rebuttal_against_a_penalty_and_one_against_each_ruling(reviewed: ReviewedCompetition) -> None:
    first = rebut(reviewed, "bob", "near")
    assert (first.status_code, first.json()["ruling_id"], first.json()["written_by"]) == (201, None, "bob")
    assert read_problem(rebut(reviewed, "bob", "near")) == (409, "rebutted")
    assert "New rebuttal in A competition" in reviewed.notices("organizer")
    path = f"/competitions/{reviewed.slug}/rebuttals"
    (waiting,) = reviewed.service.call("organizer", "GET", path).json()["rebuttals"]
    assert waiting["id"] == first.json()["id"]
    assert read_problem(reviewed.service.call("rita", "GET", path)) == (403, "wrong-role")

    refused = reply(reviewed, first.json()["id"], None)
    assert (refused.status_code, refused.json()["granted"], refused.json()["ruling_id"]) == (201, False, None)
    assert read_problem(reply(reviewed, first.json()["id"], "waive")) == (409, "answered")
    assert reviewed.notices("bob")[0].endswith("your rebuttal has not been granted")
    assert case(reviewed, "bob", "near")["rulings"] == []
    assert read_problem(rebut(reviewed, "bob", "near")) == (409, "rebutted")

    ruling = rule(reviewed, "near", "disqualify").json()["id"]
    second = rebut(reviewed, "bob", "near").json()
    assert second["ruling_id"] == ruling
    assert read_problem(rebut(reviewed, "bob", "near")) == (409, "rebutted")
    granted = reply(reviewed, second["id"], "waive").json()
    view = case(reviewed, "bob", "near")
    assert (view["rulings"][0]["kind"], view["rulings"][0]["id"]) == ("waive", granted["ruling_id"])
    assert [rebuttal["answer"]["granted"] for rebuttal in view["rebuttals"]] == [True, False]
    # One notice covers the answer and its ruling.
    assert reviewed.notices("bob")[0].endswith("your rebuttal has been granted")
    assert reviewed.notices("bob")[1].endswith("a ruling")
    assert read_problem(rebut(reviewed, "bob", "near")) == (409, "nothing-to-rebut")
    assert reviewed.service.call("organizer", "GET", path).json()["rebuttals"] == []


def test_rebuttals_are_accepted_during_the_review(reviewed: ReviewedCompetition) -> None:
    reviewed.service.close(reviewed.slug, ago=-timedelta(hours=1))  # the competition closes in an hour
    assert read_problem(rebut(reviewed, "bob", "near")) == (409, "review-not-begun")
    reviewed.service.close(reviewed.slug, ago=timedelta(days=5))
    assert read_problem(rebut(reviewed, "bob", "near")) == (409, "review-over")
    reviewed.service.close(reviewed.slug, ago=timedelta(days=5) - timedelta(minutes=1))
    view = case(reviewed, "bob", "near")
    assert view["rebuttals_from"] < view["rebuttals_until"]
    body = {"published": True, "reason": "done", "override": "the medals are not reviewed"}
    path = f"/competitions/{reviewed.slug}/publication"
    assert reviewed.service.call("organizer", "POST", path, json=body).is_success
    assert read_problem(rebut(reviewed, "bob", "near")) == (409, "review-over")
    assert reviewed.service.call("organizer", "POST", path, json=body | {"published": False}).is_success
    assert rebut(reviewed, "bob", "near").status_code == 201


def test_the_team_sees_the_effect_of_a_ruling_on_its_score(reviewed: ReviewedCompetition) -> None:
    def explained(entry: str, who: str) -> tuple[bool, bool, str]:
        measurement = reviewed.service.call(who, "GET", f"/submissions/{reviewed.entries[entry]}").json()[
            "measurements"
        ][0]
        return measurement["penalised"], measurement["disqualified"], measurement["explanation"]

    assert explained("near", "bob")[:2] == (True, False)
    rule(reviewed, "near", "waive")
    words = "The organizers waived its penalty, so its score is its FID regardless of its memorization distance."
    assert explained("near", "bob") == (False, False, words)
    rule(reviewed, "near", "disqualify")
    penalised, disqualified, words = explained("near", "bob")
    assert (penalised, disqualified) == (True, True)
    assert words.startswith("It is disqualified and has no rank. Its memorization distance")
    rule(reviewed, "near", "keep")
    assert explained("near", "bob")[:2] == (True, False)


def stakes(reviewed: ReviewedCompetition, who: str, entry: str) -> Any:
    """Return the impact of possible rulings as a person sees it."""
    return reviewed.service.call(who, "GET", f"/submissions/{reviewed.entries[entry]}/rulings/stakes")


def test_the_impact_of_a_ruling_equals_its_effect(reviewed: ReviewedCompetition) -> None:
    def ranks(track: str) -> dict[str, int]:
        leaderboard = reviewed.service.call(
            "organizer", "GET", f"/competitions/{reviewed.slug}/leaderboard?track={track}"
        ).json()
        return {place["team"]: place["rank"] for place in leaderboard["entries"]}

    assert read_problem(stakes(reviewed, "rita", "honest")) == (403, "wrong-role")
    assert read_problem(stakes(reviewed, "ada", "honest")) == (403, "wrong-role")
    teams = {"honest": "Ada", "near": "Bob"}
    for entry, ruled in (("honest", "disqualify"), ("near", "waive"), ("near", "disqualify"), ("honest", "keep")):
        effects = [
            effect for effect in stakes(reviewed, "organizer", entry).json()["stakes"] if effect["kind"] == ruled
        ]
        before = {track: ranks(track) for track in ("private", "public")}
        rule(reviewed, entry, ruled)
        for effect, track in zip(effects, ("private", "public"), strict=True):
            after = ranks(track)
            team = teams[entry]
            assert (effect["track"], effect["before"], effect["after"]) == (
                track,
                before[track].get(team),
                after.get(team),
            )
            turns = {turn["team"]: (turn["before"]["rank"], turn["after"]["rank"]) for turn in effect["turns"]}
            # Every place of the private board wins a medal here. After the close, the public board wins nothing.
            gone = before[track].keys() ^ after.keys()
            assert gone <= turns.keys() if track == "private" else not turns
            assert turns == {name: (before[track].get(name), after.get(name)) for name in turns}
    assert {effect["kind"] for effect in stakes(reviewed, "organizer", "honest").json()["stakes"]} == {
        "disqualify",
        "waive",
    }
