"""How certain ranks are, on a phone."""

from playwright.sync_api import Browser, expect

from tests.api.conftest import Service
from tests.api.leaderboard.arena import Arena, add_errors
from tests.http_server import serve
from tests.web.browser import PHONE, visit


def test_a_phone_shows_every_number_of_a_place(browser: Browser, service: Service) -> None:
    arena = Arena(service, medals={"gold": 1, "silver": 2, "bronze": 3})
    add_errors(arena, [arena.entry("ada", 10.0), arena.entry("bob", 10.1)], 0.2, private=False)
    with serve(service.app) as url, visit(browser, f"{url}/competitions/{arena.slug}/uncertainty", width=PHONE) as tab:
        ada = tab.page.get_by_role("row").filter(has_text="Ada")
        expect(ada.get_by_role("cell")).to_have_count(5)
        for cell in [ada.get_by_role("rowheader"), *ada.get_by_role("cell").all()]:
            box = cell.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= PHONE
            assert 0 < box["height"] < 60, "two lines at most"
        assert tab.page.evaluate("document.documentElement.scrollWidth") == PHONE
