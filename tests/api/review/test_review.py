"""Reviews through the API: the queue, independent reviewers, and decided labels."""

import io
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from PIL import Image

from scorer.db.tables import AuditEntry, ReviewClaim
from tests.api.cached_state import CachedState, cached_fixtures
from tests.api.conftest import API, Service, read_problem
from tests.api.review.reviewed_competition import ReviewedCompetition
from tests.factories import NOTEBOOK, grainy, near_copies, noise_images


def competition_to_review(service: Service) -> tuple[str, dict[str, str]]:
    """Create a competition: Ada is honest, Bob's images are near duplicates, Eve submits Ada's images again."""
    service.hire("rita", "rob", "rex")
    slug = service.competition(medals={"gold": 1, "silver": 1, "bronze": 1})
    entries = {
        "honest": service.scored("ada", slug, noise_images(10))["id"],
        "near": service.scored("bob", slug, near_copies())["id"],
        "same": service.scored("eve", slug, noise_images(10)[::-1])["id"],
    }
    return slug, entries


cached, service = cached_fixtures(competition_to_review)


@pytest.fixture
def reviewed(service: Service, cached: CachedState[tuple[str, dict[str, str]]]) -> ReviewedCompetition:
    return ReviewedCompetition(service, *cached.result)


def test_the_queue_lists_entries_with_reasons(reviewed: ReviewedCompetition) -> None:
    queue = reviewed.queue("rita")
    reasons = {entry["submission_id"]: {reason["name"] for reason in entry["reasons"]} for entry in queue["entries"]}
    honest, near, same = (reasons[reviewed.entries[name]] for name in ("honest", "near", "same"))
    assert "penalised" in near
    assert "shared-images" in honest & same
    assert "same-zip" not in honest | same
    weights = [entry["weight"] for entry in queue["entries"]]
    assert weights == sorted(weights, reverse=True)
    assert queue["counts"] == {"open": 3, "waiting": 0, "disputed": 0, "unruled": 0, "decided": 0}
    assert {goal["track"]: (goal["reviewed"], goal["places"]) for goal in queue["goals"]} == {
        "public": (0, 1),
        "private": (0, 1),
    }
    assert queue["agreement"] == {"entries": 0, "agreed": 0, "kappa": None}
    one = reviewed.queue("rita", limit=1)
    assert one["next_after"] == 1
    assert [one["entries"][0]] == queue["entries"][:1]
    rest = reviewed.queue("rita", after=1)["entries"]
    assert [one["entries"][0], *rest] == queue["entries"]


def test_reviewers_are_independent_and_their_agreement_decides(reviewed: ReviewedCompetition) -> None:
    first = reviewed.review("rita", "near", "aug", intent="intended", note="a training image, nudged")
    assert first.status_code == 201, first.text
    assert (first.json()["own"]["label"], first.json()["others"], first.json()["complete"]) == ("aug", [], False)
    for who in ("rob", "organizer", "admin"):
        opinions = reviewed.look(who, "near")["opinions"]
        assert (opinions["own"], opinions["others"], opinions["decided"], opinions["count"]) == (None, [], None, 1)
        assert "nudged" not in str(reviewed.look(who, "near"))
    with reviewed.service.context.sessions() as session:
        logged = session.query(AuditEntry).filter_by(action="review.given").one()
        assert logged.after == {"again": False}
    assert reviewed.queue("rita")["counts"]["waiting"] == 1
    assert reviewed.queue("rob")["counts"]["waiting"] == 0
    again = reviewed.review("rita", "near", "aug", intent="unclear")
    assert again.json()["own"]["intent"] == "unclear"
    assert again.json()["count"] == 1

    second = reviewed.review("rob", "near", "aug").json()
    assert second["complete"]
    assert second["decided"]["label"] == "aug"
    assert [(review["reviewer"], review["intent"]) for review in second["others"]] == [("rita", "unclear")]
    for who in ("rita", "rex", "organizer"):
        refused = reviewed.review(who, "near", "legitimate")
        assert read_problem(refused) == (409, "reviewed")
    queue = reviewed.queue("rex")
    assert queue["agreement"] == {"entries": 1, "agreed": 1, "kappa": None}
    assert queue["counts"]["unruled"] == 1, "labelled as memorising, without a ruling"
    board = reviewed.service.call("organizer", "GET", f"/competitions/{reviewed.slug}/leaderboard").json()
    labels = {place["submission_id"]: place["label"] for place in board["entries"]}
    assert labels.get(reviewed.entries["near"]) == "aug"


