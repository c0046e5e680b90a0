"""Accounts through the API: sign-up, sign-in, sessions, tokens and their scopes."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, text

from api.http.dependencies import request_time
from scorer.accounts import api_tokens, password_hashing
from scorer.db.tables import Account, AuditEntry, Competition, WebSession
from tests.api.accounts.grace import (
    GOOD,
    GRACE,
    browse,
    confirm,
    confirmed,
    link_in,
    mails,
    set_password,
    sign_in,
    sign_up,
    signed_in,
    token_with,
)
from tests.api.conftest import API, Service, rated, refused
from tests.factories import give_role, make_zip, noise_images

# Signing up


def test_a_new_account_can_create_a_token_and_submit(service: Service) -> None:
    csrf = signed_in(service)
    made = browse(service, "POST", "/tokens", csrf, json={"name": "laptop"})
    assert made.status_code == 201
    assert made.json()["scopes"] == ["read", "submit"]
    service.http.cookies.clear()
    service.tokens["grace"] = made.json()["token"]
    slug = service.competition()
    assert service.scored("grace", slug, noise_images(10))["team"] == "grace"


@pytest.mark.parametrize(
    ("changes", "status", "slug"),
    [
        ({"handle": "ADA"}, 409, "name-taken"),
        ({"handle": "\uff21\uff24\uff21"}, 409, "name-taken"),  # full-width ADA
        ({"name": "Ada"}, 409, "name-taken"),
        ({"name": "\uff21da"}, 409, "name-taken"),
        ({"name": "Gr\u202eace"}, 422, "bad-name"),
        ({"handle": "a b"}, 422, "bad-handle"),
        ({"handle": "x"}, 422, "bad-handle"),
        ({"password": "short one"}, 422, "weak-password"),
        ({"password": "Password123"}, 422, "weak-password"),
        ({"password": "kkkkkkkkkkkkkkk"}, 422, "weak-password"),
        ({"handle": "grace-hopper", "password": "Grace-Hopper"}, 422, "weak-password"),
        ({"password": "x" * 257}, 422, "weak-password"),
        ({"email": "grace"}, 422, "bad-email"),
        ({"email": "grace@example.org\nBcc: all@example.org"}, 422, "bad-email"),
        ({"role": "admin"}, 422, "bad-request"),
    ],
)
def test_invalid_sign_ups_are_refused(service: Service, changes: dict[str, str], status: int, slug: str) -> None:
    refused(sign_up(service, **changes), status, slug)
    assert mails(service) == []


def test_a_full_width_handle_is_stored_in_ascii(service: Service) -> None:
    assert sign_up(service, handle="\uff47race").json()["handle"] == "grace"


def test_a_known_address_is_not_revealed_but_its_owner_gets_a_mail(service: Service) -> None:
    fresh = sign_up(service)
    confirm(service, link_in(mails(service)[0]))
    known = sign_up(service, handle="mallory", email="GRACE@example.org")
    assert (known.status_code, set(known.json()), set(known.headers)) == (
        fresh.status_code,
        set(fresh.json()),
        set(fresh.headers),
    )
    mail = mails(service)[1]
    assert mail.recipient == "GRACE@example.org"
    assert mail.subject == "You already have a Kennel account"
    assert "/confirm#" not in mail.body
    sign_in(service, "mallory")
    assert browse(service, "GET", "/me").json()["email"] is None
    refused(sign_in(service, "grace@example.org", "not her password"), 401, "wrong-login")
    assert sign_in(service, "grace@example.org").status_code == 201
    assert browse(service, "GET", "/me").json()["handle"] == "grace"


def test_an_address_counts_once_it_is_confirmed(service: Service) -> None:
    signed_in(service)
    assert browse(service, "GET", "/me").json()["email"] is None
    refused(sign_in(service, GRACE["email"]), 401, "wrong-login")
    link = link_in(mails(service)[0])
    assert confirm(service, link).status_code == 204
    assert browse(service, "GET", "/me").json()["email"] == GRACE["email"]
    refused(confirm(service, link), 404, "no-link")


def test_a_mail_does_not_contain_text_that_a_stranger_typed(service: Service) -> None:
    sign_up(service, name="Buy now at example.com")
    assert "Buy" not in mails(service)[0].body + mails(service)[0].subject


def test_an_address_belongs_to_the_first_account_that_confirms_it(service: Service) -> None:
    sign_up(service)
    sign_up(service, handle="other")
    first, second = (link_in(mail) for mail in mails(service))
    assert confirm(service, second).status_code == 204
    refused(confirm(service, first), 409, "email-taken")


def test_sign_up_can_require_an_invitation(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = service.app.state.settings
    invited_only = settings.model_copy(update={"sign_up": "invitation"})
    monkeypatch.setattr(service.app.state, "settings", invited_only)
    refused(sign_up(service), 403, "invitation-needed")
    refused(sign_up(service, invitation="made-up"), 404, "no-link")
    assert service.call("ada", "POST", "/admin/invitations", json={}).status_code == 403
    made = service.call("organizer", "POST", "/admin/invitations", json={"email": GRACE["email"]})
    assert made.status_code == 201
    link = link_in(mails(service)[0])
    assert made.json()["link"].endswith(link)
    assert sign_up(service, invitation=link).status_code == 201
    refused(sign_up(service, handle="second", invitation=link), 404, "no-link")
    sign_in(service)
    assert browse(service, "GET", "/me").json()["email"] is None, "the sender of the link may have seen it"


def test_mail_addresses_are_not_shown_to_others(service: Service) -> None:
    sign_up(service)
    confirm(service, link_in(mails(service)[0]))
    sign_in(service)
    csrf = sign_in(service).json()["csrf_token"]
    token = browse(service, "POST", "/tokens", csrf, json={"name": "t"}).json()["token"]
    service.http.cookies.clear()
    service.tokens["grace"] = token
    slug = service.competition()
    entry = service.scored("grace", slug, noise_images(10))["id"]
    for who in (None, "ada", "organizer"):
        for path in (f"/submissions/{entry}", f"/competitions/{slug}/leaderboard", f"/competitions/{slug}", "/me"):
            assert "example.org" not in service.call(who, "GET", path).text


def test_parallel_sign_ups_give_a_name_to_one_account(service: Service) -> None:
    handles = ["grace", "Grace", "GRACE", "gRACE", "\uff47race", "graCe"]

    def attempt(number: int) -> int:
        status: int = sign_up(service, handle=handles[number], email=f"g{number}@example.org").status_code
        return status

    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(attempt, range(6)))
    assert sorted(statuses) == [201, 409, 409, 409, 409, 409]


# Sessions


def test_scripts_and_other_sites_cannot_use_the_session_cookie(service: Service) -> None:
    sign_up(service)
    cookie = sign_in(service).headers["set-cookie"]
    assert re.match(r"kennel=[\w-]{43};", cookie)
    assert {"httponly", "path=/", "samesite=lax"} <= {part.strip().lower() for part in cookie.split(";")}
    assert "secure" not in cookie.lower()


def test_over_https_the_cookie_is_limited_to_this_host_and_https(service: Service) -> None:
    sign_up(service)
    service.http.base_url = "https://testserver"
    answer = sign_in(service)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-kennel=")
    parts = {part.strip().lower() for part in cookie.split(";")}
    assert {"httponly", "path=/", "samesite=lax", "secure"} <= parts
    assert not any(part.startswith("domain") for part in parts)
    assert browse(service, "GET", "/me").status_code == 200
    secret = service.http.cookies["__Host-kennel"]
    service.http.cookies.clear()
    service.http.cookies.set("kennel", secret)
    assert browse(service, "GET", "/me").status_code == 401, "a cookie that any page could have set"


def test_a_change_needs_the_csrf_token(service: Service) -> None:
    csrf = signed_in(service)
    body = {"name": "t"}
    refused(browse(service, "POST", "/tokens", json=body), 403, "csrf")
    refused(browse(service, "POST", "/tokens", "0" * 64, json=body), 403, "csrf")
    mine = service.http.cookies["kennel"]
    other = sign_in(service).json()["csrf_token"]
    service.http.cookies.set("kennel", mine, domain="testserver.local", path="/")
    refused(browse(service, "POST", "/tokens", other, json=body), 403, "csrf")
    assert browse(service, "POST", "/tokens", csrf, json=body).status_code == 201


def test_pages_of_other_sites_are_refused_even_with_the_csrf_token(service: Service) -> None:
    csrf = signed_in(service)

    def post(**headers: str) -> int:
        headers["X-CSRF-Token"] = csrf
        status: int = service.http.post(f"{API}/tokens", json={"name": "t"}, headers=headers).status_code
        return status

    assert post(**{"Sec-Fetch-Site": "cross-site"}) == 403
    assert post(**{"Sec-Fetch-Site": "same-site"}) == 403
    assert post(Origin="https://evil.example") == 403
    assert post(Origin="null") == 403
    assert post(Origin="http://testserver") == 201
    assert post(**{"Sec-Fetch-Site": "same-origin", "Origin": "http://testserver"}) == 201
    assert sign_in(service, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403, "other sites cannot sign anybody in"


def test_an_api_token_needs_no_csrf_token(service: Service) -> None:
    signed_in(service)
    answer = service.call("organizer", "POST", "/admin/invitations", json={}, headers={"Origin": "https://a.example"})
    assert answer.status_code == 201


def test_signing_out_ends_the_session(service: Service) -> None:
    csrf = signed_in(service)
    cookie = service.http.cookies["kennel"]
    assert browse(service, "DELETE", "/session", csrf).status_code == 204
    assert "kennel" not in service.http.cookies
    service.http.cookies.set("kennel", cookie)
    assert browse(service, "GET", "/me").status_code == 401


def test_sessions_are_listed_and_ended(service: Service) -> None:
    signed_in(service)
    phone = service.http.cookies["kennel"]
    csrf = sign_in(service, **{"User-Agent": "Browser/1"}).json()["csrf_token"]
    listed = browse(service, "GET", "/sessions").json()["sessions"]
    assert [entry["agent"] for entry in listed] == ["Browser/1", "testclient"]
    assert browse(service, "DELETE", f"/sessions/{listed[1]['id']}", csrf).status_code == 204
    refused(browse(service, "DELETE", f"/sessions/{listed[1]['id']}", csrf), 404, "no-session-here")
    assert browse(service, "GET", "/me").status_code == 200
    service.http.cookies.clear()
    service.http.cookies.set("kennel", phone)
    assert browse(service, "GET", "/me").status_code == 401


def test_nobody_can_end_the_sessions_or_tokens_of_others(service: Service) -> None:
    signed_in(service)
    session_id = browse(service, "GET", "/sessions").json()["sessions"][0]["id"]
    csrf = signed_in(service, handle="mallory", email="m@example.org")
    assert browse(service, "DELETE", f"/sessions/{session_id}", csrf).status_code == 404
    adas = service.call("ada", "GET", "/tokens").json()["tokens"][0]["id"]
    assert browse(service, "DELETE", f"/tokens/{adas}", csrf).status_code == 404
    assert service.call("ada", "GET", "/me").status_code == 200


def test_a_session_expires(service: Service) -> None:
    signed_in(service)
    with service.context.sessions.begin() as session:
        session.query(WebSession).update({"expires_at": datetime.now(UTC) - timedelta(seconds=1)})
    assert browse(service, "GET", "/me").status_code == 401


@pytest.mark.parametrize(
    "days",
    [
        [(6.9, 200), (13.7, 200), (20.8, 401)],  # a week without a request
        [(6, 200), (12, 200), (18, 200), (24, 200), (29.9, 200), (30.1, 401)],  # a month in any case
    ],
)
def test_a_session_ends_when_it_is_idle_or_old(service: Service, days: list[tuple[float, int]]) -> None:
    signed_in(service)
    start = datetime.now(UTC)
    for day, status in days:
        moment = start + timedelta(days=day)
        service.app.dependency_overrides[request_time] = lambda: moment  # noqa: B023 - called before the next round
        assert browse(service, "GET", "/me").status_code == status, day


def test_a_new_password_needs_the_old_one_and_ends_the_other_sessions(service: Service) -> None:
    signed_in(service)
    other = service.http.cookies["kennel"]
    csrf = sign_in(service).json()["csrf_token"]
    new = {"old": "not the old one", "new": "a better password"}
    refused(browse(service, "PUT", "/me/password", csrf, json=new), 403, "wrong-password")
    new["old"] = GOOD
    refused(browse(service, "PUT", "/me/password", csrf, json={**new, "new": "qwertyuiop"}), 422, "weak-password")
    assert browse(service, "PUT", "/me/password", csrf, json=new).status_code == 204
    assert browse(service, "GET", "/me").status_code == 200
    service.http.cookies.clear()
    service.http.cookies.set("kennel", other)
    assert browse(service, "GET", "/me").status_code == 401
    assert sign_in(service).status_code == 401
    assert sign_in(service, password="a better password").status_code == 201


def test_guesses_of_the_current_password_are_counted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A borrowed browser allows no more guesses than signing in."""
    csrf = signed_in(service)
    rated(service, monkeypatch, sign_in="2/hour")
    guess = {"old": "not the old one", "new": "a better password"}
    statuses = [browse(service, "PUT", "/me/password", csrf, json=guess).status_code for _ in range(3)]
    assert statuses == [403, 403, 429]
    proof = {"password": "not the old one"}
    assert browse(service, "POST", "/me/recovery-codes", csrf, json=proof).status_code == 429


