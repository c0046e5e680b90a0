"""Every form of every page keeps its input until the service has accepted it."""

import re
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from api.rendering.templates import API
from scorer.accounts import sessions
from scorer.accounts.sessions import Browser as SessionBrowser
from scorer.db.tables import SecondFactor
from tests.factories import make_account
from tests.http_server import serve
from tests.privacy.conftest import world
from tests.privacy.crawler import build_requests, walk_routes
from tests.privacy.environment import NOW, Environment
from tests.web.browser import visit
from tests.web.html import Element, parse_html

__all__ = ["world"]
ROLES = ("visitor", "halfway", "insider", "reviewer", "organizer", "admin")
"""The role ``halfway`` has a session that waits for the second factor."""
ASKING_FOR_CODES = {"/signin/second-factor", "/account/second-factor/totp", "/confirm"}
NOT_SAVED = {"hidden", "password", "file", "submit"}
FORM = re.compile(r'<form\b[^>]*method="post"[^>]*>.*?</form>', re.DOTALL)
TYPED = re.compile(r"<(?:textarea|select)\b|<input\b(?![^>]*type=\"(?:hidden|password|file)\")")
FAILURES = (422, 401, 502)
"""Statuses of the service, of an expired session, and of a proxy with its own page. Forms get them in turn."""
FIELDS = """const fields = [...form.elements].filter(field => field.name && !field.disabled && field.matches(
    'textarea, select, input:not([type=hidden], [type=password], [type=file], [autocomplete=one-time-code])'));
const valueOf = field => ['checkbox', 'radio'].includes(field.type) ? field.checked : field.value;"""
READ = f"form => {{ {FIELDS} return fields.map(valueOf); }}"
FILL = f"""form => {{
    {FIELDS}
    for (const field of fields) {{
        if (field.options) field.selectedIndex = field.options.length - 1;
        else if (['checkbox', 'radio'].includes(field.type)) field.checked = !field.checked;
        else if (field.type === 'number') field.value = '3';
        else if (field.type === 'datetime-local') field.value = '2027-03-04T05:06';
        else if (field.type === 'range') field.value = field.max;
        else field.value = 'typed by a person';
    }}
    form.dispatchEvent(new Event('input', {{ bubbles: true }}));
    return fields.map(valueOf);
}}"""
SECRETS = """form => {
    const fields = form.querySelectorAll('[type=password], [autocomplete=one-time-code]');
    fields.forEach(field => { field.value = 'a secret' });
    form.dispatchEvent(new Event('input', { bubbles: true }));
}"""


def typed_forms(page: Element) -> list[str]:
    """The actions of a page's forms that have other fields than passwords and files."""
    actions = []
    for form in page.all("form"):
        fields = [*form.all("textarea"), *form.all("select")]
        fields += [field for field in form.all("input") if field.attributes.get("type", "text") not in NOT_SAVED]
        if form.attributes.get("method") == "post" and fields:
            actions.append(form.attributes.get("action", "").partition("#")[0])
    return actions


def forms_by_page(world: Environment) -> dict[tuple[str, str], list[str]]:
    """By role and path: the forms of the pages. A form is listed at the first page that has it."""
    found: dict[tuple[str, str], list[str]] = {}
    seen = set()
    for route in walk_routes(world.app):
        if route.method != "GET" or route.path.startswith("/api/"):
            continue
        for request in build_requests(route, world.planted):
            for role in ROLES:
                path = str(request).removeprefix("GET ")
                headers = {"Accept": "text/html", "Cookie": f"kennel=session-of-{role}"}
                answer = world.http.get(path, headers=headers)
                if answer.status_code != 200 or "text/html" not in answer.headers["content-type"]:
                    continue
                forms = [form for form in typed_forms(parse_html(answer.text)) if form not in seen]
                seen.update(forms)
                if forms:
                    found[role, path] = forms
    return found


@pytest.fixture
def halfway(world: Environment) -> Iterator[None]:
    """Add a session that waits for the second factor."""
    with world.rewriting() as session:
        account = make_account(session, NOW)
        factor = {"kind": "totp", "name": "", "secret": b"key", "counter": 0}
        session.add(SecondFactor(account_id=account.id, created_at=NOW, **factor))
        sessions.begin(session, account, secret="session-of-halfway", browser=SessionBrowser("x", "x"), now=NOW)
    yield
    world.restore()


