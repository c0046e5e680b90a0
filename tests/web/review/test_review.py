"""The pages of review, as a browser without scripts would use them."""

from typing import Any

import pytest

from tests.api.conftest import Service
from tests.api.kept_state import KeptState, kept_fixtures
from tests.api.review.test_review import Desk, near_copies
from tests.api.teams.test_final_picks_and_code import close
from tests.factories import noise_images
from tests.web.html import parse_html
from tests.web.submissions.test_submissions import HTML, enter, hidden, read


def competition_to_review(service: Service) -> tuple[str, dict[str, str]]:
    """Ada is honest, Bob's entry is penalised."""
    service.hire("rita", "rob")
    slug = service.competition(medals={"gold": 1, "silver": 1, "bronze": 1})
    entries = {
        "honest": service.scored("ada", slug, noise_images(10))["id"],
        "near": service.scored("bob", slug, near_copies(), note="first <b>try</b>")["id"],
    }
    return slug, entries


kept, service = kept_fixtures(competition_to_review)


@pytest.fixture
def desk(service: Service, kept: KeptState[tuple[str, dict[str, str]]]) -> Desk:
    """That competition."""
    return Desk(service, *kept.result)


def send(desk: Desk, page: str, action: str, **fields: Any) -> Any:
    """The answer to one of a page's forms, filled in; ``action`` without what follows its ``#``."""
    actions = [
        each.attributes["action"] for each in read(desk.service, page).all("form") if "action" in each.attributes
    ]
    (address,) = [each for each in actions if each.partition("#")[0] == action]
    data = {**hidden(read(desk.service, page), address), **fields}
    return desk.service.http.post(action, data=data, headers=HTML, follow_redirects=False)


def test_a_review_leads_to_the_next_entry(desk: Desk) -> None:
    enter(desk.service, "rita")
    board = read(desk.service, f"/competitions/{desk.slug}")
    address = f"/competitions/{desk.slug}/desk"
    assert [each.text for each in board.all("a", href=address)] == ["Review desk"]
    queue = read(desk.service, address)
    assert "For you 2" in [each.text for each in queue.all("a")]
    first = desk.service.http.get(f"{address}/next", follow_redirects=False).headers["location"].partition("?")[0]
    page = read(desk.service, first)
    assert [each.attributes["value"] for each in page.all("input", name="label")] == [
        "legitimate", "mgan", "sup", "ae", "aug", "other",
    ]  # fmt: skip
    assert not page.all("select", id="decision")  # that is an organizer's
    wrong = send(desk, first, first)
    assert wrong.status_code == 422
    assert "Please say what the entry is." in wrong.text
    assert send(desk, first, first, label="king").status_code == 422
    kept = send(desk, first, first, intent="unclear", note="nearly <b>one</b>")
    assert parse_html(kept.text).one("textarea", id="note").text == "nearly <b>one</b>"
    assert parse_html(kept.text).one("input", value="unclear").attributes.keys() >= {"checked"}
    saved = send(desk, first, first, label="legitimate", intent="intended", note="<i>fine</i>")
    assert saved.status_code == 303
    second = saved.headers["location"]
    assert second.partition("?")[0] != first
    assert read(desk.service, second).one(class_="done").text.startswith("Your review is saved.")
    again = read(desk.service, first)
    assert "You have said legitimate" in again.text
    last = send(desk, second.partition("?")[0], second.partition("?")[0], label="aug")
    assert last.headers["location"].startswith(f"{address}?done=")
    assert "Nothing is left for you to review." in read(desk.service, last.headers["location"]).text
    assert desk.service.http.post(first, data={"label": "aug"}, headers=HTML).status_code == 403  # no proof


def test_the_evidence_of_a_published_board_is_named_for_its_publication(desk: Desk) -> None:
    close(desk.service, desk.slug)
    body = {"published": True, "final": False, "reason": "Done.", "override": "a test"}
    publication = f"/competitions/{desk.slug}/publication"
    assert desk.service.call("organizer", "POST", publication, json=body).status_code == 201
    enter(desk.service, "bob")
    case = read(desk.service, f"/submissions/{desk.entries['near']}").one("section", id="ruling").text
    assert "Provisional: " in case
    assert "Private" not in case


def test_a_third_reviewers_words_are_not_lost(desk: Desk) -> None:
    near, page = desk.entries["near"], f"/submissions/{desk.entries['near']}/desk"
    enter(desk.service, "rita")
    form = hidden(read(desk.service, page), f"{page}#review")
    for who in ("rob", "organizer"):
        assert desk.review(who, "near", "aug").status_code == 201
    late = desk.service.http.post(page, data={**form, "label": "ae", "note": "It is <i>blurred</i>."}, headers=HTML)
    assert late.status_code == 409
    assert "You have written: It is <i>blurred</i>." in parse_html(late.text).one("section", id="review").text
    enter(desk.service, "organizer")
    refused = send(desk, f"/submissions/{near}/desk", f"{page}/ruling", reason="Because.")
    assert parse_html(refused.text).one("textarea", id="reason").text == "Because."


def test_the_tab_of_rulings_that_are_wanted_speaks_of_flagged_entries(service: Service) -> None:
    """Labels of entries that win nothing and show no sign wait for no ruling."""
    slug = service.competition(medals={"gold": 0, "silver": 0, "bronze": 0})
    entry = service.scored("ada", slug, noise_images(10))["id"]
    label = f"/competitions/{slug}/submissions/{entry}/label"
    assert service.call("organizer", "PUT", label, json={"label": "sup"}).status_code == 200
    enter(service, "organizer")
    page = read(service, f"/competitions/{slug}/desk?state=unruled")
    assert "Every flagged entry that is labelled as memorising has a ruling." in page.text


