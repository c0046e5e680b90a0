"""The pages of a team's own entries in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from scorer.competitions.competition_state import load_state
from scorer.db.tables import Measurement, Submission
from tests.api.cached_state import CachedState, cached_fixtures
from tests.api.conftest import Service
from tests.factories import add_measurement, code_zip, make_zip, noise_images, with_a_wrong_image
from tests.http_server import serve
from tests.web.browser import (
    LOAD_IMAGES,
    NUMBER_LINES,
    OVERFLOWING_ELEMENTS,
    WIDTHS,
    signed_in,
    take_pictures,
)


def make_every_entry(service: Service) -> dict[str, str]:
    """Create Ada's entries. Returns the paths of their pages."""
    slug = service.competition(image_count=120, image_size=32)
    images = noise_images(10, 120, 32)
    long = "a_very_long_name_without_any_space_in_it_" * 3 + ".zip"
    scored = service.scored("ada", slug, images, file_name=long, note="the first one, with a note of some length")
    tau = scored["measurements"][0]["memorization_distance"] * 1.01
    body = {"method": "manual", "tau": tau, "reason": "just above it: the labels of the picture meet"}
    assert service.call("organizer", "POST", f"/competitions/{slug}/tracks/public/thresholds", json=body).is_success
    service.scored("bob", slug, noise_images(11, 120, 32))
    drawn = service.scored("ada", slug, noise_images(13, 120, 32), file_name="drawn.zip")
    with service.context.sessions.begin() as session:
        now = service.context.now()
        state = load_state(session, slug, now)
        submission = session.query(Submission).filter_by(id=drawn["id"]).one()
        add_measurement(
            session,
            state,
            submission,
            fid=200.4,
            distance=0.3,
            now=now,
            draws=[100.6, 300.2],
            histogram=session.query(Measurement.histogram).limit(1).scalar(),
        )
    copied = service.scored("ada", slug, noise_images(1, 40, 32)[[*range(40)] * 3], file_name="copies.zip")
    rejected = service.submit("ada", slug, with_a_wrong_image(images), file_name="wrong.zip").json()
    service.run_jobs()
    waiting = service.submit("ada", slug, make_zip(noise_images(12, 120, 32)), file_name="waiting.zip").json()
    service.call("ada", "PUT", f"/submissions/{scored['id']}/code", content=code_zip())
    pages = {"entries": f"/competitions/{slug}/entries", "late": f"/competitions/{slug}?track=public&late=true"}
    for name, entry in {
        "scored": scored,
        "drawn": drawn,
        "copied": copied,
        "rejected": rejected,
        "waiting": waiting,
    }.items():
        pages[name] = f"/submissions/{entry['id']}"
    return pages


cached, service = cached_fixtures(make_every_entry)


@pytest.fixture
def site(service: Service, cached: CachedState[dict[str, str]]) -> Iterator[tuple[str, dict[str, str]]]:
    """The service's URL, and the paths of the entries' pages."""
    with serve(service.app) as url:
        yield url, cached.result


def test_pages_fit_every_screen_and_contact_no_other_host(
    browser: Browser, service: Service, site: tuple[str, dict[str, str]]
) -> None:
    address, pages = site
    for name, path in pages.items():
        with signed_in(browser, service, address + path) as tab:
            assert tab.page.locator("h1").is_visible()
            for width in WIDTHS:
                tab.page.set_viewport_size({"width": width, "height": 800})
                assert tab.page.evaluate("document.documentElement.scrollWidth") == width, (name, width)
                assert tab.page.evaluate(OVERFLOWING_ELEMENTS, width) == [], (name, width)
                assert set(tab.page.evaluate(NUMBER_LINES)) <= {1}, (name, width)
            assert tab.console_messages == []
            assert all(url.startswith(address) for url in tab.requests)
            tab.page.evaluate(
                LOAD_IMAGES
            )  # the network never becomes idle, because a waiting entry has an event stream
            take_pictures(tab.page, name)


def test_picks_and_code_by_keyboard_without_scripts(
    browser: Browser, service: Service, site: tuple[str, dict[str, str]], tmp_path: Path
) -> None:
    address, pages = site
    with signed_in(browser, service, address + pages["entries"], java_script_enabled=False) as tab:
        page: Page = tab.page
        box = page.get_by_role("checkbox", name="copies.zip")
        box.focus()
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
        page.wait_for_url("**#picks")
        assert page.get_by_role("checkbox", checked=True).count() == 1
        page.goto(address + pages["scored"])
        file = tmp_path / "code.zip"
        file.write_bytes(code_zip(b"x" * 200_000))
        page.get_by_label("Replacement").set_input_files(file)
        page.get_by_role("button", name="Replace code").click()
        page.wait_for_url("**#code")
        assert "A zip of 200" in page.locator("main").inner_text()


def test_the_picture_of_distances_has_a_name_and_a_description(
    browser: Browser, service: Service, site: tuple[str, dict[str, str]]
) -> None:
    address, pages = site
    with signed_in(browser, service, address + pages["scored"]) as tab:
        picture = tab.page.get_by_role("img", name="Histogram of the distances")
        assert picture.count() == 1
        bars = tab.page.evaluate("[...document.querySelectorAll('svg rect')].map(element => element.getBBox().width)")
        assert bars
        assert min(bars) > 0
        sprite = tab.page.locator("img.sprite")
        sprite.scroll_into_view_if_needed()  # it is loaded lazily
        expect(sprite).to_have_js_property("naturalWidth", 320)
