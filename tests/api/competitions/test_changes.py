"""Changing a competition: drafts can change fully, later changes are limited, logged and announced. Deleting drafts."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service, audit_entries, refused
from tests.factories import make_zip, noise_images

__all__ = ["terminal"]
TOMORROW = datetime.now(UTC) + timedelta(days=1)


def change(service: Service, target: str, **changes: Any) -> Any:
    """Change a competition as its organizer."""
    return service.call("organizer", "PATCH", f"/competitions/{target}", json=changes)


def notices(service: Service, who: str) -> list[tuple[str, str]]:
    """Return the kind and body of a person's notices, newest first."""
    return [(notice["kind"], notice["body"]) for notice in service.notices(who)]


def test_a_draft_can_change_fully_and_be_deleted(service: Service) -> None:
    slug = service.competition(opens_at=TOMORROW, prizes=[{"place": 1, "amount": "$50"}])
    assert change(service, slug, public={"extractor": "efficientnet_lite0"}).json()["missing"] == [
        "the references of the public track are not prepared"
    ]
    wanted = {
        "slug": f"{slug}-renamed",
        "prizes": [{"place": 1, "amount": "$5,000"}],
        "medals": {"gold": 1, "silver": 2, "bronze": 3},
        "image_count": 9,
        "daily_limit": None,
        "final_picks": 3,
        "review_days": 20,
        "appeal_days": 9,
        "max_team_size": 2,
    }
    changed = change(service, slug, **wanted)
    assert changed.status_code == 200, changed.text
    assert wanted.items() <= changed.json().items()
    assert changed.json()["tracks"][0]["extractor"] == "efficientnet_lite0@1"
    refused(service.call("organizer", "GET", f"/competitions/{slug}"), 404, "no-competition")
    other = service.competition()
    refused(change(service, f"{slug}-renamed", slug=other), 409, "slug-taken")
    assert change(service, f"{slug}-renamed", image_size=32).json()["missing"] == [
        f"the references of the {kind} track are not prepared" for kind in ("public", "private")
    ]
    for who, status in ((None, 401), ("ada", 403)):
        assert service.call(who, "DELETE", f"/competitions/{slug}-renamed").status_code == status
    refused(service.call("organizer", "DELETE", f"/competitions/{other}"), 409, "not-a-draft")
    assert service.call("organizer", "DELETE", f"/competitions/{slug}-renamed").status_code == 204
    refused(service.call("organizer", "GET", f"/competitions/{slug}-renamed"), 404, "no-competition")
    listed = service.call("organizer", "GET", "/competitions").json()["competitions"]
    assert [competition["slug"] for competition in listed] == [other]
    assert service.competition(slug=f"{slug}-renamed"), "the slug is free again"
    ((_, subject, before, _),) = audit_entries(service, "competition.deleted")
    assert (subject, before) == (f"competition:{slug}-renamed", {"title": "A competition"})


def test_a_refusal_lists_all_fields_with_text_instead_of_numbers(service: Service) -> None:
    medals, track = {"gold": "1"}, {"extractor": "tiny", "epsilon": "1e-9"}
    wrong = {"image_count": "20", "daily_limit": "5", "late_submissions": "yes", "medals": medals, "public": track}
    body = {"slug": "typed-dogs", "title": "Dogs", "private": {"extractor": "tiny"}} | wrong
    problem = refused(service.call("organizer", "POST", "/competitions", json=body), 422, "bad-request")
    named = [fault.partition(":")[0].removeprefix("body.") for fault in problem["faults"]]
    assert named == ["image_count", "daily_limit", "late_submissions", "medals.gold", "public.epsilon"]


