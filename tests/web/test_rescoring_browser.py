"""A rescoring campaign in a real browser: started, watched, switched and undone."""

import pytest
from playwright.sync_api import Browser, expect

from tests.api.conftest import Service
from tests.factories import noise_images
from tests.http_server import serve
from tests.web.browser import OVERFLOWING_ELEMENTS, WIDTHS, signed_in, take_pictures
from tests.worker.rescoring.campaigns import PRIZES, new_version, places


def test_a_campaign_is_measured_switched_and_undone(
    browser: Browser, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = service.competition(prizes=PRIZES)
    for who, seed in (("ada", 11), ("bob", 12)):
        service.scored(who, slug, noise_images(seed))
    before = places(service, slug, "private")
    new_version(monkeypatch, lambda fid: 1e6 - fid)
    with serve(service.app) as address:
        url = f"{address}/competitions/{slug}/rescoring"
        with signed_in(browser, service, url, who="organizer") as tab:
            page = tab.page
            page.get_by_label("Track").select_option("private")
            page.get_by_label("Reason", exact=True).fill("Version 2 resizes as the paper does.")
            page.get_by_role("button", name="Start campaign").click()
            expect(page.get_by_text("2 waiting")).to_be_visible()
            service.run_jobs(evidence=True)
            # The page updates itself. The impact of a switch appears after a reload.
            expect(page.get_by_text("2 measured")).to_be_visible()
            page.reload()
            expect(page.get_by_role("row").filter(has_text="$500")).to_have_count(2)
            expect(page.get_by_text("memorization distance not at all.")).to_be_visible()
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth") == width
                assert page.evaluate(OVERFLOWING_ELEMENTS, width) == []
            take_pictures(page, "rescoring")
            page.get_by_label("Reason", exact=True).fill("The prize goes to the right team.")
            page.get_by_role("button", name="Switch to new measurements").click()
            expect(page.locator(".title .badge")).to_have_text("in use")
            assert [place[0] for place in places(service, slug, "private")] == [place[0] for place in reversed(before)]
            page.get_by_label("Reason", exact=True).fill("A fault was found.")
            page.get_by_role("button", name="Undo switch").click()
            expect(page.locator(".title .badge")).to_have_text("undone")
            assert places(service, slug, "private") == before
            assert tab.console_messages == []
