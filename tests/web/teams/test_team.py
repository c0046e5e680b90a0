"""The team page, as a browser without scripts uses it, and quotas on pages."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser
from sqlalchemy import text

from api.rendering.quota import QuotaMessage, describe_quota
from scorer.accounts import password_hashing
from scorer.db.tables import Account
from scorer.teams.quotas import Quota
from tests.api.conftest import Service
from tests.api.teams.membership import ask, create, join, members
from tests.factories import make_zip, noise_images
from tests.http_server import serve
from tests.web import view_samples
from tests.web.browser import OVERFLOWING_ELEMENTS, WIDTHS, visit
from tests.web.html import Element, parse_html
from tests.web.pages import press, read, send
from tests.web.view_samples import SampleSite, allowance

pytestmark = pytest.mark.usefixtures("one_day")

MIDNIGHT = datetime(2026, 11, 3, tzinfo=UTC)
PASSWORD = "correct horse battery"


def give_password(service: Service, who: str) -> None:
    with service.context.sessions.begin() as session:
        session.execute(
            text("UPDATE accounts SET password_hash = :hash WHERE handle = :who"),
            {"hash": password_hashing.hash_password(PASSWORD), "who": who},
        )


def sign_in(service: Service, who: str) -> None:
    """Sign an account in with a password."""
    service.http.cookies.clear()
    give_password(service, who)
    answer = service.http.post("/api/v1/session", json={"login": who, "password": PASSWORD})
    assert answer.status_code == 201, answer.text


def alert(answer: Any, status: int) -> str:
    """The error on the page of a refused form."""
    assert answer.status_code == status, answer.text
    return parse_html(answer.text).one(role="alert").text


def parts(page: Element) -> list[str]:
    """The IDs of the page's section headings."""
    return [heading.attributes["id"] for heading in page.one("main").all("h2")]


# Quotas


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        (allowance(charged=0), QuotaMessage("5 of 5 entries left today")),
        (allowance(charged=2), QuotaMessage("3 of 5 entries left today; the quota resets at", MIDNIGHT)),
        (allowance(charged=5), QuotaMessage("0 of 5 entries left today; you can submit again at", MIDNIGHT)),
        (allowance(charged=8), QuotaMessage("0 of 5 entries left today; you can submit again at", MIDNIGHT)),
        (allowance(daily=None, charged=800), QuotaMessage("No daily limit")),
        (
            allowance(charged=2, pending=2),
            QuotaMessage("3 of 5 entries left today; 2 in progress (the limit)"),
        ),
        (
            allowance(daily=None, pending=2),
            QuotaMessage("No daily limit; 2 in progress (the limit)"),
        ),
        (
            allowance(rejected=20),
            QuotaMessage("20 rejected uploads today (the limit); you can submit again at", MIDNIGHT),
        ),
    ],
)
def test_the_remaining_quota_is_shown_with_its_reset_time(quota: Quota, expected: QuotaMessage) -> None:
    assert describe_quota(quota) == expected


def test_the_last_day_has_no_next_entry() -> None:
    used = allowance(charged=5)
    last = Quota(used.limits, used.usage, used.refusal, used.resets_at, None)
    assert describe_quota(last) == QuotaMessage("0 of 5 entries left today; you can't submit again before the deadline")


def test_the_competition_page_shows_the_viewers_remaining_quota() -> None:
    here = f"/competitions/{view_samples.SLUG}"
    viewer = Account(id=7, handle="ada", name="Ada", role="participant")
    with SampleSite(account=viewer).app() as app:
        page = parse_html(TestClient(app).get(here).text)
    lines = page.one("header", class_="competition").all("li")
    (line,) = [item for item in lines if item.text.startswith("Your team")]
    assert line.text == "Your team: 3 of 5 entries left today; the quota resets at 00:00 UTC"
    assert line.one("a").attributes["href"] == f"{here}/team"
    assert line.one("time").attributes["datetime"] == "2026-11-03T00:00:00Z"
    with SampleSite().app() as app:
        assert "Your team" not in TestClient(app).get(here).text


