"""Accepting a competition's rules."""

from typing import Any

import pytest
from sqlalchemy import text

from scorer.db.tables import Account
from tests.api.conftest import Service, refused
from tests.api.submissions.tus import stored
from tests.factories import make_zip, noise_images

RULES = "1. One account each.\n"


def version(service: Service, slug: str) -> str:
    """Return the version of the rules that a visitor reads."""
    sha256: str = service.call(None, "GET", f"/competitions/{slug}").json()["rules_sha256"]
    return sha256


def accept(service: Service, slug: str, sha256: str, who: str | None = "ada") -> Any:
    return service.call(who, "PUT", f"/competitions/{slug}/rules-acceptance", json={"rules_sha256": sha256})


def test_entering_requires_accepting_the_rules(service: Service) -> None:
    slug = service.competition(rules=RULES)
    problem = refused(service.submit("ada", slug, make_zip(noise_images(9))), 403, "rules-not-accepted")
    assert problem["rules_sha256"] == version(service, slug)
    assert stored(service, "submissions") == [], "refused before a byte was read"
    acceptances = [service.call(who, "GET", f"/competitions/{slug}").json()["rules_accepted"] for who in (None, "ada")]
    assert acceptances == [None, False]
    refused(accept(service, slug, version(service, slug), None), 401, "no-token")
    first = accept(service, slug, version(service, slug))
    assert first.status_code == 200
    assert service.call("ada", "GET", f"/competitions/{slug}").json()["rules_accepted"] is True
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202
    refused(service.submit("bob", slug, make_zip(noise_images(9))), 403, "rules-not-accepted")


def test_a_setting_requires_a_confirmed_address_for_entering(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition()
    settings = service.app.state.settings.model_copy(update={"require_confirmed_address": True})
    monkeypatch.setattr(service.app.state, "settings", settings)
    content = make_zip(noise_images(9))
    refused(service.submit("ada", slug, content), 403, "address-not-confirmed")
    announced = {"Tus-Resumable": "1.0.0", "Upload-Length": "10"}
    begun = service.call("ada", "POST", f"/competitions/{slug}/uploads", headers=announced)
    refused(begun, 403, "address-not-confirmed")
    assert service.submit("organizer", slug, content, benchmark="Held out").status_code == 202
    with service.context.sessions.begin() as session:
        session.query(Account).filter_by(handle="ada").one().email = "ada@example.org"
    assert service.submit("ada", slug, content).status_code == 202


def test_accepting_again_changes_nothing(service: Service) -> None:
    slug = service.competition(rules=RULES)
    first, again = (accept(service, slug, version(service, slug)) for _ in range(2))
    assert first.json() == again.json()
    with service.context.sessions() as session:
        assert session.execute(text("SELECT count(*) FROM rules_acceptances")).scalar_one() == 1


def test_new_rules_must_be_accepted_again(service: Service) -> None:
    slug = service.competition(rules=RULES)
    old = version(service, slug)
    accept(service, slug, old)
    changed = service.call("organizer", "PATCH", f"/competitions/{slug}", json={"rules": RULES + "2. No copies.\n"})
    assert changed.status_code == 200
    refused(service.submit("ada", slug, make_zip(noise_images(9))), 403, "rules-not-accepted")
    refused(accept(service, slug, old), 409, "rules-changed")
    accept(service, slug, version(service, slug))
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202
    with service.context.sessions() as session:
        accepted = session.execute(text("SELECT rules_sha256 FROM rules_acceptances ORDER BY id")).scalars().all()
    assert accepted == [old, version(service, slug)], "both acceptances are stored"


def test_a_competition_without_rules_needs_no_acceptance(service: Service) -> None:
    slug = service.competition(rules=" \n")
    assert version(service, slug) is None
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202
    refused(accept(service, slug, "0" * 64), 409, "no-rules")


def test_a_benchmark_entry_needs_no_acceptance(service: Service) -> None:
    slug = service.competition(rules=RULES)
    assert service.submit("organizer", slug, make_zip(noise_images(9)), benchmark="Line").status_code == 202
