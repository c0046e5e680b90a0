"""Whoever is penalised or disqualified is told that there is an appeal, and until when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scorer.db.tables import Account, Competition, Mail
from tests.api.conftest import Service
from tests.api.review.test_phases import Walk
from tests.api.review.test_published_boards import retune, rule
from tests.api.review.test_review import slug_of
from tests.factories import add_measurement

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
    """A score that was started anew on the provisional board's last day."""
    walk.arena.publish(final=False, days=7.1)
    assert slug_of(walk.rebut("bob")) == (409, "review-over")
    appeals = "Teams could appeal against the provisional board: 1 open"
    assert appeals not in walk.open_points()
    with walk.arena.begin() as session:
        at = walk.arena.now - timedelta(hours=1)
        add_measurement(session, walk.arena.state, walk.entries["bob"], fid=1.0, distance=0.2, now=at, kind="private")
    assert appeals in walk.open_points()
    assert walk.rebut("bob").status_code == 201
    assert slug_of(walk.rebut("ada")) == (409, "review-over")
