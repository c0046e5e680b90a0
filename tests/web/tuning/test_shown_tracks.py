"""Shown tracks on the organizers' page, an entry's page, the review page and the insights page."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from api.rendering import formatting
from scorer.db.tables import Job
from tests.api.conftest import Service
from tests.api.tuning.tuning_acts import added_shown_track, measure
from tests.factories import noise_images
from tests.http_server import serve
from tests.web.browser import NUMBER_LINES, OVERFLOWING_ELEMENTS, WIDTHS, signed_in, take_pictures
from tests.web.html import Element, parse_html
from tests.web.pages import answer_to, enter, read

WANTED = {"metric": "kid", "extractor": "tiny@1", "reference": "public", "visibility": "everybody"}


@pytest.fixture
def measured(service: Service) -> tuple[str, str]:
    """A competition and an entry with three shown tracks. Everybody sees one; organizers and reviewers see all."""
    slug = service.competition()
    added_shown_track(service, slug, "seen", "memorization_distance", visibility="everybody")
    added_shown_track(service, slug, "unseen", "kid")
    added_shown_track(service, slug, "of_private", "kid", reference="private")
    entry = service.scored("ada", slug, noise_images(11))["id"]
    measure(service)
    return slug, entry


def more_numbers(page: Element) -> dict[str, str]:
    """The values of the shown tracks on a page, by name and description."""
    lists = page.all("dl", class_="shown")
    return {line.one("dt").text: line.one("dd").text for part in lists for line in part.all("div")}


def test_an_entry_shows_the_tracks_that_its_viewer_may_see(service: Service, measured: tuple[str, str]) -> None:
    slug, entry = measured

    def names(who: str, path: str = f"/submissions/{entry}") -> list[str]:
        answer = service.call(who, "GET", path)
        assert answer.status_code == 200, answer.text
        return [shown["name"] for shown in answer.json()["shown"]]

    everything = ["seen", "unseen", "of_private"]
    assert (names("ada"), names("organizer")) == (["seen"], everything)
    listed = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert [shown["name"] for shown in listed[0]["shown"]] == ["seen"]
    (shown,) = service.call("ada", "GET", f"/submissions/{entry}").json()["shown"]
    assert (shown["title"], shown["extractor"], shown["reference"]) == ("memorization distance", "tiny@1", "public")
    enter(service, "ada")
    page = read(service, f"/submissions/{entry}")
    assert more_numbers(page).keys() == {"seen memorization distance with tiny, higher is better"}
    (number,) = more_numbers(page).values()
    error = formatting.significant(shown["standard_error"], 2)
    assert number == f"{formatting.significant(shown['value'], 4)} ± {error}"
    assert "unseen" not in page.text
    service.close(slug, ago=timedelta(days=1))
    service.publish(slug, final=False)
    assert names("ada") == ["seen"], "the provisional board does not show the others"
    assert names("ada", f"/submissions/{entry}/evidence/public") == ["seen"]
    assert names("ada", f"/submissions/{entry}/evidence/private") == []
    service.publish(slug)
    assert names("ada") == everything
    numbers = {number["name"]: number for number in service.call("ada", "GET", f"/submissions/{entry}").json()["shown"]}
    assert (numbers["seen"]["interval_coverage"], numbers["unseen"]["interval_coverage"]) == (None, 0.917)
    note = "; ± 1.96 standard errors contained the true value in 92 % of simulations"
    noted = {name.split()[0] for name in more_numbers(read(service, f"/submissions/{entry}")) if name.endswith(note)}
    assert noted == {"unseen", "of_private"}
    assert names("bob", f"/submissions/{entry}/evidence/public") == ["seen", "unseen"]
    assert names("bob", f"/submissions/{entry}/evidence/private") == ["of_private"]


def test_the_review_page_shows_all_shown_tracks(service: Service, measured: tuple[str, str]) -> None:
    _, entry = measured
    service.hire("rita")
    for who in ("rita", "organizer"):
        enter(service, who)
        assert len(more_numbers(read(service, f"/submissions/{entry}/review"))) == 3
        assert [
            shown["name"] for shown in service.call(who, "GET", f"/submissions/{entry}/evidence/public").json()["shown"]
        ] == ["seen", "unseen"]


def test_an_unmeasured_entry_has_no_section_for_shown_tracks(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(11))["id"]
    added_shown_track(service, slug, "seen", visibility="everybody")
    enter(service, "ada")
    assert not read(service, f"/submissions/{entry}").all(id="more-numbers")


def test_the_shown_tracks_page_is_for_organizers_and_reports_errors(service: Service) -> None:
    slug = service.competition()
    here = f"/competitions/{slug}/shown-tracks"
    enter(service, "ada")
    read(service, here, 403)
    enter(service, None)
    assert read(service, here).one("h1").text == "Sign in"
    enter(service, "organizer")
    page = read(service, here)
    assert "No additional metrics yet." in page.text
    assert page.one("nav", aria_label="Organizing").all("a", href=here, aria_current="page")
    action = f"{here}#add"
    refused = answer_to(service, here, action, **{**WANTED, "name": "kid_2", "k": "many"})
    assert refused.status_code == 422
    refused = answer_to(service, here, action, **{**WANTED, "name": "mifid_2", "metric": "mifid"})
    page = parse_html(refused.text)
    assert (refused.status_code, page.one("input", id="name").attributes["value"]) == (422, "mifid_2")
    assert "mifid needs a value for tau" in page.one(role="alert").text
    assert page.one("select", id="metric").one("option", selected="").attributes["value"] == "mifid"
    assert answer_to(service, here, action, **{**WANTED, "name": "x", "visibility": "nobody"}).status_code == 422


def test_the_shown_tracks_page_adds_measures_and_removes_tracks(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(11))
    here = f"/competitions/{slug}/shown-tracks"
    action = f"{here}#add"
    enter(service, "organizer")
    assert answer_to(service, here, action, **WANTED, name="kid_2").status_code == 303
    assert (
        answer_to(service, here, action, **{**WANTED, "name": "mifid_2", "metric": "mifid", "tau": "0.2"}).status_code
        == 303
    )
    measure(service)
    kid, mifid = read(service, here).one("ul", class_="items").all("li")
    assert "KID (unbiased MMD²) with tiny@1, lower is better visible to everybody" in kid.text
    assert "1 entry measured; added by organizer" in kid.text
    assert "tau = 0.2" in mifid.text
    assert not kid.all("form", action=f"{here}/kid_2/measurements"), "no measurement is missing"
    assert answer_to(service, here, f"{here}/kid_2/removal").status_code == 303
    (mifid,) = read(service, here).one("ul", class_="items").all("li")
    assert "mifid_2" in mifid.text


def test_failed_measurements_are_tried_again_from_the_page(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition()
    added_shown_track(service, slug, "kid_2", "kid")
    with monkeypatch.context() as patch:
        patch.setattr("worker.scoring.shown_tracks._finite", lambda _number: 1 / 0)
        service.scored("ada", slug, noise_images(11))
        for _ in range(service.context.settings.max_attempts):
            with service.context.sessions.begin() as session:
                session.query(Job).filter_by(queue="rescore").update({"due_at": datetime(2020, 1, 1, tzinfo=UTC)})
            measure(service)
    enter(service, "organizer")
    here = f"/competitions/{slug}/shown-tracks"
    (kid,) = read(service, here).one("ul", class_="items").all("li")
    assert "0 entries measured, 1 failed" in kid.text
    assert "ZeroDivisionError" in kid.text
    assert answer_to(service, here, f"{here}/kid_2/measurements").status_code == 303
    measure(service)
    (kid,) = read(service, here).one("ul", class_="items").all("li")
    assert "1 entry measured;" in kid.text


def insights(service: Service, who: str | None, slug: str, **params: str) -> Any:
    return service.call(who, "GET", f"/competitions/{slug}/insights/shown-track", params=params)


def test_insights_have_a_figure_for_each_visible_shown_track(service: Service, measured: tuple[str, str]) -> None:
    slug, _ = measured
    service.scored("bob", slug, noise_images(12))
    service.scored("eve", slug, noise_images(13))
    measure(service)
    service.submit("bob", slug, b"not a zip")
    listed = service.call("ada", "GET", f"/competitions/{slug}/insights").json()["figures"]
    assert [figure["shown"] for figure in listed if figure["shown"]] == ["seen"]
    assert listed[-1]["data"] == f"/api/v1/competitions/{slug}/insights/shown-track?shown=seen"
    answer = insights(service, "ada", slug, shown="seen")
    assert answer.status_code == 200, answer.text
    figure = answer.json()
    assert figure["columns"] == ["fid", "distance", "score", "penalised", "shown_seen"]
    assert (figure["statistics"]["count"], figure["statistics"]["missing"]) == (3, 0)
    assert all(row[4] == row[1] for row in figure["rows"]), "the shown track measures the ranked track's distance again"
    for hidden in ("unseen", "of_private", "nothing", ""):
        assert insights(service, "ada", slug, shown=hidden).status_code == 404
    assert insights(service, "ada", slug, shown='x"\r\n').status_code == 422
    assert insights(service, "ada", slug, shown="seen", track="private").status_code == 403
    csv = insights(service, "organizer", slug, shown="of_private", track="private", format="csv")
    assert f'"{slug}-shown-track-of_private-private.csv"' in csv.headers["content-disposition"]
    assert csv.text.splitlines()[0].endswith("shown_of_private")
    assert insights(service, "organizer", slug, shown="of_private", format="svg").status_code == 200


def test_the_insights_page_offers_the_visible_shown_tracks(service: Service, measured: tuple[str, str]) -> None:
    slug, _ = measured
    enter(service, "ada")
    page = read(service, f"/competitions/{slug}/insights")
    assert page.one("h2", id="shown-track").text == "FID and seen, public track"
    assert "unseen" not in page.text
    enter(service, "organizer")
    page = read(service, f"/competitions/{slug}/insights?shown=unseen&track=private")
    assert page.one("h2", id="shown-track").text == "FID and unseen, private track"
    choices = page.one("nav", aria_label="Additional metrics").all("a")
    assert [choice.text for choice in choices] == ["seen", "unseen", "of_private"]
    assert all("track=private" in choice.attributes["href"] for choice in choices)
    tabs = page.one("nav", aria_label="Tracks").all("a")
    assert all(tab.attributes["href"].endswith("&shown=unseen") for tab in tabs), "the tabs keep the choice"


def test_shown_tracks_are_added_and_viewed_in_a_browser(browser: Browser, service: Service) -> None:
    slug = service.competition()
    entries = [
        service.scored(who, slug, noise_images(seed))["id"] for who, seed in (("ada", 11), ("bob", 12), ("eve", 13))
    ]
    added_shown_track(service, slug, "memorization_distance_of_copy_detection_", "memorization_distance")
    added_shown_track(service, slug, "mifid_by_tau", "mifid", constants={"tau": 0.2}, visibility="everybody")
    with (
        serve(service.app) as address,
        signed_in(browser, service, f"{address}/competitions/{slug}/shown-tracks", who="organizer") as tab,
    ):
        page = tab.page
        page.get_by_label("Name").fill("kid_2")
        page.get_by_label("Metric", exact=True).select_option("kid")
        page.get_by_label("Extractor").select_option("efficientnet_lite0@1")
        page.get_by_label("everybody now").check()
        page.get_by_role("button", name="Add metric").click()
        expect(page.get_by_text("preparing the references")).to_be_visible()
        measure(service)
        # The page updates itself.
        expect(page.get_by_text("3 entries measured")).to_have_count(3)
        # The first page is loaded again, because it may be about to reload itself.
        for path, name in (
            (f"/competitions/{slug}/shown-tracks", "shown-tracks"),
            (f"/submissions/{entries[0]}", "entry-more-numbers"),
            (f"/submissions/{entries[0]}/review", "review-more-numbers"),
            (f"/competitions/{slug}/insights?shown=mifid_by_tau", "insights-more-numbers"),
        ):
            page.goto(f"{address}{path}")
            fits(page, name)
        assert tab.console_messages == []
        assert all(url.startswith(address) for url in tab.requests)


def fits(page: Any, name: str) -> None:
    """Check that the page fits every width, and take screenshots."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width, (name, width)
        assert page.evaluate(OVERFLOWING_ELEMENTS, width) == [], (name, width)
        assert set(page.evaluate(NUMBER_LINES)) <= {1}
    take_pictures(page, name)
