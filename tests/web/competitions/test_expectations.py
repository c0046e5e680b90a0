"""What people may expect of a competition stands on its page: prizes, times, also in the reader's zone, who decides."""

from datetime import timedelta

import pytest
from playwright.sync_api import Browser, expect

from tests.http_server import serve
from tests.web import view_samples
from tests.web.browser import OVERFLOWING_ELEMENTS, PHONE, take_pictures, visit
from tests.web.view_samples import NOW, SampleSite, sample_state

HERE = f"/competitions/{view_samples.SLUG}"
CLOSES_AT = NOW.replace(hour=23, minute=59, second=0) + timedelta(days=14)


LOCAL_TIMES = {"Asia/Tokyo": (" (17 Nov, 08:59)", " (17 Nov, 09:14)", " (1 Dec, 08:59)"), "UTC": ("", "", "")}
UTC_TIMES = ("16 Nov 2026, 23:59 UTC", "17 Nov 2026, 00:14 UTC", "30 Nov 2026, 23:59 UTC")


@pytest.mark.parametrize("zone", LOCAL_TIMES)
def test_what_people_may_expect_is_public(browser: Browser, zone: str) -> None:
    state = sample_state(
        prizes=[{"place": 2, "amount": "$1,000"}, {"place": 1, "amount": "$5,000"}],
        medals={"gold": 3, "silver": 0, "bronze": 9},
        closes_at=CLOSES_AT,
        team_merge_deadline=CLOSES_AT - timedelta(days=7),
        max_team_size=4,
    )
    app = SampleSite(states=[state]).app
    with app() as site, serve(site) as url, visit(browser, url + HERE, timezone_id=zone) as tab:
        page = tab.page
        expect(page.locator(".prizes div")).to_have_text(["Place 1$5,000", "Place 2$1,000"])
        expect(page.get_by_text("Gold to place 3, bronze to place 9.")).to_be_visible()
        timeline = page.locator("section", has=page.get_by_role("heading", name="Timeline"))
        for text, local in zip(UTC_TIMES, LOCAL_TIMES[zone], strict=True):
            expect(timeline).to_contain_text(text + local)
        expect(timeline.get_by_text(f"in brackets those of {zone}")).to_have_count(int(zone != "UTC"))
        expect(page.get_by_text("A team has at most 4 members.")).to_be_visible()
        expect(page.get_by_text("picks up to 2 entries")).to_be_visible()
        expect(page.get_by_role("heading", name="Who decides")).to_be_visible()
        take_pictures(page, "competition-expectations")
        page.set_viewport_size({"width": PHONE, "height": 800})
        assert page.evaluate(OVERFLOWING_ELEMENTS, PHONE) == []
        assert tab.console_messages == []
