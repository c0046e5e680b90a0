"""Signing up and in, second factors, the account page and the list of accounts, in a real browser."""

from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from playwright.sync_api import Browser, Page, expect
from starlette.types import Receive, Scope, Send

from tests.api.accounts.grace import GOOD, GRACE, compute_code, link_in, mails, sign_up, stop_clock
from tests.api.conftest import Service
from tests.factories import make_zip, noise_images
from tests.http_server import serve
from tests.web.browser import OVERFLOWING_ELEMENTS, WIDTHS, take_pictures, visit


def sign_in(page: Page, where: str, handle: str = "grace", onward: str = "/account") -> None:
    """Fill in and submit the sign-in form."""
    page.goto(f"{where}/signin?next={onward}")
    page.get_by_label("Handle or email address").fill(handle)
    page.get_by_label("Password").fill(GOOD)
    page.get_by_role("button", name="Sign in").click()


def test_account_pages_fit_every_width_and_delete_an_account(browser: Browser, service: Service) -> None:
    sign_up(service)
    sign_up(service, handle="boss", email="boss@example.org")
    service.browse("admin", "PUT", "/accounts/boss/role", json={"role": "admin"})
    service.call("admin", "PUT", "/admin/accounts/eve/suspension", json={"reason": "Sold."})
    with serve(service.app) as where, visit(browser, where) as tab:
        page = tab.page
        sign_in(page, where, "boss", "/admin/accounts")
        page.get_by_text("Change grace").click()
        _fits(page, "accounts-administration")
        page.context.clear_cookies()
        sign_in(page, where, "grace", "/account")
        page.locator("summary", has_text="Delete").click()
        _fits(page, "account")
        form = page.locator("form[action='/account/deletion']")
        for handle, password, message in (
            ("ada", GOOD, "is not the handle"),
            ("grace", "guessed", "password is wrong"),
        ):
            form.get_by_label("to confirm").fill(handle)
            form.get_by_label("Current password").fill(password)
            form.get_by_role("button", name="Delete account").click()
            expect(page.get_by_role("alert")).to_contain_text(message)
        form.get_by_label("to confirm").fill("grace")
        form.get_by_label("Current password").fill(GOOD)
        form.get_by_role("button", name="Delete account").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Account deleted")
        page.goto(f"{where}/account")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        assert not page.context.cookies()


def _fits(page: Page, name: str) -> None:
    take_pictures(page, name)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(OVERFLOWING_ELEMENTS, width) == [], width


