"""Choosing the private extractor in a real browser, with a worker at work."""

from playwright.sync_api import Browser

from tests.api.conftest import Service
from tests.api.tuning.tuning_acts import label, near
from tests.factories import noise_images
from tests.http_server import serve
from tests.web.browser import LINES_OF_NUMBERS, OVERFLOWING_ELEMENTS, WIDTHS, signed_in, take_pictures
from tests.worker.substitute_extractor import OTHER


def test_compare_and_choose(browser: Browser, service: Service) -> None:
    slug = service.competition()
    for who, name, images in (
        ("ada", "aug", near(0)),
        ("bob", "legitimate", noise_images(11)),
        ("eve", "mgan", near(5)),
    ):
        label(service, slug, service.scored(who, slug, images), name)
    with serve(service.app) as address:
        url = f"{address}/competitions/{slug}/private-extractor"
        with signed_in(browser, service, url, who="organizer") as tab:
            page = tab.page
            assert page.get_by_text("Compare an extractor first").is_visible()
            page.get_by_role("checkbox", name=OTHER).focus()
            page.keyboard.press("Space")
            page.get_by_role("button", name="Compare").focus()
            page.keyboard.press("Enter")
            page.get_by_text("preparing the references").wait_for()
            service.run_jobs()
            # The page finds out by itself, and lets choose.
            page.get_by_label("Why", exact=True).wait_for()
            assert page.get_by_role("row").filter(has_text=OTHER).inner_text().count("3 of 3 measured") == 1
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth") == width
                assert page.evaluate(OVERFLOWING_ELEMENTS, width) == []
                assert set(page.evaluate(LINES_OF_NUMBERS)) <= {1}
            page.get_by_label("Why", exact=True).fill("it separates better")
            page.keyboard.press("Enter")
            page.get_by_text("3 to be scored").wait_for()
            take_pictures(page, "private-extractor")
            service.run_jobs()
            page.get_by_text("3 entries have a private score").wait_for()
            assert OTHER in page.locator(".lead").inner_text()
            assert tab.console_messages == []
            assert all(each.startswith(address) for each in tab.requests)
        with signed_in(browser, service, url) as tab:
            assert OTHER not in tab.page.content()
