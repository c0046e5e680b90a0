"""The settings of a competition, from a new draft to its last hour, in a desktop and a phone browser."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.sync_api import Browser, expect

from api.competitions.settings.form import hash_value
from api.http.csrf import csrf_token
from tests.api.conftest import Service
from tests.factories import make_zip, noise_images
from tests.http_server import serve
from tests.web.browser import OVERFLOWING_ELEMENTS, PHONE, take_pictures, visit
from tests.web.pages import start_session


def view(service: Service, slug: str) -> dict[str, Any]:
    """The competition as its organizer sees it."""
    answer: dict[str, Any] = service.call("organizer", "GET", f"/competitions/{slug}").json()
    return answer


def test_an_organizer_corrects_a_competition_and_deletes_a_draft(browser: Browser, service: Service) -> None:
    now = datetime.now(UTC)
    slug = service.competition(
        rules="Be fair.",
        prizes=[{"place": 1, "amount": "$50"}],
        opens_at=now - timedelta(days=1),
        closes_at=now + timedelta(days=3, seconds=7),
    )
    draft = service.competition(opens_at=now + timedelta(days=1))
    before = view(service, slug)
    with serve(service.app) as url, visit(browser, f"{url}/competitions/{slug}") as tab:
        page = tab.page
        page.context.add_cookies([{"name": "kennel", "value": start_session(service, "organizer"), "url": url}])
        page.goto(f"{url}/competitions/{slug}")
        page.get_by_role("link", name="Settings").click()
        take_pictures(page, "settings")
        page.set_viewport_size({"width": PHONE, "height": 800})
        assert page.evaluate(OVERFLOWING_ELEMENTS, PHONE) == []
        expect(page.get_by_label("Width and height in pixels")).to_be_disabled()
        page.get_by_role("textbox", name="Prizes").fill("1: $5,000\n2: nothing\nthird: a bone")
        page.get_by_label("Members per team").fill("4")
        page.get_by_role("button", name="Save settings").click()
        expect(page.get_by_role("alert")).to_contain_text("'third: a bone' is not a prize.")
        expect(page.get_by_label("Members per team")).to_have_value("4")
        page.get_by_role("textbox", name="Prizes").fill("1: $5,000\n2: $10")
        page.get_by_role("button", name="Save settings").click()
        expect(page.get_by_role("status")).to_have_text("Settings saved.")
        prizes = [{"place": 1, "amount": "$5,000"}, {"place": 2, "amount": "$10"}]
        assert view(service, slug) == before | {"prizes": prizes, "max_team_size": 4}, (
            "other settings stay the same, even the seconds"
        )

        meanwhile = {"daily_limit": 3, "rules": "Be good."}
        assert service.call("organizer", "PATCH", f"/competitions/{slug}", json=meanwhile).is_success
        page.get_by_label("Members per team").fill("3")
        page.get_by_role("button", name="Save settings").click()
        expect(page.get_by_role("status")).to_have_text("Settings saved.")
        assert (view(service, slug)["daily_limit"], view(service, slug)["max_team_size"]) == (3, 3)
        assert service.call("organizer", "PATCH", f"/competitions/{slug}", json={"rules": "Be better."}).is_success
        page.get_by_role("textbox", name="Rules").fill("Be kind.")
        page.get_by_role("button", name="Save settings").click()
        expect(page.get_by_role("alert")).to_contain_text("Somebody else has changed these settings")
        expect(page.get_by_role("textbox", name="Rules")).to_have_value("Be kind.")
        page.get_by_role("button", name="Save settings").click()
        expect(page.get_by_role("status")).to_have_text("Settings saved.")
        assert view(service, slug)["rules"] == "Be kind."

        page.goto(f"{url}/competitions/{draft}/settings")
        take_pictures(page, "settings-draft")
        page.get_by_label("to confirm").fill("something else")
        page.get_by_role("button", name="Delete draft").click()
        expect(page.get_by_role("alert")).to_contain_text(f"type {draft}")
        page.get_by_label("to confirm").fill(draft)
        page.get_by_role("button", name="Delete draft").click()
        expect(page.get_by_role("heading", name="Competitions")).to_be_visible()
    assert service.call("organizer", "GET", f"/competitions/{draft}").status_code == 404
    assert [message for message in tab.console_messages if not message.startswith("Failed to load resource")] == []


def test_the_page_lists_requirements_before_entries_are_accepted(service: Service) -> None:
    slug = service.competition()
    assert service.call("organizer", "PATCH", f"/competitions/{slug}", json={"public": {"extractor": "inception_v3"}})
    cookie = {"Cookie": f"kennel={start_session(service, 'organizer')}", "Accept": "text/html"}
    page = service.http.get(f"/competitions/{slug}/settings", headers=cookie)
    assert "the references of the public track are not prepared" in page.text
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 409
    forbidden = {"Cookie": f"kennel={start_session(service, 'ada')}", "Accept": "text/html"}
    assert service.http.get(f"/competitions/{slug}/settings", headers=forbidden).status_code == 403


def test_the_longest_text_can_be_saved(service: Service) -> None:
    """A form encodes a character of three bytes in nine, and a line break in two characters."""
    slug = service.competition()
    rules = "規則を守ること。\n" * 5_555
    secret = start_session(service, "organizer")
    fields = {"csrf": csrf_token(secret), "shown.rules": hash_value(""), "rules": rules.replace("\n", "\r\n")}
    headers = {"Cookie": f"kennel={secret}", "Accept": "text/html"}
    page = f"/competitions/{slug}/settings"
    answer = service.http.post(page, data=fields, headers=headers, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    assert view(service, slug)["rules"] == rules.strip()


def test_an_organizer_creates_a_draft(browser: Browser, service: Service) -> None:
    taken = service.competition()
    with serve(service.app) as url, visit(browser, url) as tab:
        page = tab.page
        link = page.get_by_role("link", name="New competition")
        expect(page.get_by_role("heading", name="Competitions")).to_be_visible()
        expect(link).to_have_count(0)
        page.context.add_cookies([{"name": "kennel", "value": start_session(service, "organizer"), "url": url}])
        page.reload()
        link.click()
        take_pictures(page, "new-competition")
        page.set_viewport_size({"width": PHONE, "height": 800})
        assert page.evaluate(OVERFLOWING_ELEMENTS, PHONE) == []
        page.get_by_label("Title").fill("Cats & dogs")
        page.get_by_label("Slug").fill(taken)
        page.get_by_label("Teams submit").select_option("generator")
        page.get_by_label("Images per entry").fill("500")
        page.get_by_label("Public extractor").select_option("efficientnet_lite0@1")
        page.get_by_label("Private extractor").select_option("efficientnet_lite2@1")
        page.get_by_role("button", name="Create draft").click()
        expect(page.get_by_role("alert")).to_have_text(
            f"There is already a competition '{taken}'. Choose another slug."
        )
        page.get_by_label("Slug").fill("cats-and-dogs")
        page.get_by_role("button", name="Create draft").click()
        expect(page.get_by_role("status")).to_contain_text("Draft created.")
        expect(page.get_by_text("no training images are attached")).to_be_visible()
        page.get_by_label("Draws for the final score").fill("2")
        page.get_by_label("Latent distribution").select_option("uniform")
        page.get_by_role("button", name="Save settings").click()
        expect(page.get_by_role("status")).to_have_text("Settings saved.")
        expect(page.get_by_label("Draws for the final score")).to_have_value("2")
        expect(page.get_by_label("Latent distribution")).to_have_value("uniform")
        expect(page.get_by_label("Draws for the public score")).to_have_value("1")
        assert page.evaluate(OVERFLOWING_ELEMENTS, PHONE) == []
    made = view(service, "cats-and-dogs")
    expected = {"phase": "draft", "title": "Cats & dogs", "image_count": 500, "image_size": 64, "daily_limit": 5}
    assert expected.items() <= made.items()
    tracks = {"public": "efficientnet_lite0@1", "private": "efficientnet_lite2@1"}
    assert {track["kind"]: track["extractor"] for track in made["tracks"]} == tracks
    assert [message for message in tab.console_messages if not message.startswith("Failed to load resource")] == []


def test_only_permitted_roles_can_create_competitions(service: Service) -> None:
    cookies = {who: f"kennel={start_session(service, who)}" for who in ("ada", "organizer", "admin")}
    for who, may in (("ada", False), ("organizer", True), ("admin", True)):
        headers = {"Accept": "text/html", "Cookie": cookies[who]}
        assert ('href="/new-competition"' in service.http.get("/", headers=headers).text) is may
        assert service.http.get("/new-competition", headers=headers).status_code == (200 if may else 403)


def test_the_countdown_of_the_last_hour_uses_the_services_clock(browser: Browser, service: Service) -> None:
    now = datetime.now(UTC)
    slug = service.competition(opens_at=now - timedelta(days=1), closes_at=now + timedelta(minutes=30))
    wrong = now + timedelta(days=2)
    with serve(service.app) as url, visit(browser, f"{url}/competitions/{slug}") as tab:
        page = tab.page
        timer = page.get_by_role("timer")
        expect(timer).to_have_text(re.compile(r"^Closes in 2\d min \d+ s$"))
        page.clock.set_fixed_time(wrong)
        page.reload()
        expect(timer).to_have_text(re.compile(r"^Closes in 2\d min \d+ s$"))
        page.clock.set_fixed_time(wrong + timedelta(minutes=31))
        expect(timer).to_have_text("Closed")

        closed = {"closes_at": (now - timedelta(minutes=1)).isoformat()}
        assert service.call("organizer", "PATCH", f"/competitions/{slug}", json=closed).status_code == 200
        page.context.add_cookies([{"name": "kennel", "value": start_session(service, "ada"), "url": url}])
        page.goto(f"{url}/competitions/{slug}/submit")
        expect(timer).to_have_text(re.compile(r"^in \d+ min \d+ s$"))
        page.clock.set_fixed_time(wrong + timedelta(hours=1))
        expect(timer).to_have_text("over")
    assert tab.console_messages == []
