"""The export of personal data, and the data that stays after an account is deleted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyotp
import pytest
from sqlalchemy import Column, LargeBinary

from deploy.cli import admin
from scorer.accounts import second_factors, sessions
from scorer.db import personal_data
from scorer.db.tables import (
    Account,
    Competition,
    CompetitionRole,
    Delivery,
    Identity,
    KnownDevice,
    OneTimeLink,
    Rater,
    RatingStudy,
    SecondFactor,
    Submission,
    Table,
    TeamInvitation,
    Token,
    Upload,
    Webhook,
    WebSession,
)
from tests.api.accounts.grace import GOOD, browse, confirm, link_in, mails, sign_in, sign_up
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service, audit_entries, refused, rows_by_table
from tests.api.teams.membership import ask, join, members, team
from tests.factories import give_role, noise_images
from worker.maintenance import cleanup

__all__ = ["terminal"]  # pytest finds the fixture by its name in this module
HANDLE, NAME, EMAIL = "gracehopper", "Grace Hopper", "gracehopper@example.org"
WITHOUT_HER_DATA = {
    "publications": "an official act, in the audit log",
    "reference_sets": "an official act, in the audit log",
    "competition_references": "an official act, in the audit log",
    "data_files": "an official act, in the audit log",
    "releases": "an official act, in the audit log",
    "release_acts": "an official act, in the audit log",
    "rating_studies": "an official act, in the audit log",
    "pauses": "an official act, in the audit log",
    "rescoring_campaigns": "an official act, in the audit log",
    "rescoring_acts": "an official act, in the audit log",
    "announcements": "an official act, in the audit log",
    "team_messages": "an official act, in the audit log",
    "code_requests": "an official act, in the audit log",
    "review_claims": "the entry a reviewer got last; deleted after ten minutes",
    "labels": "an official act, in the audit log",
    "early_labels": "an official act, in the audit log",
    "rulings": "an official act, in the audit log",
    "rebuttal_answers": "an official act, in the audit log",
    "thresholds": "an official act, in the audit log",
    "comparisons": "an official act, in the audit log",
    "shown_tracks": "an official act, in the audit log",
    "team_merges": "the resulting memberships are in the data",
}
"""Tables that refer to people, and why a person's data leaves them out."""


def arrive(service: Service) -> tuple[str, str]:
    """Give Grace a confirmed address, a token, a webhook and a session. Return the session's cookie and CSRF token."""
    assert sign_up(service, handle=HANDLE, name=NAME, email=EMAIL).status_code == 201
    confirm(service, link_in(mails(service)[-1]))
    assert sign_in(service, HANDLE, "wrong").status_code == 401
    csrf = sign_in(service, HANDLE, **{"User-Agent": "hoppers-browser"}).json()["csrf_token"]
    service.tokens[HANDLE] = browse(service, "POST", "/tokens", csrf, json={"name": "hoppers-laptop"}).json()["token"]
    hook = browse(service, "POST", "/webhooks", csrf, json={"url": "https://gracehopper.example.org/"})
    assert hook.status_code == 201
    cookie = service.http.cookies["kennel"]
    service.http.cookies.clear()
    return cookie, csrf


def by_session(service: Service, cookie: str, csrf: str, method: str, path: str, **options: Any) -> Any:
    """Send a request of the browser with this cookie."""
    service.http.cookies.set("kennel", cookie)
    answer = browse(service, method, path, csrf, **options)
    service.http.cookies.clear()
    return answer


def delete(service: Service, cookie: str, csrf: str, **changes: str) -> Any:
    """Try to delete Grace's account."""
    body = {"handle": HANDLE, "password": GOOD, **changes}
    return by_session(service, cookie, csrf, "POST", "/me/deletion", json=body)


def everything(service: Service, *, but: str = "") -> str:
    """Return the rows of all tables except ``but``, as text in lower case."""
    return "\n".join(rows for name, rows in rows_by_table(service).items() if name != but)


def load_grace_id(service: Service) -> int:
    """Return the id of Grace's account."""
    with service.context.sessions() as session:
        return session.query(Account).filter_by(handle=HANDLE).one().id


# Export


