"""The account page and the admins' list of accounts in a real browser, and the end of an account there."""

from playwright.sync_api import Browser, Page, expect

from tests.api.accounts.grace import GOOD, sign_up
from tests.api.conftest import Service
from tests.http_server import serve
from tests.web.browser import OVERFLOWING_ELEMENTS, WIDTHS, take_pictures, visit


def sign_in(page: Page, where: str, handle: str, onward: str) -> None:
    """Handle and password."""
    page.goto(f"{where}/signin?next={onward}")
    page.get_by_label("Handle or mail address").fill(handle)
    page.get_by_label("Password").fill(GOOD)
    page.get_by_role("button", name="Sign in").click()


def test_pages_of_accounts_fit_every_width_and_an_account_ends_there(browser: Browser, service: Service) -> None:
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
        page.get_by_text("Delete it").click()
        _fits(page, "account")
        form = page.locator("form[action='/account/deletion']")
        for handle, password, told in (("ada", GOOD, "type its handle"), ("grace", "guessed", "password is not right")):
            form.get_by_label("typed again").fill(handle)
            form.get_by_label("Present password").fill(password)
            form.get_by_role("button", name="Delete my account").click()
            expect(page.get_by_role("alert")).to_contain_text(told)
        form.get_by_label("typed again").fill("grace")
        form.get_by_label("Present password").fill(GOOD)
        form.get_by_role("button", name="Delete my account").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Your account is deleted")
        page.goto(f"{where}/account")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        assert not page.context.cookies()


def _fits(page: Page, name: str) -> None:
    take_pictures(page, name)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(OVERFLOWING_ELEMENTS, width) == [], width
