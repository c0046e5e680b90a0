"""Second factors: codes, recovery codes, the second step of signing in, and roles that require one."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from deploy.cli import admin
from scorer.accounts import second_factors
from scorer.db.tables import WebSession
from tests.api.accounts.grace import (
    GOOD,
    GRACE,
    MOMENT,
    SETUP,
    browse,
    compute_code,
    confirmed,
    mails,
    second_step,
    sign_in,
    signed_in,
    stop_clock,
    with_totp,
)
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service, audit_entries, rated, refused

__all__ = ["terminal"]  # pytest finds the fixture by its name in this module


def test_a_password_alone_does_not_sign_in(service: Service) -> None:
    _, key = with_totp(service)
    answer = sign_in(service)
    assert (answer.status_code, answer.json()["second_factor"]) == (201, True)
    assert browse(service, "GET", "/me").status_code == 401
    refused(browse(service, "POST", "/tokens", answer.json()["csrf_token"], json={"name": "t"}), 401, "no-token")
    refused(second_step(service, code="000000"), 401, "wrong-code")
    first = service.http.cookies["kennel"]
    done = second_step(service, code=compute_code(key))
    assert (done.status_code, done.json()["second_factor"]) == (201, False)
    assert browse(service, "GET", "/me").json()["handle"] == "grace"
    assert service.http.cookies["kennel"] != first, "the second step sets a new cookie"
    service.http.cookies.clear()
    service.http.cookies.set("kennel", first)
    assert browse(service, "GET", "/me").status_code == 401


def test_a_code_works_once(service: Service) -> None:
    _, key = with_totp(service)
    code = compute_code(key)
    sign_in(service)
    assert second_step(service, code=code).status_code == 201
    sign_in(service)
    refused(second_step(service, code=code), 401, "wrong-code")


def test_codes_for_other_times_are_refused(service: Service) -> None:
    _, key = with_totp(service)
    sign_in(service)
    for steps in (-5, 5):
        refused(second_step(service, code=compute_code(key, steps)), 401, "wrong-code")


def test_guesses_of_codes_are_limited(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    _, key = with_totp(service)
    rated(service, monkeypatch, second_factor="3/hour")
    for _ in range(3):
        sign_in(service)
        refused(second_step(service, code="000000"), 401, "wrong-code")
    sign_in(service)
    refused(second_step(service, code=compute_code(key)), 429, "too-often")


def test_strangers_with_the_password_do_not_lock_out_the_owner(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner uses a browser in which they have signed in before."""
    _, key = with_totp(service)
    own = service.http.cookies["kennel-device"]
    rated(service, monkeypatch, second_factor="3/hour")
    for stranger in (None, "stranger"):
        service.http.cookies.clear()
        if stranger:
            service.http.cookies.set("kennel-device", stranger)
        for _ in range(3):
            sign_in(service)
            assert second_step(service, code="000000").status_code in {401, 429}
    sign_in(service)
    refused(second_step(service, code=compute_code(key)), 429, "too-often")
    service.http.cookies.clear()
    service.http.cookies.set("kennel-device", own)
    sign_in(service)
    assert second_step(service, code=compute_code(key)).status_code == 201


def test_the_second_step_expires_after_ten_minutes(service: Service) -> None:
    _, key = with_totp(service)
    sign_in(service)
    with service.context.sessions.begin() as session:
        waiting = session.query(WebSession).filter_by(awaits_second_factor=True).one()
        assert waiting.expires_at - waiting.created_at == timedelta(minutes=10)
        waiting.expires_at = MOMENT
    refused(second_step(service, code=compute_code(key)), 401, "no-sign-in")
    service.http.cookies.clear()
    refused(second_step(service, code=compute_code(key)), 401, "no-sign-in")


def test_a_recovery_code_works_once_and_new_codes_replace_the_old(service: Service) -> None:
    csrf, _ = with_totp(service)
    refused(browse(service, "POST", "/me/recovery-codes", csrf, json={}), 403, "wrong-password")
    made = browse(service, "POST", "/me/recovery-codes", csrf, json={"password": GOOD})
    codes = made.json()["codes"]
    assert (made.status_code, len(set(codes)), made.headers["cache-control"]) == (201, 10, "no-store")
    sign_in(service)
    assert second_step(service, code=codes[0].lower()).status_code == 201
    assert browse(service, "GET", SETUP).json()["recovery_codes"] == 9
    sign_in(service)
    refused(second_step(service, code=codes[0]), 401, "wrong-code")
    csrf = second_step(service, code=codes[1]).json()["csrf_token"]
    browse(service, "POST", "/me/recovery-codes", csrf, json={"password": GOOD})
    sign_in(service)
    refused(second_step(service, code=codes[2]), 401, "wrong-code")
    with service.context.sessions() as session:
        rows = str(session.execute(text("SELECT * FROM second_factors")).all()).upper()
        assert not [code for code in codes if code in rows or code.replace("-", "") in rows]