# New passwords by mail


def test_a_forgotten_password_is_reset_by_mail(service: Service) -> None:
    confirmed(service)
    assert service.http.post(f"{API}/password-resets", json={"email": "Grace@Example.org"}).status_code == 202
    mail = mails(service)[-1]
    assert mail.recipient == GRACE["email"]
    link = link_in(mail)
    refused(set_password(service, link, "1234567890"), 422, "weak-password")
    assert set_password(service, link, "a better password").status_code == 204
    refused(set_password(service, link, "a third password"), 404, "no-link")
    assert sign_in(service).status_code == 401
    assert sign_in(service, password="a better password").status_code == 201


def test_a_reset_ends_every_session(service: Service) -> None:
    confirmed(service)
    sign_in(service)
    cookie = service.http.cookies["kennel"]
    service.http.cookies.clear()
    service.http.post(f"{API}/password-resets", json={"email": GRACE["email"]})
    set_password(service, link_in(mails(service)[-1]), "a better password")
    service.http.cookies.set("kennel", cookie)
    assert browse(service, "GET", "/me").status_code == 401


def test_requesting_a_reset_reveals_nothing(service: Service) -> None:
    confirmed(service)
    before = len(mails(service))
    known, unknown = (
        service.http.post(f"{API}/password-resets", json={"email": email})
        for email in (GRACE["email"], "nobody@example.org")
    )
    assert (known.status_code, known.json()) == (unknown.status_code, unknown.json())
    assert [mail.recipient for mail in mails(service)[before:]] == [GRACE["email"]]


