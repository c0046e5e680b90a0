"""The rescoring pages, as a browser without scripts uses them."""

from typing import Any

import pytest

from tests.api.conftest import Service
from tests.web.html import Element, parse_html
from tests.web.pages import HTML, enter, hidden, read
from tests.worker.rescoring.campaigns import (
    assert_refused_while_published,
    cached,
    campaign_acts,
    decide,
    replace_private_track,
    service,
    slug,
    started,
)
from tests.worker.substitute_extractor import substitute_extractor

__all__ = ["cached", "service", "slug", "substitute_extractor"]  # fixtures are found by their names here


def press(service: Service, page: Element, address: str, status: int, **fields: str) -> Any:
    """Send a form of a page and check the status of the answer."""
    answer = service.http.post(address, data=hidden(page, address) | fields, headers=HTML, follow_redirects=False)
    assert answer.status_code == status, answer.text
    return answer


def buttons(page: Element) -> list[str]:
    """The decisions that a campaign's page offers."""
    return [button.attributes["value"] for button in page.all("button", name="decision")]


@pytest.mark.parametrize("tau", ["7", "-1", "nan", "inf"])
def test_a_threshold_that_is_no_distance_is_refused(service: Service, slug: str, tau: str) -> None:
    campaign = started(service, slug, track="private")
    service.run_jobs(evidence=True)
    enter(service, "organizer")
    here = f"/competitions/{slug}/rescoring/{campaign['id']}"
    answer = press(service, read(service, here), here, 422, decision="switch", reason="Now.", tau=tau)
    assert (
        parse_html(answer.text).one(role="alert").text
        == f"tau is {tau}. It must be between 0 and 2, like every distance."
    )
    assert campaign_acts(service) == ["rescoring.started"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"decision": "pause", "reason": " "}, "Enter a reason. It is shown in the history."),
        ({"decision": "delete", "reason": "No."}, "Choose what to do with the campaign."),
        ({"reason": "No."}, "Choose what to do with the campaign."),
        ({"decision": "switch", "reason": "Now.", "tau": "much"}, "much"),
        ({"decision": "switch", "reason": "Now."}, "The campaign is measuring"),
    ],
)
def test_missing_or_impossible_input_is_reported_next_to_the_form(
    service: Service, slug: str, fields: dict[str, str], says: str
) -> None:
    campaign = started(service, slug, track="private")
    enter(service, "organizer")
    here = f"/competitions/{slug}/rescoring/{campaign['id']}"
    status = 409 if says.startswith("The campaign is") else 422
    answer = press(service, read(service, here), here, status, **fields)
    assert says in parse_html(answer.text).one(role="alert").text
    assert campaign_acts(service) == ["rescoring.started"]


def test_a_campaign_needs_a_reason(service: Service, slug: str) -> None:
    enter(service, "organizer")
    here = f"/competitions/{slug}/rescoring"
    answer = press(service, read(service, here), here, 422, track="private", reason=" ")
    assert "Enter a reason. It is shown in the history." in answer.text
    assert campaign_acts(service) == []


def test_a_campaign_of_a_replaced_track_is_shown_as_ended(service: Service, slug: str) -> None:
    campaign = started(service, slug, track="private", extractor="efficientnet_lite0@1")
    service.run_jobs()
    enter(service, "organizer")
    here = f"/competitions/{slug}/rescoring/{campaign['id']}"
    before = read(service, here)
    assert buttons(before) == ["switch", "cancel"]
    replace_private_track(service, slug)
    page = read(service, here)
    assert buttons(page) == []
    assert (
        page.one("p", class_="note").text
        == "This campaign has ended because the private track's extractor was changed."
    )
    stale = press(service, before, here, 409, decision="switch", reason="Seen before.")
    assert "The extractor of the private track has been replaced, so its campaigns have ended." in stale.text


def test_a_decision_from_an_outdated_campaign_page_is_refused(service: Service, slug: str) -> None:
    campaign = started(service, slug, track="private")
    enter(service, "organizer")
    here = f"/competitions/{slug}/rescoring/{campaign['id']}"
    before = read(service, here)
    decide(service, slug, campaign, "cancel")
    assert buttons(read(service, here)) == []
    stale = press(service, before, here, 409, decision="pause", reason="Later.")
    assert "The campaign is cancelled, so you can't pause it." in parse_html(stale.text).one(role="alert").text


def test_while_the_final_board_is_published_no_switch_is_offered(service: Service, slug: str) -> None:
    campaign = started(service, slug, track="private")
    service.run_jobs(evidence=True)
    enter(service, "organizer")
    here = f"/competitions/{slug}/rescoring/{campaign['id']}"
    assert buttons(read(service, here)) == ["switch", "cancel"]
    assert_refused_while_published(service, slug, campaign)
    page = read(service, here)
    assert buttons(page) == []
    assert "The final board is published. Withdraw it with a reason" in page.text