def test_people_can_export_everything_about_them(service: Service, terminal: CliTerminal) -> None:
    cookie, csrf = arrive(service)
    slug = service.competition(rules="Be kind.")
    rules = service.call("ada", "GET", f"/competitions/{slug}").json()["rules_sha256"]
    for who in (HANDLE, "ada"):
        service.call(who, "PUT", f"/competitions/{slug}/rules-acceptance", json={"rules_sha256": rules})
    entry = service.scored(HANDLE, slug, noise_images(10), note="my first")["id"]
    others = service.scored("ada", slug, noise_images(11), note="a secret of ada's")["id"]

    answer = by_session(service, cookie, csrf, "GET", "/me/data")
    assert answer.headers["content-disposition"] == f'attachment; filename="kennel-{HANDLE}.json"'
    assert answer.headers["cache-control"] == "no-store"
    data = answer.json()
    assert (data["account"][0]["handle"], data["account"][0]["email"]) == (HANDLE, EMAIL)
    assert [(row["id"], row["note"], row["team"]) for row in data["entries"]] == [(entry, "my first", NAME)]
    assert [(row["competition"], row["joined"]) for row in data["memberships"]] == [(slug, True)]
    assert [row["name"] for row in data["tokens"]] == ["hoppers-laptop"]
    assert [row["url"] for row in data["webhooks"]] == ["https://gracehopper.example.org/"]
    assert [row["rules_sha256"] for row in data["rules_acceptances"]] == [rules]
    assert {"sign-in.failed"} == {row["action"] for row in data["actions_of_others"]}
    assert data["sessions"][0]["agent"] == "hoppers-browser"
    assert data["mails"][0]["recipient"] == EMAIL
    for withheld in (service.tokens[HANDLE], cookie, "argon2id", others, "a secret of ada's", "blob", "digest"):
        assert withheld not in answer.text, withheld
    printed = terminal.run("my-data", who=HANDLE)
    assert (printed.status, printed.document["account"]) == (0, data["account"])
    refused(service.call(None, "GET", "/me/data"), 401, "no-token")


def test_the_export_names_its_columns_and_has_no_secrets(service: Service) -> None:
    person = Account(id=1, handle="x", email="x@example.org")
    queries = personal_data.queries_about(person, datetime(2026, 1, 1, tzinfo=UTC))
    parts = [part for query in queries.values() for part in query.selected_columns]
    columns = {column for part in parts for column in part.base_columns if isinstance(column, Column)}
    secrets = (
        "digest",
        "secret",
        "password_hash",
        "seed",
        "parts",
        "writer",
        "challenge",
        "totp_key",
        "counter",
        "address_key",
    )
    names = {column.name for column in columns}
    assert not [name for name in names if name in secrets or name.endswith("_key")]
    assert not [column for column in columns if isinstance(column.type, LargeBinary)]
    read = {column.table.name for column in columns}
    referring = {
        table.name
        for table in Table.metadata.sorted_tables
        if any(key.column.table.name == "accounts" for key in table.foreign_keys)
        and table.name != "competitions"  # its creator is in the audit log
    }
    assert referring - read == set(WITHOUT_HER_DATA), "export a new table's columns, or give the reason here"


# Deletion


