"""The sign-up, sign-in and account pages, as a browser without scripts uses them."""

import re
import secrets
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from api.http.forms import MAX_FORM_BYTES
from scorer.accounts import one_time_links
from scorer.accounts.accounts import find_account
from scorer.db.tables import Account
from tests.api.accounts.grace import GOOD, link_in, mails
from tests.api.conftest import Service, rated
from tests.web import view_samples
from tests.web.html import parse_html
from tests.web.pages import HTML, hidden, press, read, send, sign_up
from tests.web.view_samples import SampleSite


def test_from_an_empty_browser_to_a_token_that_works(service: Service) -> None:
    home = sign_up(service)
    assert home.status_code == 200
    assert parse_html(home.text).one("nav", class_="account").one("bdi").text == "grace"
    made = press(service, "/account", "/account/tokens", name="laptop", scope=["read", "submit"])
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    secret = parse_html(made.text).one("code", class_="secret").text
    assert secret not in service.http.get("/account").text, "the token is shown once"
    service.http.cookies.clear()
    service.tokens["grace"] = secret
    assert service.call("grace", "GET", "/me").json() | {"created_at": ""} == {
        "handle": "grace", "name": "Grace H.", "role": "participant", "created_at": "", "email": None,
        "scopes": ["read", "submit"],
    }  # fmt: skip


def test_a_form_with_errors_keeps_its_input_except_the_password(service: Service) -> None:
    answer = sign_up(service, password="too short")
    assert answer.status_code == 422
    page = parse_html(answer.text)
    assert "10 to 256 characters" in page.one(role="alert").text
    assert page.one("input", id="email").attributes["value"] == "grace@example.org"
    assert "too short" not in answer.text
    taken = sign_up(service, name="", handle="ada")
    assert taken.status_code == 409
    assert "The name 'ada' is taken" in parse_html(taken.text).one(role="alert").text


def test_signing_in_returns_to_the_previous_page(service: Service) -> None:
    sign_up(service)
    press(service, "/", "/signout")
    assert [a.text for a in read(service, "/").one("nav", class_="account").all("a")] == ["Sign in", "Sign up"]
    fields = hidden(read(service, "/signin?next=/account"), "/signin") | {"login": "Grace", "password": GOOD}
    assert send(service, "/signin", fields).url.path == "/account"


def test_a_visitor_is_redirected_to_sign_in_and_back(service: Service) -> None:
    slug = service.competition()
    wanted = f"/competitions/{slug}?track=private&search=a"
    page = service.http.get(wanted, headers=HTML)
    assert page.url.query == f"next={quote(wanted, safe='')}".encode()
    header = parse_html(page.text).one("nav", class_="account").all("a")[1].attributes["href"]
    form = service.http.get(header, headers=HTML | {"Referer": str(page.url)})
    assert hidden(parse_html(form.text), "/signup")["next"] == wanted
    board = f"/competitions/{slug}?search=a"
    from_board = service.http.get("/signin", headers=HTML | {"Referer": f"{service.http.base_url}{board}"})
    assert hidden(parse_html(from_board.text), "/signin")["next"] == board
    from_elsewhere = service.http.get("/signin", headers=HTML | {"Referer": "https://evil.example/competitions"})
    assert hidden(parse_html(from_elsewhere.text), "/signin")["next"] == "/"


