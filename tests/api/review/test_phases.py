"""A competition in all phases: permissions, visible data, and notices about appeals."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scorer.db.tables import Account, Competition, Mail
from tests.api.cli_runner import command
from tests.api.conftest import Service, read_problem
from tests.api.leaderboard.arena import Arena, private, ranks, retune, rule
from tests.factories import add_measurement, make_scored
from tests.web.pages import enter

__all__ = ["command"]  # pytest finds the fixture by its name in this module


class Walk:
    """A competition that penalises Ada on both tracks and Bob only on the private track."""

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
        assert read_problem(refused) == (409, "open-points")
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


def test_a_competition_passes_through_all_phases(service: Service, command: Any) -> None:
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
    assert read_problem(walk.private_board("bob")) == (403, "not-published")
    assert retune(walk.arena, "private", 0.3).status_code == 201


def before_the_close(walk: Walk) -> None:
    assert walk.view("organizer")["phase"] == "draft"
    assert walk.service.call(None, "GET", walk.path).status_code == 404
    assert read_problem(walk.publish(published=True, final=False)) == (409, "not-closed")
    walk.change(opens_at=-9)
    assert walk.view()["phase"] == "open"
    assert read_problem(walk.rebut("ada")) == (409, "review-not-begun")
    assert read_problem(walk.publish(published=True, final=False)) == (409, "not-closed")
    assert read_problem(walk.private_board()) == (403, "not-published")


def in_review(walk: Walk) -> None:
    view = walk.view()
    assert (view["phase"], view["appeal_days"]) == ("review", 7)
    assert view["rebuttals_from"] < walk.arena.now.isoformat() < view["rebuttals_until"]
    assert walk.rebut("ada").json()["track"] == "public"
    assert read_problem(walk.rebut("ada")) == (409, "rebutted")
    assert read_problem(walk.rebut("bob")) == (409, "nothing-to-rebut"), "the private penalty is hidden"
    assert read_problem(walk.private_board("bob")) == (403, "not-published")
    assert 'aria-current="step"' in walk.page()
    assert "Rebuttals are accepted until" in walk.page()
    assert "Teams had time to appeal against the provisional board: 1 open" in walk.open_points()
    before_provisional = walk.open_points(final=False)
    assert "The time for rebuttals has ended: 1 open" in before_provisional
    assert not any("provisional" in point for point in before_provisional)


def in_the_provisional_phase(walk: Walk) -> None:
    view = walk.view()
    assert (view["phase"], len(view["tracks"])) == ("provisional", 2)
    assert ranks(walk.private_board().json()) == ["Eve", "Ada", "Bob"]
    assert "This board is provisional" in walk.page("?track=private")
    assert "Rebuttals are accepted until" not in walk.page(), "the appeals of the review phase have ended"
    assert read_problem(walk.publish(published=True, final=False, override="-")) == (409, "no-change")
    for who in ("ada", "bob"):
        assert walk.rebut(who).json()["track"] == "private"
        assert read_problem(walk.rebut(who)) == (409, "rebutted")
    assert read_problem(walk.rebut("eve")) == (409, "nothing-to-rebut")
    evidence = f"/submissions/{walk.entries['bob'].id}/evidence/private"
    assert walk.service.call("bob", "GET", evidence).status_code == 200
    assert walk.service.call("eve", "GET", evidence).status_code == 404
    figure = walk.service.call(None, "GET", f"{walk.path}/insights/fid", params={"track": "private"})
    assert read_problem(figure) == (403, "not-final")


def rulings_and_thresholds_still_count(walk: Walk) -> None:
    assert retune(walk.arena, "private", 0.1).status_code == 201
    assert private(walk.arena) == ["Ada", "Bob", "Eve"]
    moves = walk.service.call(None, "GET", f"{walk.path}/leaderboard/versions").json()
    assert [move["team"] for move in moves["moves"]] == ["Ada", "Bob", "Eve"]
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
    assert read_problem(retune(walk.arena, "private", 0.3)) == (409, "published")
    assert read_problem(rule(walk.arena, walk.entries["bob"], "disqualify")) == (409, "published")
    assert private(walk.arena) == ["Ada", "Bob", "Eve"]
    figure = walk.service.call(None, "GET", f"{walk.path}/insights/fid", params={"track": "private"})
    assert figure.status_code == 200


def test_appeals_end_after_their_days(service: Service) -> None:
    walk = Walk(service)
    walk.change(opens_at=-30, closes_at=-20)
    assert read_problem(walk.rebut("ada")) == (409, "review-over")
    walk.arena.publish(final=False, days=7.1)
    assert read_problem(walk.rebut("bob")) == (409, "review-over")
    walk.arena.publish(final=False, days=6.9)
    assert walk.rebut("bob").status_code == 201
    walk.arena.publish()
    assert read_problem(walk.rebut("ada")) == (409, "review-over")


def test_decisions_on_the_last_day_can_be_appealed_for_seven_days(service: Service) -> None:
    """Teams that are disqualified or penalised on the last day still have time to appeal."""
    walk = Walk(service)
    walk.change(opens_at=-30, closes_at=-20)
    walk.arena.publish(final=False, days=7.1)
    appeals = "Teams had time to appeal against the provisional board: 1 open"
    assert read_problem(walk.rebut("bob")) == (409, "review-over")
    assert appeals not in walk.open_points()
    assert rule(walk.arena, walk.entries["eve"], "disqualify").status_code == 201
    assert appeals in walk.open_points()
    case = walk.service.call("eve", "GET", f"/submissions/{walk.entries['eve'].id}/rulings").json()
    assert case["rebuttals_until"] > (walk.arena.now + timedelta(days=6.9)).isoformat()
    assert walk.rebut("eve").status_code == 201
    assert read_problem(walk.rebut("bob")) == (409, "review-over"), "bob was penalised when the board was published"
    assert retune(walk.arena, "private", 0.3).status_code == 201
    assert walk.rebut("bob").json()["track"] == "private"
    walk.arena.publish()
    assert read_problem(walk.rebut("ada")) == (409, "review-over")


def test_pages_show_until_when_a_late_ruling_can_be_appealed(service: Service) -> None:
    """This holds for the competition's page and the organizers' page of publication."""
    walk = Walk(service)
    walk.change(opens_at=-30, closes_at=-20)
    walk.arena.publish(final=False, days=6)
    general = f'datetime="{walk.arena.now + timedelta(days=1):%Y-%m-%dT%H:%M}'
    late = f'datetime="{walk.arena.now + timedelta(days=5):%Y-%m-%dT%H:%M}'
    assert words_on_appeals(walk).startswith("Teams can appeal until ")
    assert general in words_on_appeals(walk, shown=False)
    assert general in publication_lead(walk)
    walk.arena.rule(walk.entries["eve"], "disqualify", days=2)
    assert "Teams can appeal against a later decision within 7 days, currently until" in words_on_appeals(walk)
    assert all(time in words_on_appeals(walk, shown=False) for time in (general, late))
    assert late in publication_lead(walk)
    walk.arena.publish(final=False, days=7.1)
    assert words_on_appeals(walk).startswith("Teams can appeal against a later decision within 7 days")
    assert general not in words_on_appeals(walk, shown=False)
    assert late in words_on_appeals(walk, shown=False)
    assert late in publication_lead(walk)


def test_pages_show_no_date_if_nothing_can_be_appealed(service: Service) -> None:
    walk = Walk(service)
    walk.change(opens_at=-30, closes_at=-20)
    walk.arena.publish(final=False, days=7.1)
    assert words_on_appeals(walk) == "Teams can appeal against a later decision within 7 days."
    assert "Teams can appeal" not in publication_lead(walk)


def words_on_appeals(walk: Walk, *, shown: bool = True) -> str:
    """Return the private board's notice on appeals: the text, or the HTML if ``shown`` is false."""
    enter(walk.service, None)
    page = walk.page("")
    assert re.search(r'aria-current="page">\s*Provisional</a>.*>\s*Public</a>', page, re.DOTALL)
    notice = page[page.index("This board is provisional") :].partition("</p>")[0]
    words = re.sub(r"<[^>]*>", "", notice) if shown else notice
    return " ".join(words[words.index("Teams can appeal") :].split())