def test_another_organizer_decides_if_reviewers_disagree(reviewed: ReviewedCompetition) -> None:
    path = f"/competitions/{reviewed.slug}/submissions/{reviewed.entries['honest']}/label"
    reviewed.review("rita", "honest", "legitimate")
    assert reviewed.review("organizer", "honest", "ae", intent="intended").json()["disputed"]
    assert "Reviewers disagree in A competition" in reviewed.notices("admin")
    assert "Reviewers disagree in A competition" not in reviewed.notices("organizer")
    refused = reviewed.service.call("organizer", "PUT", path, json={"label": "legitimate"})
    assert read_problem(refused) == (403, "disputed")
    assert reviewed.queue("rex")["counts"]["disputed"] == 1
    done = reviewed.service.call("admin", "PUT", path, json={"label": "legitimate", "note": "no pair is alike"})
    assert done.status_code == 200
    opinions = reviewed.look("rita", "honest")["opinions"]
    assert (opinions["disputed"], opinions["decided"]["label"]) == (False, "legitimate")
    # Kappa computed manually: one agreement and one disagreement over two labels.
    reviewed.review("rita", "near", "aug")
    reviewed.review("rex", "near", "aug")
    assert reviewed.queue("rita")["agreement"] == {"entries": 2, "agreed": 1, "kappa": pytest.approx(1 / 3)}


def test_repeating_a_label_does_not_reopen_a_ruled_entry(reviewed: ReviewedCompetition) -> None:
    """A new reason or another organizer reopens it."""
    label = f"/competitions/{reviewed.slug}/submissions/{reviewed.entries['honest']}/label"

    def decide(note: str, who: str = "organizer") -> Any:
        answer = reviewed.service.call(who, "PUT", label, json={"label": "ae", "note": note})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def unruled() -> int:
        return int(reviewed.queue("organizer")["counts"]["unruled"])

    first = decide("Its weights are an autoencoder's.")
    assert unruled() == 1
    ruling = {"kind": "keep", "reason": "The rules allow it."}
    path = f"/submissions/{reviewed.entries['honest']}/rulings"
    assert reviewed.service.call("organizer", "POST", path, json=ruling).status_code == 201
    assert unruled() == 0
    assert decide("Its weights are an autoencoder's.") == decide("") == first
    assert unruled() == 0
    decide("Its code was found.")
    assert unruled() == 1
    assert reviewed.service.call("organizer", "POST", path, json=ruling).status_code == 201
    decide("", "admin")
    assert unruled() == 1


def test_somebody_can_always_decide_a_disagreement(reviewed: ReviewedCompetition) -> None:
    path = f"/competitions/{reviewed.slug}/submissions/{reviewed.entries['honest']}/label"
    reviewed.review("admin", "honest", "legitimate")
    reviewed.review("organizer", "honest", "ae")
    assert "Reviewers disagree in A competition" in reviewed.notices("organizer"), "no other organizer can decide"
    assert read_problem(reviewed.service.call("rita", "PUT", path, json={"label": "ae"})) == (403, "wrong-role")
    assert reviewed.service.call("organizer", "PUT", path, json={"label": "ae"}).status_code == 200


