"""The audit log: actions of organizers and the operator, with the earlier values."""

from typer.testing import CliRunner

from deploy.cli import admin, admin_installation
from tests.api.accounts.grace import set_password
from tests.api.conftest import API, Service, audit_entries
from tests.factories import make_zip, noise_images


def test_every_action_of_an_organizer_is_logged(service: Service) -> None:
    slug = service.competition(title="First")
    entry = service.scored("ada", slug, noise_images(10))["id"]
    where = f"/competitions/{slug}"
    for body in ({"title": "Second"}, {"rules": "Be kind."}):
        service.call("organizer", "PATCH", where, json=body)
    for label in ("aug", "legitimate"):
        body = {"label": label, "note": "seen"}
        service.call("organizer", "PUT", f"{where}/submissions/{entry}/label", json=body)
    thresholds = f"{where}/tracks/public/thresholds"
    service.call("organizer", "POST", thresholds, json={"preview": True, "method": "manual", "tau": 0.3})
    service.call("organizer", "POST", thresholds, json={"method": "manual", "tau": 0.3, "reason": "seen"})
    service.browse("admin", "POST", "/admin/accounts", json={"handle": "rev", "role": "organizer"})

    ((who, what, before, after),) = audit_entries(service, "competition.created")
    assert (who, what, before, after["title"]) == ("organizer", f"competition:{slug}", None, "First")
    assert [entry_row[2:] for entry_row in audit_entries(service, "competition.changed")] == [
        ({"title": "First"}, {"title": "Second"}),
        ({"rules": ""}, {"rules": "Be kind."}),
    ]
    assert [entry_row[2:] for entry_row in audit_entries(service, "label.decided")] == [
        (None, {"label": "aug", "note": "seen"}),
        ({"label": "aug", "note": "seen"}, {"label": "legitimate", "note": "seen"}),
    ]
    ((who, what, before, after),) = audit_entries(service, "threshold.chosen")
    assert (who, what) == ("organizer", f"track:{slug}/public")
    assert (before["method"], after) == ("held_out", {"tau": 0.3, "method": "manual", "reason": "seen"})
    assert len(audit_entries(service, "references.attached")) == 3
    assert len(audit_entries(service, "references.prepared")) == 2
    assert audit_entries(service, "account.created") == [("admin", "account:rev", None, {"role": "organizer"})]


def test_actions_with_tokens_and_benchmarks_are_logged(service: Service) -> None:
    made = service.browse("ada", "POST", "/tokens", json={"name": "laptop", "scopes": ["read"]}).json()
    service.browse("ada", "DELETE", f"/tokens/{made['id']}")
    assert audit_entries(service, "token.made") == [("ada", "account:ada", None, {"scopes": ["read"]})]
    assert audit_entries(service, "token.revoked") == [("ada", "account:ada", None, None)]
    slug = service.competition()
    service.submit("ada", slug, make_zip(noise_images(10)))
    entry = service.submit("organizer", slug, make_zip(noise_images(11)), benchmark="Line").json()["id"]
    after = {"benchmark": "Line"}
    assert audit_entries(service, "benchmark.entered") == [("organizer", f"submission:{entry}", None, after)]


def test_admins_read_the_log_in_pages(service: Service) -> None:
    slug = service.competition()
    service.http.post(f"{API}/session", json={"login": "ada", "password": "wrong"})
    first = service.call("admin", "GET", "/admin/audit", params={"limit": 2}).json()
    (newest, _) = first["entries"]
    assert (newest["action"], newest["subject"], newest["actor"]) == ("sign-in.failed", "account:ada", None)
    rest = service.call("admin", "GET", "/admin/audit", params={"after": first["next_after"]}).json()
    ids = [entry["id"] for entry in first["entries"] + rest["entries"]]
    assert ids == sorted(ids, reverse=True)
    assert rest["next_after"] is None
    wanted = {"subject": f"competition:{slug}", "action": "competition.created"}
    (made,) = service.call("admin", "GET", "/admin/audit", params=wanted).json()["entries"]
    assert (made["actor"], made["after"]["slug"]) == ("organizer", slug)
    for who, status in ((None, 401), ("ada", 403), ("organizer", 403)):
        assert service.call(who, "GET", "/admin/audit").status_code == status


def test_a_refused_action_is_not_logged(service: Service) -> None:
    slug = service.competition()
    answer = service.call("organizer", "PATCH", f"/competitions/{slug}", json={"closes_at": "2001-01-01T00:00:00Z"})
    assert answer.status_code == 422
    assert audit_entries(service, "competition.changed") == []


def test_the_operator_can_create_a_reset_link(service: Service, operator: CliRunner) -> None:
    printed = operator.invoke(admin.app, ["reset-link", "Ada"])
    assert printed.exit_code == 0
    link = printed.output.strip()
    page, _, secret = link.partition("#")
    assert page == "https://kennel.example.org/new-password"
    assert set_password(service, secret, "correct horse battery").status_code == 204
    signed = service.http.post(f"{API}/session", json={"login": "ada", "password": "correct horse battery"})
    assert signed.status_code == 201
    assert audit_entries(service, "reset-link.made")[0][:2] == (None, "account:ada")


def test_an_unknown_account_gets_no_reset_link(operator: CliRunner) -> None:
    printed = operator.invoke(admin.app, ["reset-link", "nobody"])
    assert printed.exit_code == 1
    assert "No account has the handle 'nobody'." in str(printed.exception)


def test_the_operator_gives_roles_and_tokens(service: Service, operator: CliRunner) -> None:
    assert operator.invoke(admin.app, ["set-role", "eve", "organizer"]).output == "eve is now organizer.\n"
    assert audit_entries(service, "role.changed") == [
        (None, "account:eve", {"role": "participant"}, {"role": "organizer"}),
    ]
    assert service.call("eve", "POST", "/admin/invitations", json={}).status_code == 403, (
        "the token is older than the role"
    )
    service.tokens["eve"] = operator.invoke(admin.app, ["token", "eve"]).output.strip()
    assert service.call("eve", "POST", "/admin/invitations", json={}).status_code == 201
    service.tokens["new"] = operator.invoke(admin.app, ["create", "new"]).output.strip()
    assert service.call("new", "GET", "/me").json()["scopes"] == ["read", "submit"]
    refused = operator.invoke(admin.app, ["set-role", "admin", "participant"])
    assert "last admin" in str(refused.exception)


def test_the_operator_can_rotate_the_key_for_receipts(service: Service, operator: CliRunner) -> None:
    made = [operator.invoke(admin_installation.app, ["rotate-signing-key"]).output.strip() for _ in range(2)]
    published = service.http.get("/.well-known/kennel-keys.json").json()["keys"]
    assert [key["kid"] for key in published] == made[::-1]
    assert [subject for _, subject, *_ in audit_entries(service, "signing-key.made")] == [
        f"signing-key:{kid}" for kid in made
    ]


def test_the_operator_creates_an_admin_with_a_full_token(service: Service, operator: CliRunner) -> None:
    printed = operator.invoke(admin.app, ["create-admin", "root"])
    service.tokens["root"] = printed.output.strip()
    assert service.call("root", "GET", "/me").json()["scopes"] == ["read", "submit", "organize"]
    assert service.call("root", "GET", "/admin/accounts").status_code == 200