def test_setup_needs_the_password_and_a_code(service: Service) -> None:
    stop_clock(service)
    csrf = signed_in(service)
    key = browse(service, "POST", f"{SETUP}/totp-key", csrf).json()["key"]
    good = {"key": key, "code": compute_code(key), "password": GOOD}
    for changes, status, slug in (
        ({"password": "guessed"}, 403, "wrong-password"),
        ({"code": "000000"}, 422, "wrong-code"),
        ({"key": "A" * 32, "code": compute_code("A" * 32)}, 422, "stale-key"),
    ):
        refused(browse(service, "POST", f"{SETUP}/totp", csrf, json=good | changes), status, slug)
    refused(browse(service, "POST", "/me/recovery-codes", csrf, json={"password": GOOD}), 409, "no-second-factor")
    assert browse(service, "POST", f"{SETUP}/totp", csrf, json=good).status_code == 204
    refused(browse(service, "POST", f"{SETUP}/totp", csrf, json=good), 409, "totp-exists")
    refused(service.call("ada", "POST", f"{SETUP}/totp", json=good), 403, "session-needed")


def test_without_a_second_factor_a_password_is_enough(service: Service) -> None:
    csrf, _ = with_totp(service)
    browse(service, "POST", "/me/recovery-codes", csrf, json={"password": GOOD})
    (factor,) = browse(service, "GET", SETUP).json()["factors"]
    path = f"{SETUP}/{factor['id']}/removal"
    refused(browse(service, "POST", path, csrf, json={"password": "guessed"}), 403, "wrong-password")
    assert browse(service, "POST", path, csrf, json={"password": GOOD}).status_code == 204
    refused(browse(service, "POST", path, csrf, json={"password": GOOD}), 404, "no-second-factor-here")
    assert browse(service, "GET", SETUP).json() == {"factors": [], "recovery_codes": 0, "required": False}
    assert sign_in(service).json()["second_factor"] is False
    assert [entry[1] for entry in audit_entries(service, "second-factor.removed")] == ["account:grace"]


def test_the_owner_gets_a_mail_about_added_and_removed_factors(service: Service) -> None:
    confirmed(service)
    csrf = sign_in(service).json()["csrf_token"]
    stop_clock(service)
    key = browse(service, "POST", f"{SETUP}/totp-key", csrf).json()["key"]
    good = {"key": key, "code": compute_code(key), "password": GOOD}
    assert browse(service, "POST", f"{SETUP}/totp", csrf, json=good).status_code == 204
    (factor,) = browse(service, "GET", SETUP).json()["factors"]
    browse(service, "POST", f"{SETUP}/{factor['id']}/removal", csrf, json={"password": GOOD})
    notified = mails(service)[-2:]
    assert [mail.recipient for mail in notified] == [GRACE["email"]] * 2
    assert [word in mail.body for word, mail in zip(("was added", "was removed"), notified, strict=True)] == [
        True,
        True,
    ]


def test_the_number_of_factors_is_limited(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_factors, "MAX_FACTORS", 0)
    stop_clock(service)
    csrf = signed_in(service)
    key = browse(service, "POST", f"{SETUP}/totp-key", csrf).json()["key"]
    good = {"key": key, "code": compute_code(key), "password": GOOD}
    refused(browse(service, "POST", f"{SETUP}/totp", csrf, json=good), 409, "too-many-factors")


def test_nobody_can_remove_the_factors_of_others(service: Service) -> None:
    csrf, _ = with_totp(service)
    (factor,) = browse(service, "GET", SETUP).json()["factors"]
    csrf = signed_in(service, handle="mallory", email="m@example.org")
    path = f"{SETUP}/{factor['id']}/removal"
    refused(browse(service, "POST", path, csrf, json={"password": GOOD}), 404, "no-second-factor-here")


def test_the_operator_can_remove_lost_factors(service: Service, operator: CliRunner) -> None:
    with_totp(service)
    assert operator.invoke(admin.app, ["remove-second-factor", "grace"]).exit_code == 0
    assert sign_in(service).json()["second_factor"] is False
    assert [entry[:2] for entry in audit_entries(service, "second-factors.removed")] == [(None, "account:grace")]


