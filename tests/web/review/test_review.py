"""The review pages, as a browser without scripts uses them."""

from typing import Any

import pytest

from tests.api.cached_state import CachedState, cached_fixtures
from tests.api.conftest import Service
from tests.api.review.reviewed_competition import ReviewedCompetition
from tests.factories import near_copies, noise_images
from tests.web.html import parse_html
from tests.web.pages import HTML, enter, hidden, read


def competition_to_review(service: Service) -> tuple[str, dict[str, str]]:
    """A competition with an honest entry of Ada and a penalised one of Bob."""
    service.hire("rita", "rob")
    slug = service.competition(medals={"gold": 1, "silver": 1, "bronze": 1})
    entries = {
        "honest": service.scored("ada", slug, noise_images(10))["id"],
        "near": service.scored("bob", slug, near_copies(), note="first <b>try</b>")["id"],
    }
    return slug, entries


cached, service = cached_fixtures(competition_to_review)


@pytest.fixture
def reviewed(service: Service, cached: CachedState[tuple[str, dict[str, str]]]) -> ReviewedCompetition:
    return ReviewedCompetition(service, *cached.result)


def send(reviewed: ReviewedCompetition, page: str, action: str, **fields: Any) -> Any:
    """Send a form of a page and return the answer. ``action`` has no fragment."""
    actions = [
        form.attributes["action"] for form in read(reviewed.service, page).all("form") if "action" in form.attributes
    ]
    (address,) = [found for found in actions if found.partition("#")[0] == action]
    data = {**hidden(read(reviewed.service, page), address), **fields}
    return reviewed.service.http.post(action, data=data, headers=HTML, follow_redirects=False)


def test_a_review_leads_to_the_next_entry(reviewed: ReviewedCompetition) -> None:
    enter(reviewed.service, "rita")
    board = read(reviewed.service, f"/competitions/{reviewed.slug}")
    address = f"/competitions/{reviewed.slug}/review-queue"
    assert [link.text for link in board.all("a", href=address)] == ["Review queue"]
    queue = read(reviewed.service, address)
    assert "For you 2" in [link.text for link in queue.all("a")]
    first = reviewed.service.http.get(f"{address}/next", follow_redirects=False).headers["location"].partition("?")[0]
    page = read(reviewed.service, first)
    assert [field.attributes["value"] for field in page.all("input", name="label")] == [
        "legitimate", "mgan", "sup", "ae", "aug", "other",
    ]  # fmt: skip
    assert not page.all("select", id="decision")  # only for organizers
    saved = send(reviewed, first, first, label="legitimate", intent="intended", note="<i>fine</i>")
    assert saved.status_code == 303
    second = saved.headers["location"]
    assert second.partition("?")[0] != first
    assert read(reviewed.service, second).one(class_="done").text.startswith("Review saved.")
    again = read(reviewed.service, first)
    assert "Your label is legitimate." in again.text
    last = send(reviewed, second.partition("?")[0], second.partition("?")[0], label="aug")
    assert last.headers["location"].startswith(f"{address}?done=")
    assert "You have no entries left to review." in read(reviewed.service, last.headers["location"]).text
    assert (
        reviewed.service.http.post(first, data={"label": "aug"}, headers=HTML).status_code == 403
    )  # without a CSRF token


def test_an_incomplete_review_keeps_its_input(reviewed: ReviewedCompetition) -> None:
    enter(reviewed.service, "rita")
    first = f"/submissions/{reviewed.entries['near']}/review"
    wrong = send(reviewed, first, first)
    assert wrong.status_code == 422
    assert "Choose a label." in wrong.text
    assert send(reviewed, first, first, label="king").status_code == 422
    refused = send(reviewed, first, first, intent="unclear", note="nearly <b>one</b>")
    assert parse_html(refused.text).one("textarea", id="note").text == "nearly <b>one</b>"
    assert parse_html(refused.text).one("input", value="unclear").attributes.keys() >= {"checked"}