@pytest.fixture
def settled(service: Service) -> dict[str, Any]:
    """Give Grace a trace in every table that can hold a person's name."""
    cookie, csrf = arrive(service)
    alone, shared = service.competition(), service.competition()
    for slug in (alone, shared):
        who = {"who": [EMAIL, HANDLE, "ada"]}
        assert service.call("organizer", "POST", f"/competitions/{slug}/allowlist", json=who).status_code == 200
    service.call("organizer", "DELETE", f"/competitions/{alone}/allowlist/{EMAIL}")
    service.call("organizer", "POST", "/admin/invitations", json={"email": EMAIL})
    began = datetime.now(UTC)
    entry = service.scored(HANDLE, alone, noise_images(10), note="by hopper", file_name="hopper.zip")["id"]
    service.call(HANDLE, "PATCH", f"/competitions/{alone}/team", json={"name": "Hoppers"})
    service.submit("ada", alone, b"not a zip")
    join(service, shared, HANDLE, "bob")
    service.scored("bob", shared, noise_images(11))
    ask(service, alone, "eve", handle=HANDLE)
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": "9", "Upload-Metadata": "filename aG9wcGVyLnppcA=="}
    assert service.call(HANDLE, "POST", f"/competitions/{alone}/uploads", headers=headers).status_code == 201
    now = service.context.now()
    with service.context.sessions.begin() as session:
        grace = session.query(Account).filter_by(handle=HANDLE).one()
        web_session = session.query(WebSession).filter_by(account_id=grace.id).first()
        assert web_session is not None
        key = second_factors.new_totp_key(web_session)
        second_factors.add_totp(session, web_session, key, code=pyotp.TOTP(key).at(now), now=now)
        session.add(Identity(account_id=grace.id, issuer="https://i", subject="hopper", created_at=now))
        study = RatingStudy(
            competition_id=session.query(Submission).filter_by(id=entry).one().competition_id, submission_refs=[],
            images=1, grids=1, side=2, wanted=9, seed=1, author_id=grace.id, created_at=now,
        )  # fmt: skip
        session.add(study)
        session.flush()
        session.add(Rater(study_id=study.id, account_id=grace.id, name=NAME, created_at=now))
    return {"cookie": cookie, "csrf": csrf, "alone": alone, "shared": shared, "entry": entry, "began": began}


def test_only_the_number_of_a_deleted_account_stays(service: Service, settled: dict[str, Any]) -> None:
    number = load_grace_id(service)
    assert "hopper" in everything(service)
    assert delete(service, settled["cookie"], settled["csrf"]).status_code == 204
    left = [line for line in everything(service, but="mails").splitlines() if "hopper" in line]
    assert left == []
    last = mails(service)[-1]
    assert (last.recipient, last.subject) == (EMAIL, "Your Kennel account has been deleted")
    assert [mail.id for mail in mails(service) if "hopper" in f"{mail.recipient} {mail.body}".lower()] == [last.id]
    assert audit_entries(service, "account.deleted") == [(f"deleted~{number}", f"account:deleted~{number}", None, None)]
    assert audit_entries(service, "allowlist.withdrawn")[0][2] == {"who": f"deleted~{number}"}
    assert audit_entries(service, "allowlist.invited")[0][3] == {
        "who": [f"deleted~{number}", f"deleted~{number}", "ada"]
    }


def test_a_deletion_ends_sessions_uploads_and_invitations(service: Service, settled: dict[str, Any]) -> None:
    number, elsewhere = load_grace_id(service), service.competition()
    with service.context.sessions.begin() as session:
        grace = session.get_one(Account, number)
        competition = session.query(Competition).filter_by(slug=elsewhere).one()
        give_role(session, competition.id, grace, "reviewer", service.context.now())
        sessions.remember_device(session, grace, "x" * 43, now=service.context.now())
    assert delete(service, settled["cookie"], settled["csrf"]).status_code == 204
    cleanup.clean_up_uploads(service.context)
    with service.context.sessions() as session:
        for table in (WebSession, SecondFactor, KnownDevice, OneTimeLink, Identity):
            assert session.query(table).filter_by(account_id=number).count() == 0, table
        assert [webhook.ended_at is None for webhook in session.query(Webhook).filter_by(account_id=number)] == [False]
        assert [token.revoked_at is None for token in session.query(Token).filter_by(account_id=number)] == [False]
        assert session.query(Delivery).count() == 0
        assert {upload.state for upload in session.query(Upload).filter_by(account_id=number)} == {"ended"}
        assert {invitation.state for invitation in session.query(TeamInvitation).filter_by(account_id=number)} == {
            "withdrawn"
        }
        (role,) = session.query(CompetitionRole).filter_by(account_id=number)
        assert role.ended_at is not None


def test_nobody_can_use_a_deleted_account(service: Service, settled: dict[str, Any]) -> None:
    number = load_grace_id(service)
    delete(service, settled["cookie"], settled["csrf"])
    refused(service.call(HANDLE, "GET", "/me"), 401, "bad-token")
    assert by_session(service, settled["cookie"], settled["csrf"], "GET", "/me").status_code == 401
    refused(sign_in(service, HANDLE), 401, "wrong-login")
    shown = service.call("admin", "GET", "/admin/accounts").json()["accounts"]
    assert sorted(account["handle"] for account in shown) == ["ada", "admin", "bob", "eve", "organizer"]
    for handle in (HANDLE, f"deleted~{number}"):
        refused(service.call("admin", "PUT", f"/admin/accounts/{handle}/suspension", json={}), 404, "no-account")
        refused(ask(service, settled["alone"], "eve", handle=handle), 404, "no-account")
    assert sign_up(service, handle=HANDLE, name=NAME, email=EMAIL).status_code == 201, "the name is free again"
    assert confirm(service, link_in(mails(service)[-1])).status_code == 204