def publication_lead(walk: Walk) -> str:
    """Return the first paragraph of the page of publication."""
    page = walk.organizers_page("/publication")
    return page[page.index("The provisional board is published.") :].partition("</p>")[0]


def test_a_penalty_that_a_ruling_restores_can_be_appealed(service: Service) -> None:
    """Bob's penalty was waived before the provisional board. A ruling on its last day ends the waiver."""
    walk = Walk(service)
    walk.change(opens_at=-30, closes_at=-20)
    walk.arena.rule(walk.entries["bob"], "waive", days=10)
    walk.arena.publish(final=False, days=7.1)
    appeals = "Teams had time to appeal against the provisional board: 1 open"
    assert rule(walk.arena, walk.entries["eve"], "keep").status_code == 201
    assert appeals not in walk.open_points(), "eve has no penalty"
    assert rule(walk.arena, walk.entries["bob"], "keep").status_code == 201
    newest = service.call("bob", "GET", "/notices").json()["notices"][0]
    assert f"until {walk.arena.now + timedelta(days=7):%Y-%m-%d}" in newest["body"]
    assert appeals in walk.open_points(), "the notice gives bob seven days"
    assert rule(walk.arena, walk.entries["bob"], "waive").status_code == 201
    assert appeals not in walk.open_points()
    assert rule(walk.arena, walk.entries["bob"], "keep").status_code == 201
    assert walk.rebut("bob").json()["track"] == "private"