@pytest.mark.timeout(600)  # there are many forms, and the machine may be busy
def test_input_survives_every_failure_except_for_secrets(
    browser: Browser, world: Environment, halfway: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = forms_by_page(world)
    assert world.app.middleware_stack is not None
    failing = FailingForms(world.app.middleware_stack)
    monkeypatch.setattr(world.app, "middleware_stack", failing)
    with serve(world.app) as url:
        for role in ROLES:
            with visit(browser, url) as tab:
                if role != "visitor":
                    tab.page.context.add_cookies([{"name": "kennel", "value": f"session-of-{role}", "url": url}])
                for path, forms in ((path, forms) for (who, path), forms in pages.items() if who == role):
                    check_forms(tab.page, f"{url}{path}", forms, failing)
    found = {form for forms in pages.values() for form in forms}
    assert len(found) >= 30
    assert found >= ASKING_FOR_CODES


class FailingForms:
    """The application, which refuses every form.

    A route in the browser would also do that, but would disable its cache for styles and scripts.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._failures = cycle(FAILURES)
        self.status = 0
        """The status of the last answer to a form."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer forms with the failures in turn."""
        is_post = scope["type"] == "http" and scope["method"] == "POST"
        if is_post and Headers(scope=scope)["sec-fetch-mode"] == "navigate":
            self.status = next(self._failures)
            failed = HTMLResponse("<p>It failed.</p>", self.status)
            await failed(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def check_forms(page: Page, address: str, actions: Sequence[str], failing: FailingForms) -> None:
    """Fill in all forms of a page, fail to send them, and check that all keep their input."""
    forms = {
        action: page.locator(f'form[method=post]:is([action="{action}"], [action^="{action}#"])').first
        for action in actions
    }
    page.goto(address)
    typed: dict[str, Any] = {action: form.evaluate(FILL) for action, form in forms.items()}
    for action, form in forms.items():
        form.evaluate(SECRETS)
        with page.expect_navigation() as navigation:
            form.evaluate("form => HTMLFormElement.prototype.submit.call(form)")
        answer = navigation.value
        assert answer is not None
        assert answer.status == failing.status in FAILURES, (address, action)
        page.go_back()
        assert form.evaluate(READ) == typed[action], (address, action, failing.status)
    page.goto(address)
    for action, form in forms.items():
        assert form.evaluate(READ) == typed[action], (address, action, "after the page was opened again")
    assert "a secret" not in page.evaluate("JSON.stringify(sessionStorage)"), address
    page.evaluate("sessionStorage.clear()")


@pytest.mark.parametrize("template", sorted(API.glob("**/templates/*.html")), ids=lambda path: path.name)
def test_every_form_has_an_action_that_identifies_its_draft(template: Path) -> None:
    for form in FORM.findall(template.read_text()):
        if TYPED.search(form):
            assert 'action="' in form.partition(">")[0], form[:200]


def test_a_draft_ends_with_its_submission_or_a_sign_out(browser: Browser, world: Environment) -> None:
    with world.undone(), serve(world.app) as url, visit(browser, url) as tab:
        page = tab.page
        page.context.add_cookies([{"name": "kennel", "value": "session-of-organizer", "url": url}])
        settings = f"{url}/competitions/kennels/settings"
        page.goto(settings)
        page.get_by_label("Title").fill("A new title")
        page.get_by_label("Review period in days").fill("9")
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(settings)
        expect(page.locator(".restored")).to_contain_text("Unsaved changes restored.")
        expect(page.get_by_label("Title")).to_have_value("A new title")
        page.get_by_role("button", name="Save settings").click()
        expect(page.get_by_role("status")).to_have_text("Settings saved.")
        page.reload()
        expect(page.locator(".restored")).to_have_count(0)
        page.get_by_label("Title").fill("Another title")
        page.goto(settings)
        page.get_by_role("button", name="Discard").click()
        expect(page.get_by_label("Title")).to_have_value("A new title")
        page.get_by_label("Title").fill("Another title")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("link", name="Sign in")).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0
        assert [line for line in tab.console_messages if "[DOM]" not in line] == []
