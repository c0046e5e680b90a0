"""A competition through all its phases: what may be seen and done in each, and who is notified of an appeal."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scorer.db.tables import Account, Competition, Mail
from tests.api.cli_runner import command
from tests.api.conftest import Service, slug_of
from tests.api.leaderboard.arena import Arena, private, ranks, retune, rule
from tests.factories import add_measurement, make_scored
from tests.web.pages import enter

__all__ = ["command"]  # a fixture is found by its name here


class Walk:
    """A competition in which Ada is penalised on both tracks, and Bob on the private one alone."""

    def __init__(self, service: Service) -> None:
        self.arena = Arena(service, opens_at=None, closes_at=None, review_days=3, appeal_days=7, late_submissions=False)
        self.service = service
        self.path = f"/competitions/{self.arena.slug}"
        distances = {"ada": (0.2, 0.2), "bob": (0.5, 0.2), "eve": (0.5, 0.5)}
        self.entries = {}
        with self.arena.begin() as session:
            for fid, (handle, (public, hidden)) in enumerate(distances.items(), 10):
                team = self.arena.team(session, handle)
                numbers: dict[str, Any] = {"fid": float(fid), "now": self.arena.now - timedelta(days=8)}
                entry = make_scored(session, self.arena.state, team, distance=public, **numbers)
                add_measurement(session, self.arena.state, entry, distance=hidden, kind="private", **numbers)
                self.entries[handle] = entry

    def view(self, who: str | None = None) -> Any:
        answer = self.service.call(who, "GET", self.path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def change(self, **changes: Any) -> None:
        times = {name: (self.arena.now + timedelta(days=days)).isoformat() for name, days in changes.items()}
        assert self.service.call("organizer", "PATCH", self.path, json=times).status_code == 200

    def rebut(self, who: str) -> Any:
        path = f"/submissions/{self.entries[who].id}/rebuttals"
        return self.service.call(who, "POST", path, json={"text": "We trained it ourselves."})

    def publish(self, **act: Any) -> Any:
        return self.service.call("organizer", "POST", f"{self.path}/publication", json={"reason": "-"} | act)

    def open_points(self, *, final: bool = True) -> list[str]:
        refused = self.publish(published=True, final=final)
        assert slug_of(refused) == (409, "open-points")
        faults: list[str] = refused.json()["faults"]
        return faults

    def private_board(self, who: str | None = None) -> Any:
        return self.service.call(who, "GET", f"{self.path}/leaderboard", params={"track": "private"})

    def organizers_page(self, path: str) -> str:
        enter(self.service, "organizer")
        return self.page(path)

    def page(self, path: str = "") -> str:
        headers = {"Accept": "text/html"}
        return str(self.service.http.get(f"{self.path}{path}", headers=headers).text)


def test_a_walk_through_all_phases(service: Service, command: Any) -> None:
    walk = Walk(service)
    publish = ("competition", "publish", walk.arena.slug, "--reason", "See.", "--override", "A test.")
    before_the_close(walk)
    walk.change(closes_at=-1)
    in_review(walk)
    assert command(*publish, "--provisional") == f"The provisional board of {walk.arena.slug} is published.\n"
    in_the_provisional_phase(walk)
    rulings_and_thresholds_still_count(walk)
    with walk.arena.begin() as session:
        session.get_one(Competition, walk.arena.state.competition.id).appeal_days = 0
    assert "Teams had time to appeal against the provisional board: 1 open" not in walk.open_points()
    assert command(*publish) == f"The final board of {walk.arena.slug} is published.\n"
    once_final(walk)
    withdraw = ("competition", "withdraw", walk.arena.slug, "--reason", "See.")
    assert command(*withdraw) == f"The board of {walk.arena.slug} is withdrawn.\n"
    assert walk.view()["phase"] == "review"
    assert slug_of(walk.private_board("bob")) == (403, "not-published")
    assert retune(walk.arena, "private", 0.3).status_code == 201


def before_the_close(walk: Walk) -> None:
    assert walk.view("organizer")["phase"] == "draft"
    assert walk.service.call(None, "GET", walk.path).status_code == 404
    assert slug_of(walk.publish(published=True, final=False)) == (409, "not-closed")
    walk.change(opens_at=-9)
    assert walk.view()["phase"] == "open"
    assert slug_of(walk.rebut("ada")) == (409, "review-not-begun")
    assert slug_of(walk.publish(published=True, final=False)) == (409, "not-closed")
    assert slug_of(walk.private_board()) == (403, "not-published")


def in_review(walk: Walk) -> None:
    view = walk.view()
    assert (view["phase"], view["appeal_days"]) == ("review", 7)
    assert view["rebuttals_from"] < walk.arena.now.isoformat() < view["rebuttals_until"]
    assert walk.rebut("ada").json()["track"] == "public"
    assert slug_of(walk.rebut("ada")) == (409, "rebutted")
    assert slug_of(walk.rebut("bob")) == (409, "nothing-to-rebut"), "its penalty is hidden"
    assert slug_of(walk.private_board("bob")) == (403, "not-published")
    assert 'aria-current="step"' in walk.page()
    assert "Appeals are open until" in walk.page()
    assert "Teams had time to appeal against the provisional board: 1 open" in walk.open_points()
    before_provisional = walk.open_points(final=False)
    assert "The time for rebuttals has ended: 1 open" in before_provisional
    assert not any("provisional" in point for point in before_provisional)


def in_the_provisional_phase(walk: Walk) -> None:
    view = walk.view()
    assert (view["phase"], len(view["tracks"])) == ("provisional", 2)
    assert ranks(walk.private_board().json()) == ["Eve", "Ada", "Bob"]
    assert "This board is provisional" in walk.page("?track=private")
    assert "Appeals are open until" not in walk.page(), "those of the review have ended"
    assert slug_of(walk.publish(published=True, final=False, override="-")) == (409, "no-change")
    for who in ("ada", "bob"):
        assert walk.rebut(who).json()["track"] == "private"
        assert slug_of(walk.rebut(who)) == (409, "rebutted")
    assert slug_of(walk.rebut("eve")) == (409, "nothing-to-rebut")
    evidence = f"/submissions/{walk.entries['bob'].id}/evidence/private"
    assert walk.service.call("bob", "GET", evidence).status_code == 200
    assert walk.service.call("eve", "GET", evidence).status_code == 404
    figure = walk.service.call(None, "GET", f"{walk.path}/insights/fid", params={"track": "private"})
    assert slug_of(figure) == (403, "not-final")


def rulings_and_thresholds_still_count(walk: Walk) -> None:
    assert retune(walk.arena, "private", 0.1).status_code == 201
    assert private(walk.arena) == ["Ada", "Bob", "Eve"]
    moves = walk.service.call(None, "GET", f"{walk.path}/leaderboard/versions").json()
    assert [each["team"] for each in moves["moves"]] == ["Ada", "Bob", "Eve"]
    assert "Changes since" in walk.page("?track=private")
    assert rule(walk.arena, walk.entries["eve"], "disqualify").status_code == 201
    assert private(walk.arena) == ["Ada", "Bob"]
    rebuttal = walk.rebut("eve").json()
    assert rebuttal["track"] is None
    granted = {"ruling": "keep", "answer": "We have read the code."}
    answer = walk.service.call("organizer", "POST", f"/rebuttals/{rebuttal['id']}/answer", json=granted)
    assert answer.json()["granted"]
    assert private(walk.arena) == ["Ada", "Bob", "Eve"]
    assert "Teams had time to appeal against the provisional board: 1 open" in walk.open_points()


def once_final(walk: Walk) -> None:
    assert walk.view()["phase"] == "final"
    assert slug_of(retune(walk.arena, "private", 0.3)) == (409, "published")
    assert slug_of(rule(walk.arena, walk.entries["bob"], "disqualify")) == (409, "published")
    assert private(walk.arena) == ["Ada", "Bob", "Eve"]
    figure = walk.service.call(None, "GET", f"{walk.path}/insights/fid", params={"track": "private"})
    assert figure.status_code == 200


def test_appeals_end_with_their_days(service: Service) -> None:
    walk = Walk(service)
    walk.change(opens_at=-30, closes_at=-20)
    assert slug_of(walk.rebut("ada")) == (409, "review-over")
    walk.arena.publish(final=False, days=7.1)
    assert slug_of(walk.rebut("bob")) == (409, "review-over")
    walk.arena.publish(final=False, days=6.9)
    assert walk.rebut("bob").status_code == 201
    walk.arena.publish()
    assert slug_of(walk.rebut("ada")) == (409, "review-over")


def test_what_follows_the_provisional_board_can_be_appealed_for_as_long(service: Service) -> None:
    """Nobody is disqualified or penalised on its last day and has no time left."""
    walk = Walk(service)
    walk.change(opens_at=-30, closes_at=-20)
    walk.arena.publish(final=False, days=7.1)
    appeals = "Teams had time to appeal against the provisional board: 1 open"
    assert slug_of(walk.rebut("bob")) == (409, "review-over")
    assert appeals not in walk.open_points()
    assert rule(walk.arena, walk.entries["eve"], "disqualify").status_code == 201
    assert appeals in walk.open_points()
    case = walk.service.call("eve", "GET", f"/submissions/{walk.entries['eve'].id}/rulings").json()
    assert case["rebuttals_until"] > (walk.arena.now + timedelta(days=6.9)).isoformat()
    assert walk.rebut("eve").status_code == 201
    assert slug_of(walk.rebut("bob")) == (409, "review-over"), "his penalty is as old as the board"
    assert retune(walk.arena, "private", 0.3).status_code == 201
    assert walk.rebut("bob").json()["track"] == "private"
    walk.arena.publish()
    assert slug_of(walk.rebut("ada")) == (409, "review-over")


def test_pages_say_until_when_a_late_ruling_can_be_appealed(service: Service) -> None:
    """The competition's page, and the organizers' page of publication."""
    walk = Walk(service)
    walk.change(opens_at=-30, closes_at=-20)
    walk.arena.publish(final=False, days=6)
    general = f'datetime="{walk.arena.now + timedelta(days=1):%Y-%m-%dT%H:%M}'
    late = f'datetime="{walk.arena.now + timedelta(days=5):%Y-%m-%dT%H:%M}'
    assert words_on_appeals(walk).startswith("Teams may appeal until ")
    assert general in words_on_appeals(walk, shown=False)
    assert general in publication_lead(walk)
    walk.arena.rule(walk.entries["eve"], "disqualify", days=2)
    assert "and against what comes later for 7 days from then on: against what has come" in words_on_appeals(walk)
    assert all(each in words_on_appeals(walk, shown=False) for each in (general, late))
    assert late in publication_lead(walk)
    walk.arena.publish(final=False, days=7.1)
    assert words_on_appeals(walk).startswith("Teams may appeal against what comes later for 7 days")
    assert general not in words_on_appeals(walk, shown=False)
    assert late in words_on_appeals(walk, shown=False)
    assert late in publication_lead(walk)


def test_pages_name_no_date_once_nothing_can_be_appealed(service: Service) -> None:
    walk = Walk(service)
    walk.change(opens_at=-30, closes_at=-20)
    walk.arena.publish(final=False, days=7.1)
    assert words_on_appeals(walk) == "Teams may appeal against what comes later for 7 days from then on."
    assert "Teams may appeal" not in publication_lead(walk)


def words_on_appeals(walk: Walk, *, shown: bool = True) -> str:
    """What the private board's notice says of appeals: as it is shown, or with its elements."""
    enter(walk.service, None)
    page = walk.page("")
    assert re.search(r'aria-current="page">\s*Provisional</a>.*>\s*Public</a>', page, re.DOTALL)
    notice = page[page.index("This board is provisional") :].partition("</p>")[0]
    words = re.sub(r"<[^>]*>", "", notice) if shown else notice
    return " ".join(words[words.index("Teams may appeal") :].split())


