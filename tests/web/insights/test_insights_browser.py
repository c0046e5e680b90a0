"""The insights page in a real browser: its layout, its tooltips, and its text without scripts."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from deploy.standalone.ephemeral import Servers
from tests.api.conftest import Service, running_service
from tests.api.import_export.files import load, table
from tests.conftest import fresh_settings
from tests.factories import noise_images
from tests.http_server import serve
from tests.web.browser import OVERFLOWING_ELEMENTS, WIDTHS, visit

ORGANIZER: dict[str, Any] = {"extra_http_headers": {"Authorization": "Bearer secret-of-organizer"}}
LABELS = ("non-mem", "mgan", "sup", "ae", "aug", "other", "")


@pytest.fixture(scope="module")
def site(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """The service's URL and the slugs of two competitions.

    The first is imported and has all labels and a wide range of numbers. The second has images.
    """
    with fresh_settings(servers, tmp_path_factory.mktemp("insights")) as settings, running_service(settings) as service:
        yield from _filled(service)


def _filled(service: Service) -> Iterator[tuple[str, str, str]]:
    rows = [(100 + at, "", "", 1.31**at, 2 + 1.4**at, 0.02 * at, 0.03 * at, LABELS[at % 7]) for at in range(1, 29)]
    assert load(service, "old", table(*rows), title="An old competition").status_code == 201
    slug = service.competition(image_count=120, image_size=32)
    for who in ("ada", "bob"):
        service.scored(who, slug, noise_images(10, 120, 32))
    with serve(service.app) as address:
        yield address, "old", slug


def test_the_page_fits_every_screen_and_contacts_no_other_host(browser: Browser, site: tuple[str, str, str]) -> None:
    address, *slugs = site
    for slug, who in ((slugs[0], ORGANIZER), (slugs[1], ORGANIZER), (slugs[0], dict[str, Any]())):
        with visit(browser, f"{address}/competitions/{slug}/insights", **who) as tab:
            for summary in tab.page.locator("summary").all():
                summary.click()
            for width in WIDTHS:
                tab.page.set_viewport_size({"width": width, "height": 800})
                assert tab.page.evaluate("document.documentElement.scrollWidth") == width, (slug, width)
                outside = tab.page.evaluate(OVERFLOWING_ELEMENTS, width)
                # A wide table scrolls inside its own container.
                assert [element for element in outside if not element.startswith(("<t", "<caption"))] == [], (
                    slug,
                    width,
                )
            assert tab.console_messages == []
            assert all(url.startswith(address) for url in tab.requests)


def tooltip_text(tab: Any) -> str:
    """The text of the visible tooltip."""
    tab.page.wait_for_selector(".tooltip:not([hidden])")
    return str(tab.page.locator(".tooltip:not([hidden])").inner_text())


def test_a_dot_has_a_tooltip_by_mouse_and_by_keyboard(browser: Browser, site: tuple[str, str, str]) -> None:
    address, slug, _ = site
    with visit(browser, f"{address}/competitions/{slug}/insights?track=private", **ORGANIZER) as tab:
        picture = tab.page.get_by_role("img", name="FID and memorization distance, private track")
        picture.locator("circle").first.hover(force=True)
        assert "Entry 101" in tooltip_text(tab)
        assert "label: mgan" in tooltip_text(tab)
        assert "FID: 3.4" in tooltip_text(tab)
        tab.page.mouse.move(0, 0)
        assert tab.page.locator(".tooltip:not([hidden])").count() == 0
        picture.focus()
        tab.page.keyboard.press("ArrowLeft")
        assert "Entry 128" in tooltip_text(tab), "the selection wraps around to the last entry"
        tab.page.keyboard.press("ArrowRight")
        tab.page.keyboard.press("ArrowRight")
        assert "Entry 102" in tooltip_text(tab)
        tab.page.keyboard.press("Escape")
        assert tab.page.locator(".tooltip:not([hidden])").count() == 0
        assert tab.console_messages == []


def test_label_filters_and_files_work_without_scripts(browser: Browser, site: tuple[str, str, str]) -> None:
    address, slug, pictured = site
    with visit(browser, f"{address}/competitions/{slug}/insights", java_script_enabled=False, **ORGANIZER) as tab:
        page = tab.page
        page.get_by_role("link", name="memorising GAN").click()
        assert page.url.endswith("?track=public&label=mgan")
        assert page.locator("#fid-summary").inner_text().startswith("4 entries, each shown as a dot.")
        assert page.get_by_role("img", name="FID by label").locator("circle").count() == 4
        file = page.locator("section", has=page.locator("#ranks")).get_by_role("link", name="SVG")
        assert file.get_attribute("href") == f"/api/v1/competitions/{slug}/insights/ranks?label=mgan&format=svg"
        page.goto(f"{address}/competitions/{pictured}/insights")
        image = page.locator(".gallery img").first
        assert image.get_attribute("width") == "320"
        assert "same zip" in page.locator(".shared").inner_text()
