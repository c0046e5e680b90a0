"""A submission's page that updates itself, and the notices pages, in a real browser."""

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, StreamingResponse
from playwright.sync_api import Browser

from api.http.security_headers import PAGE_HEADERS
from api.rendering import templates
from scorer.accounts import sessions
from scorer.accounts.sessions import Browser as Place
from scorer.db.tables import Account
from scorer.jobs import leases
from scorer.lifecycle import Queue
from scorer.submissions import outcomes
from tests.api.accounts.grace import send_notices
from tests.api.conftest import Service
from tests.db.claimed_jobs import LEASE, MEASURED
from tests.factories import make_zip, noise_images
from tests.http_server import serve
from tests.web.browser import DESKTOP, PHONE, visit
from tests.web.pages import press, sign_up
from worker.dispatch import run_next


@dataclass
class Theatre:
    """A page that follows the contract of event_stream.js, with a stream of states that the test defines."""

    states: list[dict[str, Any]] = field(default_factory=list)
    came_back_with: list[str] = field(default_factory=list)
    cut: threading.Event = field(default_factory=threading.Event)

    def play(self, status: str, **progress: Any) -> None:
        """Send the next state."""
        names = ("stage", "stage_in_words", "fraction", "queue_position", "estimate_seconds")
        known = {"status": status, "over": status == "scored", "cancellable": status == "queued"}
        self.states.append({**dict.fromkeys(names), **known, **progress})

    def app(self) -> FastAPI:
        app = FastAPI()
        app.include_router(templates.router)

        @app.get("/")
        def page() -> HTMLResponse:
            html = f"<title>x</title><link rel=icon href='{templates.static_url('logo.svg')}'><h1>Entry</h1>"
            html += f"<script src='{templates.static_url('event_stream.js')}' defer></script>"
            if self.states and self.states[-1]["over"]:
                html += "<p id=end>Here is your score.</p>"
            else:
                html += (
                    "<section data-events=/events><p aria-live=polite><span data-live=status>received</span></p>"
                    "<progress data-live=fraction max=1></progress><span data-live=stage></span>"
                    "<p data-live-for=position hidden>Place <span data-live=position></span>,"
                    " <span data-live=estimate></span></p></section>"
                )
            return HTMLResponse(html, headers=PAGE_HEADERS)

        @app.get("/events")
        def events(request: Request) -> StreamingResponse:
            self.came_back_with.append(request.headers.get("last-event-id", ""))
            return StreamingResponse(self._lines(), media_type="text/event-stream")

        return app

    def _lines(self) -> Iterator[str]:
        yield "retry: 50\n\n"
        sent = int(self.came_back_with[-1] or 0)
        deadline = monotonic() + 20
        while monotonic() < deadline:
            for number in range(sent, len(self.states)):
                yield f"id: {number + 1}\ndata: {json.dumps(self.states[number])}\n\n"
                sent = number + 1
            if self.cut.is_set():
                self.cut.clear()
                return
            if self.states and self.states[-1]["over"]:
                return
            sleep(0.02)


def test_a_submissions_page_updates_itself(browser: Browser) -> None:
    theatre = Theatre()
    with serve(theatre.app()) as address, visit(browser, address) as tab:
        status, place = tab.page.locator("[data-live=status]"), tab.page.locator("[data-live-for=position]")
        assert status.inner_text() == "received"
        assert not place.is_visible()
        theatre.play("queued", queue_position=3, estimate_seconds=250)
        place.wait_for(state="visible")
        assert re.sub(r"\s+", " ", place.inner_text()) == "Place 3, about 4 min"
        assert status.inner_text() == "queued"
        progress, stage = tab.page.locator("progress"), tab.page.locator("[data-live=stage]")
        assert (progress.evaluate("element => element.position"), stage.inner_text()) == (-1, "–")
        theatre.cut.set()
        theatre.play("scoring", stage="neighbours", stage_in_words="nearest neighbours", fraction=0.625)
        tab.page.locator("progress[value]").wait_for()
        assert progress.evaluate("element => element.value") == 0.625
        assert progress.get_attribute("aria-valuetext") == "62 %"
        assert stage.inner_text() == "nearest neighbours"
        assert not place.is_visible()
        theatre.play("scored")
        tab.page.locator("#end").wait_for()
        assert tab.console_messages == []
        assert all(url.startswith(address) for url in tab.requests)
    assert theatre.came_back_with[0] == ""
    assert set(theatre.came_back_with[1:]) <= {"1", "2"}
    assert len(theatre.came_back_with) >= 2, "the connection was cut once"


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
def test_the_pages_of_notices_fit_and_can_be_read(service: Service, browser: Browser, width: int) -> None:
    service.competition()
    sign_up(service)
    send_notices(service, "An entry was rejected", "W" * 120, "Short")
    cookie = service.http.cookies["kennel"]
    press(service, "/account/notices", "/account/notices/webhooks", url="https://hooks.example.org/" + "a" * 200)
    with serve(service.app) as address:
        for path in ("/notices", "/account/notices"):
            with visit(browser, f"{address}/signin", width=width) as tab:
                tab.page.context.add_cookies([{"name": "kennel", "value": cookie, "url": address}])
                tab.page.goto(address + path)
                assert tab.page.locator("h1").is_visible()
                assert tab.page.evaluate("document.documentElement.scrollWidth") == width
                assert tab.console_messages == []


def test_an_entrys_page_shows_whether_it_can_be_cancelled(service: Service, browser: Browser) -> None:
    slug = service.competition()
    with service.context.sessions.begin() as session:
        ada = session.query(Account).filter_by(handle="ada").one()
        sessions.begin(session, ada, secret="of-ada", browser=Place("x"), now=service.context.now())
    entry = service.submit("ada", slug, make_zip(noise_images(10))).json()
    assert run_next(service.context, Queue.CHECK)
    with serve(service.app) as address, visit(browser, f"{address}/signin", width=PHONE) as tab:
        tab.page.context.add_cookies([{"name": "kennel", "value": "of-ada", "url": address}])
        tab.page.goto(f"{address}/submissions/{entry['id']}")
        cancel = tab.page.locator("form.cancel button")
        assert cancel.is_visible()
        held = begun(service)
        cancel.wait_for(state="hidden")
        assert tab.page.locator("h1 + .status").inner_text().lower() == "scoring"
        assert tab.page.evaluate("document.documentElement.scrollWidth") == PHONE
        with service.context.sessions.begin() as session:
            assert outcomes.record_measurement(session, held, MEASURED, now=service.context.now())
        tab.page.get_by_role("heading", name="Public score", exact=True).wait_for()
        assert tab.console_messages == []


def begun(service: Service) -> leases.Claim:
    """Let a worker claim the entry's job."""
    with service.context.sessions.begin() as session:
        held = leases.claim_job(
            session, Queue.SCORE, holder="h", worker="w", now=service.context.now(), lease=10 * LEASE
        )
        assert held
        return held
