"""A generator on the entry's page and on the review page, in a real browser."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from scorer.settings import Settings
from tests import sandbox_in_process
from tests.api.conftest import Service
from tests.factories import noise_images
from tests.http_server import serve
from tests.linear_generators import (
    QUICK_PLAN,
    generator_with_operator,
    honest_generator,
    memorising_generator,
)
from tests.web.browser import LOAD_IMAGES, OVERFLOWING_ELEMENTS, WIDTHS, signed_in, take_pictures


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Settings with a search that takes a moment."""
    return settings.model_copy(update={"recovery": QUICK_PLAN})


@pytest.fixture
def site(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """The service's URL and the path of Ada's entry."""
    sandbox_in_process.use(monkeypatch)
    service.hire("rita")
    slug = service.competition(medals={"gold": 1, "silver": 1, "bronze": 1}, title="Noise that nobody made")
    entry = service.scored("ada", slug, noise_images(10), file_name="noise.zip")["id"]
    with serve(service.app) as address:
        yield address, f"/submissions/{entry}"


def fill(page: Any, folder: Path, content: bytes, dimension: int) -> None:
    """Fill in the form and submit it."""
    file = folder / "generator.onnx"
    file.write_bytes(content)
    page.get_by_label("Latent dimension").fill(str(dimension))
    page.get_by_role("radio", name="standard normal", exact=True).check()
    page.get_by_label("ONNX file").set_input_files(file)
    with page.expect_navigation():
        page.get_by_role("button", name=re.compile("(Submit|Replace) generator")).click()


def test_a_team_uploads_a_generator_and_reviewers_see_its_audit(
    browser: Browser, service: Service, site: tuple[str, str], tmp_path: Path
) -> None:
    address, entry = site
    with signed_in(browser, service, address + entry) as tab:
        page = tab.page
        _fits(page)
        take_pictures(page, "form")
        fill(page, tmp_path, b"PK\3\4", 40)
        expect(page.get_by_role("alert")).to_contain_text("This file is a zip")
        fill(page, tmp_path, generator_with_operator("Erf2"), 12)
        section = page.locator("#generator")
        expect(section).to_contain_text("The generator audit is waiting at position 1 in the queue.")
        take_pictures(page, "waiting")
        service.run_jobs()
        # The page updates itself.
        expect(section).to_contain_text("Kennel can't use the file.", timeout=15_000)
        expect(section).to_contain_text("Erf2")
        _fits(page)
        take_pictures(page, "refused")
        page.reload()
        fill(page, tmp_path, memorising_generator(noise_images(1, 40, 16)), 40)
        service.run_jobs()
        page.reload()
        expect(section).to_contain_text("The generator audit is complete.")
        expect(section).not_to_contain_text("reproduces")
        assert tab.console_messages == [
            "Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)"
        ]
        assert all(url.startswith(address) for url in tab.requests)
    _check_the_review_page(browser, service, address, entry, tmp_path)


def _check_the_review_page(browser: Browser, service: Service, address: str, entry: str, folder: Path) -> None:
    for who, groups in (("rita", 3), ("organizer", 4)):
        with signed_in(browser, service, f"{address}{entry}/review", who=who) as tab:
            section = tab.page.locator("#generator")
            expect(section.locator(".badge").first).to_have_text("reproduces training images")
            expect(section.get_by_role("heading", level=3)).to_have_count(groups + 1)  # and "Before it"
            expect(section.locator(".badge").nth(1)).to_have_text("not the entry's generator")
            assert section.get_by_role("img", name="Recovery errors").count() == 1
            assert section.locator("svg rect.train").count() > 0
            expect(tab.page.locator(".flags")).to_contain_text("recovered")
            tab.page.evaluate(LOAD_IMAGES)
            _fits(tab.page)
            take_pictures(tab.page, f"review-{who}")
            assert tab.console_messages == []
            assert all(url.startswith(address) for url in tab.requests)
    # An organizer submits another generator on the entry's page, which the review page links to.
    with signed_in(browser, service, f"{address}{entry}/review", who="organizer") as tab:
        tab.page.get_by_role("link", name="Submit another generator").click()
        tab.page.locator("summary", has_text="Submit another generator").click()
        fill(tab.page, folder, b"\x80\x04", 12)
        expect(tab.page.get_by_role("alert")).to_contain_text("This file is a Python pickle, not ONNX")
        fill(tab.page, folder, honest_generator(3, 16), 12)
        assert tab.page.url == f"{address}{entry}#generator"
        service.run_jobs()
        tab.page.reload()
        expect(tab.page.locator("#generator .generator-audit .badge").first).to_have_text("no sign of copying")
        take_pictures(tab.page, "review-honest")


def _fits(page: Any) -> None:
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(OVERFLOWING_ELEMENTS, width) == [], width
        assert page.evaluate("document.documentElement.scrollWidth") == width, width
