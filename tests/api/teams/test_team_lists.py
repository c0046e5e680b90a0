"""Organizers and teams: announcements, messages, code requests, rulings on whole teams, lists as CSV."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from sqlalchemy import insert

from api.competitions.announcements.pages import NAMESPACE
from scorer.db.tables import AuditEntry, CodeRequest, Delivery, Mail, Submission
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service, read_problem
from tests.factories import NOTEBOOK, noise_images

__all__ = ["terminal"]


@pytest.fixture
def slug(service: Service) -> str:
    """A competition with rules that Ada, Bob and Eve have accepted, and with the reviewer Rita."""
    made = service.competition(rules="Be fair.", medals={"gold": 1, "silver": 0, "bronze": 0})
    version = service.call("eve", "GET", f"/competitions/{made}").json()["rules_sha256"]
    for who in ("ada", "bob", "eve"):
        service.call(who, "PUT", f"/competitions/{made}/rules-acceptance", json={"rules_sha256": version})
    service.hire("rita")
    return made


def subjects(service: Service, who: str) -> list[str]:
    return [notice["subject"] for notice in service.call(who, "GET", "/notices").json()["notices"]]


def fetch_teams(service: Service, slug: str, **params: Any) -> list[Any]:
    listed: list[Any] = service.call("organizer", "GET", f"/competitions/{slug}/teams", params=params).json()["teams"]
    return listed


def test_a_text_with_many_brackets_is_refused(service: Service, slug: str) -> None:
    """Rendering such a text would take time on every page view."""
    words = {"title": "News", "text": "[" * 1001}
    answer = service.call("organizer", "POST", f"/competitions/{slug}/announcements", json=words)
    assert (answer.status_code, answer.json()["title"]) == (
        422,
        "The text has 1,001 opening brackets. Use at most 1,000.",
    )
    answer = service.call("organizer", "PATCH", f"/competitions/{slug}", json={"rules": "![" * 25_000})
    assert answer.status_code == 422
    assert "The text has 25,000 opening brackets" in answer.text
    assert service.call("organizer", "PATCH", f"/competitions/{slug}", json={"rules": "[" * 1000}).status_code == 200


def test_announcements_reach_all_participants(service: Service, slug: str) -> None:
    path = f"/competitions/{slug}/announcements"
    service.scored("ada", slug, noise_images(10))
    with service.context.sessions.begin() as session:
        session.query(Submission).one().account.email = "ada@example.org"
    assert service.browse("ada", "POST", "/webhooks", json={"url": "https://hooks.example.org/a"}).status_code == 201
    news = {"title": "The close has moved", "text": "It is *Friday*."}
    assert read_problem(service.call("rita", "POST", path, json=news)) == (403, "wrong-role")
    assert service.call("organizer", "POST", path, json=news | {"text": " "}).status_code == 422
    made = service.call("organizer", "POST", path, json=news)
    assert made.status_code == 201, made.text
    service.call("organizer", "POST", path, json={"title": "Second", "text": "Later."})
    listed = service.call(None, "GET", path).json()["announcements"]
    assert [announcement["title"] for announcement in listed] == ["Second", "The close has moved"]
    assert service.call(None, "GET", path, params={"after": 0}).json()["announcements"] == listed
    for who in ("ada", "eve", "rita", "organizer"):
        assert subjects(service, who)[:2] == ["A competition: Second", "A competition: The close has moved"], who
    assert subjects(service, "bob")[:1] == ["A competition: Second"], "bob has accepted the rules"
    assert subjects(service, "admin") == []
    with service.context.sessions() as session:
        (mail, _) = session.query(Mail).order_by(Mail.id)
        assert (mail.recipient, "It is *Friday*." in mail.body) == ("ada@example.org", True)
        assert session.query(Delivery).count() == 2
        assert session.query(AuditEntry).filter_by(action="announcement.made").count() == 2

    feed = service.http.get(f"{path}.atom")
    assert feed.headers["content-type"] == "application/atom+xml"
    entries = ET.fromstring(feed.content).findall(f"{{{NAMESPACE}}}entry")
    assert [entry.findtext(f"{{{NAMESPACE}}}title") for entry in entries] == ["Second", "The close has moved"]
    page = service.http.get(f"/competitions/{slug}", headers={"Accept": "text/html"})
    assert page.text.index("The close has moved") < page.text.index('id="leaderboard"')


def test_a_draft_has_no_announcements(service: Service) -> None:
    draft = service.competition(opens_at=None)
    news = {"title": "The close has moved", "text": "It is *Friday*."}
    refused = service.call("organizer", "POST", f"/competitions/{draft}/announcements", json=news)
    assert read_problem(refused) == (409, "not-open")
    assert service.http.get(f"/competitions/{draft}/announcements.atom").status_code == 404


def test_a_message_to_a_team_stays_on_record(service: Service, slug: str) -> None:
    for who, seed in (("ada", 10), ("bob", 11)):
        service.scored(who, slug, noise_images(seed))
    ada, bob = fetch_teams(service, slug)
    path = f"/competitions/{slug}/teams/{ada['id']}/messages"
    assert read_problem(service.call("ada", "POST", path, json={"text": "Hi."})) == (403, "wrong-role")
    assert service.call("organizer", "POST", path, json={"text": "Which data?"}).status_code == 201
    unknown = service.call("organizer", "POST", f"/competitions/{slug}/teams/999999/messages", json={"text": "Hi."})
    assert read_problem(unknown) == (404, "no-team")
    assert subjects(service, "ada")[0] == "A competition: message to Ada"
    assert "A competition: message to Ada" not in subjects(service, "bob")
    own = f"/competitions/{slug}/team/messages"
    assert [(message["text"], message["author"]) for message in service.call("ada", "GET", own).json()["messages"]] == [
        ("Which data?", None)
    ]
    assert service.call("bob", "GET", own).json()["messages"] == []
    assert service.call("organizer", "GET", path).json()["messages"][0]["author"] == "organizer"
    with service.context.sessions() as session:
        logged = session.query(AuditEntry).filter_by(action="message.sent").one()
        assert (logged.subject, logged.after) == (f"team:{slug}/{ada['id']}", {"team": "Ada", "text": "Which data?"})
    # After a merge, all members see the message with the merged team.
    proposed = service.call("bob", "POST", f"/competitions/{slug}/team/invitations", json={"team": "Ada"})
    answer = f"/competitions/{slug}/invitations/{proposed.json()['id']}/answer"
    assert service.call("ada", "PUT", answer, json={"accept": True}).status_code == 200
    (merged,) = fetch_teams(service, slug)
    assert (merged["id"], merged["submissions"]) == (bob["id"], 2)
    assert [member["handle"] for member in merged["members"]] == ["bob", "ada"]
    assert [message["text"] for message in service.call("bob", "GET", own).json()["messages"]] == ["Which data?"]


def test_code_can_be_requested_after_the_close(service: Service, slug: str) -> None:
    entry = service.scored("ada", slug, noise_images(10))["id"]
    code, wanted = f"/submissions/{entry}/code", f"/submissions/{entry}/code-request"
    service.close(slug)
    assert read_problem(service.call("ada", "PUT", code, content=NOTEBOOK)) == (409, "closed")
    until = datetime.now(UTC) + timedelta(days=3)
    body = {"until": until.isoformat(), "text": "The training script, please."}
    assert read_problem(service.call("rita", "PUT", wanted, json=body)) == (403, "wrong-role")
    assert read_problem(service.call("ada", "PUT", wanted, json=body)) == (403, "wrong-role")
    past = body | {"until": (datetime.now(UTC) - timedelta(minutes=1)).isoformat()}
    assert read_problem(service.call("organizer", "PUT", wanted, json=past)) == (422, "bad-deadline")
    assert service.call("organizer", "PUT", wanted, json=body).status_code == 200
    assert subjects(service, "ada")[0].startswith("A competition: code requested for")
    view = service.call("ada", "GET", f"/submissions/{entry}").json()
    assert (datetime.fromisoformat(view["code_wanted_until"]), view["code_request"]) == (until, body["text"])
    assert service.call("ada", "PUT", code, content=NOTEBOOK).status_code == 200
    assert service.call("rita", "GET", code).content == NOTEBOOK
    with service.context.sessions.begin() as session:  # a deadline in the past
        session.execute(
            insert(CodeRequest).values(  # the newest request counts
                submission_ref=session.query(Submission.ref).filter_by(id=entry).scalar_subquery(),
                until=datetime.now(UTC) - timedelta(seconds=1), text="", author_id=1, created_at=datetime.now(UTC),
            )
        )  # fmt: skip
    assert read_problem(service.call("ada", "PUT", code, content=NOTEBOOK)) == (409, "closed")


def test_a_ruling_can_cover_all_entries_of_a_team(service: Service, slug: str) -> None:
    entries = [service.scored("ada", slug, noise_images(seed))["id"] for seed in (10, 11)]
    other = service.scored("bob", slug, noise_images(12))["id"]
    ada, _ = fetch_teams(service, slug)
    path = f"/competitions/{slug}/teams/{ada['id']}/rulings"
    ruling = {"kind": "disqualify", "reason": "Two accounts of one person."}
    assert read_problem(service.call("rita", "POST", path, json=ruling)) == (403, "wrong-role")
    made = service.call("organizer", "POST", path, json=ruling)
    assert [ruling_view["kind"] for ruling_view in made.json()] == ["disqualify"] * 2
    board = service.call(None, "GET", f"/competitions/{slug}/leaderboard").json()
    assert [place["team"] for place in board["entries"]] == ["Bob"]
    notices = [subject for subject in subjects(service, "ada") if "ruling" in subject]
    assert notices == ["A competition: a ruling on all entries of Ada"], "one notice"
    for entry, number in ((entries[0], 1), (entries[1], 1), (other, 0)):
        rulings = service.call("organizer", "GET", f"/submissions/{entry}/rulings").json()["rulings"]
        assert len(rulings) == number
    service.call("eve", "POST", f"/competitions/{slug}/teams", json={"name": "Nothing submitted"})
    (empty,) = fetch_teams(service, slug, search="eve")
    path = f"/competitions/{slug}/teams/{empty['id']}/rulings"
    assert read_problem(service.call("organizer", "POST", path, json=ruling)) == (409, "no-entries")
    assert subjects(service, "eve") == []


def test_lists_for_organizers_name_members_and_entries(service: Service, slug: str) -> None:
    entry = service.scored("ada", slug, noise_images(10))["id"]
    label = f"/competitions/{slug}/submissions/{entry}/label"
    service.call("organizer", "PUT", label, json={"label": "legitimate"})
    service.call("bob", "POST", f"/competitions/{slug}/teams", json={"name": "=Short Leash"})
    assert [team["name"] for team in fetch_teams(service, slug, search="BOB")] == ["=Short Leash"]
    assert [team["name"] for team in fetch_teams(service, slug, limit=1)] == ["Ada"]
    answer = service.call("organizer", "GET", f"/competitions/{slug}/teams", params={"format": "csv"})
    lines = list(csv.DictReader(io.StringIO(answer.text)))
    assert [(line["team"], line["handle"], line["leads"], line["submissions"]) for line in lines] == [
        ("Ada", "ada", "True", "1"),
        ("'=Short Leash", "bob", "True", "0"),
    ]
    for who in ("ada", "rita", None):
        assert service.call(who, "GET", f"/competitions/{slug}/teams").status_code in {401, 403}
    board = f"/competitions/{slug}/leaderboard?format=csv"
    (line,) = csv.DictReader(io.StringIO(service.call("organizer", "GET", board).text))
    assert (line["team"], line["submission_id"], line["label"]) == ("Ada", entry, "legitimate")
    for who in ("ada", "rita", None):
        assert "submission_id" not in service.call(who, "GET", board).text


def test_everybody_who_judges_is_notified_of_rebuttals(service: Service, slug: str) -> None:
    service.hire("olga", role="organizer")
    entry = service.scored("ada", slug, noise_images(10))["id"]
    ruling = {"kind": "disqualify", "reason": "It copies."}
    assert service.call("organizer", "POST", f"/submissions/{entry}/rulings", json=ruling).status_code == 201
    service.close(slug, ago=timedelta(minutes=1))
    assert service.call("ada", "POST", f"/submissions/{entry}/rebuttals", json={"text": "It does not."}).is_success
    for who in ("organizer", "olga", "rita"):
        assert "New rebuttal in A competition" in subjects(service, who), who
    for who in ("admin", "bob", "ada"):
        assert "New rebuttal in A competition" not in subjects(service, who), who


def test_admins_are_notified_of_rebuttals_if_there_is_no_organizer(service: Service, slug: str) -> None:
    entry = service.scored("ada", slug, noise_images(10))["id"]
    ruling = {"kind": "disqualify", "reason": "It copies."}
    assert service.call("organizer", "POST", f"/submissions/{entry}/rulings", json=ruling).status_code == 201
    service.close(slug, ago=timedelta(minutes=1))
    assert service.call("admin", "DELETE", f"/competitions/{slug}/roles/organizer").status_code == 204
    assert service.call("ada", "POST", f"/submissions/{entry}/rebuttals", json={"text": "It does not."}).is_success
    assert "New rebuttal in A competition" in subjects(service, "admin")
    assert "New rebuttal in A competition" not in subjects(service, "organizer")


def test_the_commands_for_teams(service: Service, slug: str, terminal: CliTerminal) -> None:
    entry = service.scored("ada", slug, noise_images(10))["id"]

    def run(*words: object) -> str:
        result = terminal.run("admin", *words, who="organizer")
        assert result.status == 0, result.err
        return result.out

    assert "News" in run("competition", "announce", slug, "News", "The close stays.")
    (team,) = fetch_teams(service, slug)
    listed = json.loads(run("team", "list", slug, "--json"))
    assert [(row["team_id"], row["team"], row["handle"]) for row in listed] == [(team["id"], "Ada", "ada")]
    assert run("team", "list", slug, "--format", "csv").startswith("team_id,team,submissions,handle")
    assert run("team", "message", slug, team["id"], "Well done.") == "Message sent.\n"
    later = datetime.now(UTC) + timedelta(days=2)
    asked = run("submission", "ask-code", entry, f"{later:%Y-%m-%dT%H:%M:%S}")
    assert f"The team can attach it until {later:%Y-%m-%d %H:%M} UTC." in asked
    assert run("team", "rule", slug, team["id"], "keep", "--reason", "It is fine.") == "1 submission: keep.\n"
