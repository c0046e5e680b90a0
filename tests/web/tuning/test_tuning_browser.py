"""Tuning in a real browser: previews match the API and the later result. Also chooses the private extractor."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from scorer.lifecycle import TRACK_KINDS
from tests.api.conftest import Service
from tests.api.tuning.tuning_acts import choose, label, near, random_competition
from tests.api.tuning.tuning_acts import path as load_thresholds
from tests.bulk_rows import EntryRow, add_rows
from tests.factories import make_competition, noise_images, set_tau
from tests.http_server import serve
from tests.pure.oracles import competition_table
from tests.web.browser import NUMBER_LINES, OVERFLOWING_ELEMENTS, WIDTHS, signed_in, take_pictures
from tests.worker.substitute_extractor import OTHER

TEXTS = """Object.fromEntries([...document.querySelectorAll("[data-tau]:not([data-tau=announcement])")]
    .map(element => [element.dataset.tau, element.textContent]))"""


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    with serve(service.app) as url:
        yield url


def tuning_page(browser: Browser, service: Service, url: str, **options: Any) -> Any:
    """The tuning page as an organizer sees it."""
    return signed_in(browser, service, url, who="organizer", **options)


def test_the_tuning_page_matches_the_api(browser: Browser, service: Service, address: str) -> None:
    slug = random_competition(service, seed=3)
    for kind, first in (("private", None), ("public", 0.2), ("private", 0.33)):
        if first is not None:
            choose(service, slug, kind, tau=first)
        with tuning_page(browser, service, f"{address}/competitions/{slug}/tau?track={kind}") as tab:
            tab.page.wait_for_selector(".live-preview")
            for tau in (0.0, 0.2, 0.31, 0.3333333333333333, 2.0):
                look_at(tab.page, tau)
                preview = choose(service, slug, kind, tau=tau, preview=True).json()
                counts = preview["counts"]
                texts = tab.page.evaluate(TEXTS)
                assert texts["penalised"] == str(counts["below"])
                assert (texts["newly"], texts["freed"]) == (f"+{counts['penalised']}", f"−{counts['freed']}")
                for name in ("borderline", "moves", "medals"):
                    assert texts[name] == str(counts[name]), (kind, tau, name)
                assert (texts["open"], texts["looked"]) == tuple(str(preview["reviews"][n]) for n in ("open", "looked"))
                confusion = preview["choice"]["confusion"]
                assert texts["caught"] == str(confusion["true_positives"])
                assert texts["wronged"] == str(confusion["false_positives"])
                assert texts["low"] == f"{preview['choice']['interval']['low']:.4f}"
            assert tab.console_messages == []


def look_at(page: Page, tau: float) -> None:
    """Enter a tau, and wait until the page shows its impact."""
    page.get_by_label("tau", exact=True).fill(str(tau))
    settle(page, tau)


def settle(page: Page, tau: float) -> None:
    """Wait until the page shows the impact of a tau."""
    expect(page.locator("#impact [data-tau=tau]")).to_have_text(f"{tau:.4f}")
    expect(page.locator("[data-result][aria-busy]")).to_have_count(0)


def test_the_numbers_always_belong_to_the_shown_tau(browser: Browser, service: Service, address: str) -> None:
    """Until the answer arrives, the heading shows the tau of the old numbers. If it fails, the page reports that."""
    slug = random_competition(service, seed=9, entries=30)
    choose(service, slug, tau=0.2)
    with tuning_page(browser, service, f"{address}/competitions/{slug}/tau") as tab:
        page = tab.page
        page.wait_for_selector(".live-preview")
        texts = page.evaluate(TEXTS)
        withheld: list[Route] = []
        page.route("**/thresholds/impact?**", lambda route: withheld.append(route))  # noqa: PLW0108
        page.get_by_label("tau", exact=True).fill("0.4")
        expect(page.locator("[data-result]")).to_have_attribute("aria-busy", "true")
        expect(page.locator("[data-chosen]")).to_have_text("0.4000")
        assert page.evaluate(TEXTS) == texts
        page.get_by_label("tau", exact=True).fill("0.3")
        assert page.evaluate(TEXTS) == texts
        page.unroute("**/thresholds/impact?**")  # also lets the outdated request for 0.4 through
        settle(page, 0.3)
        assert withheld
        page.route("**/thresholds/impact?**", lambda route: route.abort())
        page.get_by_label("tau", exact=True).fill("0.25")
        expect(page.locator("[data-failure]")).to_contain_text("The server is not responding")
        expect(page.locator("[data-result]")).to_have_attribute("aria-busy", "true")
        page.unroute("**/thresholds/impact?**")
        look_at(page, 0.35)
        expect(page.locator("[data-failure]")).to_be_hidden()


def test_by_keyboard_from_the_slider_to_the_history(browser: Browser, service: Service, address: str) -> None:
    slug = random_competition(service, seed=5)
    choose(service, slug, tau=0.2)
    url = f"{address}/competitions/{slug}/tau"
    with tuning_page(browser, service, url) as tab:
        page = tab.page
        page.wait_for_selector(".live-preview")
        slider = page.get_by_role("slider", name="tau, slider")
        slider.focus()
        before = slider.get_attribute("aria-valuetext")
        for _ in range(40):
            page.keyboard.press("ArrowRight")
        tau = float(page.get_by_label("tau", exact=True).input_value())
        assert tau > 0.2
        settle(page, tau)
        assert slider.get_attribute("aria-valuetext") != before
        assert page.get_by_role("heading", level=2).filter(has_text="Impact").inner_text() == f"Impact of {tau:.4f}"
        texts = page.evaluate(TEXTS)
        page.get_by_label("Reason (shown in the history)").focus()
        page.keyboard.type("typed in")
        page.keyboard.press("Enter")
        page.wait_for_url("**#history")
        (newest, _) = service.call("organizer", "GET", load_thresholds(slug)).json()["thresholds"]
        assert (newest["tau"], newest["method"], newest["reason"]) == (tau, "manual", "typed in")
        assert f"+{newest['penalised_count']}" == texts["newly"]
        page.wait_for_selector(".live-preview")
        assert page.evaluate(TEXTS)["penalised"] == texts["penalised"]
        # Applying a method's tau records the method.
        page.locator(".options [data-method=otsu]").focus()
        page.keyboard.press("Enter")
        page.get_by_label("Reason (shown in the history)").fill("Otsu says so")
        page.get_by_role("button", name="Apply tau").click()
        expect(page.locator(".threshold-history .badge").first).to_have_text("otsu")
        page.get_by_label("Reason for undoing").fill("no")
        page.keyboard.press("Enter")
        expect(page.locator(".threshold-history .badge").first).to_have_text("undo")
        assert service.call("organizer", "GET", load_thresholds(slug)).json()["thresholds"][0]["tau"] == tau
        assert tab.console_messages == []


def test_a_tau_is_previewed_while_the_final_board_is_published(
    browser: Browser, service: Service, address: str
) -> None:
    """The page then has no form for the script to fill in."""
    slug = random_competition(service, seed=8, entries=30)
    choose(service, slug, tau=0.2)
    service.close(slug)
    service.publish(slug)
    with tuning_page(browser, service, f"{address}/competitions/{slug}/tau") as tab:
        tab.page.wait_for_selector(".live-preview")
        expect(tab.page.get_by_role("button", name="Apply tau")).to_have_count(0)
        look_at(tab.page, 0.35)
        assert tab.console_messages == []


def test_the_tuning_page_is_the_same_without_scripts(browser: Browser, service: Service, address: str) -> None:
    slug = random_competition(service, seed=6)
    choose(service, slug, tau=0.2)
    url = f"{address}/competitions/{slug}/tau"
    with (
        tuning_page(browser, service, url) as live,
        tuning_page(browser, service, url, java_script_enabled=False) as plain,
    ):
        live.page.wait_for_selector(".live-preview")
        for tau in ("0.1", "0.3", "0.41"):
            look_at(live.page, float(tau))
            plain.page.get_by_label("tau", exact=True).fill(tau)
            plain.page.get_by_role("button", name="Preview").click()
            plain.page.wait_for_url(f"**tau={tau}")
            texts = plain.page.locator("[data-tau]:not([data-tau=announcement])").all_inner_texts()
            assert texts == live.page.locator("[data-tau]:not([data-tau=announcement])").all_inner_texts()
            for name in ("penalised", "freed", "medals", "moves", "borderline"):
                selector = f"[data-list={name}]"
                for tab in (live, plain):
                    if tab.page.locator(selector).is_visible() and tab.page.locator(f"{selector}[open]").count() == 0:
                        tab.page.locator(f"{selector} summary").click()
                lists = [set(tab.page.locator(f"{selector} li").all_inner_texts()) for tab in (live, plain)]
                assert lists[0] == lists[1], name
        plain.page.get_by_role("link", name="by Margin").click()
        assert plain.page.locator(".options .chosen").inner_text().startswith("Margin")


def test_the_released_table_of_2019(browser: Browser, service: Service, address: str) -> None:
    """On the private track, margin catches 446 of 498 without a false alarm. It is applied and undone there."""
    table = competition_table()
    now = datetime.now(UTC)
    names = {"non-mem": "legitimate", "": None}
    with service.context.sessions.begin() as session:
        state = make_competition(session, now, slug="dogs-2019", title="Generative dogs of 2019")
        entries = [
            EntryRow(
                f"Team {index}",
                {
                    kind: (float(table.fid[kind][index]), float(table.distance[kind][index]))
                    for kind in ("public", "private")
                },
                names.get(label, label),
                index,
            )
            for index, label in enumerate(table.labels)
        ]
        add_rows(session, state, entries, now - timedelta(days=9))
        for kind in TRACK_KINDS:
            set_tau(session, state, kind, 0.1, now - timedelta(days=3))
    url = f"{address}/competitions/dogs-2019/tau"
    with tuning_page(browser, service, url) as tab:
        page = tab.page
        page.wait_for_selector(".live-preview")
        before = page.evaluate(TEXTS)
        page.locator(".options [data-method=margin]").click()
        settle(page, 0.2494)
        after = page.evaluate(TEXTS)
        assert (after["tau"], after["caught"], after["wronged"]) == ("0.2494", "446", "0")
        assert (before["caught"], before["looked"], after["looked"]) == ("0", "595", "149")
        page.get_by_label("Reason (shown in the history)").fill("nobody is wronged")
        page.get_by_role("button", name="Apply tau").click()
        page.wait_for_url("**#history")
        newest = service.call("organizer", "GET", load_thresholds("dogs-2019")).json()["thresholds"][0]
        assert (newest["method"], newest["penalised_count"]) == ("margin", 447)
        page.get_by_label("Reason for undoing").fill("once more")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".threshold-history .badge").first).to_have_text("undo")
        assert page.evaluate(TEXTS)["penalised"] == before["penalised"]
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate(OVERFLOWING_ELEMENTS, width) == []
            assert set(page.evaluate(NUMBER_LINES)) <= {1}
        assert tab.console_messages == []
        assert all(request.startswith(address) for request in tab.requests)
    with tuning_page(browser, service, f"{url}?method=margin") as tab:
        tab.page.wait_for_selector(".live-preview")
        take_pictures(tab.page, "tau")


def test_a_private_extractor_is_compared_and_chosen(browser: Browser, service: Service) -> None:
    slug = service.competition()
    for who, name, images in (
        ("ada", "aug", near(0)),
        ("bob", "legitimate", noise_images(11)),
        ("eve", "mgan", near(5)),
    ):
        label(service, slug, service.scored(who, slug, images), name)
    with serve(service.app) as address:
        url = f"{address}/competitions/{slug}/private-extractor"
        with signed_in(browser, service, url, who="organizer") as tab:
            page = tab.page
            assert page.get_by_text("Compare an extractor first").is_visible()
            page.get_by_role("checkbox", name=OTHER).focus()
            page.keyboard.press("Space")
            page.get_by_role("button", name="Compare").focus()
            page.keyboard.press("Enter")
            page.get_by_text("preparing the references").wait_for()
            service.run_jobs()
            # The page updates itself and offers the choice.
            page.get_by_label("Reason", exact=True).wait_for()
            assert page.get_by_role("row").filter(has_text=OTHER).inner_text().count("3 of 3 measured") == 1
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth") == width
                assert page.evaluate(OVERFLOWING_ELEMENTS, width) == []
                assert set(page.evaluate(NUMBER_LINES)) <= {1}
            page.get_by_label("Reason", exact=True).fill("it separates better")
            page.keyboard.press("Enter")
            page.get_by_text("3 waiting").wait_for()
            take_pictures(page, "private-extractor")
            service.run_jobs()
            page.get_by_text("3 entries have a private score").wait_for()
            assert OTHER in page.locator(".lead").inner_text()
            assert tab.console_messages == []
            assert all(request.startswith(address) for request in tab.requests)
        with signed_in(browser, service, url) as tab:
            assert OTHER not in tab.page.content()
