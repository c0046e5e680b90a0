"""The service and a browser, for tests of pages that need them."""

import asyncio
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.api.conftest import service as service  # noqa: PLC0414 - a fixture is found by its name here
from tests.web.browser import running_browser


@pytest.fixture(scope="session")
def browser_and_loop() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """One browser for all tests of this process, and Playwright's event loop."""
    with running_browser() as browser:
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)


@pytest.fixture
def browser(browser_and_loop: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    """The browser. Playwright's loop only counts as running during this test, because other tests run their own."""
    browser, loop = browser_and_loop
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)
