"""Error pages for signed-in people have the same menu as other pages, even if the error precedes authentication."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.exc import OperationalError

from scorer.competitions import competition_state
from scorer.errors import TooMany
from tests.api.conftest import Service
from tests.web.html import Element, parse_html
from tests.web.pages import hidden, send, sign_up

PAGE = {"Accept": "text/html"}


def error(answer: Any, status: int) -> Element:
    """Check the status of an answer. Returns its error page."""
    assert answer.status_code == status, answer.text
    page = parse_html(answer.text)
    assert page.one("p", class_="code").text == str(status)
    return page


def menu(page: Element) -> list[str]:
    """The links in the account menu of a page."""
    return [link.text for nav in page.all("nav", class_="account") for link in nav.all("a")]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/competitions/nowhere", 404),
        ("GET", "/no/such/page", 404),
        ("GET", "/static/nothing.css", 404),
        ("GET", "/competitions/{slug}/rescoring", 403),
        ("PUT", "/account", 405),
        ("GET", "/competitions/{slug}?as_of=yesterday", 422),
    ],
)
def test_error_pages_keep_the_account_menu(service: Service, method: str, path: str, status: int) -> None:
    slug = service.competition()
    sign_up(service)
    home = parse_html(service.http.get("/", headers=PAGE).text)
    page = error(service.http.request(method, path.format(slug=slug), headers=PAGE), status)
    assert menu(page) == menu(home)
    assert page.one("nav", class_="account").one("bdi").text == "grace"
    answer = send(service, "/signout", hidden(page, "/signout"))
    assert menu(parse_html(answer.text)) == ["Sign in", "Sign up"]


def test_an_unknown_address_gets_an_explanation(service: Service) -> None:
    for method, path, status, sentence in (
        ("GET", "/no/such/page", 404, "There is no page at this address. Check the address."),
        ("PUT", "/account", 405, "This address does not support the request method."),
    ):
        page = error(service.http.request(method, path, headers=PAGE), status)
        assert page.one(class_="lead").text == sentence


def test_an_expired_form_keeps_the_account_menu(service: Service) -> None:
    sign_up(service)
    page = error(send(service, "/account/tokens", {"name": "laptop", "csrf": "another"}), 403)
    assert page.one("nav", class_="account").one("bdi").text == "grace"


def test_visitors_and_ended_sessions_get_sign_in_links(service: Service) -> None:
    assert menu(error(service.http.get("/no/such/page", headers=PAGE), 404)) == ["Sign in", "Sign up"]
    service.http.cookies.set("kennel", "x" * 43)
    assert menu(error(service.http.get("/no/such/page", headers=PAGE), 404)) == ["Sign in", "Sign up"]
    assert menu(error(service.http.get("/competitions/nowhere", headers=PAGE), 404)) == ["Sign in", "Sign up"]


@contextmanager
def database_away(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Make the database unavailable. Yields a list with an item per attempt to use it."""
    asked: list[int] = []

    def begin() -> NoReturn:
        asked.append(1)
        raise OperationalError("SELECT", {}, OSError("away"))

    with monkeypatch.context() as patch:
        patch.setattr(service.app.state, "sessions", begin)
        yield asked


def test_an_error_page_does_not_query_an_absent_database(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(service)
    with database_away(service, monkeypatch) as asked:
        answer = service.http.get("/account", headers=PAGE)
        page = error(answer, 503)
        assert (menu(page), len(asked)) == (["Your account"], 1)
        assert int(answer.headers["retry-after"]) > 0
        assert menu(error(service.http.get("/no/such/page", headers=PAGE), 404)) == ["Your account"]


def test_a_server_error_keeps_the_account_menu(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(service)
    slug = service.competition()
    monkeypatch.setattr(competition_state, "load_state", lambda *_: 1 / 0)
    http = TestClient(service.app, cookies=service.http.cookies, raise_server_exceptions=False)
    page = error(http.get(f"/competitions/{slug}", headers=PAGE), 500)
    assert page.one("nav", class_="account").one("bdi").text == "grace"


def test_a_rate_limit_error_keeps_the_account_menu(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(service)
    whole = service.app.state.rates.hit

    def hit(name: str, *who: Any) -> None:
        if name == "request":
            raise TooMany("too-many-requests", "Please wait.", retry_after=3)
        whole(name, *who)

    monkeypatch.setattr(service.app.state.rates, "hit", hit)
    answer = service.http.get("/account", headers=PAGE)
    assert answer.headers["retry-after"] == "3"
    assert error(answer, 429).one("nav", class_="account").one("bdi").text == "grace"
