"""Taking an account back: a new password ends a thief's credentials; admins end credentials and suspend accounts."""

from typing import Any

import pytest

from scorer.db.tables import Account, Identity, Token
from tests.api.accounts.grace import (
    BETTER,
    GOOD,
    GRACE,
    armed,
    browse,
    confirm,
    link_in,
    mails,
    set_password,
    sign_in,
    token_with,
)
from tests.api.accounts.grace import signed_in as new_session
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import API, Service, audit_entries, refused

__all__ = ["terminal"]  # pytest finds the fixture by its name in this module


def credentials(service: Service) -> list[str]:
    """Return the names of Grace's tokens and the hosts of her webhooks, as a new session shows them."""
    tokens = service.browse("grace", "GET", "/tokens").json()["tokens"]
    hooks = service.browse("grace", "GET", "/webhooks").json()["webhooks"]
    return sorted([token["name"] for token in tokens] + [token["url"].split(".")[0] for token in hooks])


def reset(service: Service, password: str = BETTER) -> Any:
    """Set a new password with a mailed link."""
    service.http.post(f"{API}/password-resets", json={"email": GRACE["email"]})
    return set_password(service, link_in(mails(service)[-1]), password)


def test_a_reset_ends_tokens_and_webhooks(service: Service) -> None:
    armed(service)
    assert service.call("thief", "GET", "/me").status_code == 200
    assert reset(service).status_code == 204
    refused(service.call("thief", "GET", "/me"), 401, "bad-token")
    assert credentials(service) == []


def test_a_new_password_ends_all_but_the_chosen_tokens_and_webhooks(service: Service) -> None:
    csrf, ids = armed(service)
    new = {"old": GOOD, "new": BETTER, "keep_tokens": [ids["laptop"]], "keep_webhooks": [ids["webhook of laptop"]]}
    assert browse(service, "PUT", "/me/password", csrf, json=new).status_code == 204
    assert credentials(service) == ["https://laptop", "laptop"]
    assert service.call("laptop", "GET", "/me").status_code == 200
    assert browse(service, "PUT", "/me/password", csrf, json={"old": BETTER, "new": GOOD}).status_code == 204
    assert credentials(service) == []
    assert browse(service, "GET", "/me").status_code == 200, "this session stays"


def test_nobody_can_keep_tokens_of_others(service: Service) -> None:
    csrf, _ = armed(service)
    adas = service.call("ada", "GET", "/tokens").json()["tokens"][0]["id"]
    new = {"old": GOOD, "new": BETTER, "keep_tokens": [adas]}
    browse(service, "PUT", "/me/password", csrf, json=new)
    assert credentials(service) == []
    assert [service.call(who, "GET", "/me").status_code for who in ("ada", "bob")] == [200, 200], (
        "other people's tokens stay valid"
    )


def test_a_reset_voids_links_that_a_thief_requested(service: Service) -> None:
    csrf, _ = armed(service)
    asked = {"email": "thief@example.org", "password": GOOD}
    assert browse(service, "PUT", "/me/email", csrf, json=asked).status_code == 202
    link = next(link_in(mail) for mail in mails(service) if mail.recipient == "thief@example.org")
    assert reset(service).status_code == 204
    refused(confirm(service, link), 404, "no-link")


def test_a_password_change_voids_reset_links(service: Service) -> None:
    csrf, _ = armed(service)
    service.http.post(f"{API}/password-resets", json={"email": GRACE["email"]})
    link = link_in(mails(service)[-1])
    assert browse(service, "PUT", "/me/password", csrf, json={"old": GOOD, "new": BETTER}).status_code == 204
    refused(set_password(service, link, "yet another password"), 404, "no-link")


@pytest.mark.parametrize("way", ["signing up", "a change", "a reset"])
def test_a_password_cannot_be_the_name_of_the_account(service: Service, way: str) -> None:
    own = {"handle": "ada-lovelace", "email": "lovelace@example.org"}
    weak = "ada-lovelace1"
    if way == "signing up":
        refused(service.http.post(f"{API}/accounts", json={**own, "password": weak}), 422, "weak-password")
        return
    csrf = new_session(service, **own)
    confirm(service, link_in(mails(service)[-1]))
    if way == "a change":
        new = {"old": GOOD, "new": weak}
        refused(browse(service, "PUT", "/me/password", csrf, json=new), 422, "weak-password")
        return
    service.http.post(f"{API}/password-resets", json={"email": own["email"]})
    link = link_in(mails(service)[-1])
    refused(set_password(service, link, weak), 422, "weak-password")
    assert set_password(service, link, BETTER).status_code == 204, "the link still works"