def test_reviewers_get_different_entries_first(reviewed: ReviewedCompetition) -> None:
    def given(who: str, skip: int = 0) -> tuple[str | None, int]:
        path = f"/competitions/{reviewed.slug}/review-queue/next"
        view = reviewed.service.call(who, "POST", path, params={"skip": skip}).json()
        return view["entry"] and view["entry"]["submission_id"], view["skip"]

    first, second, third = (entry["submission_id"] for entry in reviewed.queue("rita")["entries"])
    assert given("rita") == (first, 0)
    assert given("rita") == (first, 0), "rita keeps her claim"
    assert given("rob") == (second, 1)
    assert given("rex") == (third, 2)
    assert given("organizer") == (first, 0), "all entries are claimed"
    assert given("rob", skip=2) == (third, 2), "rex has claimed it, and no entry follows"
    assert given("rob", skip=3) == (None, 3)
    with reviewed.service.context.sessions.begin() as session:
        session.query(ReviewClaim).update({"expires_at": datetime.now(UTC)})
    assert given("rex") == (first, 0), "a claim expires"
    assert read_problem(reviewed.service.call("ada", "POST", f"/competitions/{reviewed.slug}/review-queue/next")) == (
        403,
        "wrong-role",
    )


def test_only_reviewers_and_organizers_can_review(reviewed: ReviewedCompetition) -> None:
    near = reviewed.entries["near"]
    call = reviewed.service.call
    for who, status in (("ada", 403), ("bob", 403), (None, 401)):
        assert call(who, "GET", f"/competitions/{reviewed.slug}/review-queue").status_code == status
        assert call(who, "GET", f"/submissions/{near}/review").status_code == status
        assert call(who, "POST", f"/submissions/{near}/reviews", json={"label": "aug"}).status_code == status
        assert call(who, "GET", f"/submissions/{near}/pairs/private").status_code == (404 if who else 401)
    assert call("bob", "GET", f"/submissions/{near}/pairs/public").status_code == 404
    assert call("rita", "GET", f"/submissions/{near}").status_code == 404
    assert call("rita", "GET", f"/competitions/{reviewed.slug}/tracks/public/thresholds").status_code == 403


def test_a_review_shows_an_entry_with_its_context(reviewed: ReviewedCompetition) -> None:
    service = reviewed.service
    second = service.scored("bob", reviewed.slug, noise_images(12))["id"]
    service.call("organizer", "PUT", f"/competitions/{reviewed.slug}/submissions/{second}/label", json={"label": "ae"})
    view = reviewed.look("rita", "near")
    assert {measurement["track"] for measurement in view["entry"]["measurements"]} == {"public", "private"}
    names = {finding["name"] for finding in view["findings"]}
    assert {"public-held-out", "private-held-out", "public-near", "private-near"} <= names
    (other,) = view["others"]
    assert (other["submission_id"], other["label"]) == (second, None)
    assert view["early_labels"] == []
    reviewed.review("rita", "near", "aug")
    assert reviewed.look("rita", "near")["others"][0]["label"] == "ae"
    (double,) = reviewed.look("rita", "same")["doubles"]
    assert (double["submission_id"], double["same_zip"], double["team"]) == (reviewed.entries["honest"], False, "Ada")
    assert service.call("rita", "GET", view["entry"]["sprite"].removeprefix(API)).status_code == 200
    assert service.call("ada", "GET", view["entry"]["sprite"].removeprefix(API)).status_code == 404
    code = service.call("rita", "GET", f"/submissions/{reviewed.entries['near']}/code")
    assert read_problem(code) == (404, "no-code")


def test_pairs_show_images_of_the_zips(reviewed: ReviewedCompetition) -> None:
    path = f"/submissions/{reviewed.entries['near']}/pairs"
    pairs = reviewed.look("rita", "near")["pairs"]["public"]
    assert len(pairs) == 8
    assert all(pair["difference"] < 6 < pair["mirrored_difference"] and not pair["mirrored"] for pair in pairs)
    sheet = reviewed.service.call("rita", "GET", f"{path}/public")
    assert sheet.headers["content-type"] == "image/png"
    picture = np.asarray(Image.open(io.BytesIO(sheet.content)))
    assert picture.shape == (32, 128, 3)
    assert 0 < np.abs(picture[:16].astype(int) - picture[16:]).max() <= 6
    for pair, column in zip(pairs, np.split(picture, 8, axis=1), strict=True):
        generated, reference = column[:16], column[16:]
        assert any((reference == image).all() for image in noise_images(1, 40, 16))
        wanted = float(np.sqrt(np.mean((generated.astype(float) - reference) ** 2)))
        assert pair["difference"] == pytest.approx(wanted)
    known = {"If-None-Match": sheet.headers["etag"]}
    assert reviewed.service.call("rita", "GET", f"{path}/public", headers=known).status_code == 304