def publication_lead(walk: Walk) -> str:
    """How the page of publication begins."""
    page = walk.organizers_page("/publication")
    return page[page.index("The provisional board is published.") :].partition("</p>")[0]


def test_a_penalty_that_a_ruling_lets_stand_can_be_appealed_for_as_long(service: Service) -> None:
    """Bob's penalty was waived while the provisional board was public; a ruling of its last day ends that."""
    walk = Walk(service)
    walk.change(opens_at=-30, closes_at=-20)
    walk.arena.rule(walk.entries["bob"], "waive", days=10)
    walk.arena.publish(final=False, days=7.1)
    appeals = "Teams had time to appeal against the provisional board: 1 open"
    assert rule(walk.arena, walk.entries["eve"], "keep").status_code == 201
    assert appeals not in walk.open_points(), "she has no penalty"
    assert rule(walk.arena, walk.entries["bob"], "keep").status_code == 201
    newest = service.call("bob", "GET", "/notices").json()["notices"][0]
    assert f"until {walk.arena.now + timedelta(days=7):%Y-%m-%d}" in newest["body"]
    assert appeals in walk.open_points(), "he was told that he has seven days"
    assert rule(walk.arena, walk.entries["bob"], "waive").status_code == 201
    assert appeals not in walk.open_points()
    assert rule(walk.arena, walk.entries["bob"], "keep").status_code == 201
    assert walk.rebut("bob").json()["track"] == "private"