@pytest.mark.parametrize(
    ("policy", "needed"),
    [
        ("nobody", ()),
        ("admins", ("admin",)),
        ("organizers", ("admin", "organizer")),
        ("everybody", ("admin", "organizer", "ada")),
    ],
)
def test_roles_that_must_have_a_factor_are_refused_without_one(
    service: Service, monkeypatch: pytest.MonkeyPatch, policy: str, needed: tuple[str, ...]
) -> None:
    settings = service.app.state.settings.model_copy(update={"require_second_factor": policy})
    monkeypatch.setattr(service.app.state, "settings", settings)
    for who in ("admin", "organizer", "ada"):
        for answer in (service.call(who, "GET", "/competitions"), service.browse(who, "GET", "/competitions")):
            if who in needed:
                refused(answer, 403, "second-factor-needed")
            else:
                assert answer.status_code == 200
        assert service.browse(who, "GET", SETUP).json()["required"] is (who in needed)
    assert service.call(None, "GET", "/competitions").status_code == 200


def test_an_account_that_must_set_up_a_factor_can_only_do_that(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    csrf = signed_in(service)
    settings = service.app.state.settings.model_copy(update={"require_second_factor": "everybody"})
    monkeypatch.setattr(service.app.state, "settings", settings)
    for method, path in (
        ("GET", "/me/data"),
        ("PUT", "/me/password"),
        ("PUT", "/me/email"),
        ("POST", "/me/deletion"),
        ("GET", "/sessions"),
        ("POST", "/tokens"),
        ("POST", "/webhooks"),
    ):
        refused(browse(service, method, path, csrf, json={}), 403, "second-factor-needed")
    for path in ("/account/tokens", "/account/password", "/account/notices/webhooks", "/account/deletion"):
        refused(service.http.post(path, data={"csrf": csrf}), 403, "second-factor-needed")
    assert service.http.get("/account").status_code == 200
    assert service.http.get("/account/second-factor").status_code == 200
    assert browse(service, "GET", "/me").status_code == 200
    stop_clock(service)
    key = browse(service, "POST", f"{SETUP}/totp-key", csrf).json()["key"]
    good = {"key": key, "code": compute_code(key), "password": GOOD}
    assert browse(service, "POST", f"{SETUP}/totp", csrf, json=good).status_code == 204
    assert browse(service, "POST", "/me/recovery-codes", csrf, json={"password": GOOD}).status_code == 201
    assert browse(service, "GET", "/sessions").status_code == 200


def test_an_account_with_the_required_factor_is_not_refused(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    with_totp(service)
    settings = service.app.state.settings.model_copy(update={"require_second_factor": "everybody"})
    monkeypatch.setattr(service.app.state, "settings", settings)
    assert browse(service, "GET", "/competitions").status_code == 200


def test_the_command_asks_for_the_code(service: Service, terminal: CliTerminal) -> None:
    csrf, _ = with_totp(service)
    codes = browse(service, "POST", "/me/recovery-codes", csrf, json={"password": GOOD}).json()["codes"]
    answers = {
        "API token": "",
        "Handle or email address": "grace",
        "Password": GOOD,
        "recovery code": codes[0],
    }
    seen = terminal.run_interactively("login", answers, hidden=("API token", "Password"))
    assert "Signed in as grace" in seen


def test_malformed_passkeys_are_refused(service: Service) -> None:
    csrf, _ = with_totp(service)
    refused(browse(service, "POST", f"{SETUP}/passkeys", csrf, json={"credential": "{}"}), 422, "no-challenge")
    refused(browse(service, "POST", f"{SETUP}/passkey-options", csrf, json={}), 403, "wrong-password")
    asked = browse(service, "POST", f"{SETUP}/passkey-options", csrf, json={"password": GOOD}).json()
    assert asked["rp"]["id"] == "127.0.0.1"
    for wrong in ("{}", "no JSON", "[]", '{"id": "x"}'):
        refused(browse(service, "POST", f"{SETUP}/passkeys", csrf, json={"credential": wrong}), 422, "bad-passkey")
    sign_in(service)
    refused(second_step(service, passkey="{}"), 422, "no-challenge")
    assert browse(service, "POST", "/session/passkey-options").json()["allowCredentials"] == []
    refused(second_step(service, passkey="{}"), 401, "wrong-passkey")


def test_a_step_is_thirty_seconds() -> None:
    """RFC 6238, appendix B: the last six digits of the test value at 59 s."""
    key = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    assert second_factors._find_step(key, "287082", datetime.fromtimestamp(59, UTC)) == 1
    assert second_factors._find_step(key, "287082", datetime.fromtimestamp(59 + 90, UTC)) is None