def test_a_penalised_team_sees_pairs_and_can_attach_code(reviewed: ReviewedCompetition) -> None:
    service, near = reviewed.service, f"/submissions/{reviewed.entries['near']}"

    def statuses(who: str) -> list[int]:
        answers = [service.call(who, "GET", f"{near}/pairs/{kind}") for kind in ("public", "private")]
        return [*(answer.status_code for answer in answers)]

    def attached() -> int:
        status: int = service.call("bob", "PUT", f"{near}/code", content=NOTEBOOK).status_code
        return status

    assert statuses("bob") == [404, 404]
    service.close(reviewed.slug)
    assert statuses("bob") == [200, 404]
    assert statuses("ada") == [404, 404]
    assert attached() == 200
    honest = service.call("ada", "PUT", f"/submissions/{reviewed.entries['honest']}/code", content=NOTEBOOK)
    assert read_problem(honest) == (409, "closed")
    body = {"published": True, "final": False, "reason": "Done.", "override": "a test"}
    assert service.call("organizer", "POST", f"/competitions/{reviewed.slug}/publication", json=body).is_success
    assert statuses("bob") == [200, 200]
    assert statuses("ada") == [404, 404]
    assert attached() == 200
    assert service.call(
        "organizer", "POST", f"/competitions/{reviewed.slug}/publication", json=body | {"final": True}
    ).is_success
    assert attached() == 409


def test_only_organizers_see_private_reference_images(reviewed: ReviewedCompetition) -> None:
    service, private = reviewed.service, noise_images(3, 10, 16)  # the private reference set of `Service.competition`
    reviewed.entries["guessed"] = service.scored("eve", reviewed.slug, grainy(private[:8], 2))["id"]

    def references(who: str) -> list[Any]:
        pairs = reviewed.look(who, "guessed")["pairs"]["private"]
        answer = service.call(who, "GET", f"/submissions/{reviewed.entries['guessed']}/pairs/private")
        assert answer.status_code == (200 if pairs else 404)
        if not pairs:
            return []
        return np.split(np.asarray(Image.open(io.BytesIO(answer.content)))[16:], len(pairs), axis=1)

    assert all(any((shown == image).all() for image in private) for shown in references("organizer"))
    assert len(references("organizer")) == 8
    assert references("rita") == []
    assert read_problem(service.call("rita", "GET", f"/submissions/{reviewed.entries['guessed']}/pairs/private")) == (
        404,
        "no-pairs",
    )
    assert reviewed.look("rita", "guessed")["entry"]["measurements"][0]["provenance"] is None


def test_admins_can_change_roles(service: Service) -> None:
    refused = service.browse("organizer", "PUT", "/accounts/ada/role", json={"role": "organizer"})
    assert refused.status_code == 403
    changed = service.browse("admin", "PUT", "/accounts/ADA/role", json={"role": "organizer"})
    assert (changed.status_code, changed.json()["role"]) == (200, "organizer")
    assert service.call("ada", "GET", "/me").json()["role"] == "organizer"
    last = service.browse("admin", "PUT", "/accounts/admin/role", json={"role": "participant"})
    assert read_problem(last) == (409, "last-admin")
    assert service.browse("admin", "PUT", "/accounts/nobody/role", json={"role": "admin"}).status_code == 404
    assert service.browse("admin", "PUT", "/accounts/ada/role", json={"role": "king"}).status_code == 422
    with service.context.sessions() as session:
        logged = session.query(AuditEntry).filter_by(action="role.changed", subject="account:ada").one()
        assert (logged.before, logged.after) == ({"role": "participant"}, {"role": "organizer"})
