"""The pages of a team's own entries, as a browser without scripts uses them."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import text

from api.rendering.charts.histogram import FLOOR, TOP, build_histogram
from tests.api.conftest import Service
from tests.factories import NOTEBOOK, code_zip, make_zip, near_copies, noise_images, with_a_wrong_image
from tests.web.html import Element, parse_html
from tests.web.pages import HTML, enter, hidden, read


def numbers(page: Element) -> dict[str, str]:
    """The large numbers of a page."""
    return {line.one("dt").text: line.one("dd").text for line in page.one("dl", class_="numbers").all("div")}


# An entry


def test_a_score_with_many_digits_is_shown_smaller(service: Service) -> None:
    for decimals, is_long in ((5, False), (10, True)):
        slug = service.competition(score_decimals=decimals)
        entry = service.scored("ada", slug, near_copies())["id"]
        for who, page in (("ada", ""), ("organizer", "/review")):
            enter(service, who)
            (track_numbers, *_) = read(service, f"/submissions/{entry}{page}").all("dl", class_="numbers")
            (score,) = [line.one("dd") for line in track_numbers.all("div") if line.one("dt").text.startswith("Score")]
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
    assert [picture.one(id=id_).tag for id_ in ids] == ["title", "desc"]
    assert picture.one("desc").text.startswith("8 images by their distance")
    assert f"tau is {measured['tau']:.4f}" in picture.one("desc").text
    assert not page.all(data_events=f"/api/v1/submissions/{entry['id']}/events"), (
        "a finished entry needs no event stream"
    )
    assert "style=" not in service.http.get(f"/submissions/{entry['id']}").text, (
        "the content security policy forbids it"
    )


def test_a_scored_entry_has_links_to_share(service: Service) -> None:
    slug = service.competition()
    first = service.scored("ada", slug, noise_images(10))
    waiting = service.submit("ada", slug, make_zip(noise_images(11))).json()
    enter(service, "ada")
    section = read(service, f"/submissions/{first['id']}").one("section", aria_labelledby="share")
    links = {link.text: link.attributes["href"] for link in section.all("a")}
    assert list(links) == ["Receipt", "BibTeX", "Badge"]
    answers = {text: service.http.get(link) for text, link in links.items()}
    assert {text: answer.status_code for text, answer in answers.items()} == dict.fromkeys(links, 200)
    assert answers["Receipt"].json()["receipt"]["submission"] == first["id"]
    assert answers["Badge"].headers["Content-Type"] == "image/svg+xml"
    assert not read(service, f"/submissions/{waiting['id']}").all("section", aria_labelledby="share")


def test_an_entry_is_visible_to_its_team_and_to_organizers(service: Service) -> None:
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
    assert [heading.text for heading in page.all("h2")][:2] == ["Public score", "Private score"]
    assert "Only organizers can see this" in page.one("main").text


def test_private_numbers_are_only_shown_after_publication(service: Service) -> None:
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


def test_the_etag_of_an_entry_page_changes_with_the_page(service: Service) -> None:
    slug = service.competition()
    entry = service.submit("ada", slug, make_zip(noise_images(10))).json()
    enter(service, "ada")
    address = f"/submissions/{entry['id']}"
    first = service.http.get(address)
    answers = [service.http.get(address, headers={"If-None-Match": first.headers["etag"]}).status_code for _ in "12"]
    assert 304 in answers, "one of two requests is in the same minute"
    service.run_jobs()
    assert service.http.get(address, headers={"If-None-Match": first.headers["etag"]}).status_code == 200


def test_a_waiting_entry_shows_its_position_and_its_event_stream(service: Service) -> None:
    slug = service.competition()
    service.submit("bob", slug, make_zip(noise_images(9)))
    entry = service.submit("ada", slug, make_zip(noise_images(10))).json()
    enter(service, "ada")
    page = read(service, f"/submissions/{entry['id']}")
    live = page.one("section", data_events=f"/api/v1/submissions/{entry['id']}/events")
    assert live.one("progress", data_live="fraction").attributes["max"] == "1"
    texts = {span.attributes["data-live"]: span.text for span in live.all("span") if "data-live" in span.attributes}
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


def test_a_copy_is_reported_on_its_page(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(1, 40, 16)[:8])
    enter(service, "ada")
    page = read(service, f"/submissions/{entry['id']}")
    assert numbers(page)["Score MiFID, lower is better"] == "none"
    assert numbers(page)["Rank"] == "none"
    assert "pixel by pixel (8 as they are, 0 mirrored)" in page.one(class_="explanation").text


def test_an_entry_below_the_teams_best_shows_its_would_be_rank(service: Service) -> None:
    slug = service.competition()
    entries = [service.scored("ada", slug, noise_images(seed)) for seed in (10, 11)]
    worse = max(entries, key=lambda entry: entry["measurements"][0]["mifid"])
    enter(service, "ada")
    page = read(service, f"/submissions/{worse['id']}")
    assert numbers(page)["Would-be rank"] == "1"
    assert "If this were its best entry, the team would be at rank 1." in page.one("main").text


def test_a_waiting_entry_can_be_cancelled(service: Service) -> None:
    slug = service.competition()
    entry = service.submit("ada", slug, make_zip(noise_images(10))).json()
    address, action = f"/submissions/{entry['id']}", f"/submissions/{entry['id']}/cancel"
    enter(service, "organizer")
    assert "Cancel entry" not in read(service, address).one("main").text, "organizers cannot cancel it"
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


def test_an_entry_without_a_sprite_has_no_images_section(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    with service.context.sessions.begin() as session:
        session.execute(text("UPDATE submissions SET sprite_key = NULL"))
    enter(service, "ada")
    assert "Images" not in [heading.text for heading in read(service, f"/submissions/{entry['id']}").all("h2")]


# The histogram


def test_the_histogram_shows_counts_mean_and_tau() -> None:
    drawing = build_histogram({"counts": [0, 10, 5, 0], "low": 0.0, "high": 0.4}, mean=0.17, tau=0.25)
    assert drawing is not None
    assert [(round(bar.height), bar.near) for bar in drawing.bars] == [(FLOOR - TOP, True), ((FLOOR - TOP) / 2, False)]
    assert [round(bar.x * 0.4 * 1.04 / 100, 6) for bar in drawing.bars] == [0.1, 0.2]
    assert drawing.tau is not None
    assert drawing.mean.at < drawing.tau.at < 100
    assert (drawing.tau.text, drawing.mean.text, drawing.max_count) == ("tau 0.2500", "mean 0.1700", 10)
    assert [tick.text for tick in drawing.ticks] == ["0", "0.1", "0.2", "0.3", "0.4"]


@pytest.mark.parametrize("tau", [None, 0.0])
def test_without_a_threshold_nothing_is_near(tau: float | None) -> None:
    drawing = build_histogram({"counts": [3], "low": 0.0, "high": 0.001}, mean=0.0005, tau=tau)
    assert drawing is not None
    assert drawing.tau is None
    assert not any(bar.near for bar in drawing.bars)
    assert "there is no threshold" in drawing.description


def test_a_threshold_beyond_all_distances_is_still_shown() -> None:
    drawing = build_histogram({"counts": [3, 4], "low": 0.0, "high": 0.1}, mean=0.05, tau=0.9)
    assert drawing is not None
    assert drawing.tau is not None
    assert drawing.tau.at < 100
    assert drawing.tau.anchor == "end"


@pytest.mark.parametrize("histogram", [{}, {"counts": [], "low": 0, "high": 1}, {"counts": [0], "low": 0, "high": 1}])
def test_an_empty_histogram_is_not_drawn(histogram: dict[str, Any]) -> None:
    assert build_histogram(histogram, 0.1, 0.2) is None


# The list and the picks


def test_the_list_is_the_teams_own(service: Service) -> None:
    slug = service.competition()
    address = f"/competitions/{slug}/entries"
    enter(service, "ada")
    assert "Your team has no entries yet" in read(service, address).one("main").text
    mine = service.scored("ada", slug, noise_images(10))
    service.scored("bob", slug, noise_images(11))
    waiting = service.submit("ada", slug, make_zip(noise_images(12))).json()
    page = read(service, address)
    links = [cell.one("a").attributes["href"] for cell in page.one("tbody").all("th")]
    assert links == [f"/submissions/{waiting['id']}", f"/submissions/{mine['id']}"]
    states = [cell.text for cell in page.one("tbody").all("td", class_="state")]
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
    marks = [badge.text for badge in page.one("tbody").all("span", class_="badge")]
    assert marks == ["final pick by default"] * 2
    assert "You have not picked any entries, so your best public entries count" in page.one("main").text
    assert not [box for box in page.all("input", type="checkbox") if "checked" in box.attributes]
    fields: dict[str, Any] = hidden(page, action) | {"pick": [entries[0]["id"], entries[2]["id"]]}
    saved = parse_html(service.http.post(action, data=fields, headers=HTML).text)
    ticked = {box.attributes["value"] for box in saved.all("input", type="checkbox") if "checked" in box.attributes}
    assert ticked == {entries[0]["id"], entries[2]["id"]}
    assert [badge.text for badge in saved.one("tbody").all("span", class_="badge")] == ["final pick"] * 2
    assert "Picked by ada" in saved.one("main").text
    too_many = service.http.post(action, data=fields | {"pick": [entry["id"] for entry in entries]}, headers=HTML)
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
    ticked = {box.attributes["value"] for box in page.all("input", type="checkbox") if "checked" in box.attributes}
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
    assert not [form for form in read(service, address).all("form") if "/code" in form.attributes["action"]]


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
def test_other_content_types_than_forms_are_refused(service: Service, kind: str) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    enter(service, "ada")
    headers = {"Content-Type": kind, **HTML}
    answer = service.http.post(f"/submissions/{entry['id']}/code", content=b"--y nonsense", headers=headers)
    assert answer.status_code in {403, 422}


# After the deadline


def test_late_entries_have_their_own_tab(service: Service) -> None:
    slug = service.competition(late_submissions=True)
    home = f"/competitions/{slug}"
    service.scored("ada", slug, noise_images(10))
    assert "After the deadline" not in service.http.get(home).text
    service.close(slug, ago=timedelta(hours=1))
    late = service.scored("bob", slug, noise_images(11))
    main = read(service, home)
    (tab,) = [link for link in main.one("nav", class_="tabs").all("a") if link.text == "After the deadline"]
    assert [name.text for name in main.one("tbody").all("bdi")] == ["Ada"]
    page = read(service, tab.attributes["href"])
    assert [name.text for name in page.one("tbody").all("bdi")] == ["Bob"]
    assert page.one("nav", class_="tabs").one("a", aria_current="page").text == "After the deadline"
    assert "entries after the deadline" in page.one("table").one("caption").text
    csv = [link.attributes["href"] for link in page.all("a") if link.text == "CSV"]
    assert "late=true" in csv[0]
    assert re.search(r"name=.late.", service.http.get(tab.attributes["href"]).text), "searches stay on this board"
    enter(service, "bob")
    entry = read(service, f"/submissions/{late['id']}")
    assert "after the deadline" in [badge.text for badge in entry.all(class_="badge")]
