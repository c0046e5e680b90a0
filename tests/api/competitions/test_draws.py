"""Competitions of generators: their settings, and the secrets that their draws follow from."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest

from scorer.competitions import draw_secrets
from scorer.competitions.competition_state import load_state
from scorer.competitions.draw_secrets import Purpose
from tests.api.conftest import Service, audit_entries, limited, refused, rows_by_table
from tests.factories import make_zip, noise_images
from tests.people import DRAW_KEY
from tests.web.pages import HTML, enter, read

DEFAULTS = {"public": 1, "private": 3, "distribution": "normal", "classes": None, "minutes": 30, "release": False}
HERE = "/competitions/{slug}"
IN_API = ("/competitions", HERE, f"{HERE}/audit", f"{HERE}/publication", "/admin/audit", "/me/data")
PAGES = ("/", HERE, f"{HERE}/settings", f"{HERE}/publication", f"{HERE}/audit", f"{HERE}/insights", "/admin/audit")


def change(service: Service, slug: str, **changes: Any) -> Any:
    return service.call("organizer", "PATCH", f"/competitions/{slug}", json=changes)


def read_secrets(service: Service, slug: str) -> dict[str, str]:
    """The secrets (hex) by purpose, as a worker reads them."""
    with service.context.sessions() as session:
        competition = load_state(session, slug, service.context.now()).competition
        return {
            purpose: draw_secrets.load_secret(session, competition.id, purpose, key=DRAW_KEY).hex()
            for purpose in get_args(Purpose)
        }


def answers(service: Service, slug: str) -> str:
    """All that visitors, teams, organizers and admins see of a competition."""
    people = (None, "ada", "organizer", "admin")
    texts = [service.call(who, "GET", address.format(slug=slug)).text for who in people for address in IN_API]
    for who in people:
        enter(service, who)
        texts += [service.http.get(address.format(slug=slug), headers=HTML).text for address in PAGES]
    enter(service, None)
    return "\n".join(texts)


def shown_secrets(service: Service, slug: str) -> dict[str, Any]:
    shown: dict[str, Any] = service.call(None, "GET", f"/competitions/{slug}").json()["draw_secrets"]
    (listed,) = service.call(None, "GET", "/competitions").json()["competitions"]
    assert listed["draw_secrets"] == shown
    return shown


def test_secrets_are_hidden_until_the_final_board_reveals_them(service: Service) -> None:
    slug = service.competition(entries="generator", image_size=32)
    secrets = read_secrets(service, slug)
    commitments = {purpose: hashlib.sha256(bytes.fromhex(secret)).hexdigest() for purpose, secret in secrets.items()}
    assert len(set(secrets.values())) == 3
    assert audit_entries(service, "competition.draw-secrets") == [
        ("organizer", f"competition:{slug}", None, commitments)
    ]
    assert shown_secrets(service, slug) == {
        purpose: {"sha256": commitment, "secret": None} for purpose, commitment in commitments.items()
    }
    service.close(slug)
    service.publish(slug, final=False)
    seen = answers(service, slug)
    assert min(seen.count(commitment) for commitment in commitments.values()) > 10
    seen += "".join(rows_by_table(service).values())
    assert [purpose for purpose, secret in secrets.items() if secret in seen] == []

    service.publish(slug)
    revealed = secrets | {"late": None}
    assert {purpose: shown["secret"] for purpose, shown in shown_secrets(service, slug).items()} == revealed
    page = service.http.get(f"/competitions/{slug}", headers=HTML).text
    assert [purpose for purpose, secret in secrets.items() if secret in page] == ["public", "private"]
    assert secrets["late"] not in answers(service, slug)

    service.publish(slug, published=False)
    assert {purpose: shown["secret"] for purpose, shown in shown_secrets(service, slug).items()} == revealed


@pytest.mark.parametrize("final", [False, True])
def test_no_entry_is_possible_once_private_draws_have_been_public(service: Service, *, final: bool) -> None:
    slug = service.competition(entries="generator", image_size=32)
    service.close(slug)
    service.publish(slug, final=final)
    service.publish(slug, published=False)
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    problem = refused(change(service, slug, closes_at=later), 409, "fixed-by-now")
    assert problem["faults"] == ["closes_at: The draws for the final score have been published."]


def test_without_the_key_a_final_board_still_shows_the_commitments(service: Service, monkeypatch: Any) -> None:
    slug = service.competition(entries="generator", image_size=32)
    service.close(slug)
    service.publish(slug)
    limited(service, monkeypatch, draw_key=None)
    assert {shown["secret"] for shown in shown_secrets(service, slug).values()} == {None}
    assert service.http.get(f"/competitions/{slug}", headers=HTML).status_code == 200
    draft = {"slug": "no-key", "title": "Dogs", "entries": "generator", "public": {"extractor": "tiny"}}
    refused(
        service.call("organizer", "POST", "/competitions", json=draft | {"private": draft["public"]}),
        503,
        "no-draw-key",
    )


def test_draws_change_one_by_one_until_the_first_entry(service: Service) -> None:
    slug = service.competition(rules="Be fair.", title="Dogs")
    version = service.call(None, "GET", f"/competitions/{slug}").json()["rules_sha256"]
    service.call("bob", "PUT", f"/competitions/{slug}/rules-acceptance", json={"rules_sha256": version})
    assert change(service, slug, draws={"private": 2, "classes": 10}).is_success
    assert change(service, slug, draws={"private": 2, "distribution": "uniform", "minutes": 1}).is_success
    (*_, before, after) = audit_entries(service, "competition.changed")[-1]
    earlier = DEFAULTS | {"private": 2, "classes": 10}
    assert (before, after) == ({"draws": earlier}, {"draws": earlier | {"distribution": "uniform", "minutes": 1}})
    assert [notice["body"] for notice in service.notices("bob")[:2]] == [
        "Dogs has changed. Latent distribution of entries that declare no other: uniform (previously normal). "
        "Time limit for all draws of an entry: 1 minute (previously 30 minutes).",
        "Dogs has changed. Draws for the final score: 2 (previously 3). "
        "Classes after the latent: 10 (previously none).",
    ]
    service.call("ada", "PUT", f"/competitions/{slug}/rules-acceptance", json={"rules_sha256": version})
    entry = service.entered("ada", slug, make_zip(noise_images(9)))
    assert service.call("ada", "POST", f"/submissions/{entry['id']}/cancel").is_success
    problem = refused(change(service, slug, draws={"private": 9}, entries="generator"), 409, "fixed-by-now")
    assert problem["faults"] == [
        "entries: The competition is no longer a draft.",
        "draws: The competition has entries.",
    ]
    assert service.call(None, "GET", f"/competitions/{slug}").json()["draw_secrets"] == {}


def test_a_draft_can_become_a_competition_of_generators(service: Service) -> None:
    slug = service.competition(opens_at=None)
    for entries in ("generator", "images", "generator"):
        assert change(service, slug, entries=entries).is_success
    assert len(audit_entries(service, "competition.draw-secrets")) == 1, "the first secrets stay"
    shown = service.call("organizer", "GET", f"/competitions/{slug}").json()["draw_secrets"]
    assert list(shown) == ["public", "private", "late"]
    enter(service, "organizer")
    for release, sentence in ((False, "contains no models"), (True, "contains all models as uploaded")):
        assert change(service, slug, draws={"release": release}).is_success
        assert sentence in read(service, HERE.format(slug=slug)).text