def test_a_decision_after_a_withdrawal_can_be_appealed(service: Service) -> None:
    """The notice promises an appeal after the provisional board, so that board must be published again."""
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
    assert newest["body"].endswith("on the entry's page, after the provisional board is published.")
    assert appeals in walk.open_points()
    page = walk.organizers_page("/publication")
    assert "Publish the provisional board" in page
    assert "something has changed since" in walk.organizers_page("/publication?final=true")
    assert read_problem(walk.rebut("eve")) == (409, "appeals-not-begun")
    enter(service, "eve")
    own = service.http.get(f"/submissions/{walk.entries['eve'].id}", headers={"Accept": "text/html"}).text
    assert "again once the provisional board is published." in own
    assert "You can write one from" not in own, "the time of the review phase is over"
    assert walk.publish(published=True, final=False, override="-").status_code == 201
    assert walk.rebut("eve").status_code == 201


APPEAL_DAYS = 7


@pytest.fixture
def walk(service: Service) -> Walk:
    """A closed competition. Ada is penalised on both tracks, Bob on the private one, Eve on none; all get mails."""
    walk = Walk(service)
    walk.change(opens_at=-30, closes_at=-20)
    with walk.arena.begin() as session:
        for handle in ("ada", "bob", "eve"):
            session.query(Account).filter_by(handle=handle).one().email = f"{handle}@example.org"
    return walk


def penalty_notices(walk: Walk, who: str) -> list[Any]:
    """Return a person's notices about rulings and penalties, newest first."""
    listed = walk.service.call(who, "GET", "/notices").json()["notices"]
    return [notice for notice in listed if notice["kind"] == "ruling"]


def mailed(walk: Walk, who: str) -> list[str]:
    with walk.arena.begin() as session:
        mails = session.query(Mail).filter_by(recipient=f"{who}@example.org").order_by(Mail.id.desc())
        return [mail.body for mail in mails]