def test_confirmation_and_second_factor_setup_link_back(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = f"/competitions/{service.competition()}/entries?before=5"
    sign_up(service, next=wanted)
    fields = hidden(read(service, "/confirm"), "/confirm") | {"link": link_in(mails(service)[-1])}
    confirmed = send(service, "/confirm", fields)
    assert parse_html(confirmed.text).one("main").one("a").attributes["href"] == wanted
    settings = service.app.state.settings.model_copy(update={"require_second_factor": "everybody"})
    monkeypatch.setattr(service.app.state, "settings", settings)
    assert parse_html(service.http.get("/no/such/page", headers=HTML).text).one("nav", class_="account").one("bdi")
    refused = service.http.get(wanted, headers=HTML)
    assert refused.url.path == "/account/second-factor"
    page = read(service, "/account/second-factor?done=totp")
    assert page.one(class_="done").one("a").attributes["href"] == wanted


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a b", "", "\\/x"]
)
def test_a_sign_in_redirects_to_no_other_site(service: Service, target: str) -> None:
    sign_up(service)
    press(service, "/", "/signout")
    fields = {"login": "grace", "password": GOOD, "next": target}
    answer = send(service, "/signin", fields, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert service.http.get("/signin", params={"next": target}, follow_redirects=False).headers["location"] == "/"


def test_a_wrong_password_is_an_error_on_the_form(service: Service) -> None:
    sign_up(service)
    press(service, "/", "/signout")
    answer = send(service, "/signin", {"login": "grace", "password": "wrong", "next": "/"})
    assert answer.status_code == 401
    page = parse_html(answer.text)
    assert page.one(role="alert").text == "Wrong handle, email address or password. Try again, or reset your password."
    assert page.one("input", id="login").attributes["value"] == "grace"
    assert "kennel" not in service.http.cookies


def test_every_form_of_a_signed_in_page_has_a_csrf_token(service: Service) -> None:
    sign_up(service)
    slug = service.competition(rules="Be kind.")
    for address in ("/", "/account", f"/competitions/{slug}", "/reset", "/new-password", "/confirm"):
        forms = [form for form in read(service, address).all("form") if form.attributes.get("method") == "post"]
        assert forms
        for form in forms:
            assert re.fullmatch("[0-9a-f]{64}", form.one("input", name="csrf").attributes["value"]), address


@pytest.mark.parametrize(
    "address", ["/signout", "/account/tokens", "/account/password", "/account/email", "/account/sessions/1/end"]
)
def test_a_form_without_a_csrf_token_is_refused(service: Service, address: str) -> None:
    sign_up(service)
    answer = send(service, address, {"name": "t", "scope": "read", "new": "a better password", "old": GOOD})
    assert answer.status_code == 403
    assert "expired" in parse_html(answer.text).one(class_="lead").text
    assert read(service, "/account").one("h1").text == "Grace H."


def test_the_rules_are_accepted_on_the_page(service: Service) -> None:
    slug = service.competition(rules="1. Be kind.")
    here = f"/competitions/{slug}"
    assert read(service, here).one("p", class_="accept").one("a").attributes["href"] == f"/signin?next={here}"
    sign_up(service)
    landed = press(service, here, f"{here}/rules-acceptance")
    assert landed.url.path == here
    assert parse_html(landed.text).one("p", class_="accept").text == "You have accepted these rules. Submit an entry"
    assert service.http.get(here, headers={"Authorization": "Bearer secret-of-ada"}).text.count("rules-acceptance") == 1


def test_a_password_is_changed_and_other_sessions_end(service: Service) -> None:
    sign_up(service)
    other = service.http.cookies["kennel"]
    service.http.cookies.clear()
    send(service, "/signin", {"login": "grace", "password": GOOD, "next": "/"})
    assert len(read(service, "/account").one("section", aria_labelledby="sessions").all("li")) == 2
    wrong = press(service, "/account", "/account/password", old="wrong", new="a better password")
    assert wrong.status_code == 403
    assert parse_html(wrong.text).one(role="alert").text == "The current password is wrong."
    done = press(service, "/account", "/account/password", old=GOOD, new="a better password")
    ended = "Your other sessions, and tokens and webhooks that you did not keep, have ended."
    assert ended in parse_html(done.text).one(role="status").text
    service.http.cookies.clear()
    service.http.cookies.set("kennel", other)
    asked = service.http.get("/account", headers={"Accept": "text/html"})
    assert str(asked.url).endswith("/signin?next=%2Faccount"), "nobody is signed in"


def test_too_many_mail_requests_are_refused_with_a_retry_time(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_up(service)
    rated(service, monkeypatch, mail="1/hour")
    assert press(service, "/account", "/account/email", email="a@example.org", password=GOOD).status_code == 200
    hurried = press(service, "/account", "/account/email", email="a@example.org", password=GOOD)
    assert hurried.status_code == 429
    assert 0 < int(hurried.headers["retry-after"]) <= 3600
    assert "too many requests" in parse_html(hurried.text).one(role="alert").text


def test_tokens_and_sessions_end_with_a_button(service: Service) -> None:
    sign_up(service)
    press(service, "/account", "/account/tokens", name="laptop", scope="read")
    page = read(service, "/account")
    (revoke,) = [f for f in page.all("form") if f.attributes["action"].endswith("/revoke")]
    assert revoke.one("button").text == "Revoke laptop"
    gone = press(service, "/account", revoke.attributes["action"])
    assert "Token revoked." in gone.text
    (end,) = [f for f in read(service, "/account").all("form") if f.attributes["action"].endswith("/end")]
    assert press(service, "/account", end.attributes["action"]).url.path == "/"
    assert service.http.get("/account").status_code == 401


def test_a_forgotten_password(service: Service) -> None:
    sign_up(service)
    press(service, "/confirm", "/confirm", link=link_in(mails(service)[0]))
    assert "grace@example.org" in read(service, "/account").one("section", aria_labelledby="address").text
    service.http.cookies.clear()
    for email in ("grace@example.org", "nobody@example.org"):
        asked = press(service, "/reset", "/reset", email=email)
        assert parse_html(asked.text).one("h1").text == "Check your email"
    assert len(mails(service)) == 2
    link = link_in(mails(service)[1])
    weak = press(service, "/new-password", "/new-password", link=link, password="short")
    assert weak.status_code == 422
    field = parse_html(weak.text).one("input", id="link")
    assert field.attributes["value"] == link, "the URL no longer contains the link's code"
    assert send(service, "/new-password", {"link": link, "password": "a better password"}).status_code == 200
    used = send(service, "/new-password", {"link": link, "password": "a third password"})
    assert used.status_code == 404
    assert "is invalid, has expired or was already used" in parse_html(used.text).one(role="alert").text
    assert send(service, "/signin", {"login": "grace", "password": "a better password", "next": "/"}).status_code == 200


def test_an_invitation_stays_in_the_form(service: Service) -> None:
    made = service.call("organizer", "POST", "/admin/invitations", json={}).json()["link"]
    page, _, secret = made.partition("#")
    assert page.endswith("/signup")
    assert sign_up(service, invitation=secret).status_code == 200
    service.http.cookies.clear()
    again = sign_up(service, handle="second", name="", invitation=secret)
    assert again.status_code == 404
    assert hidden(parse_html(again.text), "/signup")["invitation"] == secret


def test_hostile_names_stay_text(service: Service) -> None:
    sign_up(service, name="<script>alert(1)</script>")
    press(service, "/account", "/account/tokens", name="<img src=x onerror=alert(1)>", scope="read")
    page = read(service, "/account")
    assert page.one("h1").text == "<script>alert(1)</script>"
    assert all(script.attributes["src"].startswith("/static/") for script in page.all("script"))
    assert not page.all("img")


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"login=%00&password=x", "application/x-www-form-urlencoded", 422),
        (b"login=" + b"a" * MAX_FORM_BYTES, "application/x-www-form-urlencoded", 413),
        (b"login=" + b"a" * 1_000, "application/x-www-form-urlencoded", 422),
        (b"\xff=%ff", "application/x-www-form-urlencoded", 422),
        (b"a=1&" * 200, "application/x-www-form-urlencoded", 422),
        (b'{"login": "a"}', "application/json", 422),
        (b"--b\r\n", "multipart/form-data; boundary=b", 422),
    ],
)
def test_invalid_form_bodies_are_refused(service: Service, body: bytes, kind: str, status: int) -> None:
    answer = service.http.post("/signin", content=body, headers={"Content-Type": kind, "Accept": "text/html"})
    assert answer.status_code == status