def local(service: Service, address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The service's URL with the name ``localhost``, because browsers create passkeys only for names."""
    where = address.replace("127.0.0.1", "localhost")
    settings = service.app.state.settings.model_copy(update={"public_url": where})
    monkeypatch.setattr(service.app.state, "settings", settings)
    return where


def add_authenticator(page: Page) -> Any:
    """Add a virtual authenticator to the tab. Returns its ID and the DevTools session."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
        "isUserVerified": True, "automaticPresenceSimulation": True,
    }  # fmt: skip
    return devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"], devtools


def test_a_passkey_is_added_and_required(browser: Browser, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(service)
    with serve(service.app) as address:
        where = local(service, address, monkeypatch)
        with visit(browser, f"{where}/signin") as tab:
            page = tab.page
            authenticator, devtools = add_authenticator(page)
            sign_in(page, where)
            page.get_by_role("link", name="Set up codes or a passkey").click()
            form = page.locator("#add-passkey")
            form.get_by_label("Name").fill("laptop")
            form.get_by_label("Current password").fill("guessed")
            form.get_by_role("button").click()
            expect(form.get_by_role("alert")).to_have_text("The current password is wrong.")
            form.get_by_label("Current password").fill(GOOD)
            form.get_by_role("button").click()
            expect(page.get_by_role("status")).to_contain_text("You can now use it as your second factor.")
            expect(page.locator("ul.items")).to_contain_text("laptop")
            take_pictures(page, "second-factors")
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate(OVERFLOWING_ELEMENTS, width) == []
            page.get_by_role("button", name="Sign out").click()
            sign_in(page, where)
            expect(page.get_by_role("heading", name="Second step")).to_be_visible()
            take_pictures(page, "second-step")
            page.get_by_role("button", name="Use a passkey").click()
            expect(page.get_by_role("heading", name="grace")).to_be_visible()
            assert page.url == f"{where}/account"

            page.get_by_role("button", name="Sign out").click()
            devtools.send("WebAuthn.clearCredentials", {"authenticatorId": authenticator})
            sign_in(page, where)
            page.get_by_role("button", name="Use a passkey").click()
            expect(page.get_by_role("alert")).to_contain_text("cancelled or timed out")
            page.goto(f"{where}/account")
            expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
            assert [
                message for message in tab.console_messages if "[DOM]" not in message and "status of 4" not in message
            ] == []


@pytest.mark.parametrize("scripts", [True, False])
def test_codes_are_set_up_and_required(browser: Browser, service: Service, scripts: bool) -> None:
    stop_clock(service)
    sign_up(service)
    with serve(service.app) as where, visit(browser, f"{where}/signin", java_script_enabled=scripts) as tab:
        page = tab.page
        sign_in(page, where)
        page.get_by_role("link", name="Set up codes or a passkey").click()
        key = page.locator("code.secret").inner_text()
        form = page.locator("form", has=page.get_by_label("Code from the app"))
        form.get_by_label("Code from the app").fill("000000")
        form.get_by_label("Current password").fill(GOOD)
        form.get_by_role("button").click()
        expect(page.get_by_role("alert").first).to_contain_text("The code is wrong")
        assert page.locator("code.secret").inner_text() == key
        form.get_by_label("Code from the app").fill(compute_code(key, -1))
        form.get_by_label("Current password").fill(GOOD)
        form.get_by_role("button").click()
        expect(page.get_by_role("status")).to_contain_text("asks for a code")
        page.get_by_role("button", name="Sign out").click()
        sign_in(page, where)
        page.get_by_label("Code from your authenticator").fill(compute_code(key))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="grace")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_from_an_empty_browser_to_a_token(browser: Browser, service: Service, scripts: bool) -> None:
    slug = service.competition(rules="1. Be kind.")
    with serve(service.app) as where, visit(browser, where, java_script_enabled=scripts) as tab:
        page = tab.page
        page.get_by_role("link", name="Sign up").click()
        page.get_by_label("Handle").fill("grace")
        page.get_by_label("Email address").fill("grace@example.org")
        page.get_by_label("Password").fill("correct horse battery")
        page.get_by_role("button", name="Sign up").click()
        page.goto(f"{where}/competitions/{slug}")
        page.get_by_role("button", name="Accept the rules").click()
        assert page.get_by_text("You have accepted these rules.").is_visible()
        page.get_by_role("link", name="Signed in as grace").click()
        page.get_by_label("Name of a new token").fill("laptop")
        page.get_by_role("button", name="Create token").click()
        service.tokens["grace"] = page.locator("code.secret").inner_text()
        assert service.submit("grace", slug, make_zip(noise_images(10))).status_code == 202
        cookies = {(cookie["name"], cookie["httpOnly"], cookie["sameSite"]) for cookie in page.context.cookies()}
        cookies.discard(("kennel-taken", False, "Lax"))  # scripts read and delete this cookie
        assert cookies == {("kennel", True, "Lax"), ("kennel-device", True, "Lax")}
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate(OVERFLOWING_ELEMENTS, width) == []
        page.get_by_role("button", name="Sign out").click()
        assert page.get_by_role("link", name="Sign in").is_visible()
        assert [message for message in tab.console_messages if "[DOM]" not in message] == []
        assert all(url.startswith(where) for url in tab.requests)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_mailed_link_never_sends_its_secret_in_an_address(
    browser: Browser, service: Service, scripts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    application = service.app.middleware_stack
    assert application
    heads: list[str] = []

    async def recorded(scope: Scope, receive: Receive, send: Send) -> None:
        heads.append(f"{scope['path']} {scope.get('query_string')} {scope.get('headers')}")
        await application(scope, receive, send)

    monkeypatch.setattr(service.app, "middleware_stack", recorded)
    service.http.post("/api/v1/accounts", json=GRACE)
    confirmation = link_in(mails(service)[0])
    with (
        serve(service.app) as where,
        visit(browser, f"{where}/confirm#{confirmation}", java_script_enabled=scripts) as tab,
    ):
        page = tab.page
        if not scripts:
            page.get_by_label("Code from your link").fill(confirmation)
        page.get_by_role("button", name="Confirm address").click()
        expect(page.locator("h1")).to_have_text("Address confirmed")
        service.http.post("/api/v1/password-resets", json={"email": GRACE["email"]})
        reset = link_in(mails(service)[-1])
        page.goto(f"{where}/new-password#{reset}")
        if not scripts:
            page.get_by_label("Code from your link").fill(reset)
        for password, seen in (("1234567890", "New password"), ("a better password", "Password changed")):
            page.get_by_label("New password").fill(password)
            page.get_by_role("button", name="Set password").click()
            expect(page.locator("h1")).to_have_text(seen)
    assert any("/new-password" in head for head in heads)
    assert not [head for head in heads if confirmation in head or reset in head]


def test_a_form_of_another_site_signs_nobody_in(browser: Browser, service: Service) -> None:
    service.http.post("/api/v1/accounts", json=GRACE)
    evil = FastAPI()

    @evil.get("/", response_class=HTMLResponse)
    def trap() -> str:
        return f'''<form method="post" action="{where}/signin"><input name="login" value="grace">
            <input name="password" value="{GRACE["password"]}"><button>Win</button></form>'''

    with serve(service.app) as where, serve(evil) as elsewhere, visit(browser, elsewhere) as tab:
        tab.page.get_by_role("button").click()
        assert "another site" in tab.page.locator("main").inner_text()
        assert tab.page.context.cookies() == []