def test_only_the_newest_link_works_and_only_for_an_hour(service: Service) -> None:
    confirmed(service)
    for _ in range(2):
        service.http.post(f"{API}/password-resets", json={"email": GRACE["email"]})
    older, newer = (link_in(mail) for mail in mails(service)[-2:])
    refused(set_password(service, older, "a better password"), 404, "no-link")
    with service.context.sessions.begin() as session:
        session.execute(text("UPDATE one_time_links SET expires_at = now() WHERE purpose = 'reset'"))
    refused(set_password(service, newer, "a better password"), 404, "no-link")


def test_a_link_used_in_parallel_works_once(service: Service) -> None:
    confirmed(service)
    service.http.post(f"{API}/password-resets", json={"email": GRACE["email"]})
    link = link_in(mails(service)[-1])

    def attempt(number: int) -> int:
        status: int = set_password(service, link, f"a better password {number}").status_code
        return status

    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(attempt, range(4)))
    assert sorted(statuses) == [204, 404, 404, 404]
    fits = [sign_in(service, password=f"a better password {number}").status_code == 201 for number in range(4)]
    assert fits == [status == 204 for status in statuses]


def test_a_link_works_only_for_its_purpose(service: Service) -> None:
    sign_up(service)
    link = link_in(mails(service)[0])
    refused(set_password(service, link, "a better password"), 404, "no-link")


