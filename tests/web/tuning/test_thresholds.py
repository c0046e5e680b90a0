"""The tuning page and its chart, without a browser."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.rendering.charts.distribution import AXIS, FLOOR, TOP, Distribution, build_distribution
from scorer.submissions.labels import LABELS
from tests.api.conftest import Service
from tests.api.tuning.tuning_acts import choose, path, random_competition
from tests.web.html import Element, parse_html
from tests.web.pages import enter, read


def build_picture(drawn: list[tuple[float, str | None]], tau: float | None) -> Distribution:
    numbers = [LABELS.index(label) if label is not None else -1 for _, label in drawn]
    return build_distribution(
        np.array([distance for distance, _ in drawn], np.float64), np.array(numbers, np.int8), tau
    )


@given(
    st.lists(st.tuples(st.floats(0, 2), st.sampled_from([None, *LABELS])), max_size=40),
    st.one_of(st.none(), st.floats(0, 2)),
)
def test_every_entry_is_in_the_picture_once(drawn: list[tuple[float, str | None]], tau: float | None) -> None:
    picture = build_picture(drawn, tau)
    counts = Counter(label or "unlabelled" for _, label in drawn)
    assert dict(picture.counts) == counts
    assert picture.right > max([distance for distance, _ in drawn] + [tau or 0.0])
    heights = Counter[str]()
    for piece in picture.pieces:
        heights[piece.label] += piece.height  # type: ignore[assignment] # a Counter of floats
        assert 0 <= piece.x < piece.x + piece.width <= 100.001
        assert TOP - 0.01 <= piece.y < piece.y + piece.height <= FLOOR + 0.01
        assert (piece.y >= AXIS - 0.01) == (piece.label == "unlabelled")
    tallest = max((height / counts[label] for label, height in heights.items()), default=0)
    for label, count in counts.items():
        assert heights[label] == pytest.approx(count * tallest)
    if tau is not None:
        assert 0 <= picture.x(tau) <= 100


def test_the_picture_has_a_text_for_screen_readers() -> None:
    description = build_picture([(0.1, "mgan"), (0.2, "mgan"), (0.4, None)], 0.3).description
    assert "2 mgan, from 0.100 to 0.200, half of them below 0.200" in description
    assert "1 unlabelled, from 0.400 to 0.400" in description
    assert build_picture([], None).description.endswith("There are no entries yet.")


def numbers(page: Element) -> dict[str, str]:
    return {element.attributes["data-tau"]: element.text for element in page.all() if "data-tau" in element.attributes}


@pytest.mark.parametrize("page", ["tau", "private-extractor"])
def test_the_pages_are_for_organizers(service: Service, page: str) -> None:
    address = f"/competitions/{service.competition()}/{page}"
    enter(service, None)
    assert read(service, address).one("h1").text == "Sign in"
    enter(service, "ada")
    read(service, address, 403)


def test_the_tuning_page_shows_the_track_in_its_url(service: Service) -> None:
    enter(service, "organizer")
    page = read(service, f"/competitions/{service.competition()}/tau?track=public")
    assert page.one("nav", class_="tracks").one("a", aria_current="page").text == "Public board"


def test_the_tuning_page_reports_errors_and_overwrites_nothing(service: Service) -> None:
    slug = random_competition(service, seed=2, entries=40)
    here = f"/competitions/{slug}/tau"
    enter(service, "organizer")
    page = read(service, here)
    assert "No tau has been applied yet" in page.text
    assert page.one("li", class_="chosen").text.startswith("Margin"), "the first method with enough data"
    assert "no held-out distance" in page.text
    assert page.all("p", class_="empty")[0].text == "No choices yet. Preview a tau above and apply it."
    form = page.one("form", id="apply-form")
    fields = {field.attributes["name"]: field.attributes["value"] for field in form.all("input", type="hidden")}

    def post(action: str, **more: str) -> Element:
        answer = service.http.post(action, data={**fields, **more}, headers={"Accept": "text/html"})
        assert answer.status_code == 422, answer.text
        return parse_html(answer.text)

    assert "Enter a reason. It is shown in the history." in post(here).one(id="problem").text
    assert "is not a number" in post(here, reason="x", method="manual", tau="0,3").one(id="problem").text
    refused = post(here, reason="typed", method="nonsense")
    assert "no method" in refused.one(id="problem").text
    assert refused.one("input", id="reason").attributes["value"] == "typed"
    assert service.call("organizer", "GET", path(slug)).json()["thresholds"] == []
    read(service, f"{here}?tau=3", 422)
    done = service.http.post(here, data={**fields, "reason": "by the form"}, follow_redirects=False)
    assert done.status_code == 303
    (row,) = service.call("organizer", "GET", path(slug)).json()["thresholds"]
    assert (row["method"], row["reason"]) == ("margin", "by the form")
    # A choice that somebody else made in the meantime is not overwritten.
    choose(service, slug, tau=0.2)
    stale = service.http.post(here, data={**fields, "after": str(row["id"]), "reason": "x"})
    assert stale.status_code == 409
    page = read(service, f"{here}?tau=0.35")
    preview = choose(service, slug, tau=0.35, preview=True).json()
    values = numbers(page)
    assert values["newly"] == f"+{len(preview['penalised'])}"
    assert (values["medals"], values["moves"]) == (str(len(preview["medals"])), str(len(preview["moves"])))


def test_with_a_final_board_only_the_preview_is_offered(service: Service) -> None:
    slug = random_competition(service, seed=4, entries=40)
    for tau in (0.2, 0.3):
        choose(service, slug, tau=tau)
    service.close(slug)
    enter(service, "organizer")
    here = f"/competitions/{slug}/tau"
    forms = {here: "apply", f"{here}/undo": "history"}

    def publish(**more: bool) -> Element:
        """Publish a board. Returns the tuning page."""
        body = {"published": True, "reason": "Done.", "override": "a test", **more}
        answer = service.call("organizer", "POST", f"/competitions/{slug}/publication", json=body)
        assert answer.status_code == 201, answer.text
        return read(service, f"{here}?tau=0.25")

    def find_hidden_fields(page: Element) -> dict[str, dict[str, str]]:
        """By action: the hidden fields of the forms that choose and undo a tau."""
        return {
            form.attributes["action"]: {
                field.attributes["name"]: field.attributes["value"] for field in form.all("input", type="hidden")
            }
            for form in page.all("form", method="post")
            if form.attributes["action"] in forms
        }

    fields = find_hidden_fields(publish(final=False))
    assert fields.keys() == forms.keys()
    final = publish(final=True)
    assert find_hidden_fields(final) == {}
    assert (
        final.one("section", aria_labelledby="apply")
        .one("p", class_="empty")
        .text.startswith("You can't apply a tau while the final")
    )
    assert numbers(final)["tau"] == "0.2500", "previews are still possible"
    for action, section in forms.items():
        answer = service.http.post(action, data={**fields[action], "reason": "x"}, headers={"Accept": "text/html"})
        assert answer.status_code == 409, answer.text
        page = parse_html(answer.text)
        problem = page.one("section", aria_labelledby=section).one(id="problem").text
        assert "The final board is published" in problem, "the error is in the section of the form"
        assert find_hidden_fields(page) == {}
