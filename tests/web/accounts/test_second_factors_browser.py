"""Setting a second factor up and signing in with it, in a real browser with a virtual authenticator."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.accounts.grace import GOOD, code_of, sign_up, stop_clock
from tests.api.conftest import Service
from tests.http_server import serve
from tests.web.browser import OVERFLOWING_ELEMENTS, WIDTHS, take_pictures, visit


def local(service: Service, address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The service by the name ``localhost``: browsers make passkeys for names alone."""
    where = address.replace("127.0.0.1", "localhost")
    settings = service.app.state.settings.model_copy(update={"public_url": where})
    monkeypatch.setattr(service.app.state, "settings", settings)
    return where


def sign_in(page: Page, where: str) -> None:
    """Handle and password."""
    page.goto(f"{where}/signin?next=/account")
    page.get_by_label("Handle or mail address").fill("grace")
    page.get_by_label("Password").fill(GOOD)
    page.get_by_role("button", name="Sign in").click()


def add_authenticator(page: Page) -> Any:
    """A virtual authenticator of the tab."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
        "isUserVerified": True, "automaticPresenceSimulation": True,
    }  # fmt: skip
    return devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"], devtools


def test_a_passkey_is_added_and_asked_for(browser: Browser, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(service)
    with serve(service.app) as address:
        where = local(service, address, monkeypatch)
        with visit(browser, f"{where}/signin") as tab:
            page = tab.page
            authenticator, devtools = add_authenticator(page)
            sign_in(page, where)
            page.get_by_role("link", name="second factor").click()
            form = page.locator("#add-passkey")
            form.get_by_label("Name").fill("laptop")
            form.get_by_label("Present password").fill("guessed")
            form.get_by_role("button").click()
            expect(form.get_by_role("alert")).to_have_text("The present password is not right.")
            form.get_by_label("Present password").fill(GOOD)
            form.get_by_role("button").click()
            expect(page.get_by_role("status")).to_contain_text("you may use this passkey")
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
            expect(page.get_by_role("alert")).to_contain_text("The browser has stopped it")
            page.goto(f"{where}/account")
            expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
            assert [each for each in tab.console_messages if "[DOM]" not in each and "status of 4" not in each] == []


@pytest.mark.parametrize("scripts", [True, False])
def test_codes_are_set_up_and_asked_for(browser: Browser, service: Service, scripts: bool) -> None:
    stop_clock(service)
    sign_up(service)
    with serve(service.app) as where, visit(browser, f"{where}/signin", java_script_enabled=scripts) as tab:
        page = tab.page
        sign_in(page, where)
        page.get_by_role("link", name="second factor").click()
        key = page.locator("code.secret").inner_text()
        form = page.locator("form", has=page.get_by_label("The code that it shows"))
        form.get_by_label("The code that it shows").fill("000000")
        form.get_by_label("Present password").fill(GOOD)
        form.get_by_role("button").click()
        expect(page.get_by_role("alert").first).to_contain_text("not the authenticator's present code")
        assert page.locator("code.secret").inner_text() == key
        form.get_by_label("The code that it shows").fill(code_of(key, -1))
        form.get_by_label("Present password").fill(GOOD)
        form.get_by_role("button").click()
        expect(page.get_by_role("status")).to_contain_text("asked for a code")
        page.get_by_role("button", name="Sign out").click()
        sign_in(page, where)
        page.get_by_label("Code of your authenticator").fill(code_of(key))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="grace")).to_be_visible()