def test_what_follows_a_withdrawal_can_be_appealed_before_the_final_board(service: Service) -> None:
    """Whoever is disqualified then was told of an appeal once the provisional board is published: it has to come."""
    walk = Walk(service)
    walk.change(opens_at=-30, closes_at=-20)
    walk.arena.publish(final=False, days=8.5)
    walk.arena.publish(days=1)
    walk.arena.publish(published=False)
    appeals = "Teams had time to appeal against the provisional board: 1 open"
    assert appeals not in walk.open_points()
    assert "Publish the final board" in walk.organizers_page("/publication")
    assert rule(walk.arena, walk.entries["eve"], "disqualify").status_code == 201
    newest = service.call("eve", "GET", "/notices").json()["notices"][0]
    assert newest["body"].endswith("on the page of the entry after the provisional board is published.")
    assert appeals in walk.open_points()
    page = walk.organizers_page("/publication")
    assert "Publish the provisional board" in page
    assert "something changed after it" in walk.organizers_page("/publication?final=true")
    assert slug_of(walk.rebut("eve")) == (409, "appeals-not-begun")
    enter(service, "eve")
    own = service.http.get(f"/submissions/{walk.entries['eve'].id}", headers={"Accept": "text/html"}).text
    assert "again once the provisional board is published." in own
    assert "You can write one from" not in own, "that time is over"
    assert walk.publish(published=True, final=False, override="-").status_code == 201
    assert walk.rebut("eve").status_code == 201


