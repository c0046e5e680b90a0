"""A blob store in S3 (moto): presigned uploads, redirects to data files, files of an entry."""

import hashlib
import io
import zipfile
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from pydantic import SecretStr

from kennel_client.api import ApiClient
from kennel_client.resumable import PendingUpload, upload
from scorer.blobs import open_blobs
from scorer.db.tables import Submission, Upload
from scorer.settings import Settings
from scorer.teams.storage import SHARE
from tests.api.conftest import API, Service, limited, refused
from tests.api.submissions.tus import TUS, begun, send
from tests.factories import make_zip, noise_images
from tests.http_server import serve
from tests.linear_generators import honest_generator
from tests.privacy.requests import CODE
from worker.maintenance import cleanup

ZIP = make_zip(noise_images(9))


@pytest.fixture
def settings(settings: Settings, s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of a service with a store that participants can reach."""
    values = {"ENDPOINT": s3, "ALLOW_HTTP": "true", "REGION": "us-east-1"}
    for name, value in {**values, "ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    update = {
        "blob_url": f"s3://kennel/{tmp_path.name}",
        "s3_public_endpoint": s3,
        "s3_secret_key": SecretStr("secret"),
    }
    return settings.model_copy(update=update)


@pytest.fixture
def slug(service: Service) -> str:
    return service.competition()


def create(service: Service, slug: str, **body: Any) -> Any:
    """Create an upload with a JSON body."""
    headers = {"Idempotency-Key": body.pop("key")} if "key" in body else {}
    path = f"/competitions/{slug}/uploads"
    return service.call("ada", "POST", path, json={"length": len(ZIP), **body}, headers=headers)


def put(view: dict[str, Any], content: bytes = ZIP) -> None:
    """Send a zip to the signed address, without the store's credentials."""
    assert httpx.put(view["url"], content=content).status_code == 200


def complete(service: Service, view: dict[str, Any], who: str = "ada") -> Any:
    return service.call(who, "POST", f"/uploads/{view['id']}/complete")


def test_a_zip_is_uploaded_directly_to_the_store(service: Service, slug: str) -> None:
    sha256 = hashlib.sha256(ZIP).hexdigest()
    answer = create(service, slug, file_name="mine.zip", note="by put", sha256=sha256)
    view = answer.json()
    assert (answer.status_code, view["method"], view["state"]) == (201, "put", "receiving")
    assert answer.headers["location"] == f"{API}/uploads/{view['id']}"
    put(view)
    done = complete(service, view)
    assert (done.status_code, done.json()["state"]) == (200, "done")
    assert complete(service, view).json() == done.json()
    entry = service.call("ada", "GET", f"/submissions/{done.json()['submission']}").json()
    assert (entry["sha256"], entry["file_name"], entry["note"]) == (sha256, "mine.zip", "by put")
    service.run_jobs()
    assert service.call("ada", "GET", f"/submissions/{entry['id']}").json()["status"] == "scored"


def test_a_generator_is_uploaded_directly_to_the_store(service: Service, slug: str) -> None:
    generators, onnx = service.competition(entries="generator"), honest_generator(1, 16)
    body = {"length": len(onnx), "latent": 12, "distribution": "uniform", "file_name": "g.onnx"}
    view = create(service, generators, **body).json()
    put(view, onnx)
    done = complete(service, view).json()
    with service.context.sessions() as session:
        row = session.query(Submission).filter_by(id=done["submission"]).one()
    assert row.latent == {"dimension": 12, "distribution": "uniform", "classes": None}
    assert service.context.blobs.read(row.blob_key or "") == onnx
    again = create(service, generators, **body).json()
    put(again, onnx)
    assert (complete(service, again).json()["submission"], row.blob_key) == (row.id, f"submissions/{view['id']}.onnx")
    wrong = create(service, slug, length=len(onnx), file_name="g.onnx").json()
    put(wrong, onnx)
    assert "kennel draw g.onnx" in refused(complete(service, wrong), 422, "not-a-zip")["title"]
    refused(create(service, slug, latent=12), 422, "bad-latent")


def test_the_address_accepts_only_the_announced_length(service: Service, slug: str) -> None:
    """moto does not check signatures. tests/pure/archive/test_presigning.py does."""
    signed = parse_qs(urlsplit(create(service, slug).json()["url"]).query)
    assert signed["X-Amz-SignedHeaders"] == ["content-length;host"]


def test_without_the_stores_key_uploads_go_through_the_service(service: Service, slug: str, settings: Settings) -> None:
    service.app.state.blobs = open_blobs(settings.model_copy(update={"s3_secret_key": None}))
    assert create(service, slug).json()["method"] == "tus"
    refused(create(service, slug, method="put"), 422, "no-put")


def used(service: Service, slug: str) -> tuple[int, int]:
    """Return the team's stored bytes and the bytes reserved for uploads."""
    limits = service.call("ada", "GET", f"/competitions/{slug}/limits").json()
    return limits["stored_bytes"], limits["staged_bytes"]


def test_an_abandoned_upload_counts_while_its_address_works(service: Service, slug: str) -> None:
    view = create(service, slug).json()
    assert service.call("ada", "DELETE", f"/uploads/{view['id']}", headers=TUS).status_code == 204
    put(view)  # the address still works
    cleanup.clean_up_uploads(service.context)
    assert used(service, slug) == (0, len(ZIP))
    later = service.context.now() + timedelta(seconds=service.context.settings.upload_life_seconds)
    cleanup.clean_up_uploads(replace(service.context, now=lambda: later))
    assert used(service, slug) == (0, 0)
    assert list(service.context.blobs.older_than("uploads", later)) == []


def test_an_address_keeps_its_reservation_of_free_bytes(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(service, monkeypatch, max_competition_bytes=SHARE * len(ZIP))
    view = create(service, slug).json()
    with service.context.sessions() as session:
        assert session.get_one(Upload, view["id"]).reserved_until is None
    assert (view["method"], used(service, slug)) == ("put", (0, len(ZIP)))
    beyond = create(service, slug, method="put", key="once").json()
    assert (beyond["method"], create(service, slug, method="put", key="once").json()["id"]) == ("tus", beyond["id"])
    assert used(service, slug) == (0, len(ZIP))
    put(view)
    assert complete(service, view).json()["state"] == "done"
    assert "kennel-submission" in send(service, f"/uploads/{beyond['id']}", 0, ZIP).headers


def test_bytes_sent_after_completion_change_nothing(service: Service, slug: str) -> None:
    view = create(service, slug).json()
    put(view)
    entry = complete(service, view).json()["submission"]
    put(view, b"something else")
    service.run_jobs()
    assert service.call("ada", "GET", f"/submissions/{entry}").json()["status"] == "scored"
    cleanup.clean_up_uploads(service.context)
    assert list(service.context.blobs.older_than("uploads", service.context.now())) == []


def test_completion_requires_the_announced_bytes(service: Service, slug: str) -> None:
    view = create(service, slug).json()
    refused(complete(service, view), 409, "not-complete")
    put(view, ZIP[:-1])
    refused(complete(service, view), 409, "not-complete")
    put(view)
    refused(complete(service, view, "bob"), 404, "no-upload")
    assert complete(service, view).json()["state"] == "done"


def test_wrong_bytes_are_refused_permanently(service: Service, slug: str) -> None:
    view = create(service, slug, sha256="0" * 64).json()
    put(view)
    refused(complete(service, view), 422, "wrong-sha256")
    refused(complete(service, view), 422, "wrong-sha256")
    torn = create(service, slug).json()
    put(torn, bytes(len(ZIP)))
    refused(complete(service, torn), 422, "not-a-zip")
    assert list(service.context.blobs.older_than("submissions", service.context.now())) == []


def test_a_repeated_key_returns_the_same_upload(service: Service, slug: str) -> None:
    first, again = create(service, slug, key="once").json(), create(service, slug, key="once").json()
    assert first["id"] == again["id"]
    put(again)
    assert complete(service, first).json()["state"] == "done"
    assert create(service, slug, key="once").json()["state"] == "done"
    refused(create(service, slug, key="once", note="another"), 409, "key-reused")


def test_tus_works_with_s3_and_methods_are_not_mixed(service: Service, slug: str) -> None:
    path = begun(service, slug)
    send(service, path, 0, ZIP[:100])
    assert "kennel-submission" in send(service, path, 100, ZIP[100:]).headers
    view = create(service, slug).json()
    refused(send(service, f"/uploads/{view['id']}", 0, ZIP), 409, "wrong-method")
    asked = create(service, slug, method="tus").json()
    assert (asked["method"], asked["url"]) == ("tus", f"{API}/uploads/{asked['id']}")


def test_invalid_creations_are_refused(service: Service, slug: str) -> None:
    refused(create(service, slug, length=0), 422, "empty")
    refused(create(service, slug, lenght=1), 422, "bad-request")
    refused(create(service, slug, length=1 << 30), 413, "too-large")


def test_our_client_uses_presigned_uploads_if_offered(service: Service, slug: str) -> None:
    seen: list[int] = []
    with serve(service.app) as url, ApiClient(url, service.tokens["ada"]) as client:
        promise = PendingUpload(slug, "put.zip", len(ZIP), "key", sha256=hashlib.sha256(ZIP).hexdigest())
        made = client.run(upload(promise, BytesIO(ZIP), lambda sent, _: seen.append(sent)))
    with service.context.sessions() as session:
        assert session.query(Upload).one().method == "put"
    assert service.call("ada", "GET", f"/submissions/{made}").json()["file_name"] == "put.zip"
    assert seen[-1] == len(ZIP)


def test_sprites_and_code_are_stored_and_downloaded(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(9))
    sprite = service.call("ada", "GET", entry["sprite"].removeprefix("/api/v1"))
    assert (sprite.status_code, sprite.headers["content-type"]) == (200, "image/png")
    assert sprite.content.startswith(b"\x89PNG\r\n")
    code = f"/submissions/{entry['id']}/code"
    for content in (CODE, make_zip(noise_images(3))):
        attached = service.call("ada", "PUT", code, content=content)
        assert attached.status_code == 200, attached.text
        assert service.call("organizer", "GET", code).content == content
    assert service.call("bob", "GET", code).status_code == 404
    assert service.call("bob", "GET", entry["sprite"].removeprefix("/api/v1")).status_code == 404


SAMPLE = bytes(range(256)) * 4000


def test_one_data_file_is_a_redirect_and_many_are_a_stream(service: Service) -> None:
    slug = service.competition()
    data = f"/competitions/{slug}/data"
    service.call("organizer", "PUT", f"{data}/sample.bin", content=SAMPLE)
    service.http.follow_redirects = False
    answer = service.call("ada", "GET", f"{data}/sample.bin")
    assert (answer.status_code, answer.headers["cache-control"]) == (302, "no-store")
    assert answer.headers["location"].split("?")[0].endswith("/sample.bin")
    fetched = httpx.get(answer.headers["location"], headers={"Range": "bytes=10-19"})
    assert (fetched.status_code, fetched.content) == (206, SAMPLE[10:20])
    # The kaggle client would request an address without TLS from its proxy, which is Kennel.
    assert service.call("ada", "GET", f"/kaggle/files/{slug}/sample.bin").content == SAMPLE
    service.call("organizer", "PUT", f"{data}/train.zip", params={"source": "train"})
    assert service.call("ada", "GET", f"{data}/train.zip").status_code == 200
    whole = service.call("ada", "GET", f"/kaggle/bundles/{slug}.zip")
    assert whole.status_code == 200
    with zipfile.ZipFile(io.BytesIO(whole.content)) as archive:
        assert (archive.testzip(), archive.namelist()) == (None, ["sample.bin", "train.zip"])
    part = service.call("ada", "GET", f"/kaggle/bundles/{slug}.zip", headers={"Range": "bytes=50-2000000"})
    assert (part.status_code, part.content) == (206, whole.content[50:2_000_001])