def test_a_reset_ends_tokens_of_an_account_without_a_password(service: Service) -> None:
    with service.context.sessions.begin() as session:
        ada = session.query(Account).filter_by(handle="ada").one()
        ada.email = GRACE["email"]
        session.add(Identity(account_id=ada.id, issuer="https://i", subject="ada", created_at=ada.created_at))
    assert reset(service).status_code == 204
    refused(service.call("ada", "GET", "/me"), 401, "bad-token")


def test_a_first_password_leaves_tokens_alone(service: Service) -> None:
    with service.context.sessions.begin() as session:
        session.query(Account).filter_by(handle="ada").one().email = GRACE["email"]
    assert reset(service).status_code == 204
    assert service.call("ada", "GET", "/me").status_code == 200
    assert reset(service, GOOD).status_code == 204
    refused(service.call("ada", "GET", "/me"), 401, "bad-token")


def test_the_owner_gets_a_mail_about_a_new_password(service: Service) -> None:
    csrf, _ = armed(service)
    browse(service, "PUT", "/me/password", csrf, json={"old": GOOD, "new": BETTER})
    assert (mails(service)[-1].recipient, "was changed" in mails(service)[-1].body) == (GRACE["email"], True)
    count = len(mails(service))
    reset(service, GOOD)
    assert [mail.recipient for mail in mails(service)[count:]] == [GRACE["email"]] * 2


# Email addresses


def test_a_new_address_needs_the_password_and_notifies_the_old_one(service: Service) -> None:
    csrf, _ = armed(service)
    asked = {"email": "new@example.org"}
    before = len(mails(service))
    refused(browse(service, "PUT", "/me/email", csrf, json=asked), 403, "wrong-password")
    refused(browse(service, "PUT", "/me/email", csrf, json=asked | {"password": "guessed"}), 403, "wrong-password")
    assert len(mails(service)) == before
    assert browse(service, "PUT", "/me/email", csrf, json=asked | {"password": GOOD}).status_code == 202
    new = mails(service)[before:]
    assert [mail.recipient for mail in new] == ["new@example.org", GRACE["email"]]
    assert "new@example.org" not in new[1].body
    assert confirm(service, link_in(new[0])).status_code == 204
    assert [mail.recipient for mail in mails(service)[before + 2 :]] == [GRACE["email"]]
    assert audit_entries(service, "email.changed")[-1] == ("grace", "account:grace", None, None)


