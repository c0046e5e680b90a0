"""The phases after the close in a real browser: an organizer publishes, a team appeals, everybody reads."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.conftest import Service
from tests.factories import near_copies, noise_images
from tests.http_server import serve
from tests.web.browser import OVERFLOWING_ELEMENTS, WIDTHS, publish_board, signed_in, take_pictures


@pytest.fixture
def site(service: Service) -> Iterator[tuple[str, str]]:
    """A closed competition with an honest and a penalised entry."""
    prizes = [{"place": 1, "amount": "$2,000"}]
    slug = service.competition(title="Noise that nobody made", prizes=prizes)
    for who, images in (("ada", noise_images(10)), ("bob", near_copies())):
        service.scored(who, slug, images)
    service.close(slug)
    with serve(service.app) as address:
        yield address, slug


def look(page: Page, name: str) -> None:
    """Check that a page fits every screen, and take screenshots."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(OVERFLOWING_ELEMENTS, width) == [], (name, width)
        assert page.evaluate("document.documentElement.scrollWidth") == width, (name, width)
    take_pictures(page, name)


def test_from_the_review_to_the_final_board(browser: Browser, service: Service, site: tuple[str, str]) -> None:
    address, slug = site
    here = f"{address}/competitions/{slug}"
    with signed_in(browser, service, f"{here}/publication", who="organizer") as tab:
        look(tab.page, "publication-review")
        publish_board(tab.page, "provisional")
        look(tab.page, "publication-provisional")
    with signed_in(browser, service, f"{here}?track=private", who="bob") as tab:
        expect(tab.page.get_by_text("This board is provisional")).to_be_visible()
        expect(tab.page.locator("[aria-current=step]")).to_contain_text("Provisional board")
        expect(tab.page.get_by_role("link", name="Your team")).to_be_visible()
        look(tab.page, "competition-provisional")
        (entry,) = service.call("bob", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
        tab.page.goto(f"{address}/submissions/{entry['id']}")
        tab.page.get_by_label("Your rebuttal").fill("We trained it ourselves.")
        look(tab.page, "entry-provisional")
        tab.page.get_by_role("button", name="Submit rebuttal").click()
        expect(tab.page.get_by_text("against the penalty on the private track")).to_be_visible()
        assert tab.console_messages == []
    with signed_in(browser, service, f"{here}/publication", who="organizer") as tab:
        publish_board(tab.page, "final")
        expect(tab.page.get_by_role("heading", name="Publish the final board")).to_have_count(0)
        look(tab.page, "publication-final")
        tab.page.goto(f"{here}?track=private")
        look(tab.page, "competition-final")
        tab.page.get_by_role("link", name="Changes since").click()
        expect(tab.page.get_by_text("No ranks have changed")).to_be_visible()
        look(tab.page, "versions")
        tab.page.goto(f"{here}/publication")
        tab.page.get_by_label("Reason (shown to all participants)").fill("A mistake.")
        tab.page.get_by_role("button", name="Withdraw board").click()
        expect(tab.page.get_by_role("status")).to_contain_text("Board withdrawn")
        assert tab.console_messages == []
