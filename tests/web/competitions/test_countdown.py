"""The last hour before a deadline, counted down in a browser."""

import re
from datetime import UTC, datetime, timedelta

from playwright.sync_api import Browser, expect

from tests.api.conftest import Service
from tests.http_server import serve
from tests.web.browser import visit
from tests.web.submissions.test_submit import session_of


def test_the_last_hour_is_counted_down_by_the_services_clock(browser: Browser, service: Service) -> None:
    now = datetime.now(UTC)
    slug = service.competition(opens_at=now - timedelta(days=1), closes_at=now + timedelta(minutes=30))
    wrong = now + timedelta(days=2)
    with serve(service.app) as url, visit(browser, f"{url}/competitions/{slug}") as tab:
        page = tab.page
        timer = page.get_by_role("timer")
        expect(timer).to_have_text(re.compile(r"^Closes in 2\d min \d+ s$"))
        page.clock.set_fixed_time(wrong)
        page.reload()
        expect(timer).to_have_text(re.compile(r"^Closes in 2\d min \d+ s$"))
        page.clock.set_fixed_time(wrong + timedelta(minutes=31))
        expect(timer).to_have_text("Closed")

        closed = {"closes_at": (now - timedelta(minutes=1)).isoformat()}
        assert service.call("organizer", "PATCH", f"/competitions/{slug}", json=closed).status_code == 200
        page.context.add_cookies([{"name": "kennel", "value": session_of(service, "ada"), "url": url}])
        page.goto(f"{url}/competitions/{slug}/submit")
        expect(timer).to_have_text(re.compile(r"^in \d+ min \d+ s$"))
        page.clock.set_fixed_time(wrong + timedelta(hours=1))
        expect(timer).to_have_text("over")
    assert tab.console_messages == []
