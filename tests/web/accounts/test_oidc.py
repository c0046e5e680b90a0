"""Sign-in with an OpenID Connect issuer."""

import base64
import time

import pytest
from joserfc.jwk import RSAKey

from api.accounts.oidc.login import OidcLogin
from scorer.db.accounts import account_by_email
from scorer.errors import Unauthenticated
from tests.api.accounts.grace import confirm, link_in, mails, sign_up
from tests.api.conftest import Service, audit_entries, rated
from tests.web.accounts.oidc_issuer import FakeIssuer, arrive, configure, depart, me, travel
from tests.web.html import parse_html
from tests.web.pages import HTML


def test_a_new_person_gets_an_account_and_finds_it_again(service: Service, issuer: FakeIssuer) -> None:
    assert "Continue with Example ID" in service.http.get("/signin").text
    issuer.person |= {"name": "Grace H.", "email": "grace@example.org", "email_verified": True}
    landed = travel(service, issuer)
    assert (landed.status_code, landed.url.path) == (200, "/account")
    first = me(service)
    assert (first["handle"], first["name"], first["email"]) == ("grace", "Grace H.", "grace@example.org")
    service.http.cookies.clear()
    issuer.person = {"sub": "42", "preferred_username": "renamed"}
    travel(service, issuer)
    assert me(service) == first


def test_a_taken_handle_is_numbered_and_a_taken_name_is_left_out(service: Service, issuer: FakeIssuer) -> None:
    issuer.person = {"sub": "7", "preferred_username": "Ada", "name": "bob"}
    travel(service, issuer)
    assert (me(service)["handle"], me(service)["name"]) == ("Ada-2", "Ada-2")


@pytest.mark.parametrize(
    ("preferred", "handle"), [("", "person"), ("Ægir Þór", "gir-r"), ("--x", "person"), ("a" * 99, "a" * 30)]
)
def test_handles_are_derived_from_the_issuers_user_name(
    service: Service, issuer: FakeIssuer, preferred: str, handle: str
) -> None:
    issuer.person = {"sub": "7", "preferred_username": preferred}
    travel(service, issuer)
    assert me(service)["handle"] == handle


@pytest.mark.parametrize("verified", [True, "true", False, None, "false", 1])
def test_only_a_verified_address_links_an_account(service: Service, issuer: FakeIssuer, verified: object) -> None:
    sign_up(service)
    confirm(service, link_in(mails(service)[0]))
    issuer.person = {
        "sub": "9",
        "preferred_username": "other",
        "email": "grace@example.org",
        "email_verified": verified,
    }
    travel(service, issuer)
    believed = verified is True or verified == "true"
    assert me(service)["handle"] == ("grace" if believed else "other")
    assert me(service)["email"] == ("grace@example.org" if believed else None)


@pytest.mark.parametrize(("email", "joined"), [("IRIS@example.org", True), ("\u0130ris@example.org", False)])
def test_addresses_are_compared_with_ascii_case_rules(
    service: Service, issuer: FakeIssuer, email: str, joined: bool
) -> None:
    """In PostgreSQL, the lower case of U+0130 is the letter i."""
    sign_up(service, handle="iris", email="iris@example.org")
    confirm(service, link_in(mails(service)[0]))
    issuer.person = {"sub": "9", "preferred_username": "other", "email": email, "email_verified": True}
    travel(service, issuer)
    assert me(service)["handle"] == ("iris" if joined else "other")
    assert me(service)["email"] == ("iris@example.org" if joined else None), "the address is not stored"
    assert [mail.recipient for mail in mails(service)[1:]] == (["iris@example.org"] if joined else []), (
        "she gets a mail"
    )
    linked = ("iris", "account:iris", None, {"issuer": issuer.address})
    assert audit_entries(service, "identity.linked") == ([linked] if joined else [])
    with service.context.sessions() as session:
        assert (account_by_email(session, email) is None) is not joined


