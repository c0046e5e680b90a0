"""The human rating pages: for organizers, for raters without scripts, and for raters with a keyboard."""

from typing import Any

from playwright.sync_api import Browser, expect

from scorer.db.tables import Rater, Rating
from tests.api.conftest import Service
from tests.api.insights.rating_studies import cached, invited, service, slug, study
from tests.http_server import serve
from tests.web.browser import OVERFLOWING_ELEMENTS, PHONE, signed_in, visit
from tests.web.pages import HTML, enter, read, send_form

__all__ = ["cached", "service", "slug"]  # fixtures are found by their names here


def load_ratings(service: Service) -> list[int]:
    """All ratings in the order of their arrival."""
    with service.context.sessions() as session:
        return [rating.value for rating in session.query(Rating).order_by(Rating.id)]


def test_a_study_from_its_form_to_its_end(service: Service, slug: str) -> None:
    enter(service, "organizer")
    here = f"/competitions/{slug}/ratings"
    page = read(service, here)
    numbers: Any = {"teams": "2", "images": "2", "grids": "1", "side": "2", "wanted": "1", "submissions": ""}
    wrong = send_form(service, page, here, 422, **numbers | {"side": "99"})
    assert "side: Input should be less than or equal to 10" in wrong.text
    answer = send_form(service, page, here, **numbers)
    assert "waiting" in read(service, answer.headers["location"]).text.lower()
    service.run_jobs()
    page = read(service, here)
    (own,) = [link.attributes["href"] for link in page.all("a") if link.text == "Rate images"]
    number = own.rsplit("/", 1)[1]
    send_form(service, page, f"{here}/{number}/raters", 422, name=" ")
    made = send_form(service, page, f"{here}/{number}/raters", 201, name="Rita")
    link = made.text.split('<code class="secret">')[1].split("<")[0]
    assert link not in read(service, here).text

    # Without scripts, there is a form per picture, with a role and with a link.
    page = read(service, own)
    picture = service.http.get(page.one("img").attributes["src"])
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
    answer = send_form(service, page, own, value="4")
    assert "Your ratings: 1" in read(service, answer.headers["location"]).text
    enter(service, None)
    address, _, secret = link.removeprefix(service.context.settings.public_url).partition("#")
    page = read(service, address)
    assert "does not work" in send_form(service, page, "/rate/link", 404, link="guessed").text
    send_form(service, page, "/rate/link", link=secret)
    page = read(service, address)
    assert "Ada" not in page.text
    assert "Eve" not in page.text
    for _ in range(3):
        send_form(service, page, address, value="2")
        page = read(service, address)
    assert page.one("h1").text == "Thank you"
    assert (
        service.http.post(address, data={"value": "6", "item": "1", "kind": "realism"}, headers=HTML).status_code == 422
    )
    assert load_ratings(service) == [4, 2, 2, 2]
    grid = read(service, f"{address}?kind=diversity")
    assert grid.one("h1").text == "How different are these from one another?"

    enter(service, "organizer")
    page = read(service, here)
    assert "4 of 4 ratings" in page.text
    with service.context.sessions() as session:
        rita = session.query(Rater).filter_by(name="Rita").one().id
    send_form(service, page, f"{here}/{number}/raters/{rita}/dismissal")
    service.http.cookies.set("kennel-rater", secret)
    assert "no longer accepts ratings from you" in read(service, address, 409).text
    send_form(service, page, f"{here}/{number}/end")
    assert service.http.get(own, headers=HTML).status_code == 409
    enter(service, "ada")
    read(service, here, 403)
    read(service, own, 404)


def test_all_pictures_can_be_rated_by_keyboard(service: Service, slug: str, browser: Browser) -> None:
    made = study(service, slug, images=8, grids=0, wanted=1)
    where = f"/ratings/{made['id']}"
    with (
        serve(service.app) as address,
        signed_in(browser, service, f"{address}{where}", who="organizer") as tab,
    ):
        page = tab.page
        page.keyboard.press("5")
        page.locator("canvas").wait_for()
        first = page.locator("canvas").evaluate("element => element.toDataURL()")
        page.keyboard.press("1")
        assert page.locator("canvas").evaluate("element => element.toDataURL()") != first
        page.keyboard.press("z")
        assert page.locator("canvas").evaluate("element => element.toDataURL()") == first, "the last rating is undone"
        page.get_by_role("button", name="3").click()
        expect(page.locator("[data-count]")).to_have_text("2")
        page.set_viewport_size({"width": PHONE, "height": 800})
        assert page.evaluate(OVERFLOWING_ELEMENTS, PHONE) == []
        for _ in range(14):
            page.locator("canvas").wait_for()
            page.keyboard.press("2")
        expect(page.locator("h1")).to_have_text("Thank you")
        assert tab.console_messages == []
        pictures = [url for url in tab.requests if url.endswith("/picture")]
        assert len(pictures) == 1, "all pictures but the first come in batches"
    assert sorted(load_ratings(service)) == [*[2] * 14, 3, 5]


def test_a_rating_link_opens_directly_and_another_replaces_it(service: Service, slug: str, browser: Browser) -> None:
    made = study(service, slug, images=2, grids=0, wanted=1)
    first, second = (invited(service, slug, made["id"], name).link for name in ("Rita", "Ron"))
    with serve(service.app) as address, visit(browser, f"{address}/rate#{first}") as tab:
        expect(tab.page.locator("h1")).to_have_text("How real does this look?")
        tab.page.keyboard.press("5")
        expect(tab.page.locator("[data-count]")).to_have_text("1")
        tab.page.goto(f"{address}/rate#{second}")
        expect(tab.page.locator("[data-count]")).to_have_text("0")
        for _ in range(600):  # Ron's link was opened before Rita's rating was sent
            with service.context.sessions() as session:
                raters = [session.get_one(Rater, rating.rater_id).name for rating in session.query(Rating)]
            if raters:
                break
            tab.page.wait_for_timeout(100)
        assert raters == ["Rita"]
        assert tab.console_messages == []
