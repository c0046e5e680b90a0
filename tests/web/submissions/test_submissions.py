"""The pages of one's own entries, as a browser without scripts would use them."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import text

from api.rendering.charts.histogram import FLOOR, TOP, histogram_of
from tests.api.conftest import Service
from tests.factories import NOTEBOOK, code_zip, near_copies, noise_images, with_a_wrong_image, zip_of
from tests.web.html import Element, parse_html
from tests.web.pages import HTML, enter, hidden, read


def numbers(page: Element) -> dict[str, str]:
    """The large numbers of a page."""
    return {each.one("dt").text: each.one("dd").text for each in page.one("dl", class_="numbers").all("div")}


# An entry


def test_a_score_of_many_digits_is_smaller_to_leave_room_for_the_next(service: Service) -> None:
    for decimals, is_long in ((5, False), (10, True)):
        slug = service.competition(score_decimals=decimals)
        entry = service.scored("ada", slug, near_copies())["id"]
        for who, page in (("ada", ""), ("organizer", "/review")):
            enter(service, who)
            (numbers_of_a_track, *_) = read(service, f"/submissions/{entry}{page}").all("dl", class_="numbers")
            (score,) = [
                each.one("dd") for each in numbers_of_a_track.all("div") if each.one("dt").text.startswith("Score")
            ]
            assert ("long" in score.attributes.get("class", "")) == (is_long and not page), score.text


def test_an_entry_shows_its_numbers_verdict_histogram_and_images(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10), note="first <b>try</b>")
    (measured,) = entry["measurements"]
    enter(service, "ada")
    page = read(service, f"/submissions/{entry['id']}")
    assert page.one(class_="status").text == "scored"
    assert page.one("p", class_="lead").text == "first <b>try</b>"
    values = numbers(page)
    assert values["Score MiFID, lower is better"] == f"{measured['mifid']:,.5f}"
    assert values["Memorization distance"].startswith(f"{measured['memorization_distance']:.4f} ± 0.0")
    assert values["Rank"] == "1"
    assert page.one(class_="explanation").text == measured["explanation"]
    assert page.one("img", class_="sprite").attributes["src"] == entry["sprite"]
    assert service.http.get(entry["sprite"]).headers["content-type"] == "image/png"
    picture = page.one("svg", role="img")
    ids = picture.attributes["aria-labelledby"].split()
    assert [picture.one(id=each).tag for each in ids] == ["title", "desc"]
    assert picture.one("desc").text.startswith("8 images by their distance")
    assert f"tau is {measured['tau']:.4f}" in picture.one("desc").text
    assert not page.all(data_events=f"/api/v1/submissions/{entry['id']}/events"), "nothing more will happen"
    assert "style=" not in service.http.get(f"/submissions/{entry['id']}").text, "the policy forbids it"


def test_a_scored_entry_links_what_can_be_shown_to_others(service: Service) -> None:
    slug = service.competition()
    first = service.scored("ada", slug, noise_images(10))
    waiting = service.submit("ada", slug, zip_of(noise_images(11))).json()
    enter(service, "ada")
    section = read(service, f"/submissions/{first['id']}").one("section", aria_labelledby="share")
    links = {each.text: each.attributes["href"] for each in section.all("a")}
    assert list(links) == ["Receipt", "BibTeX", "Badge"]
    answers = {text: service.http.get(link) for text, link in links.items()}
    assert {text: answer.status_code for text, answer in answers.items()} == dict.fromkeys(links, 200)
    assert answers["Receipt"].json()["receipt"]["submission"] == first["id"]
    assert answers["Badge"].headers["Content-Type"] == "image/svg+xml"
    assert not read(service, f"/submissions/{waiting['id']}").all("section", aria_labelledby="share")


def test_it_is_for_its_team_and_for_organizers(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    for address in (f"/submissions/{entry['id']}", "/submissions/nothing"):
        enter(service, "bob")
        assert "not yours" in read(service, address, 404).one("main").text
        enter(service, None)
        assert str(service.http.get(address, headers={"Accept": "text/html"}).url).endswith(
            f"/signin?next={quote(address, safe='')}"
        )
    enter(service, "organizer")
    page = read(service, f"/submissions/{entry['id']}")
    assert [each.text for each in page.all("h2")][:2] == ["Public score", "Private score"]
    assert "Only organizers can see this" in page.one("main").text


def test_nothing_private_is_on_it_before_publication_and_all_of_it_after(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    address = f"/submissions/{entry['id']}"
    seen = service.call("organizer", "GET", address).json()["measurements"][1]
    secret = f"{seen['fid']:,.5f}"
    enter(service, "ada")
    before = service.http.get(address)
    assert secret not in before.text
    assert "rivate" not in before.text
    service.close(slug)
    body = {"published": True, "reason": "done", "override": "a test"}
    assert service.call("organizer", "POST", f"/competitions/{slug}/publication", json=body).status_code == 201
    after = service.http.get(address, headers={"If-None-Match": before.headers["etag"]})
    assert after.status_code == 200
    assert secret in after.text


def test_the_page_is_known_by_its_etag_until_something_changes(service: Service) -> None:
    slug = service.competition()
    entry = service.submit("ada", slug, zip_of(noise_images(10))).json()
    enter(service, "ada")
    address = f"/submissions/{entry['id']}"
    first = service.http.get(address)
    answers = [service.http.get(address, headers={"If-None-Match": first.headers["etag"]}).status_code for _ in "12"]
    assert 304 in answers, "unless the minute has just ended"
    service.run_jobs()
    assert service.http.get(address, headers={"If-None-Match": first.headers["etag"]}).status_code == 200


def test_a_waiting_entry_shows_its_position_and_its_event_stream(service: Service) -> None:
    slug = service.competition()
    service.submit("bob", slug, zip_of(noise_images(9)))
    entry = service.submit("ada", slug, zip_of(noise_images(10))).json()
    enter(service, "ada")
    page = read(service, f"/submissions/{entry['id']}")
    live = page.one("section", data_events=f"/api/v1/submissions/{entry['id']}/events")
    assert live.one("progress", data_live="fraction").attributes["max"] == "1"
    texts = {each.attributes["data-live"]: each.text for each in live.all("span") if "data-live" in each.attributes}
    assert texts == {"status": "received", "stage": "–", "position": "2", "estimate": "–"}


def test_a_rejected_entry_names_its_faults(service: Service) -> None:
    slug = service.competition()
    entry = service.submit("ada", slug, with_a_wrong_image(noise_images(10))).json()
    service.run_jobs()
    enter(service, "ada")
    page = read(service, f"/submissions/{entry['id']}")
    assert page.one(class_="notice").text == "1 of 8 images can't be used."
    (fault,) = page.one("ul", class_="faults").all("li")
    assert "3.png" in fault.text
    assert "15x16" in fault.text
    assert "does not count towards the daily limit of entries" in page.one("main").text
    assert not page.all("img", class_="sprite")


def test_a_copy_says_so(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(1, 40, 16)[:8])
    enter(service, "ada")
    page = read(service, f"/submissions/{entry['id']}")
    assert numbers(page)["Score MiFID, lower is better"] == "none"
    assert numbers(page)["Rank"] == "none"
    assert "pixel by pixel (8 as they are, 0 mirrored)" in page.one(class_="explanation").text


def test_an_entry_that_is_not_the_teams_best_says_where_it_would_rank(service: Service) -> None:
    slug = service.competition()
    entries = [service.scored("ada", slug, noise_images(seed)) for seed in (10, 11)]
    worse = max(entries, key=lambda each: each["measurements"][0]["mifid"])
    enter(service, "ada")
    page = read(service, f"/submissions/{worse['id']}")
    assert numbers(page)["Would-be rank"] == "1"
    assert "If this were its best entry, the team would be at rank 1." in page.one("main").text


def test_an_entry_that_waits_can_be_cancelled(service: Service) -> None:
    slug = service.competition()
    entry = service.submit("ada", slug, zip_of(noise_images(10))).json()
    address, action = f"/submissions/{entry['id']}", f"/submissions/{entry['id']}/cancel"
    enter(service, "organizer")
    assert "Cancel entry" not in read(service, address).one("main").text, "it is not theirs"
    enter(service, "ada")
    fields = hidden(read(service, address), action)
    assert service.http.post(action, headers=HTML).status_code == 403
    assert service.call("ada", "GET", address).json()["status"] == "received"
    assert (
        parse_html(service.http.post(action, data=fields, headers=HTML).text).one(class_="status").text == "cancelled"
    )
    scored = service.scored("ada", slug, noise_images(11))["id"]
    late = service.http.post(f"/submissions/{scored}/cancel", data=fields, headers=HTML)
    assert late.status_code == 409
    assert parse_html(late.text).one(role="alert").text.startswith("The scoring of this entry has begun")


def test_an_entry_from_before_there_were_sprites_says_nothing_of_it(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    with service.context.sessions.begin() as session:
        session.execute(text("UPDATE submissions SET sprite_key = NULL"))
    enter(service, "ada")
    assert "Images" not in [each.text for each in read(service, f"/submissions/{entry['id']}").all("h2")]


# The histogram


def test_the_drawing_holds_the_counts_the_mean_and_tau() -> None:
    drawing = histogram_of({"counts": [0, 10, 5, 0], "low": 0.0, "high": 0.4}, mean=0.17, tau=0.25)
    assert drawing is not None
    assert [(round(bar.height), bar.near) for bar in drawing.bars] == [(FLOOR - TOP, True), ((FLOOR - TOP) / 2, False)]
    assert [round(bar.x * 0.4 * 1.04 / 100, 6) for bar in drawing.bars] == [0.1, 0.2]
    assert drawing.tau is not None
    assert drawing.mean.at < drawing.tau.at < 100
    assert (drawing.tau.text, drawing.mean.text, drawing.max_count) == ("tau 0.2500", "mean 0.1700", 10)
    assert [tick.text for tick in drawing.ticks] == ["0", "0.1", "0.2", "0.3", "0.4"]


@pytest.mark.parametrize("tau", [None, 0.0])
def test_without_a_threshold_nothing_is_near(tau: float | None) -> None:
    drawing = histogram_of({"counts": [3], "low": 0.0, "high": 0.001}, mean=0.0005, tau=tau)
    assert drawing is not None
    assert drawing.tau is None
    assert not any(bar.near for bar in drawing.bars)
    assert "there is no threshold" in drawing.description


def test_a_threshold_beyond_all_distances_is_still_in_the_picture() -> None:
    drawing = histogram_of({"counts": [3, 4], "low": 0.0, "high": 0.1}, mean=0.05, tau=0.9)
    assert drawing is not None
    assert drawing.tau is not None
    assert drawing.tau.at < 100
    assert drawing.tau.anchor == "end"


@pytest.mark.parametrize("histogram", [{}, {"counts": [], "low": 0, "high": 1}, {"counts": [0], "low": 0, "high": 1}])
def test_nothing_is_drawn_of_nothing(histogram: dict[str, Any]) -> None:
    assert histogram_of(histogram, 0.1, 0.2) is None


# The list and the picks


def test_the_list_is_the_teams_own(service: Service) -> None:
    slug = service.competition()
    address = f"/competitions/{slug}/entries"
    enter(service, "ada")
    assert "Your team has not entered yet" in read(service, address).one("main").text
    mine = service.scored("ada", slug, noise_images(10))
    service.scored("bob", slug, noise_images(11))
    waiting = service.submit("ada", slug, zip_of(noise_images(12))).json()
    page = read(service, address)
    links = [each.one("a").attributes["href"] for each in page.one("tbody").all("th")]
    assert links == [f"/submissions/{waiting['id']}", f"/submissions/{mine['id']}"]
    states = [each.text for each in page.one("tbody").all("td", class_="state")]
    assert states == ["received position 1", "scored"]
    assert page.one("tbody").all("td", class_="score")[1].text == f"{mine['measurements'][0]['mifid']:,.5f}"
    enter(service, "organizer")
    assert len(read(service, address).one("tbody").all("tr")) == 3
    enter(service, None)
    answer = service.http.get(address, headers=HTML, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/signin")


def test_picks_are_ticked_saved_and_shown(service: Service) -> None:
    slug = service.competition()
    address, action = f"/competitions/{slug}/entries", f"/competitions/{slug}/picks"
    entries = [service.scored("ada", slug, noise_images(seed)) for seed in (10, 11, 12)]
    enter(service, "ada")
    page = read(service, address)
    marks = [each.text for each in page.one("tbody").all("span", class_="badge")]
    assert marks == ["final pick by default"] * 2
    assert "None are picked, so the best public ones are taken" in page.one("main").text
    assert not [each for each in page.all("input", type="checkbox") if "checked" in each.attributes]
    fields: dict[str, Any] = hidden(page, action) | {"pick": [entries[0]["id"], entries[2]["id"]]}
    saved = parse_html(service.http.post(action, data=fields, headers=HTML).text)
    ticked = {each.attributes["value"] for each in saved.all("input", type="checkbox") if "checked" in each.attributes}
    assert ticked == {entries[0]["id"], entries[2]["id"]}
    assert [each.text for each in saved.one("tbody").all("span", class_="badge")] == ["final pick"] * 2
    assert "Picked by ada" in saved.one("main").text
    too_many = service.http.post(action, data=fields | {"pick": [each["id"] for each in entries]}, headers=HTML)
    assert too_many.status_code == 422
    assert parse_html(too_many.text).one(role="alert").text == "You picked 3 entries. Pick at most 2."
    forged = service.http.post(action, data={"pick": [entries[1]["id"]]}, headers=HTML)
    assert forged.status_code == 403
    service.close(slug)
    closed = read(service, address)
    assert not closed.all("input", type="checkbox")
    assert service.http.post(action, data=fields, headers=HTML).status_code == 409


def test_picks_on_another_page_of_the_list_stay_picked(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.submissions.pages.PAGE_SIZE", 2)
    slug = service.competition()
    entries = [service.scored("ada", slug, noise_images(seed)) for seed in (10, 11, 12)]
    body = {"submissions": [entries[0]["id"]]}
    assert service.call("ada", "PUT", f"/competitions/{slug}/picks", json=body).status_code == 200
    enter(service, "ada")
    page = read(service, f"/competitions/{slug}/entries")
    ticked = {each.attributes["value"] for each in page.all("input", type="checkbox") if "checked" in each.attributes}
    assert ticked == {entries[0]["id"]}
    older = read(service, page.one("a", rel="next").attributes["href"])
    assert len(older.one("tbody").all("tr")) == 1


# Code


def test_code_is_attached_with_the_pages_form_and_replaced(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    address, action = f"/submissions/{entry['id']}", f"/submissions/{entry['id']}/code"
    enter(service, "ada")
    page = read(service, address)
    fields = hidden(page, f"{action}#code")
    assert "No code attached." in page.one("main").text
    for content, says in ((code_zip(bytes(300_000)), "A zip of 300"), (NOTEBOOK, "A notebook of")):
        answer = service.http.post(action, data=fields, files={"file": ("x.bin", content)}, headers=HTML)
        assert answer.status_code == 200, answer.text
        assert says in parse_html(answer.text).one("main").text
        assert service.call("organizer", "GET", action).content == content
    wrong = service.http.post(action, data=fields, files={"file": ("x.zip", b"text")}, headers=HTML)
    assert wrong.status_code == 422
    assert parse_html(wrong.text).one(role="alert").text.startswith("The code is neither a zip nor a notebook")
    service.close(slug)
    assert not [each for each in read(service, address).all("form") if "/code" in each.attributes["action"]]


@pytest.mark.parametrize("fields", [{}, {"csrf": "wrong"}, {"csrf": "x" * 70_000}, {"note": "before the token"}])
def test_a_forged_upload_is_refused_before_its_file_is_read(service: Service, fields: dict[str, str]) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    enter(service, "ada")
    address = f"/submissions/{entry['id']}"
    if "note" in fields:
        fields |= hidden(read(service, address), f"{address}/code#code")
    answer = service.http.post(
        f"/submissions/{entry['id']}/code", data=fields, files={"file": ("a.zip", code_zip())}, headers=HTML
    )
    assert answer.status_code in {403, 413}
    assert service.call("ada", "GET", f"/submissions/{entry['id']}").json()["code"] is None


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=x", "text/plain"])
def test_what_is_no_form_is_refused(service: Service, kind: str) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    enter(service, "ada")
    headers = {"Content-Type": kind, **HTML}
    answer = service.http.post(f"/submissions/{entry['id']}/code", content=b"--y nonsense", headers=headers)
    assert answer.status_code in {403, 422}


# After the deadline


def test_late_entries_have_a_tab_of_their_own(service: Service) -> None:
    slug = service.competition(late_submissions=True)
    home = f"/competitions/{slug}"
    service.scored("ada", slug, noise_images(10))
    assert "After the deadline" not in service.http.get(home).text
    service.close(slug, ago=timedelta(hours=1))
    late = service.scored("bob", slug, noise_images(11))
    main = read(service, home)
    (tab,) = [each for each in main.one("nav", class_="tabs").all("a") if each.text == "After the deadline"]
    assert [each.text for each in main.one("tbody").all("bdi")] == ["Ada"]
    page = read(service, tab.attributes["href"])
    assert [each.text for each in page.one("tbody").all("bdi")] == ["Bob"]
    assert page.one("nav", class_="tabs").one("a", aria_current="page").text == "After the deadline"
    assert "entries after the deadline" in page.one("table").one("caption").text
    csv = [each.attributes["href"] for each in page.all("a") if each.text == "CSV"]
    assert "late=true" in csv[0]
    assert re.search(r"name=.late.", service.http.get(tab.attributes["href"]).text), "a search stays on this board"
    enter(service, "bob")
    entry = read(service, f"/submissions/{late['id']}")
    assert "after the deadline" in [each.text for each in entry.all(class_="badge")]
