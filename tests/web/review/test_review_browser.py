"""The review queue and review pages in a real browser: with a keyboard, on a phone, in the dark scheme."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from tests.api.cached_state import CachedState, cached_fixtures
from tests.api.conftest import Service
from tests.factories import code_zip, grainy, noise_images
from tests.http_server import serve
from tests.web.browser import OVERFLOWING_ELEMENTS, WIDTHS, signed_in, take_pictures

SIZE, COUNT = 16, 24
SEES = "document.activeElement.matches('input[name=label]') && document.activeElement.value"


def nudged(seed: int) -> Any:
    """Training images with a little noise."""
    return grainy(np.resize(noise_images(1, 40, SIZE), (COUNT, SIZE, SIZE, 3)), seed)


def entries_to_review(service: Service) -> tuple[str, dict[str, str]]:
    """A competition with entries of every kind, some labelled. Returns its slug and their IDs."""
    service.hire("rita", "rob")
    slug = service.competition(
        image_count=COUNT, image_size=SIZE, medals={"gold": 1, "silver": 2, "bronze": 3}, title="Noise that nobody made"
    )
    label = f"/competitions/{slug}/submissions/"
    entries = {}
    for who, name, images in (
        ("ada", "honest", noise_images(10, COUNT, SIZE)),
        ("bob", "nudged", nudged(3)),
        ("eve", "same", noise_images(10, COUNT, SIZE)[::-1]),
        ("bob", "again", nudged(4)),
        ("bob", "labelled", nudged(5)),
        ("eve", "new", noise_images(11, COUNT, SIZE)),
    ):
        note = "Made with a generator of ours, as the notebook shows." if name == "nudged" else ""
        entries[name] = service.scored(who, slug, images, file_name=f"{name}.zip", note=note)["id"]
    for name, decided in (("labelled", "aug"), ("new", "legitimate")):
        service.call("organizer", "PUT", f"{label}{entries[name]}/label", json={"label": decided, "note": "seen"})
    service.call("bob", "PUT", f"/submissions/{entries['nudged']}/code", content=code_zip())
    return slug, entries


cached, service = cached_fixtures(entries_to_review)


@pytest.fixture
def site(
    service: Service, cached: CachedState[tuple[str, dict[str, str]]]
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """The service's URL, the competition's slug and the IDs of the entries."""
    slug, entries = cached.result
    with serve(service.app) as address:
        yield address, slug, entries


def test_entries_are_reviewed_with_the_keyboard_only(
    browser: Browser, service: Service, site: tuple[str, str, dict[str, str]]
) -> None:
    address, slug, _ = site
    with signed_in(browser, service, f"{address}/competitions/{slug}/review-queue", who="rita") as tab:
        page: Page = tab.page
        page.get_by_role("link", name="Review next entry").press("Enter")
        seen = []
        for key, label in (("u", "aug"), ("1", "legitimate"), ("a", "ae")):
            page.wait_for_selector("form[data-keys]")
            page.wait_for_load_state()  # the script for shortcuts has run
            seen.append(page.url.split("/")[4])
            page.keyboard.press(key)
            assert page.evaluate(SEES) == label
            if label != "legitimate":
                page.keyboard.press("i")
                assert page.locator("input[name=intent]:checked").input_value() == "intended"
            page.get_by_label("Note").fill("A letter, l, in a note chooses nothing.")
            assert page.locator("input[name=label]:checked").input_value() == label
            with page.expect_navigation():
                page.keyboard.press("Control+Enter")
            assert page.get_by_role("status").inner_text().startswith("Review saved.")
        assert len(set(seen)) == 3
        last = page.url.split("/")[4]
        assert last not in seen
        page.keyboard.press("ArrowRight")  # skips the last entry
        page.wait_for_url("**/competitions/**")
        assert page.get_by_role("link", name="For you 1").count() == 1
        assert tab.console_messages == []
        assert all(url.startswith(address) for url in tab.requests)
    counts = service.call("rita", "GET", f"/competitions/{slug}/review-queue").json()["counts"]
    assert (counts["waiting"], counts["open"]) == (3, 1)


def test_keys_can_be_switched_off_and_the_form_needs_no_script(
    browser: Browser, service: Service, site: tuple[str, str, dict[str, str]]
) -> None:
    address, _, entries = site
    url = f"{address}/submissions/{entries['nudged']}/review"
    with signed_in(browser, service, url, who="rita") as tab:
        tab.page.get_by_label("Keyboard shortcuts").uncheck()
        tab.page.locator("h1").click()
        tab.page.keyboard.press("u")
        assert tab.page.locator("input[name=label]:checked").count() == 0
        tab.page.reload()
        assert not tab.page.get_by_label("Keyboard shortcuts").is_checked()
    with signed_in(browser, service, url, java_script_enabled=False, who="rita") as tab:
        tab.page.get_by_role("radio", name="aug").focus()
        tab.page.keyboard.press("Space")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**done=**")
    with signed_in(browser, service, url, who="rob") as tab:
        assert tab.page.get_by_text("1 of 2 reviews").count() == 1
        assert tab.page.get_by_text("rita").count() == 0
        tab.page.keyboard.press("4")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**done=**")
        tab.page.goto(url)
        assert tab.page.get_by_text("Two reviewers disagree").count() == 1
        assert tab.page.get_by_text("rita").count() == 1


def test_the_review_queue_fits_every_screen(
    browser: Browser, service: Service, site: tuple[str, str, dict[str, str]]
) -> None:
    address, slug, entries = site
    nudged = entries["nudged"]
    service.close(slug)
    service.call(
        "organizer", "POST", f"/submissions/{nudged}/rulings", json={"kind": "disqualify", "reason": "Nudged."}
    )
    service.call(
        "bob", "POST", f"/submissions/{nudged}/rebuttals", json={"text": "Our generator made them, see the code."}
    )
    pages = {
        "queue": ("organizer", f"/competitions/{slug}/review-queue"),
        "entry": ("organizer", f"/submissions/{nudged}/review"),
        "review": ("rita", f"/submissions/{nudged}/review"),
        "case": ("bob", f"/submissions/{nudged}"),
        "penalised": ("bob", f"/submissions/{entries['again']}"),
    }
    for name, (who, path) in pages.items():
        with signed_in(browser, service, address + path, who=who) as tab:
            for width in WIDTHS:
                tab.page.set_viewport_size({"width": width, "height": 800})
                assert tab.page.evaluate(OVERFLOWING_ELEMENTS, width) == [], (name, width)
                assert tab.page.evaluate("document.documentElement.scrollWidth") == width, (name, width)
            assert tab.console_messages == []
            tab.page.wait_for_load_state("networkidle")
            take_pictures(tab.page, name)