def test_the_review_pages_are_closed_to_participants(desk: Desk) -> None:
    near = desk.entries["near"]
    for who in ("bob", "ada"):
        enter(desk.service, who)
        assert not read(desk.service, f"/competitions/{desk.slug}").all("a", href=f"/competitions/{desk.slug}/desk")
        refused = read(desk.service, f"/competitions/{desk.slug}/desk", status=403)
        assert refused.one("section").one("a", href=f"/competitions/{desk.slug}").text == "The competition"
        read(desk.service, f"/submissions/{near}/desk", status=403)
    enter(desk.service, None)
    led = desk.service.http.get(f"/submissions/{near}/desk", headers=HTML, follow_redirects=False)
    assert led.headers["location"].startswith("/signin")


def test_a_case_from_the_ruling_to_the_answer(desk: Desk) -> None:
    service = desk.service
    near = desk.entries["near"]
    entry, at_desk = f"/submissions/{near}", f"/submissions/{near}/desk"
    enter(service, "bob")
    early = read(service, entry).one("section", id="ruling").text
    assert "Rebuttals are taken once the competition has closed." in early
    assert "Closest" not in early
    close(service, desk.slug)
    case = read(service, entry).one("section", id="ruling")
    assert case.text.index("The closest pairs of the public board") < case.text.index("Your rebuttal")
    assert "attach the code" in case.text
    enter(service, "organizer")
    assert "Please say what shall become" in send(desk, at_desk, f"{at_desk}/ruling", reason="x").text
    assert send(desk, at_desk, f"{at_desk}/label", label="aug", note="nudged").status_code == 303
    made = send(desk, at_desk, f"{at_desk}/ruling", kind="disqualify", reason="Nudged <b>copies</b>.", memorising="")
    assert made.headers["location"] == f"{at_desk}#ruling"

    enter(service, "bob")
    page = read(service, entry)
    case = page.one("section", id="ruling")
    assert "The entry is disqualified" in case.text
    assert "Nudged <b>copies</b>." in case.text
    assert "What the reviewers found: aug" in case.text
    assert "Private" not in case.text
    assert len(case.one("ul", class_="pairs").all("li")) == 8
    (picture,) = {each.attributes["href"] for each in case.all("image")}
    assert service.http.get(picture).headers["content-type"] == "image/png"
    assert send(desk, entry, f"{entry}/rebuttal", text=" ").status_code == 422
    assert send(desk, entry, f"{entry}/rebuttal", text="Ours, <i>really</i>.").status_code == 303
    case = read(service, entry).one("section", id="ruling")
    assert "Ours, <i>really</i>." in case.text
    assert "Not answered yet." in case.text
    assert not case.all("form")

    enter(service, "organizer")
    assert "Rebuttals to answer" in read(service, f"/competitions/{desk.slug}/desk").text
    (form,) = [each for each in read(service, at_desk).all("form") if "rebuttals" in each.attributes["action"]]
    action = form.attributes["action"].partition("#")[0]
    assert send(desk, at_desk, action, ruling="waive", answer=" ").status_code == 422
    assert send(desk, at_desk, action, ruling="waive", answer="We have seen the code.").status_code == 303
    assert "Rebuttals to answer" not in read(service, f"/competitions/{desk.slug}/desk").text

    enter(service, "bob")
    case = read(service, entry).one("section", id="ruling")
    assert [each.text for each in case.all("h3")] == [
        "The entry is not penalised: its penalty is waived",
        "The entry is disqualified replaced by a later ruling",
    ]
    assert "Granted" in case.text
    assert "organizer" not in case.text  # who has ruled is for those who judge


def test_an_organizer_reads_who_would_win_if_the_ruling_were_another(desk: Desk) -> None:
    def rank(team: str) -> int:
        leaderboard = desk.service.call(
            "organizer", "GET", f"/competitions/{desk.slug}/leaderboard?track=private"
        ).json()
        return next(int(each["rank"]) for each in leaderboard["entries"] if each["team"] == team)

    address = f"/submissions/{desk.entries['honest']}/desk"
    enter(desk.service, "rita")
    assert "If the ruling were another" not in read(desk.service, f"{address}?stakes=yes").text
    enter(desk.service, "organizer")
    (link,) = [each for each in read(desk.service, address).all("a") if each.text.startswith("Who would win")]
    text = read(desk.service, link.attributes["href"].partition("#")[0]).text
    assert f"Disqualify it Private board: the team goes from rank {rank('Ada')} to no rank" in text


def test_a_disqualified_entry_is_no_final_pick_on_the_pages_of_its_team(desk: Desk) -> None:
    list_, own = f"/competitions/{desk.slug}/entries", f"/submissions/{desk.entries['near']}"

    def marks(address: str) -> list[str]:
        return [each.text for each in read(desk.service, address).all("span", class_="badge")]

    enter(desk.service, "bob")
    assert "final pick by default" in marks(list_)
    assert "final pick by default" in marks(own)
    body = {"kind": "disqualify", "reason": "It copies."}
    assert desk.service.call("organizer", "POST", f"{own}/rulings", json=body).status_code == 201
    assert marks(list_)[:1] == ["disqualified"]
    assert "disqualified" in marks(own)
    assert not {"final pick by default"} & {*marks(list_), *marks(own)}
