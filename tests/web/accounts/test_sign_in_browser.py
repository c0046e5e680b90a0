"""Sign-up and sign-in in a real browser, over the whole application."""

import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from playwright.sync_api import Browser, expect
from starlette.types import Receive, Scope, Send

from tests.api.accounts.grace import GRACE, link_in, mails
from tests.api.conftest import Service
from tests.factories import noise_images, zip_of
from tests.http_server import serve
from tests.web.browser import OVERFLOWING_ELEMENTS, WIDTHS, visit


@pytest.mark.parametrize("scripts", [True, False])
def test_from_an_empty_browser_to_a_token(browser: Browser, service: Service, scripts: bool) -> None:
    slug = service.competition(rules="1. Be kind.")
    with serve(service.app) as where, visit(browser, where, java_script_enabled=scripts) as tab:
        page = tab.page
        page.get_by_role("link", name="Sign up").click()
        page.get_by_label("Handle").fill("grace")
        page.get_by_label("Mail address").fill("grace@example.org")
        page.get_by_label("Password").fill("correct horse battery")
        page.get_by_role("button", name="Sign up").click()
        page.goto(f"{where}/competitions/{slug}")
        page.get_by_role("button", name="Accept the rules").click()
        assert page.get_by_text("You have accepted these rules.").is_visible()
        page.get_by_role("link", name="Signed in as grace").click()
        page.get_by_label("Name of a new token").fill("laptop")
        page.get_by_role("button", name="Make a token").click()
        service.tokens["grace"] = page.locator("code.secret").inner_text()
        assert service.submit("grace", slug, zip_of(noise_images(10))).status_code == 202
        cookies = {(each["name"], each["httpOnly"], each["sameSite"]) for each in page.context.cookies()}
        cookies.discard(("kennel-taken", False, "Lax"))  # for scripts, which delete it
        assert cookies == {("kennel", True, "Lax"), ("kennel-device", True, "Lax")}
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate(OVERFLOWING_ELEMENTS, width) == []
        page.get_by_role("button", name="Sign out").click()
        assert page.get_by_role("link", name="Sign in").is_visible()
        assert [each for each in tab.console_messages if "[DOM]" not in each] == []
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
            page.get_by_label("Code of your link").fill(confirmation)
        page.get_by_role("button", name="Yes, it is mine").click()
        expect(page.locator("h1")).to_have_text("Address confirmed")
        service.http.post("/api/v1/password-resets", json={"email": GRACE["email"]})
        reset = link_in(mails(service)[-1])
        page.goto(f"{where}/new-password#{reset}")
        if not scripts:
            page.get_by_label("Code of your link").fill(reset)
        for password, seen in (("1234567890", "New password"), ("a better password", "Done")):
            page.get_by_label("New password").fill(password)
            page.get_by_role("button", name="Set the password").click()
            expect(page.locator("h1")).to_have_text(seen)
    assert any("/new-password" in head for head in heads)
    assert not [head for head in heads if confirmation in head or reset in head]


def test_another_sites_form_signs_nobody_in(browser: Browser, service: Service) -> None:
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