APPEAL_DAYS = 7


@pytest.fixture
def walk(service: Service) -> Walk:
    """Ada is penalised on both tracks, Bob on the private one, Eve on none; each has an address."""
    walk = Walk(service)
    walk.change(opens_at=-30, closes_at=-20)
    with walk.arena.begin() as session:
        for handle in ("ada", "bob", "eve"):
            session.query(Account).filter_by(handle=handle).one().email = f"{handle}@example.org"
    return walk


def told(walk: Walk, who: str) -> list[Any]:
    """The notices of rulings and penalties, newest first."""
    listed = walk.service.call(who, "GET", "/notices").json()["notices"]
    return [each for each in listed if each["kind"] == "ruling"]


def mailed(walk: Walk, who: str) -> list[str]:
    with walk.arena.begin() as session:
        mails = session.query(Mail).filter_by(recipient=f"{who}@example.org").order_by(Mail.id.desc())
        return [mail.body for mail in mails]


def assert_until(words: str, ends: datetime) -> None:
    """The words name a moment, in UTC, at most a minute from ``ends``."""
    _, _, named = words.partition("until ")
    moment = datetime.strptime(named[:16], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    assert abs(moment - ends) < timedelta(minutes=2), words


def in_a_week() -> datetime:
    return datetime.now(UTC) + timedelta(days=APPEAL_DAYS)


def test_whom_a_threshold_penalises_on_the_last_day_is_told(walk: Walk) -> None:
    walk.arena.publish(final=False, days=6.9)
    assert retune(walk.arena, "private", 0.6).status_code == 201
    assert (told(walk, "ada"), told(walk, "bob")) == ([], []), "they were penalised before"
    (notice,) = told(walk, "eve")
    assert "now penalised on the provisional board" in notice["body"]
    assert "may appeal" in notice["body"]
    assert_until(notice["body"], in_a_week())
    assert_until(mailed(walk, "eve")[0], in_a_week())
    assert notice["link"].endswith("/entries")
    case = walk.service.call("eve", "GET", f"/submissions/{walk.entries['eve'].id}/rulings").json()
    assert datetime.fromisoformat(case["rebuttals_until"]) > in_a_week() - timedelta(minutes=2)
    assert walk.rebut("eve").status_code == 201
    assert retune(walk.arena, "private", 0.1).status_code == 201
    assert len(told(walk, "eve")) == 1, "nobody is penalised by it"


def test_a_threshold_tells_nobody_while_private_scores_are_hidden(walk: Walk) -> None:
    assert retune(walk.arena, "private", 0.6).status_code == 201
    assert retune(walk.arena, "public", 0.6).status_code == 201
    assert told(walk, "eve") == []


def test_a_late_disqualification_says_until_when_it_can_be_appealed(walk: Walk) -> None:
    walk.arena.publish(final=False, days=6.9)
    assert rule(walk.arena, walk.entries["eve"], "disqualify").status_code == 201
    (notice,) = told(walk, "eve")
    assert_until(notice["body"], in_a_week())
    assert_until(mailed(walk, "eve")[0], in_a_week())
    assert rule(walk.arena, walk.entries["eve"], "waive").status_code == 201
    assert "appeal" not in told(walk, "eve")[0]["body"], "there is nothing to appeal against"
    teams = walk.service.call("organizer", "GET", f"{walk.path}/teams").json()["teams"]
    bob = next(team["id"] for team in teams if team["name"].lower() == "bob")
    body = {"kind": "disqualify", "reason": "Copied."}
    assert walk.service.call("organizer", "POST", f"{walk.path}/teams/{bob}/rulings", json=body).status_code == 201
    assert_until(told(walk, "bob")[0]["body"], in_a_week())


def test_an_early_disqualification_says_when_appeals_are_taken(walk: Walk) -> None:
    with walk.arena.begin() as session:
        session.get_one(Competition, walk.arena.state.competition.id).review_days = 21
    assert rule(walk.arena, walk.entries["bob"], "disqualify").status_code == 201
    assert_until(told(walk, "bob")[0]["body"], walk.arena.now + timedelta(days=1))
    with walk.arena.begin() as session:
        session.get_one(Competition, walk.arena.state.competition.id).review_days = 3
    assert rule(walk.arena, walk.entries["eve"], "disqualify").status_code == 201
    assert "once the provisional board is published" in told(walk, "eve")[0]["body"]


def test_an_entry_that_is_measured_late_can_be_appealed_for_as_long(walk: Walk) -> None:
    """A score that was started again on the provisional board's last day."""
    walk.arena.publish(final=False, days=7.1)
    assert slug_of(walk.rebut("bob")) == (409, "review-over")
    appeals = "Teams had time to appeal against the provisional board: 1 open"
    assert appeals not in walk.open_points()
    with walk.arena.begin() as session:
        at = walk.arena.now - timedelta(hours=1)
        add_measurement(session, walk.arena.state, walk.entries["bob"], fid=1.0, distance=0.2, now=at, kind="private")
    assert appeals in walk.open_points()
    assert walk.rebut("bob").status_code == 201
    assert slug_of(walk.rebut("ada")) == (409, "review-over")
