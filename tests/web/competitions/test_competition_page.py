"""A competition's pages: its prizes and dates, its data files, and the uncertainty of ranks."""

import re
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, expect

from scorer.db.tables import Account
from tests.api.conftest import Service
from tests.api.leaderboard.arena import Arena, add_errors
from tests.http_server import serve
from tests.web import view_samples
from tests.web.browser import OVERFLOWING_ELEMENTS, PHONE, take_pictures, visit
from tests.web.html import Element, parse_html
from tests.web.view_samples import NOW, SampleSite, sample_state

HERE = f"/competitions/{view_samples.SLUG}"
CLOSES_AT = NOW.replace(hour=23, minute=59, second=0) + timedelta(days=14)


LOCAL_TIMES = {"Asia/Tokyo": (" (17 Nov, 08:59)", " (17 Nov, 09:14)", " (1 Dec, 08:59)"), "UTC": ("", "", "")}
UTC_TIMES = ("16 Nov 2026, 23:59 UTC", "17 Nov 2026, 00:14 UTC", "30 Nov 2026, 23:59 UTC")


@pytest.mark.parametrize("zone", LOCAL_TIMES)
def test_prizes_dates_and_limits_are_public(browser: Browser, zone: str) -> None:
    state = sample_state(
        prizes=[{"place": 2, "amount": "$1,000"}, {"place": 1, "amount": "$5,000"}],
        medals={"gold": 3, "silver": 0, "bronze": 9},
        closes_at=CLOSES_AT,
        team_merge_deadline=CLOSES_AT - timedelta(days=7),
        max_team_size=4,
    )
    app = SampleSite(states=[state]).app
    with app() as site, serve(site) as url, visit(browser, url + HERE, timezone_id=zone) as tab:
        page = tab.page
        expect(page.locator(".prizes div")).to_have_text(["Place 1$5,000", "Place 2$1,000"])
        expect(page.get_by_text("Gold up to place 3, bronze up to place 9.")).to_be_visible()
        timeline = page.locator("section", has=page.get_by_role("heading", name="Timeline"))
        for text, local in zip(UTC_TIMES, LOCAL_TIMES[zone], strict=True):
            expect(timeline).to_contain_text(text + local)
        expect(timeline.get_by_text(f"times in brackets are in {zone}")).to_have_count(int(zone != "UTC"))
        expect(page.get_by_text("A team has at most 4 members.")).to_be_visible()
        expect(page.get_by_text("A team can pick up to 2 entries")).to_be_visible()
        expect(page.get_by_role("heading", name="Decisions")).to_be_visible()
        take_pictures(page, "competition-expectations")
        page.set_viewport_size({"width": PHONE, "height": 800})
        assert page.evaluate(OVERFLOWING_ELEMENTS, PHONE) == []
        assert tab.console_messages == []


def test_a_competition_of_generators_describes_draws_and_limits(browser: Browser, service: Service) -> None:
    draws = {"public": 2, "distribution": "uniform", "classes": 10}
    slug = service.competition(entries="generator", image_size=32, draws=draws)
    with serve(service.app) as url, visit(browser, f"{url}/competitions/{slug}", width=PHONE) as tab:
        page = tab.page
        expect(page.get_by_text("An entry is a generator in an ONNX file")).to_be_visible()
        section = page.locator("section", has=page.get_by_role("heading", name="Draws"))
        expect(section).to_contain_text("The public score comes from 2 draws and the final score from 3 other draws.")
        expect(section).to_contain_text("Latents are uniform on [−1, 1] unless")
        expect(section).to_contain_text("the network takes 10 more numbers. They follow from secrets")
        expect(section.get_by_role("listitem")).to_have_count(3)
        fitting = page.locator("section", has=page.get_by_role("heading", name="Generators that fit"))
        expect(fitting).to_contain_text("5,000 nodes and 67 million weights")
        expect(fitting).to_contain_text("torch.onnx.export(generator.eval()")
        fitting.get_by_text("ONNX operators are supported").click()
        expect(fitting.get_by_text("ConvTranspose, Cos")).to_be_visible()
        expect(fitting).to_contain_text("data release contains no models")
        assert "private" not in page.content().lower(), "the final score's track is hidden before publication"
        assert page.evaluate(OVERFLOWING_ELEMENTS, PHONE) == []
        take_pictures(page, "competition-of-generators")


FILES = [
    view_samples.sample_data_file(1, "sample_submission.zip", 98_304_000),
    view_samples.sample_data_file(2, "train.zip", 1_234_567_890),
]
ADA, OLGA = Account(id=2, handle="ada", role="participant"), view_samples.sample_organizer()


def files_section(site: SampleSite) -> tuple[Element, str]:
    """The data section, and the page's ETag."""
    with site.app() as app:
        answer = TestClient(app).get(HERE)
    sections = [
        section for section in parse_html(answer.text).all("section") if section.attributes["aria-labelledby"] == "data"
    ]
    return (sections or [parse_html("")])[0], answer.headers["etag"]


def test_downloads_need_a_sign_in_and_accepted_rules() -> None:
    visitor, _ = files_section(SampleSite(files=FILES))
    assert [item.one("b").text for item in visitor.all("li")] == ["sample_submission.zip", "train.zip"]
    assert "98.3 MB" in visitor.all("li")[0].text
    assert f"{1:064x}" in visitor.all("li")[0].text
    assert "Sign in to download the files." in visitor.text
    reading, _ = files_section(SampleSite(files=FILES, account=ADA))
    assert "To download, accept the rules." in reading.text
    assert [link.attributes["href"] for link in reading.all("a")] == ["#rules"]
    for site in (SampleSite(files=FILES, account=ADA, accepted=True), SampleSite(files=FILES, account=OLGA)):
        section, _ = files_section(site)
        hrefs = [link.attributes["href"] for link in section.all("a")]
        assert hrefs == [f"/api/v1{HERE}/data/sample_submission.zip", f"/api/v1{HERE}/data/train.zip"]


def test_a_page_without_files_has_no_data_section() -> None:
    none, before = files_section(SampleSite())
    assert none.text == ""
    assert files_section(SampleSite(files=FILES))[1] != before


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


def test_the_legend_of_the_board_begins_with_the_best_medal(service: Service) -> None:
    arena = Arena(service, medals={"gold": 1, "silver": 2, "bronze": 3})
    arena.entry("ada", 10.0)
    board = parse_html(service.http.get(f"/competitions/{arena.slug}").text).one("main")
    assert re.findall(r"(\w+) medals up to rank (\d)", board.text) == [("gold", "1"), ("silver", "2"), ("bronze", "3")]