def test_entries_and_teams_stay_under_a_pseudonym(service: Service, settled: dict[str, Any]) -> None:
    pseudonym = f"Deleted account {load_grace_id(service)}"
    board = f"/competitions/{settled['alone']}/leaderboard"
    before = service.call(None, "GET", board).json()["entries"]
    assert [row["team"] for row in before] == ["Hoppers"]
    delete(service, settled["cookie"], settled["csrf"])
    after = service.call(None, "GET", board).json()["entries"]
    assert [(row["team"], row["rank"], row["score"]) for row in after] == [
        (pseudonym, before[0]["rank"], before[0]["score"])
    ]
    as_of = (datetime.now(UTC) - timedelta(milliseconds=1)).isoformat()
    past = service.call(None, "GET", board, params={"as_of": as_of}).json()["entries"]
    assert [row["team"] for row in past] == [pseudonym], "past boards also have the pseudonym"
    entry = service.call("organizer", "GET", f"/submissions/{settled['entry']}").json()
    assert (entry["note"], entry["file_name"], entry["submitted_by"][:8]) == ("", "entry.zip", "deleted~")
    assert members(service, settled["shared"], "bob") == ["bob"]
    assert team(service, settled["shared"], "bob")["name"] == pseudonym
    renamed = service.call("bob", "PATCH", f"/competitions/{settled['shared']}/team", json={"name": "Bob and friends"})
    assert renamed.status_code == 200, "bob leads the team now"


def test_only_the_owner_can_delete_an_account(service: Service) -> None:
    cookie, csrf = arrive(service)
    refused(delete(service, cookie, csrf, password="guessed"), 403, "wrong-password")
    refused(delete(service, cookie, csrf, handle="ada"), 422, "wrong-handle")
    body = {"handle": HANDLE, "password": GOOD}
    refused(service.call(HANDLE, "POST", "/me/deletion", json=body), 403, "session-needed")
    assert service.call(HANDLE, "GET", "/me").status_code == 200


def test_organizers_and_the_last_admin_cannot_delete_their_accounts(service: Service) -> None:
    for who, slug in (("organizer", "has-duties"), ("admin", "last-admin")):
        refused(service.browse(who, "POST", "/me/deletion", json={"handle": who}), 409, slug)
    service.browse("admin", "PUT", "/accounts/bob/role", json={"role": "admin"})
    refused(service.browse("admin", "POST", "/me/deletion", json={"handle": "admin"}), 409, "has-duties")
    service.browse("bob", "PUT", "/accounts/organizer/role", json={"role": "participant"})
    assert service.browse("organizer", "POST", "/me/deletion", json={"handle": "Organizer"}).status_code == 204


def test_the_operator_can_delete_an_account(service: Service, operator: Any) -> None:
    assert operator.invoke(admin.app, ["delete", "ada"], input="n\n").exit_code == 1
    assert service.call("ada", "GET", "/me").status_code == 200
    done = operator.invoke(admin.app, ["delete", "ada", "--yes"])
    assert (done.exit_code, done.output) == (0, "Account ada deleted.\n")
    ((who, _, _, after),) = audit_entries(service, "account.deleted")
    assert (who, after) == (None, {"by": "the operator"})
    assert operator.invoke(admin.app, ["delete", "ada", "--yes"]).exit_code == 1


def test_the_command_deletes_an_account_after_asking(service: Service, terminal: CliTerminal) -> None:
    arrive(service)
    answers = {", enter its handle": HANDLE, "Password": GOOD}
    assert f"Account {HANDLE} deleted" in terminal.run_interactively("delete-account", answers, hidden=("Password",))
    with service.context.sessions() as session:
        assert session.query(WebSession).count() == 0
    refused(service.call(HANDLE, "GET", "/me"), 401, "bad-token")