def test_requests_that_call_the_issuer_are_rate_limited(
    service: Service, issuer: FakeIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rated(service, monkeypatch, sign_in_address="2/hour")
    back = issuer.visit(depart(service))
    assert arrive(service, back).status_code == 200
    assert service.http.get("/signin/oidc", headers=HTML, follow_redirects=False).status_code == 429
    assert arrive(service, back).status_code == 429


def test_without_an_invitation_no_account_is_created(service: Service, issuer: FakeIssuer) -> None:
    configure(service, sign_up="invitation")
    answer = travel(service, issuer)
    assert answer.status_code == 403
    assert "need an invitation" in parse_html(answer.text).one(class_="lead").text


STALE = int(time.time()) - 3600


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": ["kennel", "another"], "azp": "another"},
        {"iss": "https://another.example"},
        {"exp": STALE},
        {"exp": None},
        {"sub": None},
    ],
)
def test_a_stale_or_foreign_token_is_refused(service: Service, issuer: FakeIssuer, claims: dict[str, object]) -> None:
    issuer.claims = claims
    assert travel(service, issuer).status_code == 401
    assert "kennel" not in service.http.cookies


def test_a_forged_signature_is_refused(service: Service, issuer: FakeIssuer) -> None:
    issuer.key = RSAKey.generate_key(2048, {"kid": "1"})
    assert travel(service, issuer).status_code == 401
    issuer.key = None
    assert travel(service, issuer).status_code == 200


def test_another_browsers_sign_in_is_refused(service: Service, issuer: FakeIssuer) -> None:
    mine = issuer.visit(depart(service))
    depart(service)
    assert arrive(service, mine).status_code == 401
    service.http.cookies.clear()
    assert arrive(service, issuer.visit(depart(service))).status_code == 200
    service.http.cookies.clear()
    assert arrive(service, mine).status_code == 401


def test_a_code_works_only_with_its_verifier(service: Service, issuer: FakeIssuer) -> None:
    back = issuer.visit(depart(service))
    issuer.codes["code-0"]["code_challenge"] = "another"
    assert arrive(service, back).status_code == 401


def test_a_discovery_document_of_another_issuer_is_refused(service: Service, issuer: FakeIssuer) -> None:
    issuer.described = {"issuer": "https://another.example"}
    assert service.http.get("/signin/oidc", headers=HTML, follow_redirects=False).status_code == 503


def test_an_issuer_that_is_away_is_reported(service: Service, issuer: FakeIssuer) -> None:
    configure(service, oidc_issuer="http://127.0.0.1:1")
    assert service.http.get("/signin/oidc", headers=HTML, follow_redirects=False).status_code == 503


def test_the_issuers_refusal_is_shown(service: Service, issuer: FakeIssuer) -> None:
    depart(service)
    answer = service.http.get("/signin/oidc/return?error=access_denied", headers=HTML)
    assert answer.status_code == 401
    assert "access_denied" in answer.text


def test_without_settings_there_is_no_oidc_sign_in(service: Service) -> None:
    assert "Continue with" not in service.http.get("/signin").text
    assert service.http.get("/signin/oidc", headers=HTML, follow_redirects=False).status_code == 503


def test_an_oidc_sign_in_redirects_to_no_other_site(service: Service, issuer: FakeIssuer) -> None:
    landed = arrive(service, issuer.visit(depart(service, "//evil.example/")))
    assert (landed.url.host, landed.url.path) == ("testserver", "/")


@pytest.mark.parametrize(
    "cookie",
    [
        b"[" * 40_000,
        b"7",
        b'{"state": 1, "nonce": "a", "verifier": "b", "onward": "/"}',
        b'{"state": "a", "nonce": "a", "verifier": "b", "onward": 5}',
        b'{"state": "\\ud800", "nonce": "a", "verifier": "b", "onward": "/"}',
        b"\xff",
    ],
)
def test_an_invalid_oidc_cookie_is_refused(cookie: bytes) -> None:
    with pytest.raises(Unauthenticated, match="Start again"):
        OidcLogin.from_cookie(base64.urlsafe_b64encode(cookie).decode())