# What failures reveal


def test_an_unknown_name_and_a_wrong_password_get_the_same_error(service: Service) -> None:
    sign_up(service)
    known = sign_in(service, password="wrong")
    unknown = sign_in(service, "nobody", "wrong")
    assert refused(known, 401, "wrong-login") == refused(unknown, 401, "wrong-login")


def test_signing_in_costs_the_same_for_an_unknown_name(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(service)
    seen: list[str] = []
    hashing = password_hashing._hashing
    verify = hashing.verify

    def recording(password: str, stored: str) -> bool:
        seen.append(stored)
        return verify(password, stored)

    monkeypatch.setattr(hashing, "verify", recording)
    for login in ("grace", "nobody", "nobody@example.org", "ada"):
        sign_in(service, login, "wrong")
    costs = {stored.rsplit("$", 2)[0] for stored in seen}
    assert len(seen) == 4
    assert len(costs) == 1, "the same costs"


def test_the_audit_log_has_failures_without_the_guesses(service: Service) -> None:
    sign_up(service)
    sign_in(service, password="wrong")
    sign_in(service, "my-password-in-the-wrong-field", "x")
    with service.context.sessions() as session:
        rows = session.query(AuditEntry).order_by(AuditEntry.id).all()
        assert [(row.action, row.subject, row.actor_id, row.address) for row in rows] == [
            ("sign-in.failed", "account:grace", None, "testclient"),
            ("sign-in.failed", "account", None, "testclient"),
        ]


# Tokens and their scopes


def test_a_token_can_only_do_what_its_scopes_allow(service: Service) -> None:
    csrf = signed_in(service)
    slug, entered = service.competition(), service.competition()
    with service.context.sessions.begin() as session:
        competition_id = session.scalars(select(Competition.id).filter_by(slug=slug)).one()
        grace = session.scalars(select(Account).filter_by(handle="grace")).one()
        give_role(session, competition_id, grace, "organizer", datetime.now(UTC))
    for scope in ("read", "submit", "organize"):
        service.tokens[scope] = token_with(service, csrf, scope)
    service.http.cookies.clear()
    acts: dict[str, tuple[str, str, dict[str, Any]]] = {
        "read": ("GET", f"/competitions/{slug}/submissions", {}),
        "submit": ("POST", f"/competitions/{entered}/submissions", {"content": make_zip(noise_images(9))}),
        "organize": ("PATCH", f"/competitions/{slug}", {"json": {"title": "New"}}),
    }
    for scope in acts:
        for needed, (method, path, options) in acts.items():
            answer = service.call(scope, method, path, **options)
            if scope == needed:
                assert answer.status_code in {200, 202}, (scope, needed, answer.text)
            else:
                refused(answer, 403, "wrong-scope")
    history = f"/competitions/{slug}/tracks/private/thresholds"
    assert service.call("read", "GET", history).status_code == 200
    refused(service.call("submit", "GET", f"/competitions/{slug}/leaderboard"), 403, "wrong-scope")


def test_a_scope_gives_nobody_a_role(service: Service) -> None:
    with service.context.sessions.begin() as session:
        session.execute(text("UPDATE tokens SET scopes = '{read,submit,organize}'"))
    refused(service.call("ada", "POST", "/admin/invitations", json={}), 403, "wrong-role")
    refused(service.call("organizer", "POST", "/admin/accounts", json={"handle": "new"}), 403, "wrong-role")


def test_a_token_cannot_create_tokens_or_take_over_an_account(service: Service) -> None:
    refused(service.call("ada", "POST", "/tokens", json={"name": "t"}), 403, "session-needed")
    refused(service.call("ada", "PUT", "/me/password", json={"new": GOOD}), 403, "session-needed")
    refused(service.call("ada", "PUT", "/me/email", json={"email": "a@example.org"}), 403, "session-needed")


def test_a_token_can_revoke_only_itself(service: Service) -> None:
    csrf = signed_in(service)
    service.tokens["grace"] = token_with(service, csrf, "read", "submit")
    (own,) = browse(service, "GET", "/tokens").json()["tokens"]
    other = browse(service, "POST", "/tokens", csrf, json={"name": "t"}).json()
    service.http.cookies.clear()
    refused(service.call("grace", "DELETE", f"/tokens/{other['id']}"), 403, "session-needed")
    assert service.call("grace", "DELETE", f"/tokens/{own['id']}").status_code == 204
    refused(service.call("grace", "GET", "/me"), 401, "bad-token")


def test_the_number_of_tokens_is_limited(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_tokens, "MAX_TOKENS", 2)
    csrf = signed_in(service)
    made = [browse(service, "POST", "/tokens", csrf, json={"name": "t"}) for _ in range(3)]
    assert [answer.status_code for answer in made[:2]] == [201, 201]
    refused(made[2], 409, "too-many-tokens")


def test_tokens_show_their_last_use_and_end_when_revoked(service: Service) -> None:
    csrf = signed_in(service)
    service.tokens["grace"] = token_with(service, csrf, "read")
    (before,) = browse(service, "GET", "/tokens").json()["tokens"]
    assert before["last_used_at"] is None
    assert "token" not in before
    cookie = service.http.cookies["kennel"]
    service.http.cookies.clear()
    assert service.call("grace", "GET", "/me").json()["scopes"] == ["read"]
    service.http.cookies.set("kennel", cookie)
    (after,) = browse(service, "GET", "/tokens").json()["tokens"]
    used = datetime.fromisoformat(after["last_used_at"])
    assert abs(datetime.now(UTC) - used) < timedelta(minutes=1)
    assert browse(service, "DELETE", f"/tokens/{after['id']}", csrf).status_code == 204
    assert browse(service, "GET", "/tokens").json()["tokens"] == []
    service.http.cookies.clear()
    refused(service.call("grace", "GET", "/me"), 401, "bad-token")


@pytest.mark.parametrize("scopes", [[], ["write"], ["read", "admin"]])
def test_unknown_scopes_are_refused(service: Service, scopes: list[str]) -> None:
    csrf = signed_in(service)
    answer = browse(service, "POST", "/tokens", csrf, json={"name": "t", "scopes": scopes})
    refused(answer, 422, "bad-request")


# Rate limits


def test_a_refused_guess_reports_the_time_to_wait(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(service)
    rated(service, monkeypatch, sign_in="3/15 minutes")
    for login in ("grace", "Grace", "GRACE"):
        assert sign_in(service, login, "wrong").status_code == 401
    answer = sign_in(service)
    refused(answer, 429, "too-often")
    assert 890 <= int(answer.headers["retry-after"]) <= 900
    assert sign_in(service, "ada", "wrong").status_code == 401, "other accounts are not affected"


def test_a_successful_sign_in_resets_the_counter(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(service)
    rated(service, monkeypatch, sign_in="3/15 minutes")
    for _ in range(3):
        assert sign_in(service, password="wrong").status_code == 401
        assert sign_in(service).status_code == 201


def test_all_attempts_from_an_address_are_counted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    rated(service, monkeypatch, sign_in_address="3/hour")
    for handle in ("ada", "bob"):
        assert sign_in(service, handle, "wrong").status_code == 401
    service.tokens["guess"] = "a-guess"
    refused(service.call("guess", "GET", "/me"), 401, "bad-token")
    refused(service.call("guess", "GET", "/me"), 429, "too-often")
    refused(sign_in(service, "eve", "wrong"), 429, "too-often")
    assert service.call("ada", "GET", "/me").status_code == 200


@pytest.mark.parametrize("use", [confirm, lambda service, link: set_password(service, link, "a better password")])
def test_guesses_of_links_are_counted(service: Service, monkeypatch: pytest.MonkeyPatch, use: Any) -> None:
    rated(service, monkeypatch, sign_in_address="2/hour")
    for _ in range(2):
        refused(use(service, "guessed"), 404, "no-link")
    refused(use(service, "guessed"), 429, "too-often")


def test_sign_ups_and_mails_are_counted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    rated(service, monkeypatch, sign_up="2/hour", mail="1/hour", mail_reset="1/hour")
    assert sign_up(service).status_code == 201
    refused(sign_up(service, handle="other"), 429, "too-often")
    refused(sign_up(service, handle="third", email="t@example.org"), 429, "too-often")
    for address in ("nobody@example.org", "Nobody@example.org "):
        answer = service.http.post(f"{API}/password-resets", json={"email": address})
    refused(answer, 429, "too-often")


def test_strangers_cannot_use_up_the_mails_for_a_new_password(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    confirmed(service)
    rated(service, monkeypatch, mail="2/hour", mail_reset="2/hour")
    for handle, status in (("mallory", 201), ("malice", 201), ("malcolm", 429)):
        assert sign_up(service, handle=handle, email=GRACE["email"]).status_code == status
    for status in (202, 202, 429):
        assert service.http.post(f"{API}/password-resets", json={"email": GRACE["email"]}).status_code == status
    assert set_password(service, link_in(mails(service)[-1]), "a better password").status_code == 204


def test_requests_are_counted_per_account(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    rated(service, monkeypatch, request="3/minute")
    for _ in range(3):
        assert service.call("ada", "GET", "/me").status_code == 200
    refused(service.call("ada", "GET", "/me"), 429, "too-often")
    assert service.call("bob", "GET", "/me").status_code == 200