def test_a_change_is_logged_and_notifies_teams_and_rule_acceptors(service: Service) -> None:
    slug = service.competition(rules="Be fair.", title="Dogs", prizes=[{"place": 1, "amount": "$50"}])
    version = service.call(None, "GET", f"/competitions/{slug}").json()["rules_sha256"]
    for who in ("ada", "bob"):
        path = f"/competitions/{slug}/rules-acceptance"
        assert service.call(who, "PUT", path, json={"rules_sha256": version}).status_code == 200
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202
    before = [notices(service, who) for who in ("ada", "bob", "eve")]
    prizes = [{"place": 1, "amount": "$5,000"}]
    answer = change(service, slug, prizes=prizes, rules="Be kind.", daily_limit=7, title="Dogs", description="Quiet.")
    assert answer.status_code == 200, answer.text
    notice = ("change", (
        "Dogs has changed. The rules have changed. Please read and accept them before your next entry. Entries per team"
        " and UTC day: 7 (previously unlimited). Prizes: $5,000 for place 1 (previously $50 for place 1)."
    ))  # fmt: skip
    assert [notices(service, who) for who in ("ada", "bob", "eve")] == [
        [notice, *before[0]],
        [notice, *before[1]],
        before[2],
    ]
    (*_, was, becomes) = audit_entries(service, "competition.changed")[-1]
    assert was == {
        "rules": "Be fair.",
        "daily_limit": None,
        "prizes": [{"place": 1, "amount": "$50"}],
        "description": "",
    }
    assert becomes == {"rules": "Be kind.", "daily_limit": 7, "prizes": prizes, "description": "Quiet."}
    moved = datetime.now(UTC) + timedelta(days=20)
    assert change(service, slug, closes_at=moved.isoformat()).status_code == 200
    assert notices(service, "bob")[0][0] == "deadline"
    assert change(service, slug, closes_at=moved.isoformat(), daily_limit=7).status_code == 200
    assert len(audit_entries(service, "competition.changed")) == 2, "repeating a change is not logged"
    assert change(service, slug, private={"extractor": "tiny", "epsilon": 1e-9}).status_code == 409


def test_a_change_keeps_medals_that_it_does_not_name(service: Service) -> None:
    """Otherwise the board and the checklist would disagree about who gets them."""
    slug = service.competition(medals={"gold": 1, "silver": 2, "bronze": 3})
    service.submit("ada", slug, make_zip(noise_images(9)))
    assert change(service, slug, medals={"gold": 0}).json()["medals"] == {"gold": 0, "silver": 2, "bronze": 3}
    assert change(service, slug, medals={"bronze": 9}).json()["medals"] == {"gold": 0, "silver": 2, "bronze": 9}
    expected = (
        "A competition has changed. Medals: no gold, silver up to place 2, bronze up to place 9 (previously no gold, "
    )
    assert notices(service, "ada")[0][1].startswith(expected)
    assert change(service, slug, medals={}).status_code == 200
    assert len(audit_entries(service, "competition.changed")) == 2, "an empty change is not logged"


def test_a_changed_epsilon_is_announced(service: Service) -> None:
    slug = service.competition(rules="Be fair.")
    version = service.call(None, "GET", f"/competitions/{slug}").json()["rules_sha256"]
    service.call("bob", "PUT", f"/competitions/{slug}/rules-acceptance", json={"rules_sha256": version})
    assert change(service, slug, public={"extractor": "tiny", "epsilon": 1e-6}).status_code == 200
    both = {"extractor": "efficientnet_lite0", "epsilon": 1e-15}
    assert change(service, slug, public=both).status_code == 200
    start = "A competition has changed. "
    extractor = "Extractor of the public score: efficientnet_lite0@1 (previously tiny@1)."
    assert [body for _, body in notices(service, "bob")][:2] == [
        f"{start}{extractor} Epsilon of the public score: 1e-15 (previously 1e-06).",
        f"{start}Epsilon of the public score: 1e-06 (previously 1e-15).",
    ]


