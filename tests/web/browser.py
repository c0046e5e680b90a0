"""A real browser, its console messages, and the hosts that it contacts."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.api.conftest import Service
from tests.web.pages import enter

PHONE, DESKTOP = 360, 1280
PATIENCE = 60.0
"""Maximum wait in seconds. On a busy machine, a page takes longer than Playwright's default of 5 s."""
expect.set_options(timeout=PATIENCE * 1000)
WIDTHS = (DESKTOP, 897, 896, 500, PHONE, 320)
"""Up to 896 pixels, tables become cards."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Keep the browser from making its own requests.
QUIET = (
    "--disable-quic", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip

OVERFLOWING_ELEMENTS = """width => [...document.querySelectorAll('main *:not(.sr-only):not(thead *, thead, svg image)')]
    .filter(element => element.getClientRects().length)
    .filter(element => !element.parentElement.closest('.scrolls, .scrollable') ||
        getComputedStyle(element.parentElement.closest('.scrolls, .scrollable')).overflowX !== 'auto')
    .filter(element => { const box = element.getBoundingClientRect(); return box.left < 0 || box.right > width })
    .map(element => element.outerHTML.slice(0, 80))"""
NUMBER_LINES = """[...document.querySelectorAll('td.number')].map(element => {
    const range = document.createRange();
    range.selectNodeContents(element);
    return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size || 1;
})"""


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Run the machine's Chromium."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI needs a browser for these tests; none of {', '.join(BROWSERS)} is installed.")
        pytest.skip(f"needs a browser: none of {', '.join(BROWSERS)} is installed")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield chromium
        chromium.close()


@dataclass
class Visit:
    """A tab with its console messages and the URLs of its requests."""

    page: Page
    console_messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def visit(
    browser: Browser, url: str, *, width: int = DESKTOP, scheme: Literal["light", "dark"] = "light", **options: Any
) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, **options)
    try:
        tab = Visit(context.new_page())
        tab.page.on("console", lambda message: tab.console_messages.append(message.text))
        tab.page.on("pageerror", lambda error: tab.console_messages.append(str(error)))
        tab.page.on("request", lambda request: tab.requests.append(request.url))
        tab.page.goto(url)
        yield tab
    finally:
        context.close()


def take_pictures(page: Page, name: str) -> None:
    """Save screenshots in both colour schemes and two widths to the folder ``KENNEL_SCREENSHOTS``, if it is set.

    People look at them; no test does.
    """
    folder = os.environ.get("KENNEL_SCREENSHOTS")
    if folder is None:
        return
    schemes: tuple[Literal["light", "dark"], ...] = ("dark", "light")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        for width in (PHONE, DESKTOP):
            page.set_viewport_size({"width": width, "height": 800})
            page.screenshot(path=f"{folder}/{name}-{scheme}-{width}.png", full_page=True)


LOAD_IMAGES = (
    "Promise.all([...document.images].map(element => { element.loading = 'eager'; return element.decode(); }))"
)


@contextmanager
def signed_in(browser: Browser, service: Service, url: str, *, who: str = "ada", **options: Any) -> Iterator[Any]:
    enter(service, who)
    cookie = {"name": "kennel", "value": f"session-of-{who}", "domain": "127.0.0.1", "path": "/"}
    state = {
        "cookies": [{**cookie, "expires": -1, "httpOnly": True, "secure": False, "sameSite": "Lax"}],
        "origins": [],
    }
    with visit(browser, url, storage_state=state, **options) as tab:
        yield tab


def publish_board(page: Page, board: str) -> None:
    """Fill in the form of the publication page."""
    form = page.get_by_role("region", name=f"Publish the {board} board")
    form.get_by_label("Reason (shown to all participants)").fill("Please look.")
    form.get_by_label("Reason for publishing with").fill("A test.")
    form.get_by_role("button", name="Publish with open items").click()
    expect(page.get_by_role("status")).to_contain_text(f"{board.capitalize()} board published.")
