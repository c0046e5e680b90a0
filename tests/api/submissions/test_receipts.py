"""Receipts: signed scores (private scores after publication) that other libraries and the command verify."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc import jws
from joserfc.jwk import KeySet

from kennel_client.cli.exit_codes import ExitCode
from scorer.acting import Acting
from scorer.db.tables import AuditEntry, SigningKey
from scorer.submissions import receipts
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service
from tests.factories import noise_images

__all__ = ["terminal"]
KEYS = "/.well-known/kennel-keys.json"


def fetch_receipt(service: Service, submission: str, who: str = "ada") -> Any:
    answer = service.call(who, "GET", f"/submissions/{submission}/receipt")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_receipt_has_the_measurements_and_a_signature(service: Service) -> None:
    assert service.http.get(KEYS).json() == {"keys": []}, "there is no key before the first receipt"
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    document = fetch_receipt(service, entry["id"])
    receipt = document["receipt"]
    assert {name: receipt[name] for name in ("competition", "submission", "team", "zip_sha256", "phase", "late")} == {
        "competition": slug,
        "submission": entry["id"],
        "team": entry["team"],
        "zip_sha256": entry["sha256"],
        "phase": "open",
        "late": False,
    }
    (score,) = receipt["scores"]
    (measured,) = entry["measurements"]
    shared = ("track", "mifid", "fid", "memorization_distance", "tau", "penalised", "copy", "rank", "measured_at")
    assert {name: score[name] for name in shared} == {name: measured[name] for name in shared}
    assert score["rank"] == 1
    assert len(score["weights_sha256"]) == len(score["reference"]) == 64
    assert {"python", "pillow", "numpy", "scipy"} <= score["versions"].keys()
    keys = KeySet.import_key_set(service.http.get(KEYS).json())
    payload = jws.deserialize_compact(document["jws"], keys, algorithms=["Ed25519"]).payload
    assert json.loads(payload) == receipt


def test_a_receipt_has_private_scores_after_publication(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    for who in ("ada", "organizer"):
        assert [score["track"] for score in fetch_receipt(service, entry["id"], who)["receipt"]["scores"]] == ["public"]
    body = {"closes_at": (datetime.now(UTC) - timedelta(seconds=1)).isoformat()}
    assert service.call("organizer", "PATCH", f"/competitions/{slug}", json=body).status_code == 200
    act = {"published": True, "reason": "done", "override": "a test"}
    assert service.call("organizer", "POST", f"/competitions/{slug}/publication", json=act).status_code == 201
    receipt = fetch_receipt(service, entry["id"])["receipt"]
    assert (receipt["phase"], [score["track"] for score in receipt["scores"]]) == ("final", ["public", "private"])


def test_receipts_need_access_to_a_scored_entry(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    rejected = service.scored("ada", slug, noise_images(11, 8, 15))
    answers = {
        who: service.call(who, "GET", f"/submissions/{entry['id']}/receipt").status_code
        for who in (None, "bob", "organizer")
    }
    assert answers == {None: 401, "bob": 404, "organizer": 200}
    refused = service.call("ada", "GET", f"/submissions/{rejected['id']}/receipt")
    assert (refused.status_code, refused.json()["type"]) == (404, "urn:kennel:problem:no-score")


def test_after_a_key_rotation_old_receipts_stay_valid(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    before = fetch_receipt(service, entry["id"])["jws"]
    with service.context.sessions.begin() as session:
        made = receipts.rotate(Acting(session, None, datetime.now(UTC)))
        assert [key.private_key is None for key in session.query(SigningKey).order_by(SigningKey.id)] == [True, False]
        assert session.query(AuditEntry).filter_by(subject=f"signing-key:{made['kid']}").count() == 1
    after = fetch_receipt(service, entry["id"])["jws"]
    keys = KeySet.import_key_set(service.http.get(KEYS).json())
    signed_by = [
        jws.deserialize_compact(token, keys, algorithms=["Ed25519"]).headers()["kid"] for token in (before, after)
    ]
    assert signed_by == [service.http.get(KEYS).json()["keys"][1]["kid"], made["kid"]]


def test_the_command_prints_and_verifies_a_receipt(terminal: CliTerminal, service: Service, tmp_path: Path) -> None:
    state = service.app.state
    state.settings = state.settings.model_copy(update={"public_url": terminal.url})
    entry = service.scored("ada", service.competition(), noise_images(10))
    printed = terminal.run("receipt", entry["id"])
    assert printed.status == ExitCode.DONE, printed.err
    receipt, keys = tmp_path / "receipt.json", tmp_path / "keys.json"
    receipt.write_text(printed.out)
    fetched = terminal.run("verify", receipt, who=None)
    assert fetched.status == ExitCode.DONE, fetched.err
    assert f"Signed by {terminal.url}" in fetched.out
    assert entry["id"] in fetched.out

    keys.write_bytes(httpx.get(f"{terminal.url}{KEYS}").content)
    offline = terminal.run("verify", receipt, "--keys", keys, "--json", who=None, url="http://127.0.0.1:9")
    assert (offline.status, offline.document["submission"]) == (ExitCode.DONE, entry["id"])
    receipt.write_text(printed.out.replace(entry["team"], "Eve"))
    altered = terminal.run("verify", receipt, "--keys", keys)
    assert (altered.status, altered.out) == (ExitCode.FAULTY, "")
    assert "differs from the signed content" in altered.err
    keys.write_text("[]")
    assert terminal.run("verify", receipt, "--keys", keys).status == ExitCode.USAGE
    keys.write_text('{"keys": ["x"]}')
    assert terminal.run("verify", receipt, "--keys", keys).status == ExitCode.FAULTY
    assert terminal.run("receipt", "nowhere").status == ExitCode.REFUSED


@pytest.mark.parametrize("content", ["", "{}", '{"receipt": {"issuer": 1}, "jws": ""}'])
def test_malformed_receipts_are_invalid(terminal: CliTerminal, tmp_path: Path, content: str) -> None:
    file = tmp_path / "receipt.json"
    file.write_text(content)
    assert terminal.run("verify", file).status in {ExitCode.FAULTY, ExitCode.USAGE}
