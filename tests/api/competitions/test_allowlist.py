"""Allowlists: an invitation-only competition admits only invited people, on every path."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scorer.accounts import api_tokens
from scorer.db.tables import Account, AllowlistEntry, Mail, Notice
from tests.api.accounts.grace import confirm, link_in, mails, sign_up
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service, refused
from tests.api.kaggle.kaggle_client import refusal_message, rpc
from tests.api.submissions.tus import create as create_upload
from tests.api.submissions.tus import stored
from tests.factories import make_zip, noise_images

__all__ = ["terminal"]
ZIP = make_zip(noise_images(9))
RULES = "Be fair."


def invite(service: Service, slug: str, *who: str, by: str = "organizer") -> list[str]:
    """Invite people and return the new allowlist."""
    answer = service.call(by, "POST", f"/competitions/{slug}/allowlist", json={"who": list(who)})
    assert answer.status_code == 200, answer.text
    return [entry["who"] for entry in answer.json()["allowlist"]]


def accept(service: Service, slug: str, rules: str, who: str = "ada") -> Any:
    return service.call(who, "PUT", f"/competitions/{slug}/rules-acceptance", json={"rules_sha256": rules})


def test_only_invited_people_can_enter(service: Service) -> None:
    slug = service.competition(invitation_only=True, rules=RULES)
    path = f"/competitions/{slug}"
    rules = service.call(None, "GET", path).json()["rules_sha256"]
    refused(service.submit("ada", slug, ZIP), 403, "not-invited")
    assert stored(service, "submissions") == [], "refused before a byte was read"
    refused(create_upload(service, slug, 1000), 403, "not-invited")
    refused(accept(service, slug, rules), 403, "not-invited")
    refused(service.call("ada", "POST", f"{path}/teams", json={"name": "Mine"}), 403, "not-invited")
    refused(service.call("ada", "POST", f"{path}/team/invitations", json={"handle": "bob"}), 403, "not-invited")
    start: dict[str, Any] = {
        "competitionName": slug,
        "contentLength": len(ZIP),
        "fileName": "a.zip",
        "lastModifiedEpochSeconds": 1,
    }
    assert "by invitation" in refusal_message(rpc(service, "StartSubmissionUpload", **start))
    competition = service.call("ada", "GET", path).json()
    assert (competition["invitation_only"], competition["invited"]) == (True, False)
    assert service.submit("organizer", slug, ZIP, benchmark="Line").status_code == 202

    assert invite(service, slug, "ADA") == ["ada"]
    assert service.notices("ada")[0]["subject"] == "You are invited to A competition"
    assert service.call("ada", "GET", path).json()["invited"] is True
    refused(service.submit("ada", slug, ZIP), 403, "rules-not-accepted")
    assert accept(service, slug, rules).status_code == 200
    assert service.submit("ada", slug, ZIP).status_code == 202
    # The team of an invited person can only take invited people.
    asked = service.call("ada", "POST", f"{path}/team/invitations", json={"handle": "bob"})
    assert asked.status_code == 201, asked.text
    (received,) = service.call("bob", "GET", f"{path}/invitations").json()["invitations"]
    answer = f"{path}/invitations/{received['id']}/answer"
    refused(service.call("bob", "PUT", answer, json={"accept": True}), 403, "not-invited")
    invite(service, slug, "bob")
    accept(service, slug, rules, "bob")
    assert service.call("bob", "PUT", answer, json={"accept": True}).status_code == 200


def test_an_invitation_sends_one_notice_and_can_be_revoked(service: Service) -> None:
    slug = service.competition(invitation_only=True)
    path = f"/competitions/{slug}/allowlist"
    assert invite(service, slug, "ada", "bob", "ada") == ["bob", "ada"]
    assert invite(service, slug, "bob") == ["bob", "ada"]
    assert len(service.notices("bob")) == 1
    assert service.submit("ada", slug, ZIP).status_code == 202
    assert service.call("organizer", "DELETE", f"{path}/Ada").status_code == 204
    refused(service.call("organizer", "DELETE", f"{path}/ada"), 404, "no-allowlist-entry")
    refused(service.submit("ada", slug, make_zip(noise_images(10))), 403, "not-invited")
    assert service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"], (
        "earlier entries stay visible"
    )
    assert invite(service, slug, "ada") == ["ada", "bob"]
    assert service.submit("ada", slug, make_zip(noise_images(10))).status_code == 202
    log = service.call("admin", "GET", "/admin/audit", params={"subject": f"competition:{slug}"}).json()["entries"]
    acts = [
        (entry["action"], (entry["after"] or entry["before"])["who"]) for entry in log if "allowlist" in entry["action"]
    ]
    assert acts == [
        ("allowlist.invited", ["ada"]),
        ("allowlist.withdrawn", "ada"),
        ("allowlist.invited", ["ada", "bob"]),
    ]


def test_a_person_who_confirms_an_invited_address_can_enter(service: Service) -> None:
    slug = service.competition(invitation_only=True)
    assert invite(service, slug, "Grace@Example.org") == ["grace@example.org"]
    (mail,) = mails(service)
    assert (mail.recipient, mail.subject) == ("grace@example.org", "You are invited to A competition")
    assert f"/competitions/{slug}" in mail.body
    invitation = link_in(mail)
    assert sign_up(service, email="grace@example.org", invitation=invitation).status_code == 201
    service.tokens["grace"] = issue_token(service, "grace")
    problem = refused(service.submit("grace", slug, ZIP), 403, "not-invited")
    assert "confirm that address" in problem["title"]
    confirm(service, link_in(mails(service)[-1]))
    assert service.submit("grace", slug, ZIP).status_code == 202
    # Her address is confirmed: she gets a notice, and the organizer's response stays the same.
    other = service.competition(invitation_only=True)
    assert invite(service, other, "grace@example.org") == ["grace@example.org"]
    assert service.notices("grace")[0]["link"] == f"/competitions/{other}"
    assert mails(service)[-1].recipient == "grace@example.org"
    assert "signup" not in mails(service)[-1].body


def issue_token(service: Service, handle: str) -> str:
    """Issue a token for a new account."""
    with service.context.sessions.begin() as session:
        account = session.query(Account).filter_by(handle=handle).one()
        api_tokens.issue(session, account, f"secret-of-{handle}", name="t", now=datetime.now(UTC))
    return f"secret-of-{handle}"


def test_unknown_people_are_refused_and_nobody_is_invited(service: Service) -> None:
    slug = service.competition(invitation_only=True)
    answer = service.call("organizer", "POST", f"/competitions/{slug}/allowlist", json={"who": ["ada", "zoe", "x@y"]})
    problem = refused(answer, 422, "no-such-people")
    assert [fault.split(":")[0] for fault in problem["faults"]] == ["zoe", "x@y"]
    refused(service.call("organizer", "POST", f"/competitions/{slug}/allowlist", json={"who": [" "]}), 422, "nobody")
    with service.context.sessions() as session:
        assert (
            session.query(AllowlistEntry).count() == session.query(Notice).count() == session.query(Mail).count() == 0
        )
    for method in ("GET", "POST"):
        assert service.call("ada", method, f"/competitions/{slug}/allowlist", json={"who": ["ada"]}).status_code == 403


def test_an_organizer_can_open_a_competition_to_everybody(service: Service) -> None:
    slug = service.competition(invitation_only=True)
    refused(service.submit("ada", slug, ZIP), 403, "not-invited")
    opened = service.call("organizer", "PATCH", f"/competitions/{slug}", json={"invitation_only": False})
    assert opened.json()["invitation_only"] is False
    assert service.submit("ada", slug, ZIP).status_code == 202


def test_the_allowlist_commands(service: Service, terminal: CliTerminal, tmp_path: Path) -> None:
    slug = service.competition(invitation_only=True)
    as_organizer = {"who": "organizer"}
    assert terminal.run("submit", slug, _file(tmp_path)).status == 3
    done = terminal.run("admin", "allowlist", "invite", slug, "ada", "new@example.org", **as_organizer)
    assert (done.status, [line.split()[0] for line in done.out.splitlines()]) == (0, ["who", "new@example.org", "ada"])
    listed = terminal.run("admin", "allowlist", "list", slug, "--json", **as_organizer).document
    assert ("ada", "organizer") in [(entry["who"], entry["invited_by"]) for entry in listed]
    assert terminal.run("submit", slug, _file(tmp_path)).status == 0
    assert terminal.run("admin", "allowlist", "remove", slug, "new@example.org", **as_organizer).status == 0
    assert "new@" not in terminal.run("admin", "allowlist", "list", slug, **as_organizer).out
    for content in (b"title = ", b"\xff\xfe"):
        broken = tmp_path / "broken.toml"
        broken.write_bytes(content)
        for command in (("update", slug), ("create",)):
            done = terminal.run("admin", "competition", *command, broken, **as_organizer)
            assert (done.status, "is not TOML" in done.err) == (2, True), done
    from_windows = tmp_path / "from_windows.toml"
    from_windows.write_bytes(b'\xef\xbb\xbftitle = "Dogs"\r\n')
    done = terminal.run("admin", "competition", "update", slug, from_windows, "--json", **as_organizer)
    assert done.document["title"] == "Dogs", done


def _file(folder: Path) -> Path:
    path = folder / "entry.zip"
    path.write_bytes(ZIP)
    return path