def test_the_competition_page_updates_with_each_entry(service: Service) -> None:
    slug = service.competition(daily_limit=3)
    sign_in(service, "ada")
    page = f"/competitions/{slug}"
    first = service.http.get(page)
    assert "3 of 3 entries left today" in first.text
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202
    again = service.http.get(page, headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 200
    assert "2 of 3 entries left today" in again.text


# The team


def test_a_team_is_created_joined_and_left_without_scripts(service: Service) -> None:
    slug = service.competition(daily_limit=3)
    here = f"/competitions/{slug}/team"
    sign_in(service, "ada")
    alone = read(service, here)
    assert parts(alone) == ["name"]
    created = press(service, here, here, name="Loose <b>Leash</b>")
    assert created.history[0].status_code == 303
    page = parse_html(created.text)
    assert page.one("h1").text == "Loose <b>Leash</b>"
    assert page.one(role="status").text == "Team created."
    assert [item.text for item in page.one(class_="facts").all("li")] == [
        "1 of at most 5 members",
        "3 of 3 entries left today",
        "0 bytes of 107.3 GB of storage used",
    ]
    renamed = press(service, here, f"{here}/name", name="Long Leash")
    assert parse_html(renamed.text).one("h1").text == "Long Leash"
    asked = parse_html(press(service, here, f"{here}/invitations", handle="bob").text)
    assert parts(asked) == ["members", "invitations", "ask", "name", "leave"]
    sign_in(service, "bob")
    waiting = read(service, here)
    assert parts(waiting) == ["received", "name"]
    assert "Long Leash invites you to join it" in waiting.one(class_="items").text
    (action,) = [form.attributes["action"] for form in waiting.all("form") if "/answer" in form.attributes["action"]]
    joined = parse_html(press(service, here, action, accept="yes").text)
    assert joined.one(role="status").text == "Invitation accepted. Welcome to the team."
    assert parts(joined) == ["members", "leave"], "only the leader invites people and renames the team"
    assert members(service, slug, "bob") == ["ada", "bob"]
    left = parse_html(press(service, here, f"{here}/leaving").text)
    assert left.one(role="status").text == "You have left the team."
    assert members(service, slug, "ada") == ["ada"]


def test_impossible_changes_are_refused_and_have_no_effect(service: Service) -> None:
    slug = service.competition(daily_limit=1, opens_at=datetime.now(UTC) - timedelta(seconds=1))
    here = f"/competitions/{slug}/team"
    create(service, slug, "eve", "Eve's")
    for who in ("ada", "bob"):
        assert service.submit(who, slug, make_zip(noise_images(9))).status_code == 202
    sign_in(service, "ada")
    assert alert(press(service, here, f"{here}/name", name="EVE'S"), 409).startswith("There is already a team")
    unknown = alert(press(service, here, f"{here}/invitations", handle="nobody"), 404)
    assert unknown == "No account has the handle 'nobody'. Check the spelling."
    assert "Together, your teams have made 2 entries" in alert(press(service, here, f"{here}/merges", team="Bob"), 409)
    assert "leave" not in [form.attributes["action"].split("/")[-1] for form in read(service, here).all("form")]
    invitation = ask(service, slug, "ada", handle="bob").json()
    sign_in(service, "bob")
    refused = press(service, here, f"{here}/invitations/{invitation['id']}/answer", accept="yes")
    assert "and they must move with you" in alert(refused, 409)
    received = service.call("bob", "GET", f"/competitions/{slug}/invitations").json()["invitations"]
    assert [invitation["state"] for invitation in received] == ["open"]
    assert members(service, slug, "bob") == ["bob"]


def test_a_merge_is_answered_on_the_page_by_the_leader(service: Service) -> None:
    slug = service.competition()
    here = f"/competitions/{slug}/team"
    join(service, slug, "ada", "bob")
    create(service, slug, "eve", "Eve's")
    sign_in(service, "eve")
    press(service, here, f"{here}/merges", team="Ada")
    sign_in(service, "bob")
    page = read(service, here)
    assert "Eve's invites your team to merge into it" in page.one("main").text
    assert "Only your team's leader, Ada, can answer." in page.one("main").text
    assert not [form for form in page.all("form") if "/answer" in form.attributes["action"]]
    sign_in(service, "ada")
    page = read(service, here)
    (action,) = [form.attributes["action"] for form in page.all("form") if "/answer" in form.attributes["action"]]
    assert parse_html(press(service, here, action, accept="yes").text).one("h1").text == "Eve's"
    assert members(service, slug, "bob") == ["eve", "ada", "bob"]


def test_team_forms_need_a_csrf_token_and_a_sign_in(service: Service) -> None:
    slug = service.competition()
    here = f"/competitions/{slug}/team"
    answer = service.http.get(here, headers={"Accept": "text/html"}, follow_redirects=False)
    assert answer.headers["location"].startswith("/signin")
    sign_in(service, "ada")
    for address in (here, f"{here}/name", f"{here}/invitations", f"{here}/merges", f"{here}/leaving"):
        assert send(service, address, {"name": "Forged", "handle": "bob", "team": "Bob"}).status_code == 403, address
    assert service.call("ada", "GET", f"/competitions/{slug}/team").status_code == 404


def test_after_the_merge_deadline_the_page_offers_fewer_actions(service: Service) -> None:
    slug = service.competition()
    here = f"/competitions/{slug}/team"
    ask(service, slug, "ada", handle="bob")
    passed = {"team_merge_deadline": (datetime.now(UTC) - timedelta(minutes=1)).isoformat()}
    assert service.call("organizer", "PATCH", f"/competitions/{slug}", json=passed).status_code == 200
    sign_in(service, "bob")
    page = read(service, here)
    assert "The team merge deadline was" in page.one("main").text
    assert "Nobody can join or leave a team any more." in page.one("main").text
    (form,) = [found for found in page.all("form") if "/answer" in found.attributes["action"]]
    assert [button.attributes["value"] for button in form.all("button")] == ["no"]
    sign_in(service, "ada")
    assert parts(read(service, here)) == ["members", "invitations", "name"]


def test_the_page_of_a_team_in_a_real_browser(browser: Browser, service: Service) -> None:
    slug = service.competition(daily_limit=5)
    create(service, slug, "ada", "W" * 60)
    service.tokens["zoe"] = service.browse("admin", "POST", "/admin/accounts", json={"handle": "zoe"}).json()["token"]
    for who in ("bob", "zoe"):
        join(service, slug, "ada", who)
    create(service, slug, "eve", "Eve's kennel")
    ask(service, slug, "eve", team="W" * 60)
    ask(service, slug, "ada", handle="admin")
    give_password(service, "ada")
    with serve(service.app) as where, visit(browser, f"{where}/signin", java_script_enabled=False) as tab:
        page = tab.page
        page.get_by_label("Handle or email address").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.goto(f"{where}/competitions/{slug}/team")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate(OVERFLOWING_ELEMENTS, width) == []
        page.get_by_role("button", name="Withdraw the invitation to Admin").click()
        assert page.get_by_role("status").inner_text() == "Invitation withdrawn."
        page.get_by_role("button", name="Accept Eve's kennel").click()
        assert page.get_by_role("heading", level=1).inner_text() == "Eve's kennel"
        assert [message for message in tab.console_messages if "[DOM]" not in message] == []
        assert all(url.startswith(where) for url in tab.requests)