def test_published_private_evidence_is_called_provisional(reviewed: ReviewedCompetition) -> None:
    reviewed.service.close(reviewed.slug)
    body = {"published": True, "final": False, "reason": "Done.", "override": "a test"}
    publication = f"/competitions/{reviewed.slug}/publication"
    assert reviewed.service.call("organizer", "POST", publication, json=body).status_code == 201
    enter(reviewed.service, "bob")
    case = read(reviewed.service, f"/submissions/{reviewed.entries['near']}").one("section", id="ruling").text
    assert "Provisional: " in case
    assert "Private" not in case


def test_a_third_reviewers_text_is_kept(reviewed: ReviewedCompetition) -> None:
    near, page = reviewed.entries["near"], f"/submissions/{reviewed.entries['near']}/review"
    enter(reviewed.service, "rita")
    form = hidden(read(reviewed.service, page), f"{page}#review")
    for who in ("rob", "organizer"):
        assert reviewed.review(who, "near", "aug").status_code == 201
    late = reviewed.service.http.post(page, data={**form, "label": "ae", "note": "It is <i>blurred</i>."}, headers=HTML)
    assert late.status_code == 409
    assert "Your note: It is <i>blurred</i>." in parse_html(late.text).one("section", id="review").text
    enter(reviewed.service, "organizer")
    refused = send(reviewed, f"/submissions/{near}/review", f"{page}/ruling", reason="Because.")
    assert parse_html(refused.text).one("textarea", id="reason").text == "Because."


def test_the_tab_of_missing_rulings_only_covers_flagged_entries(service: Service) -> None:
    """Labelled entries without a win and without signs of copying need no ruling."""
    slug = service.competition(medals={"gold": 0, "silver": 0, "bronze": 0})
    entry = service.scored("ada", slug, noise_images(10))["id"]
    label = f"/competitions/{slug}/submissions/{entry}/label"
    assert service.call("organizer", "PUT", label, json={"label": "sup"}).status_code == 200
    enter(service, "organizer")
    page = read(service, f"/competitions/{slug}/review-queue?state=unruled")
    assert "All flagged entries that are labelled as memorising have a ruling." in page.text


def test_the_review_pages_are_closed_to_participants(reviewed: ReviewedCompetition) -> None:
    near = reviewed.entries["near"]
    for who in ("bob", "ada"):
        enter(reviewed.service, who)
        assert not read(reviewed.service, f"/competitions/{reviewed.slug}").all(
            "a", href=f"/competitions/{reviewed.slug}/review-queue"
        )
        refused = read(reviewed.service, f"/competitions/{reviewed.slug}/review-queue", status=403)
        assert refused.one("section").one("a", href=f"/competitions/{reviewed.slug}").text == "The competition"
        read(reviewed.service, f"/submissions/{near}/review", status=403)
    enter(reviewed.service, None)
    led = reviewed.service.http.get(f"/submissions/{near}/review", headers=HTML, follow_redirects=False)
    assert led.headers["location"].startswith("/signin")


def test_a_case_before_a_ruling(reviewed: ReviewedCompetition) -> None:
    service = reviewed.service
    entry = f"/submissions/{reviewed.entries['near']}"
    enter(service, "bob")
    early = read(service, entry).one("section", id="ruling").text
    assert "You can write a rebuttal after the deadline." in early
    assert "closest pairs" not in early
    service.close(reviewed.slug)
    case = read(service, entry).one("section", id="ruling")
    assert case.text.index("The closest pairs for the public board") < case.text.index("Your rebuttal")
    assert "attach the code" in case.text


