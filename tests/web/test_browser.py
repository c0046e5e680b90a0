"""The pages and the API reference in a real browser."""

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser

from tests.api.conftest import Service
from tests.http_server import serve
from tests.web import view_samples
from tests.web.browser import DESKTOP, NUMBER_LINES, OVERFLOWING_ELEMENTS, PHONE, WIDTHS, take_pictures, visit
from tests.web.view_samples import SampleSite

HERE = f"/competitions/{view_samples.SLUG}"
LONG = "/competitions/long"
MORE_COLUMNS = f"{LONG}?columns=fd_dinov2&columns=kid"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The URL of two competitions: the demo, and one with many teams and the widest names and numbers."""
    demo = view_samples.demo_board()
    long = view_samples.long_board(250)
    widest = view_samples.sample_place(251, "W" * 100, 31_204_180.123456, 1234.5, 0.000002, True, 12_345, 10)
    long = view_samples.sample_board(
        [*long.places, widest], benchmarks=list(long.benchmarks), of=view_samples.sample_state(id=2, slug="long")
    )
    files = [
        view_samples.sample_data_file(1, "train.zip", 98_304_000),
        view_samples.sample_data_file(2, f"{'W' * 90}.csv", 7),
    ]
    long = view_samples.with_shown_tracks(long)
    with SampleSite(demo, boards={"long": long}, files=files).app() as app, serve(app) as where:
        yield where


@pytest.mark.parametrize("path", ["/", HERE, f"{HERE}?search=kernel", f"{LONG}?after=200", MORE_COLUMNS])
def test_the_browser_reports_no_errors(browser: Browser, address: str, path: str) -> None:
    with visit(browser, address + path) as tab:
        assert tab.page.locator("h1").is_visible()
        assert tab.console_messages == []
        assert all(url.startswith(address) for url in tab.requests)
        assert any("base.css" in url for url in tab.requests)


def test_the_content_security_policy_blocks_and_reports(browser: Browser, address: str) -> None:
    with visit(browser, address + HERE) as tab:
        tab.page.evaluate("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'}))")
        tab.page.evaluate(
            "document.body.append(Object.assign(document.createElement('script'), {text: 'window.bad = 1'}))"
        )
        tab.page.wait_for_timeout(100)
        assert len([message for message in tab.console_messages if "Content Security Policy" in message]) == 2
        assert tab.page.evaluate("window.bad") is None


@pytest.mark.parametrize("path", ["/", HERE, f"{LONG}?after=200", MORE_COLUMNS])
def test_no_page_scrolls_sideways_and_no_number_is_broken(browser: Browser, address: str, path: str) -> None:
    with visit(browser, address + path) as tab:
        for width in WIDTHS:
            tab.page.set_viewport_size({"width": width, "height": 800})
            assert tab.page.evaluate("document.documentElement.scrollWidth") == width
            assert tab.page.evaluate(OVERFLOWING_ELEMENTS, width) == []
            assert set(tab.page.evaluate(NUMBER_LINES)) <= {1}


def test_columns_are_chosen_and_kept(browser: Browser, address: str) -> None:
    with visit(browser, address + f"{LONG}?after=100") as tab:
        page = tab.page
        assert page.locator("td.shown").count() == 0
        page.get_by_text("Metric columns").click()
        page.get_by_label("kid").check()
        page.get_by_label("fd_dinov2").check()
        page.locator(".more-columns").get_by_role("button", name="Show").click()
        assert page.locator("thead th").all_inner_texts()[5:7] == ["fd_dinov2", "kid"]
        third = page.locator("tbody tr").nth(3).locator("td.shown")
        assert third.nth(1).inner_text() == "none"
        assert "±" in third.nth(0).inner_text()
        assert page.locator("tbody tr").nth(2).locator("td.shown").nth(1).inner_text() == "–"
        take_pictures(page, "board-more-columns")
        page.get_by_role("link", name="Ranks 101").click()
        assert page.locator("td.shown").count() == 200, "the next page keeps the columns"
        page.get_by_role("searchbox").fill("Ada")
        page.get_by_role("button", name="Search").click()
        page.wait_for_url("**search=Ada**")
        assert page.locator("td.shown").count() > 0, "a search keeps the columns"


def test_the_colour_schemes_have_dark_and_light_backgrounds(browser: Browser, address: str) -> None:
    backgrounds = {}
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        with visit(browser, address + HERE, scheme=scheme) as tab:
            colour = tab.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
            header = tab.page.evaluate("getComputedStyle(document.querySelector('thead th')).backgroundColor")
            assert colour == header
            backgrounds[scheme] = sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))
    assert backgrounds["light"] > 3 * 240
    assert backgrounds["dark"] < 3 * 40


def test_the_table_header_stays_visible(browser: Browser, address: str) -> None:
    with visit(browser, address + LONG) as tab:
        tab.page.evaluate("scrollTo({top: 2500, behavior: 'instant'})")
        tops = tab.page.evaluate(
            "[...document.querySelectorAll('thead th')].map(element => element.getBoundingClientRect().top)"
        )
        assert set(tops) == {0}


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_cards_are_still_a_table_to_a_screen_reader(browser: Browser, address: str, width: int) -> None:
    with visit(browser, address + HERE, width=width) as tab:
        nodes = tab.page.context.new_cdp_session(tab.page).send("Accessibility.getFullAXTree")["nodes"]
        roles = [node["role"]["value"] for node in nodes if not node["ignored"]]
        assert roles.count("table") == 1
        assert roles.count("row") == 14
        assert roles.count("rowheader") == 13
        assert roles.count("columnheader") == 7


def test_everything_can_be_done_by_keyboard(browser: Browser, address: str) -> None:
    with visit(browser, address + LONG) as tab:
        tab.page.keyboard.press("Tab")
        skip = tab.page.locator(":focus")
        assert skip.inner_text() == "Skip to content"
        box = skip.bounding_box()
        assert box
        assert box["y"] >= 0
        tab.page.keyboard.press("Enter")
        assert tab.page.evaluate("document.activeElement.id") == "main"
        for _ in range(8):  # some links precede it
            tab.page.keyboard.press("Tab")
            if tab.page.evaluate("document.activeElement.id") == "search":
                break
        assert tab.page.evaluate("document.activeElement.id") == "search"
        style = tab.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid"
        tab.page.keyboard.type("sons 24")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**/long?*search=sons+24")
        assert tab.page.locator("tbody tr bdi").all_inner_texts() == [
            "wasserstein & sons 241",
            "wasserstein & sons 247",
        ]


def test_reduced_motion_turns_transitions_off(browser: Browser, address: str) -> None:
    durations = []
    for motion in ("no-preference", "reduce"):
        with visit(browser, address + HERE, reduced_motion=motion) as tab:
            durations.append(
                tab.page.evaluate("getComputedStyle(document.querySelector('tbody tr')).transitionDuration")
            )
    assert durations == ["0.12s", "0s"]


def test_printed_pages_have_exact_times_and_no_forms(browser: Browser, address: str) -> None:
    with visit(browser, address + HERE) as tab:
        tab.page.emulate_media(media="print")
        assert tab.page.locator("form").count() > 0
        assert tab.page.locator("form:visible").count() == 0
        content = tab.page.evaluate("getComputedStyle(document.querySelector('tbody time'), '::after').content")
        assert content == '"2 Nov 2026, 13:53:30 UTC"'


BROKEN_WORDS = """[...document.querySelectorAll('.fields tbody :is(th, td)')].flatMap(cell => {
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    const broken = [], range = document.createRange();
    for (let node = walker.nextNode(); node; node = walker.nextNode())
        for (const word of node.data.matchAll(/[^\\s-]+/g)) {
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1) broken.push(word[0]);
        }
    return broken;
})"""


def test_the_reference_fits_every_width_and_breaks_no_word(browser: Browser, service: Service) -> None:
    with serve(service.app) as url, visit(browser, f"{url}/api-reference") as tab:
        page = tab.page
        page.evaluate("document.querySelectorAll('details').forEach(element => element.open = true)")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate(OVERFLOWING_ELEMENTS, width) == []
            assert page.evaluate(BROKEN_WORDS) == []
        assert page.get_by_role("table", name="Parameters of submissions.submit").get_by_role("rowheader").count() == 8
        assert tab.console_messages == []
        page.evaluate(
            "document.querySelectorAll('details:not(#teams\\\\.get)').forEach(element => element.open = false)"
        )
        take_pictures(page, "api-reference")
