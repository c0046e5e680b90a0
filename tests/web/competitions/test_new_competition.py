"""A new competition in a browser: from the first page to the settings of a draft."""

from playwright.sync_api import Browser, expect

from tests.api.conftest import Service
from tests.http_server import serve
from tests.web.browser import OVERFLOWING_ELEMENTS, PHONE, take_pictures, visit
from tests.web.competitions.test_settings import view
from tests.web.submissions.test_submit import session_of


def test_an_organizer_makes_a_draft(browser: Browser, service: Service) -> None:
    taken = service.competition()
    with serve(service.app) as url, visit(browser, url) as tab:
        page = tab.page
        link = page.get_by_role("link", name="New competition")
        expect(page.get_by_role("heading", name="Competitions")).to_be_visible()
        expect(link).to_have_count(0)
        page.context.add_cookies([{"name": "kennel", "value": session_of(service, "organizer"), "url": url}])
        page.reload()
        link.click()
        take_pictures(page, "new-competition")
        page.set_viewport_size({"width": PHONE, "height": 800})
        assert page.evaluate(OVERFLOWING_ELEMENTS, PHONE) == []
        page.get_by_label("Title").fill("Cats & dogs")
        page.get_by_label("Slug").fill(taken)
        page.get_by_label("Images in an entry").fill("500")
        page.get_by_label("Public extractor").select_option("efficientnet_lite0@1")
        page.get_by_label("Private extractor").select_option("efficientnet_lite2@1")
        page.get_by_role("button", name="Create the draft").click()
        expect(page.get_by_role("alert")).to_have_text(f"There is a competition '{taken}' already.")
        page.get_by_label("Slug").fill("cats-and-dogs")
        page.get_by_role("button", name="Create the draft").click()
        expect(page.get_by_role("status")).to_contain_text("The draft is there.")
        expect(page.get_by_text("no training images are attached")).to_be_visible()
    made = view(service, "cats-and-dogs")
    expected = {"phase": "draft", "title": "Cats & dogs", "image_count": 500, "image_size": 64, "daily_limit": 5}
    assert expected.items() <= made.items()
    tracks = {"public": "efficientnet_lite0@1", "private": "efficientnet_lite2@1"}
    assert {each["kind"]: each["extractor"] for each in made["tracks"]} == tracks
    assert [each for each in tab.console_messages if not each.startswith("Failed to load resource")] == []


def test_only_who_may_open_competitions_is_offered_that(service: Service) -> None:
    cookies = {who: f"kennel={session_of(service, who)}" for who in ("ada", "organizer", "admin")}
    for who, may in (("ada", False), ("organizer", True), ("admin", True)):
        headers = {"Accept": "text/html", "Cookie": cookies[who]}
        assert ('href="/new-competition"' in service.http.get("/", headers=headers).text) is may
        assert service.http.get("/new-competition", headers=headers).status_code == (200 if may else 403)