def assert_until(words: str, ends: datetime) -> None:
    """Require that the words name a time in UTC, less than two minutes from ``ends``."""
    _, _, named = words.partition("until ")
    moment = datetime.strptime(named[:16], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
    assert abs(moment - ends) < timedelta(minutes=2), words


def in_a_week() -> datetime:
    return datetime.now(UTC) + timedelta(days=APPEAL_DAYS)


def test_a_team_that_a_late_threshold_penalises_is_notified(walk: Walk) -> None:
    walk.arena.publish(final=False, days=6.9)
    assert retune(walk.arena, "private", 0.6).status_code == 201
    assert (penalty_notices(walk, "ada"), penalty_notices(walk, "bob")) == ([], []), "both were already penalised"
    (notice,) = penalty_notices(walk, "eve")
    assert "now penalises more of your team's entries" in notice["body"]
    assert "can appeal once per entry, on the entry's page, until" in notice["body"]
    assert_until(notice["body"], in_a_week())
    assert_until(mailed(walk, "eve")[0], in_a_week())
    assert notice["link"].endswith("/entries")
    case = walk.service.call("eve", "GET", f"/submissions/{walk.entries['eve'].id}/rulings").json()
    assert datetime.fromisoformat(case["rebuttals_until"]) > in_a_week() - timedelta(minutes=2)
    assert walk.rebut("eve").status_code == 201
    assert retune(walk.arena, "private", 0.1).status_code == 201
    assert len(penalty_notices(walk, "eve")) == 1, "the new threshold penalises nobody"


def test_a_threshold_notifies_nobody_while_private_scores_are_hidden(walk: Walk) -> None:
    assert retune(walk.arena, "private", 0.6).status_code == 201
    assert retune(walk.arena, "public", 0.6).status_code == 201
    assert penalty_notices(walk, "eve") == []


def test_the_notice_of_a_late_disqualification_has_the_deadline(walk: Walk) -> None:
    walk.arena.publish(final=False, days=6.9)
    assert rule(walk.arena, walk.entries["eve"], "disqualify").status_code == 201
    (notice,) = penalty_notices(walk, "eve")
    assert_until(notice["body"], in_a_week())
    assert_until(mailed(walk, "eve")[0], in_a_week())
    assert rule(walk.arena, walk.entries["eve"], "waive").status_code == 201
    assert "can appeal" not in penalty_notices(walk, "eve")[0]["body"], "there are no grounds for an appeal"
    teams = walk.service.call("organizer", "GET", f"{walk.path}/teams").json()["teams"]
    bob = next(team["id"] for team in teams if team["name"].lower() == "bob")
    body = {"kind": "disqualify", "reason": "Copied."}
    assert walk.service.call("organizer", "POST", f"{walk.path}/teams/{bob}/rulings", json=body).status_code == 201
    assert_until(penalty_notices(walk, "bob")[0]["body"], in_a_week())


def test_the_notice_of_an_early_disqualification_has_the_start(walk: Walk) -> None:
    with walk.arena.begin() as session:
        session.get_one(Competition, walk.arena.state.competition.id).review_days = 21
    assert rule(walk.arena, walk.entries["bob"], "disqualify").status_code == 201
    assert_until(penalty_notices(walk, "bob")[0]["body"], walk.arena.now + timedelta(days=1))
    with walk.arena.begin() as session:
        session.get_one(Competition, walk.arena.state.competition.id).review_days = 3
    assert rule(walk.arena, walk.entries["eve"], "disqualify").status_code == 201
    assert "after the provisional board is published" in penalty_notices(walk, "eve")[0]["body"]


def test_a_late_measurement_can_be_appealed_for_seven_days(walk: Walk) -> None:
    """For example, a failed score that was requeued on the last day of appeals."""
    walk.arena.publish(final=False, days=7.1)
    assert read_problem(walk.rebut("bob")) == (409, "review-over")
    appeals = "Teams had time to appeal against the provisional board: 1 open"
    assert appeals not in walk.open_points()
    with walk.arena.begin() as session:
        at = walk.arena.now - timedelta(hours=1)
        add_measurement(session, walk.arena.state, walk.entries["bob"], fid=1.0, distance=0.2, now=at, kind="private")
    assert appeals in walk.open_points()
    assert walk.rebut("bob").status_code == 201
    assert read_problem(walk.rebut("ada")) == (409, "review-over")
