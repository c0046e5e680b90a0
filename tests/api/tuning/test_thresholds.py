"""Thresholds through the API: all methods, previews, undo, history and permissions."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from tests.api.conftest import Service
from tests.api.tuning.tuning_acts import choose, path, random_competition


def test_choices_allow_a_share_of_wrong_penalties(service: Service) -> None:
    slug = random_competition(service)
    choices = service.call("organizer", "GET", f"{path(slug)}/choices").json()["choices"]
    assert [choice["method"] for choice in choices] == ["margin", "held_out", "otsu", "accuracy", "paper"]
    assert choices[1]["lacks"]["type"] == "no-held-out-distance"
    for choice in choices:
        if choice["lacks"] is None:
            preview = choose(service, slug, method=choice["method"], preview=True).json()
            assert (preview["tau"], preview["choice"]) == (choice["tau"], choice["choice"])
    confusions = []
    for alpha in (0.0, 0.5):
        chosen = service.call("organizer", "GET", f"{path(slug)}/choices?alpha={alpha}").json()["choices"]
        confusions.append(chosen[0]["choice"]["confusion"])
    assert confusions[0]["false_positives"] == 0
    assert confusions[1]["true_positives"] > confusions[0]["true_positives"]


def test_previews_undo_and_history(service: Service) -> None:
    slug = random_competition(service)
    first = choose(service, slug, tau=0.2).json()
    preview = choose(service, slug, tau=0.35, preview=True).json()
    second = choose(service, slug, tau=0.35, after=first["threshold_id"]).json()
    sought = service.call("organizer", "GET", f"{path(slug)}/impact?tau=0.35&previous={first['threshold_id']}").json()
    assert sought == preview | {"method": "manual"}
    strip = {"preview", "threshold_id"}
    assert {k: v for k, v in preview.items() if k not in strip} == {k: v for k, v in second.items() if k not in strip}
    assert second["medals"]
    assert second["reviews"] != second["reviews_before"]
    stale = choose(service, slug, tau=0.5, after=first["threshold_id"])
    assert (stale.status_code, stale.json()["type"].rpartition(":")[2]) == (409, "tau-has-moved")

    def undo(**body: Any) -> Any:
        return service.call("organizer", "POST", f"{path(slug)}/undo", json=body)

    assert undo().status_code == 422
    back = undo(reason="too many", after=second["threshold_id"])
    assert back.status_code == 201
    assert (back.json()["method"], back.json()["tau"], back.json()["previous_tau"]) == ("undo", 0.2, 0.35)
    gone = {entry["submission_id"] for entry in second["penalised"]}
    assert {entry["submission_id"] for entry in back.json()["freed"]} == gone
    assert undo(reason="more").json()["type"].endswith("nothing-to-undo")

    steps = service.call("organizer", "GET", path(slug)).json()["thresholds"]
    assert [(step["tau"], step["method"], step["standing"], step["author"]) for step in steps] == [
        (0.2, "undo", False, "organizer"), (0.35, "manual", False, "organizer"), (0.2, "manual", True, "organizer"),
    ]  # fmt: skip
    assert (steps[0]["freed_count"], steps[1]["penalised_count"]) == (len(gone), len(gone))
    for step in steps[:2]:
        changes = service.call("organizer", "GET", f"{path(slug)}/{step['id']}/changes").json()["entries"]
        assert {entry["submission_id"] for entry in changes} == gone
    assert steps[1]["penalised"] == second["penalised"][:30]
    audit = service.call("admin", "GET", "/admin/audit").json()["entries"]
    assert [entry["action"] for entry in audit[:3]] == ["threshold.undone", "threshold.chosen", "threshold.chosen"]
    assert audit[0]["before"]["tau"] == 0.35


@pytest.mark.parametrize("kind", ["public", "private"])
def test_the_new_board_equals_its_preview(service: Service, kind: str) -> None:
    """The old board with the preview's moves equals the new board."""
    slug = random_competition(service, seed=7)

    def ranks() -> dict[str, int]:
        board = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard?track={kind}&limit=1000").json()
        return {place["team"]: place["rank"] for place in board["entries"]}

    choose(service, slug, kind, tau=0.1)
    for tau in (0.3, 0.25, 0.41, 0.0, 2.0):
        before = ranks()
        preview = choose(service, slug, kind, tau=tau, preview=True).json()
        assert ranks() == before
        expected = before | {move["team"]: move["after"] for move in preview["moves"]}
        choose(service, slug, kind, tau=tau)
        assert ranks() == {team: rank for team, rank in expected.items() if rank is not None}


def test_one_of_several_parallel_choices_is_accepted(service: Service) -> None:
    slug = random_competition(service, entries=20)
    newest = choose(service, slug, tau=0.2).json()["threshold_id"]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda tau: choose(service, slug, tau=tau, after=newest), (0.3, 0.4, 0.5, 0.6)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]


def test_only_organizers_can_read_and_choose_thresholds(service: Service) -> None:
    slug = random_competition(service, entries=20)
    for who, status in ((None, 401), ("ada", 403)):
        for address in ("", "/choices", "/impact?tau=0.2", "/impact/moves?tau=0.2", "/1/changes"):
            assert service.call(who, "GET", path(slug) + address).status_code == status
        for address in ("", "/undo"):
            body = {"reason": "x"}
            assert service.call(who, "POST", path(slug, "public") + address, json=body).status_code == status
    with service.context.sessions.begin() as session:
        state: CompetitionState = competition_state.load_state(session, slug, datetime.now(UTC))
        assert state.tracks["private"].kind == "private"


def test_lists_are_paged(service: Service) -> None:
    slug = random_competition(service, seed=4, entries=200)
    first = choose(service, slug, tau=0.1).json()["threshold_id"]
    done = choose(service, slug, tau=0.35).json()
    assert done["counts"]["moves"] > 9
    assert done["counts"]["entries"] == 200
    for name in ("penalised", "freed", "borderline", "moves", "medals", "prizes"):
        rows: list[Any] = []
        after: int | None = 0
        while after is not None:
            query = f"tau=0.35&previous={first}&after={after}&limit=9"
            page = service.call("organizer", "GET", f"{path(slug)}/impact/{name}?{query}").json()
            rows += page["entries"]
            assert page["total"] == done["counts"][name]
            after = page["next_after"]
        assert rows[:100] == done[name]
        assert len(rows) == done["counts"][name]
    short = service.call("organizer", "GET", f"{path(slug)}/impact?tau=0.35&previous={first}&limit=2").json()
    assert (short["counts"], short["moves"]) == (done["counts"], done["moves"][:2])
    changes = service.call("organizer", "GET", f"{path(slug)}/{done['threshold_id']}/changes?limit=5").json()
    assert (changes["total"], changes["entries"]) == (done["counts"]["penalised"], done["penalised"][:5])
    page = service.call("organizer", "GET", f"{path(slug)}?limit=1").json()
    (newest,) = page["thresholds"]
    assert page["next_after"] == newest["id"]
    assert newest["penalised_count"] == done["counts"]["penalised"]
    (older,) = service.call("organizer", "GET", f"{path(slug)}?after={newest['id']}").json()["thresholds"]
    assert older["id"] == first
    unknown = service.call("organizer", "GET", f"{path(slug, 'public')}/impact?tau=0.3&previous={first}")
    assert (unknown.status_code, unknown.json()["type"].rpartition(":")[2]) == (404, "no-threshold")
    assert service.call("organizer", "GET", f"{path(slug)}/impact").status_code == 422