def test_the_competition_page_differs_for_every_viewer() -> None:
    etags = set()
    for who in (None, "olga", "oleg"):
        account = Account(id=1, handle=who, role="participant") if who else None
        with SampleSite(account=account).app() as app:
            answer = TestClient(app).get(f"/competitions/{view_samples.SLUG}")
            etags.add(answer.headers["etag"])
            assert ("Accept the rules" in answer.text) is bool(who)
    assert len(etags) == 3


def test_a_sign_in_link_signs_in_once_and_leads_to_its_page(service: Service) -> None:
    sign_up(service)
    press(service, "/", "/signout")
    link = sign_in_link(service, "grace", onward="/account")
    fields = hidden(read(service, link), "/signin/link") | {"link": link.partition("#")[2]}
    assert fields["next"] == "/account"
    answer = send(service, "/signin/link", fields)
    assert answer.url.path == "/account"
    assert parse_html(answer.text).one("nav", class_="account").one("bdi").text == "grace"
    press(service, "/", "/signout")
    again = send(service, "/signin/link", fields)
    assert again.status_code == 404
    assert "is invalid, has expired or was already used" in parse_html(again.text).one(role="alert").text
    assert "kennel" not in service.http.cookies


def test_only_the_newest_sign_in_link_of_an_account_works(service: Service) -> None:
    sign_up(service)
    press(service, "/", "/signout")
    older, newer = (sign_in_link(service, "grace", onward="/").partition("#")[2] for _ in range(2))
    form = hidden(read(service, "/signin/link"), "/signin/link")
    assert send(service, "/signin/link", form | {"link": older}).status_code == 404
    assert send(service, "/signin/link", form | {"link": newer}).status_code == 200


def sign_in_link(service: Service, handle: str, *, onward: str) -> str:
    """The path of a new sign-in link."""
    secret, now = secrets.token_urlsafe(32), datetime.now(UTC)
    with service.context.sessions.begin() as session:
        account = find_account(session, handle)
        return one_time_links.sign_in_link(session, account, secret=secret, site="", onward=onward, now=now)