def test_a_change_of_fixed_fields_is_refused_with_all_reasons(service: Service) -> None:
    slug = service.competition(final_picks=2)
    entered = [service.scored("ada", slug, noise_images(seed))["id"] for seed in (9, 10)]
    picks = {"submissions": entered}
    assert service.call("ada", "PUT", f"/competitions/{slug}/picks", json=picks).status_code == 200
    answer = change(
        service,
        slug,
        title="Changed",
        image_size=32,
        final_picks=1,
        public={"extractor": "inception_v3"},
        opens_at=None,
    )
    problem = refused(answer, 409, "fixed-by-now")
    assert problem["faults"] == [
        "image_size: The competition is no longer a draft.",
        "opens_at: Teams have submitted entries.",
        "final_picks: A team has picked 2 entries.",
        "public: Some entries are scored or in progress.",
    ]
    assert service.call(None, "GET", f"/competitions/{slug}").json()["title"] == "A competition"
    refused(service.call("organizer", "DELETE", f"/competitions/{slug}"), 409, "not-a-draft")


def test_the_public_extractor_can_change_before_scores(service: Service) -> None:
    slug = service.competition()
    thresholds = f"/competitions/{slug}/tracks/public/thresholds"
    chosen = {"method": "manual", "tau": 0.3, "reason": "for the old extractor"}
    assert service.call("organizer", "POST", thresholds, json=chosen).is_success
    view = change(service, slug, public={"extractor": "efficientnet_lite0"}).json()
    assert (view["tracks"][0]["extractor"], view["tracks"][0]["tau"]) == ("efficientnet_lite0@1", None)
    refused(service.submit("ada", slug, make_zip(noise_images(9))), 409, "not-ready")
    assert change(service, slug, public={"extractor": "tiny"}).status_code == 200
    prepared = service.call("organizer", "POST", f"/competitions/{slug}/tracks/public/preparation")
    assert prepared.status_code == 202, prepared.text
    view = service.call("organizer", "GET", f"/competitions/{slug}").json()
    assert (view["missing"], view["tracks"][0]["tau"] not in {None, 0.0, 0.3}) == ([], True)
    refused(service.call("organizer", "POST", f"{thresholds}/undo", json={"reason": "Back."}), 409, "nothing-to-undo")
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202
    refused(change(service, slug, public={"extractor": "inception_v3"}), 409, "fixed-by-now")


def test_the_command_changes_and_deletes_competitions(service: Service, terminal: CliTerminal, tmp_path: Path) -> None:
    slug = service.competition(opens_at=TOMORROW)
    file = tmp_path / "changes.toml"
    file.write_text('daily_limit = "unlimited"\nprizes = [{place = 1, amount = "$7"}]\n')
    changed = terminal.run("admin", "competition", "update", slug, file, who="organizer")
    assert (changed.status, changed.out.split()[:3]) == (0, [slug, "is", "draft;"]), changed.err
    view = service.call("organizer", "GET", f"/competitions/{slug}").json()
    assert (view["daily_limit"], view["prizes"]) == (None, [{"place": 1, "amount": "$7"}])
    assert (
        terminal.run("admin", "competition", "delete-draft", slug, who="organizer").out
        == f"Competition {slug} deleted.\n"
    )
    refused(service.call("organizer", "GET", f"/competitions/{slug}"), 404, "no-competition")


def test_a_place_can_have_only_one_prize(service: Service) -> None:
    twice = [{"place": 2, "amount": "$5"}, {"place": 1, "amount": "$9"}, {"place": 2, "amount": "a book"}]
    slug = service.competition(opens_at=TOMORROW)
    message = "Place 2 has more than one prize. Combine them into one."
    assert refused(change(service, slug, prizes=twice), 422, "bad-prizes")["title"] == message
    spec = {"slug": "other", "title": "Other", "image_count": 8, "image_size": 16, "prizes": twice}
    tracks = {kind: {"extractor": "tiny"} for kind in ("public", "private")}
    refused(service.call("organizer", "POST", "/competitions", json=spec | tracks), 422, "bad-prizes")