def test_a_case_from_the_ruling_to_the_answer(reviewed: ReviewedCompetition) -> None:
    service = reviewed.service
    near = reviewed.entries["near"]
    entry, at_review = f"/submissions/{near}", f"/submissions/{near}/review"
    service.close(reviewed.slug)
    enter(service, "organizer")
    assert "Choose a ruling." in send(reviewed, at_review, f"{at_review}/ruling", reason="x").text
    assert send(reviewed, at_review, f"{at_review}/label", label="aug", note="nudged").status_code == 303
    made = send(
        reviewed, at_review, f"{at_review}/ruling", kind="disqualify", reason="Nudged <b>copies</b>.", memorising=""
    )
    assert made.headers["location"] == f"{at_review}#ruling"

    enter(service, "bob")
    page = read(service, entry)
    case = page.one("section", id="ruling")
    assert "The entry is disqualified" in case.text
    assert "Nudged <b>copies</b>." in case.text
    assert "The reviewers' label: aug" in case.text
    assert "Private" not in case.text
    assert len(case.one("ul", class_="pairs").all("li")) == 8
    (picture,) = {image.attributes["href"] for image in case.all("image")}
    assert service.http.get(picture).headers["content-type"] == "image/png"
    assert send(reviewed, entry, f"{entry}/rebuttal", text=" ").status_code == 422
    assert send(reviewed, entry, f"{entry}/rebuttal", text="Ours, <i>really</i>.").status_code == 303
    case = read(service, entry).one("section", id="ruling")
    assert "Ours, <i>really</i>." in case.text
    assert "Not answered yet." in case.text
    assert not case.all("form")

    enter(service, "organizer")
    assert "Unanswered rebuttals" in read(service, f"/competitions/{reviewed.slug}/review-queue").text
    (form,) = [found for found in read(service, at_review).all("form") if "rebuttals" in found.attributes["action"]]
    action = form.attributes["action"].partition("#")[0]
    assert send(reviewed, at_review, action, ruling="waive", answer=" ").status_code == 422
    assert send(reviewed, at_review, action, ruling="waive", answer="We have seen the code.").status_code == 303
    assert "Unanswered rebuttals" not in read(service, f"/competitions/{reviewed.slug}/review-queue").text

    enter(service, "bob")
    case = read(service, entry).one("section", id="ruling")
    assert [heading.text for heading in case.all("h3")] == [
        "The entry is no longer penalised, because its penalty is waived",
        "The entry is disqualified replaced by a later ruling",
    ]
    assert "Granted" in case.text
    assert "organizer" not in case.text  # only reviewers and organizers see who ruled


def test_an_organizer_sees_the_impact_of_other_rulings(reviewed: ReviewedCompetition) -> None:
    def rank(team: str) -> int:
        leaderboard = reviewed.service.call(
            "organizer", "GET", f"/competitions/{reviewed.slug}/leaderboard?track=private"
        ).json()
        return next(int(place["rank"]) for place in leaderboard["entries"] if place["team"] == team)

    address = f"/submissions/{reviewed.entries['honest']}/review"
    enter(reviewed.service, "rita")
    assert "Impact of other rulings" not in read(reviewed.service, f"{address}?stakes=yes").text
    enter(reviewed.service, "organizer")
    (link,) = [found for found in read(reviewed.service, address).all("a") if found.text.startswith("Show the impact")]
    text = read(reviewed.service, link.attributes["href"].partition("#")[0]).text
    assert f"Disqualify the entry Private board: the team moves from rank {rank('Ada')} to no rank" in text


def test_a_disqualified_entry_is_not_shown_as_a_final_pick(reviewed: ReviewedCompetition) -> None:
    list_, own = f"/competitions/{reviewed.slug}/entries", f"/submissions/{reviewed.entries['near']}"

    def marks(address: str) -> list[str]:
        return [badge.text for badge in read(reviewed.service, address).all("span", class_="badge")]

    enter(reviewed.service, "bob")
    assert "final pick by default" in marks(list_)
    assert "final pick by default" in marks(own)
    body = {"kind": "disqualify", "reason": "It copies."}
    assert reviewed.service.call("organizer", "POST", f"{own}/rulings", json=body).status_code == 201
    assert marks(list_)[:1] == ["disqualified"]
    assert "disqualified" in marks(own)
    assert not {"final pick by default"} & {*marks(list_), *marks(own)}
