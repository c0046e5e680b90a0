"""A whole competition with the API, the command and a browser: from a correction to a republished board."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.cli_runner import CliTerminal, CommandResult, terminal
from tests.api.conftest import Service, read_problem
from tests.factories import near_copies, noise_images
from tests.web.browser import publish_board, signed_in
from tests.worker.rescoring.campaigns import new_version, places

__all__ = ["terminal"]  # a fixture is found by its name here
COPIER, HONEST = "bob", ("ada", "eve")


class Competition:
    """Two honest entries and near copies of training images, which both tracks penalise."""

    def __init__(self, service: Service, terminal: CliTerminal) -> None:
        self.service, self.terminal = service, terminal
        self.slug = service.competition(title="Noise", prizes=[{"place": 1, "amount": "$500"}])
        self.path = f"/competitions/{self.slug}"
        images = {"ada": noise_images(11), "bob": near_copies(), "eve": noise_images(13)}
        self.entries = {who: service.scored(who, self.slug, content)["id"] for who, content in images.items()}

    def admin(self, *argv: object) -> CommandResult:
        """``kennel admin ...`` as the admin."""
        return self.terminal.run("admin", *argv, who="admin")

    def ranked(self) -> list[str]:
        """The teams on the private board, as organizers see it."""
        return [team for team, *_ in places(self.service, self.slug, "private")]

    def open_points(self) -> dict[str, int]:
        """The open items of the checklist, with the number of cases."""
        view = self.service.call("organizer", "GET", f"{self.path}/publication").json()
        return {point["name"]: point["count"] for point in view["points"] if not point["passed"]}

    def rule(self, who: str) -> Any:
        body = {"kind": "disqualify", "reason": "Trained on the reference."}
        return self.service.call("organizer", "POST", f"/submissions/{self.entries[who]}/rulings", json=body)


def test_a_whole_competition(
    browser: Browser,
    service: Service,
    terminal: CliTerminal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    competition = Competition(service, terminal)
    corrected_and_announced(competition)
    rescored_and_taken_back(competition, monkeypatch)
    service.close(competition.slug)
    cheater = competition.ranked()[0]
    labelled_and_not_ruled(competition, cheater)
    with signed_in(browser, service, f"{terminal.url}{competition.path}/publication", who="organizer") as organizer:
        publish_board(organizer.page, "provisional")
        with signed_in(
            browser, service, f"{terminal.url}/submissions/{competition.entries[COPIER]}", who=COPIER
        ) as tab:
            appealed_in_private(competition, tab.page)
        organizer.page.reload()
        publish_board(organizer.page, "final")
        nothing_moves(competition, cheater)
        withdrawn_and_published_again(competition, organizer.page, cheater)
        assert organizer.console_messages == []


def corrected_and_announced(competition: Competition) -> None:
    """Participants get a notice of a changed prize and of an announcement."""
    prizes = [{"place": 1, "amount": "$600"}]
    assert competition.service.call("organizer", "PATCH", competition.path, json={"prizes": prizes}).status_code == 200
    announced = competition.admin("competition", "announce", competition.slug, "The prize", "It is *larger* now.")
    assert announced.status == 0, announced.err
    newest = [(notice["kind"], notice["body"]) for notice in competition.service.notices("eve")[:2]]
    assert newest[0][0] == "announcement"
    assert "The prize" in str(competition.service.http.get(competition.path).text)
    assert ("change", "Noise has changed. Prizes: $600 for place 1 (previously $500 for place 1).") in newest


def rescored_and_taken_back(competition: Competition, monkeypatch: pytest.MonkeyPatch) -> None:
    """A corrected scorer reverses the order of honest entries until the switch is undone."""
    before = places(competition.service, competition.slug, "private")
    with monkeypatch.context() as patch:
        new_version(patch, lambda fid: 1e6 - fid)
        started = competition.admin(
            *("campaign", "start", competition.slug, "private", "--json"), "--reason", "Resized as in the paper."
        )
        competition.service.run_jobs(evidence=True)
    number = started.document["id"]
    campaign = (competition.slug, number, "--json", "--reason", "As announced.")
    switched = competition.admin("campaign", "switch", *campaign)
    assert switched.status == 0, switched.err
    turned = [team for team in competition.ranked() if team in HONEST]
    assert turned == [team for team, *_ in reversed(before) if team in HONEST]
    assert competition.admin("campaign", "undo", *campaign).document["state"] == "taken back"
    assert places(competition.service, competition.slug, "private") == before
    back, on = (notice["body"] for notice in competition.service.notices("eve")[:2])
    assert on.startswith("Entries have been measured again, and the new measurements now count on the private track")
    assert back.startswith(
        "The new measurements of entries no longer count, and the earlier ones count again on the private track"
    )


def labelled_and_not_ruled(competition: Competition, cheater: str) -> None:
    """A label does not remove a team from the board. The checklist reports the missing ruling."""
    assert cheater in HONEST
    assert "unruled" not in competition.open_points()
    assert competition.admin("submission", "label", competition.slug, competition.entries[cheater], "sup").status == 0
    assert competition.ranked()[0] == cheater
    assert competition.open_points()["unruled"] == 1
    checklist = competition.admin("competition", "checklist", competition.slug)
    assert checklist.status == 1
    assert "   1 Every winning entry labelled as memorising has a ruling" in checklist.out


def appealed_in_private(competition: Competition, page: Page) -> None:
    """The team appeals against its private penalty and gets its rank back."""
    page.get_by_label("Your rebuttal").fill("We trained it ourselves.")
    page.get_by_role("button", name="Submit rebuttal").click()
    expect(page.get_by_text("against the penalty on the private track")).to_be_visible()
    assert competition.open_points()["rebuttals"] == 1
    (waiting,) = competition.service.call("organizer", "GET", f"{competition.path}/rebuttals").json()["rebuttals"]
    answer = {"ruling": "waive", "answer": "We have run your code."}
    path = f"/rebuttals/{waiting['id']}/answer"
    assert competition.service.call("organizer", "POST", path, json=answer).json()["granted"]
    assert "rebuttals" not in competition.open_points()
    page.reload()
    expect(page.get_by_role("article", name="Rebuttal")).to_contain_text("We have run your code.")


def nothing_moves(competition: Competition, cheater: str) -> None:
    """A ruling on a published board is refused, even if the winner is labelled."""
    before = competition.ranked()
    assert read_problem(competition.rule(cheater)) == (409, "published")
    assert competition.ranked() == before


def withdrawn_and_published_again(competition: Competition, page: Page, cheater: str) -> None:
    """After a ruling and a second publication, everybody sees the changed ranks, and those teams get a notice."""
    before = competition.ranked()
    page.get_by_label("Reason (shown to all participants)").fill("The winner has no ruling.")
    page.get_by_role("button", name="Withdraw board").click()
    expect(page.get_by_role("status")).to_contain_text("Board withdrawn")
    assert competition.rule(cheater).status_code == 201
    again = competition.admin("competition", "publish", competition.slug, "--reason", "Ruled.", "--override", "A test.")
    assert again.status == 0, again.err
    assert competition.ranked() == [team for team in before if team != cheater]
    others = [who for who in competition.entries if who != cheater]
    moved = [who for who in others if competition.ranked().index(who) != before.index(who)]
    assert moved
    notices = {who: competition.service.notices(who)[0]["body"] for who in others}
    assert [who for who, body in notices.items() if "Your team's rank has changed" in body] == moved
    page.goto(f"{competition.terminal.url}{competition.path}/versions")
    rows = page.get_by_role("row")
    expect(rows).to_have_count(1 + len(moved) + 1)
    expect(rows.filter(has_text=cheater.capitalize())).to_contain_text("none")