def test_guesses_by_changing_the_address_are_limited(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    csrf, _ = armed(service)
    statuses = [
        browse(service, "PUT", "/me/email", csrf, json={"email": "n@example.org", "password": f"guess {n}"}).status_code
        for n in range(12)
    ]
    assert statuses[-1] == 429


@pytest.mark.parametrize("email", ["adm\u0130n@example.org", "\u212aate@example.org", "grace@ex\u00e4mple.org"])
def test_addresses_are_ascii(service: Service, email: str) -> None:
    answer = service.http.post(f"{API}/accounts", json={**GRACE, "email": email})
    refused(answer, 422, "bad-email")


# Tokens


def test_a_token_cannot_create_accounts_or_give_roles(service: Service) -> None:
    for role in ("participant", "organizer", "admin"):
        body = {"handle": f"new-{role}", "role": role}
        refused(service.call("admin", "POST", "/admin/accounts", json=body), 403, "session-needed")
        refused(service.call("admin", "PUT", "/accounts/eve/role", json={"role": role}), 403, "session-needed")
    made = service.browse("admin", "POST", "/admin/accounts", json={"handle": "new"}).json()
    service.tokens["new"] = made["token"]
    assert service.call("new", "GET", "/me").json()["scopes"] == ["read", "submit"]
    assert service.browse("admin", "POST", "/admin/accounts", json={"handle": "b", "role": "admin"}).status_code == 422
    assert service.browse("admin", "POST", "/admin/accounts", json={"handle": "bo", "role": "admin"}).status_code == 201


def test_a_token_gains_no_scope_from_a_later_role(service: Service) -> None:
    csrf = new_session(service)
    answer = browse(service, "POST", "/tokens", csrf, json={"name": "t", "scopes": ["read", "organize"]})
    refused(answer, 422, "bad-scope")
    service.tokens["grace"] = token_with(service, csrf, "read")
    with service.context.sessions.begin() as session:  # as created before such tokens were refused
        session.query(Token).filter_by(name="read").one().scopes = ["read", "organize"]
    assert service.browse("admin", "PUT", "/accounts/grace/role", json={"role": "organizer"}).status_code == 200
    service.http.cookies.clear()
    assert service.call("grace", "GET", "/me").json()["scopes"] == ["read"]


# Admins


def test_admins_list_accounts(service: Service) -> None:
    armed(service)
    refused(service.call("organizer", "GET", "/admin/accounts"), 403, "wrong-role")
    first = service.call("admin", "GET", "/admin/accounts", params={"limit": 4}).json()
    assert [account["handle"] for account in first["accounts"]] == ["admin", "organizer", "ada", "bob"]
    rest = service.call("admin", "GET", "/admin/accounts", params={"after": first["next_after"]}).json()
    assert ([account["handle"] for account in rest["accounts"]], rest["next_after"]) == (["eve", "grace"], None)
    (grace,) = service.call("admin", "GET", "/admin/accounts", params={"search": "GRA"}).json()["accounts"]
    assert (grace["sessions"], grace["tokens"], grace["webhooks"], grace["suspended_at"]) == (1, 2, 2, None)
    assert grace["last_seen_at"] is not None
    assert "example.org" not in str(grace), "admins do not see addresses"


def test_admins_can_end_credentials(service: Service) -> None:
    armed(service)
    refused(service.call("organizer", "DELETE", "/admin/accounts/grace/credentials"), 403, "wrong-role")
    assert service.call("admin", "DELETE", "/admin/accounts/GRACE/credentials").status_code == 204
    assert browse(service, "GET", "/me").status_code == 401
    service.http.cookies.clear()
    refused(service.call("thief", "GET", "/me"), 401, "bad-token")
    assert audit_entries(service, "credentials.ended") == [("admin", "account:grace", None, None)]
    assert sign_in(service).status_code == 201
    refused(service.call("admin", "DELETE", "/admin/accounts/nobody/credentials"), 404, "no-account")


def test_nobody_can_use_a_suspended_account(service: Service) -> None:
    armed(service)
    cookie = service.http.cookies["kennel"]
    path = "/admin/accounts/grace/suspension"
    refused(service.call("organizer", "PUT", path, json={}), 403, "wrong-role")
    assert service.call("admin", "PUT", path, json={"reason": "Sold."}).status_code == 200
    service.http.cookies.clear()
    refused(service.call("thief", "GET", "/me"), 401, "bad-token")
    refused(sign_in(service), 403, "suspended")
    refused(sign_in(service, password="wrong"), 401, "wrong-login")
    assert reset(service).status_code == 204
    refused(sign_in(service, password=BETTER), 403, "suspended")
    assert service.call("admin", "PUT", path, json={"suspended": False}).status_code == 200
    assert sign_in(service, password=BETTER).status_code == 201
    service.http.cookies.clear()
    service.http.cookies.set("kennel", cookie)
    assert browse(service, "GET", "/me").status_code == 401, "old sessions stay ended"
    assert audit_entries(service, "account.suspended") == [("admin", "account:grace", None, {"reason": "Sold."})]
    assert audit_entries(service, "account.restored") == [("admin", "account:grace", None, None)]


def test_a_token_does_not_work_while_its_account_is_suspended(service: Service) -> None:
    with service.context.sessions.begin() as session:
        ada = session.query(Account).filter_by(handle="ada").one()
        ada.suspended_at = ada.created_at
    refused(service.call("ada", "GET", "/me"), 403, "suspended")


def test_there_is_always_an_admin_who_can_sign_in(service: Service) -> None:
    refused(service.call("admin", "PUT", "/admin/accounts/admin/suspension", json={}), 409, "own-account")
    service.browse("admin", "PUT", "/accounts/bob/role", json={"role": "admin"})
    assert service.browse("bob", "PUT", "/admin/accounts/admin/suspension", json={}).status_code == 200
    refused(service.browse("bob", "PUT", "/accounts/bob/role", json={"role": "organizer"}), 409, "last-admin")


def test_the_command_lists_suspends_and_ends(service: Service, terminal: CliTerminal) -> None:
    listed = terminal.run("admin", "account", "list", "ad", who="admin")
    assert [line.split()[0] for line in listed.out.splitlines()] == ["handle", "admin", "ada"]
    assert (
        terminal.run("admin", "account", "suspend", "ada", "--reason", "Sold.", who="admin").out
        == "ada is suspended.\n"
    )
    assert terminal.run("admin", "account", "list", "ada", "--json", who="admin").document[0]["suspended_at"]
    assert terminal.run("admin", "account", "restore", "ada", who="admin").out == "ada can sign in again.\n"
    assert terminal.run("admin", "account", "sign-out", "bob", who="admin").status == 0
    refused(service.call("bob", "GET", "/me"), 401, "bad-token")
    assert terminal.run("admin", "account", "suspend", "nobody", who="admin").status != 0
