"""The pages over the whole application, and a browser, where a test needs them."""

import asyncio
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.api.conftest import service as service  # noqa: PLC0414 - a fixture is found by its name here
from tests.web.browser import running_browser


@pytest.fixture(scope="session")
def browser_and_loop() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """One browser for all tests of this process, and the event loop in which Playwright waits for it."""
    with running_browser() as browser:
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)


@pytest.fixture
def browser(browser_and_loop: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    """The browser. Playwright's loop counts as running during this test alone: others run loops of their own."""
    browser, loop = browser_and_loop
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)
