"""Submitting an entry from a browser: with the script, over a broken connection, and with a plain form."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from sqlalchemy import select

from api.http.csrf import csrf_token
from api.http.forms import MAX_FIELDS
from api.http.multipart import MAX_BYTES_BEFORE_FILE
from scorer.db.tables import Submission
from scorer.teams.quotas import RETRY_AFTER_SECONDS
from tests.api.conftest import Service, service
from tests.factories import make_zip, noise_images
from tests.flaky_proxy import FlakyProxy
from tests.http_server import serve
from tests.linear_generators import honest_generator
from tests.web.browser import OVERFLOWING_ELEMENTS, take_pictures
from tests.web.pages import start_session

__all__ = ["service"]
pytestmark = pytest.mark.usefixtures("one_day")
ZIP = make_zip(noise_images(9))
ONNX = honest_generator(1, 16)
HTML = {"Accept": "text/html"}


def entries(service: Service, slug: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    return rows


def form(service: Service, slug: str, secret: str, content: bytes, csrf: str | None = None, note: str = "") -> Any:
    """Send the form as a browser without scripts does."""
    return service.http.post(
        f"/competitions/{slug}/submit",
        data={"csrf": csrf_token(secret) if csrf is None else csrf, "note": note},
        files={"file": ("mine.zip", content, "application/zip")},
        headers={**HTML, "Cookie": f"kennel={secret}", "Sec-Fetch-Site": "same-origin"},
        follow_redirects=False,
    )


def test_the_page_shows_the_specification_to_signed_in_people(service: Service) -> None:
    slug = service.competition()
    path = f"/competitions/{slug}/submit"
    assert service.http.get(path, headers=HTML, follow_redirects=False).status_code in {303, 401}
    page = service.http.get(path, headers={**HTML, "Cookie": f"kennel={start_session(service, 'ada')}"})
    assert page.status_code == 200
    assert "8 PNG images" in page.text
    assert "4.8 kB of metadata (text, EXIF, XMP) per" in page.text
    assert "connect-src 'self'" in page.headers["content-security-policy"]
    assert f'href="{path}"' in service.http.get(f"/competitions/{slug}", headers=HTML).text


def test_the_page_explains_why_no_entry_can_be_submitted(service: Service) -> None:
    slug = service.competition(pending_limit=1)
    cookie = {"Cookie": f"kennel={start_session(service, 'ada')}"}
    assert service.submit("ada", slug, ZIP).status_code == 202
    page = service.http.get(f"/competitions/{slug}/submit", headers={**HTML, **cookie})
    assert "Wait until one is scored" in page.text
    assert "<form class=" not in page.text
    ruled = service.competition(rules="Be fair.")
    first = service.http.get(f"/competitions/{ruled}/submit", headers={**HTML, **cookie}).text
    assert "Be fair." in first
    assert "Accept the rules</button>" in first
    assert 'name="file"' not in first


def test_accepting_the_rules_returns_to_the_form(service: Service) -> None:
    slug = service.competition(rules="Be fair.", daily_limit=3)
    secret = start_session(service, "ada")
    headers = {**HTML, "Cookie": f"kennel={secret}"}
    fields = {"csrf": csrf_token(secret), "rules_sha256": hashlib.sha256(b"Be fair.").hexdigest()}
    for then, goal in (("submit", "/submit"), ("", "#rules"), ("//evil.example", "#rules")):
        answer = service.http.post(
            f"/competitions/{slug}/rules-acceptance",
            data={**fields, "then": then},
            headers=headers,
            follow_redirects=False,
        )
        assert (answer.status_code, answer.headers["location"]) == (303, f"/competitions/{slug}{goal}")
    page = service.http.get(f"/competitions/{slug}/submit", headers=headers).text
    assert 'name="file"' in page
    assert "3 of 3 entries left today" in page


def test_only_invited_people_get_links_to_enter(service: Service) -> None:
    slug = service.competition(invitation_only=True, rules="Be fair.")
    cookie = start_session(service, "ada")
    headers = {**HTML, "Cookie": f"kennel={cookie}"}
    board = f"/competitions/{slug}"
    page = service.http.get(board, headers=headers).text
    assert "Only people invited by the organizers can enter" in page
    assert f"{board}/submit" not in page
    assert "Accept the rules</button>" not in page
    assert "by invitation only, and you are not invited" in service.http.get(f"{board}/submit", headers=headers).text
    assert "By invitation" in service.http.get("/", headers=headers).text
    etag = service.http.get(board, headers=headers).headers["etag"]
    invited = service.call("organizer", "POST", f"{board}/allowlist", json={"who": ["ada"]})
    assert invited.status_code == 200
    changed = service.http.get(board, headers={**headers, "If-None-Match": etag})
    assert changed.status_code == 200
    assert "By invitation (you are invited)" in changed.text
    assert f"{board}/submit" in changed.text


def test_a_form_at_the_limit_shows_the_retry_time(service: Service) -> None:
    slug = service.competition(pending_limit=1, daily_limit=2)
    secret = start_session(service, "ada")
    assert form(service, slug, secret, ZIP).status_code == 303
    waiting = form(service, slug, secret, ZIP)
    assert (waiting.status_code, waiting.headers["retry-after"]) == (429, str(RETRY_AFTER_SECONDS))
    service.run_jobs()
    assert form(service, slug, secret, ZIP).status_code == 303
    service.run_jobs()
    over = form(service, slug, secret, ZIP)
    assert over.status_code == 429
    assert "You can submit again at" in over.text
    assert 0 < int(over.headers["retry-after"]) <= 86_400


def test_a_plain_form_submits_an_entry(service: Service) -> None:
    slug = service.competition()
    answer = form(service, slug, start_session(service, "ada"), ZIP, note="by form")
    (entry,) = entries(service, slug)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/submissions/{entry['id']}")
    assert (entry["file_name"], entry["note"], entry["bytes"]) == ("mine.zip", "by form", len(ZIP))


def test_a_plain_form_shows_what_is_wrong(service: Service) -> None:
    slug = service.competition()
    secret = start_session(service, "ada")
    wrong = form(service, slug, secret, b"no zip", note="keep me")
    assert wrong.status_code == 422
    assert 'role="alert"' in wrong.text
    assert "keep me" in wrong.text
    assert form(service, slug, secret, bytes(1 << 20)).status_code == 413
    assert form(service, slug, secret, ZIP, note="x" * 2001).status_code == 422
    empty = service.http.post(
        f"/competitions/{slug}/submit",
        data={"csrf": csrf_token(secret)},
        files={"file": ("", b"")},
        headers={**HTML, "Cookie": f"kennel={secret}"},
    )
    assert empty.status_code == 422
    assert entries(service, slug) == []


def test_the_page_of_a_generator_competition_asks_for_the_latent_space(service: Service) -> None:
    slug = service.competition(entries="generator", draws={"distribution": "uniform", "classes": 5, "private": 2})
    secret = start_session(service, "ada")
    headers = {**HTML, "Cookie": f"kennel={secret}"}
    page = service.http.get(f"/competitions/{slug}/submit", headers=headers).text
    assert "1 draw for the public and 2 for the final score, each of 8 images of 16 × 16 pixels" in " ".join(
        page.split()
    )
    assert "as in the file, else uniform" in page
    assert "as in the file, else 5" in page
    assert "zip" not in page.split("<main")[1]
    assert (
        'name="latent"' not in service.http.get(f"/competitions/{service.competition()}/submit", headers=headers).text
    )
    wrong = service.http.post(
        f"/competitions/{slug}/submit",
        data={"csrf": csrf_token(secret), "latent": "12", "distribution": "normal", "classes": "many"},
        files={"file": ("g.onnx", ONNX)},
        headers=headers,
    )
    assert wrong.status_code == 422
    assert "Classes is &#39;many&#39;; it must be a whole number." in wrong.text
    assert 'value="12"' in wrong.text
    assert "<option selected>normal</option>" in wrong.text


def test_a_forged_form_is_refused(service: Service) -> None:
    slug = service.competition()
    secret = start_session(service, "ada")
    for csrf in ("", "wrong", csrf_token(start_session(service, "bob"))):
        assert form(service, slug, secret, ZIP, csrf).status_code == 403
    assert form(service, slug, "no-session", ZIP).status_code in {303, 401}
    urlencoded = service.http.post(
        f"/competitions/{slug}/submit",
        data={"csrf": csrf_token(secret)},
        headers={**HTML, "Cookie": f"kennel={secret}"},
    )
    assert urlencoded.status_code == 422
    assert entries(service, slug) == []


@pytest.mark.parametrize(
    ("fields", "header", "status"),
    [
        ({"note": "x"}, "", 303),
        ({f"field {number}": "x" for number in range(MAX_FIELDS + 1)}, "", 422),
        ({"note": "x" * (MAX_BYTES_BEFORE_FILE + 1)}, "", 413),
        ({f"field {number}": "x" * 700 for number in range(MAX_FIELDS)}, "", 413),
        ({"note": "x"}, "x" * (1 << 20), 422),
    ],
    ids=["like the page's", "many fields", "a long field", "many bytes in few fields", "a long header"],
)
def test_data_before_the_file_is_limited(service: Service, fields: dict[str, str], header: str, status: int) -> None:
    slug = service.competition()
    secret = start_session(service, "ada")
    parts = [(f'form-data; name="{name}"', "", text) for name, text in (("csrf", csrf_token(secret)), *fields.items())]
    before = [f"--b\r\nContent-Disposition: {what}\r\n{more}\r\n{text}\r\n" for what, more, text in parts]
    more = f"X-More: {header}\r\n" if header else ""
    head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="mine.zip"\r\n{more}\r\n'
    answer = service.http.post(
        f"/competitions/{slug}/submit",
        content="".join([*before, head]).encode() + ZIP + b"\r\n--b--\r\n",
        headers={**HTML, "Cookie": f"kennel={secret}", "Content-Type": "multipart/form-data; boundary=b"},
        follow_redirects=False,
    )
    assert answer.status_code == status
    assert len(entries(service, slug)) == (status == 303)


@contextmanager
def tab(browser: Browser, service: Service, address: str, **options: Any) -> Iterator[Page]:
    """A tab with Ada signed in."""
    context = browser.new_context(**options)
    context.add_cookies([{"name": "kennel", "value": start_session(service, "ada"), "url": address}])
    try:
        yield context.new_page()
    finally:
        context.close()


def close_now(service: Service, slug: str) -> None:
    """Close the competition now."""
    change = {"closes_at": datetime.now(UTC).isoformat()}
    assert service.call("organizer", "PATCH", f"/competitions/{slug}", json=change).status_code == 200


@pytest.mark.parametrize("forgets", [False, True])
def test_a_browser_resumes_after_cuts_and_a_reload_in_the_grace_period(
    browser: Browser, service: Service, tmp_path: Path, forgets: bool
) -> None:
    count, size = 40, 128
    slug = service.competition(image_count=count, image_size=size)
    content = make_zip(noise_images(3, count, size))
    file = tmp_path / "my entry.zip"
    file.write_bytes(content)
    with serve(service.app) as server:
        proxy = FlakyProxy([server], after=len(content) // 4, cuts=2)
        with proxy.running() as address, tab(browser, service, address) as page:
            page.goto(f"{address}/competitions/{slug}/submit")
            page.route(
                "**/api/v1/uploads/*",
                lambda route: route.abort() if proxy.bytes_carried > len(content) / 3 else route.continue_(),
            )
            page.set_input_files("#file", file)
            page.fill("#note", "from a browser")
            page.click("#send")
            page.get_by_text("Connection lost").wait_for()
            page.unroute_all()
            close_now(service, slug)
            if forgets:
                page.evaluate("localStorage.clear(); sessionStorage.clear()")
            page.reload()
            expect(
                page.get_by_text("To finish an upload that you started earlier, choose the same file.")
            ).to_be_visible()
            expect(page.locator(".unfinished")).to_contain_text("from a browser")
            take_pictures(page, "submit-grace")
            expect(page.locator("#note")).to_have_value("" if forgets else "from a browser")
            page.set_input_files("#file", file)
            page.get_by_text("started uploading this file earlier").wait_for()
            expect(page.locator("#note")).to_have_value("from a browser")
            page.fill("#note", "corrected")
            page.click("#send")
            page.wait_for_url("**/submissions/*", timeout=60_000)
    (entry,) = entries(service, slug)
    assert page.url.endswith(entry["id"])
    assert (entry["file_name"], entry["note"], entry["bytes"]) == ("my entry.zip", "corrected", len(content))
    assert not entry["late"]
    assert proxy.bytes_carried < 2 * len(content)


def test_a_browser_adapts_to_a_proxys_limit_and_explains_its_wait(
    browser: Browser, service: Service, tmp_path: Path
) -> None:
    slug = service.competition(image_count=9, image_size=128)
    file = tmp_path / "mine.zip"
    file.write_bytes(make_zip(noise_images(3, 9, 128)))
    limit = 1 << 17
    sizes: list[int] = []

    def limited(route: Route) -> None:
        if route.request.method != "PATCH":
            route.continue_()
            return
        sizes.append(len(route.request.post_data_buffer or b""))
        if sizes[-1] > limit:
            route.fulfill(status=413, content_type="text/html", body="<html>413 Request Entity Too Large</html>")
        elif len([size for size in sizes if size <= limit]) == 2:
            title = {"type": "urn:kennel:problem:blob-store", "title": "The store cannot be used."}
            route.fulfill(status=503, content_type="application/problem+json", json=title)
        else:
            route.continue_()

    with serve(service.app) as url, tab(browser, service, url) as page:
        page.route("**/api/v1/uploads/*", limited)
        page.goto(f"{url}/competitions/{slug}/submit")
        page.set_input_files("#file", file)
        page.click("#send")
        page.get_by_text("The store cannot be used. The upload resumes in 1 s.").wait_for()
        page.wait_for_url("**/submissions/*", timeout=60_000)
    assert len([size for size in sizes if size > limit]) == 2, "each attempt tries the larger size once"


def test_a_browser_shows_what_is_wrong_with_the_zip(browser: Browser, service: Service, tmp_path: Path) -> None:
    slug = service.competition()
    file = tmp_path / "wrong.zip"
    file.write_bytes(make_zip(noise_images(1, 7)))
    complaints: list[str] = []
    with serve(service.app) as url, tab(browser, service, url) as page:
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if "Policy" in message.text else None)
        page.goto(f"{url}/competitions/{slug}/submit")
        page.set_input_files("#file", file)
        page.click("#send")
        page.locator("#problem p").wait_for()
        assert "7" in page.locator("#problem").inner_text()
        assert page.locator("#send").is_enabled()
    assert complaints == []


@pytest.mark.parametrize("scripts", [True, False])
def test_a_browser_submits_a_generator_once(browser: Browser, service: Service, tmp_path: Path, scripts: bool) -> None:
    slug = service.competition(entries="generator")
    file = tmp_path / "g.onnx"
    file.write_bytes(ONNX)
    with serve(service.app) as url, tab(browser, service, url, java_script_enabled=scripts) as page:
        for times in (1, 2):
            page.goto(f"{url}/competitions/{slug}/submit")
            page.fill("#latent", "12")
            page.select_option("#distribution", "truncated-normal")
            take_pictures(page, "submit-generator")
            page.set_input_files("#file", file)
            page.click("#send")
            page.wait_for_url("**/submissions/*")
            (entry,) = entries(service, slug)
            notice = page.get_by_text(f"This file is entry {entry['ref']}, submitted")
            expect(notice).to_be_visible(visible=times == 2)
    with service.context.sessions() as session:
        (latent,) = session.scalars(select(Submission.latent))
    assert latent == {"dimension": 12, "distribution": "truncated-normal", "classes": None}


@pytest.mark.parametrize("width", [320, 1280])
def test_without_a_script_the_form_works_and_fits(
    browser: Browser, service: Service, tmp_path: Path, width: int
) -> None:
    slug = service.competition()
    file = tmp_path / "plain.zip"
    file.write_bytes(ZIP)
    options: dict[str, Any] = {"java_script_enabled": False, "viewport": {"width": width, "height": 800}}
    with serve(service.app) as url, tab(browser, service, url, **options) as page:
        page.goto(f"{url}/competitions/{slug}/submit")
        assert page.locator("form.submit").bounding_box()["width"] <= width  # type: ignore[index]
        if folder := os.environ.get("KENNEL_SCREENSHOTS"):
            page.screenshot(path=f"{folder}/submit-{width}.png", full_page=True)
        page.set_input_files("#file", file)
        page.click("#send")
        page.wait_for_url("**/submissions/*")
    (entry,) = entries(service, slug)
    assert entry["file_name"] == "plain.zip"


LONG = "a_very_long_name_without_any_space_in_it_" * 4 + ".zip"


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (360, "dark"), (1280, "light")])
def test_the_page_fits_a_phone_in_every_state(
    browser: Browser, service: Service, tmp_path: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    title = "Generative dogs without" + "a" * 40
    slug = service.competition(title=title)
    file = tmp_path / LONG
    file.write_bytes(make_zip(noise_images(1, 7)))
    options: dict[str, Any] = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    with serve(service.app) as url, tab(browser, service, url, **options) as page:

        def fits(name: str) -> None:
            if folder := os.environ.get("KENNEL_SCREENSHOTS"):
                page.screenshot(path=f"{folder}/submit-{name}-{width}-{scheme}.png", full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate(OVERFLOWING_ELEMENTS, width) == []

        page.goto(f"{url}/competitions/{slug}/submit")
        fits("empty")
        page.set_input_files("#file", file)
        page.fill("#note", "W" * 500)
        waiting: list[Route] = []
        page.route("**/uploads/*", lambda route: waiting.append(route))  # noqa: PLW0108 - needs a function
        page.click("#send")
        page.locator("#stop").wait_for()
        page.locator("#progress").wait_for()
        fits("sending")
        problem = {"type": "urn:x:wrong", "title": "Wrong.", "faults": [LONG, "b" * 300]}
        waiting[0].fulfill(status=422, json=problem)
        page.locator("#problem li").first.wait_for()
        fits("refused")
        small = page.evaluate(
            "[...document.querySelectorAll('main button, main input[type=file]')]"
            ".filter(element => element.offsetHeight && element.offsetHeight < 40).map(element => element.id)"
        )
        assert small == [], "controls are large enough for fingers"
