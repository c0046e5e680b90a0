"""The page with the API's reference, in a browser: it fits a phone, and no word of its tables is broken."""

from playwright.sync_api import Browser

from tests.api.conftest import Service
from tests.http_server import serve
from tests.web.browser import OVERFLOWING_ELEMENTS, WIDTHS, take_pictures, visit

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
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate(OVERFLOWING_ELEMENTS, width) == []
            assert page.evaluate(BROKEN_WORDS) == []
        assert page.get_by_role("table", name="Parameters of submissions.submit").get_by_role("rowheader").count() == 5
        assert tab.console_messages == []
        page.evaluate("document.querySelectorAll('details:not(#teams\\\\.get)').forEach(each => each.open = false)")
        take_pictures(page, "api-reference")
