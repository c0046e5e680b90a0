"""How certain ranks are, on a phone."""

from playwright.sync_api import Browser, expect

from tests.api.conftest import Service
from tests.api.leaderboard.test_standings import Arena
from tests.api.leaderboard.test_uncertainty import add_errors
from tests.http_server import serve
from tests.web.browser import PHONE, browser, visit

__all__ = ["browser"]


def test_the_table_is_scrolled_and_not_broken(browser: Browser, service: Service) -> None:
    arena = Arena(service, medals={"gold": 1, "silver": 2, "bronze": 3})
    add_errors(arena, [arena.entry("ada", 10.0), arena.entry("bob", 10.1)], 0.2, private=False)
    with serve(service.app) as url, visit(browser, f"{url}/competitions/{arena.slug}/uncertainty", width=PHONE) as tab:
        team = tab.page.get_by_role("rowheader", name="Ada")
        expect(team).to_be_visible()
        box = team.bounding_box()
        assert box is not None
        assert box["height"] < 60, "one line"
        assert tab.page.evaluate("document.documentElement.scrollWidth") == PHONE
