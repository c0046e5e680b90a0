"""Data files: organizers upload them; people who accepted the rules download them, also in parts."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deploy.cli.main import app
from tests.api.conftest import API, Service, refused
from tests.factories import make_zip, noise_images
from tests.http_server import serve

SAMPLE = bytes(range(256)) * 4000


def put(service: Service, slug: str, name: str = "sample.bin", content: bytes = SAMPLE, **params: str) -> Any:
    """Upload a data file as the organizer."""
    return service.call("organizer", "PUT", f"/competitions/{slug}/data/{name}", content=content, params=params)


def get(service: Service, slug: str, name: str = "sample.bin", who: str | None = "ada", **headers: str) -> Any:
    """Download a file. In names of headers, ``_`` means ``-``."""
    request_headers = {header.replace("_", "-"): value for header, value in headers.items()}
    return service.call(who, "GET", f"/competitions/{slug}/data/{name}", headers=request_headers)


def test_a_file_is_offered_replaced_and_withdrawn(service: Service) -> None:
    slug = service.competition()
    offered = put(service, slug)
    assert (offered.status_code, offered.json()["sha256"]) == (200, hashlib.sha256(SAMPLE).hexdigest())
    listed = service.call(None, "GET", f"/competitions/{slug}/data").json()["files"]
    assert listed == [offered.json()]
    assert listed[0]["url"] == f"{API}/competitions/{slug}/data/sample.bin"
    answer = get(service, slug)
    assert (answer.status_code, answer.content) == (200, SAMPLE)
    assert answer.headers["content-disposition"] == 'attachment; filename="sample.bin"'
    assert "sandbox" in answer.headers["content-security-policy"]
    assert put(service, slug, content=b"newer").status_code == 200
    assert get(service, slug).content == b"newer"
    assert service.call("organizer", "DELETE", f"/competitions/{slug}/data/sample.bin").status_code == 204
    refused(get(service, slug), 404, "no-file")
    refused(service.call("organizer", "DELETE", f"/competitions/{slug}/data/sample.bin"), 404, "no-file")
    assert service.call(None, "GET", f"/competitions/{slug}/data").json()["files"] == []
    acts = service.call("admin", "GET", "/admin/audit").json()["entries"]
    files = [(act["action"], act["after"] and act["after"]["bytes"]) for act in acts if "data-file" in act["action"]]
    assert files == [("data-file.withdrawn", None), ("data-file.offered", 5), ("data-file.offered", len(SAMPLE))]


def test_a_broken_download_resumes(service: Service) -> None:
    slug = service.competition()
    put(service, slug)
    whole = get(service, slug)
    etag = whole.headers["etag"]
    modified = whole.headers["last-modified"]
    size = len(SAMPLE)
    assert (whole.headers["accept-ranges"], etag.startswith('"')) == ("bytes", True)
    for validator in (etag, modified):
        part = get(service, slug, Range="bytes=300000-", If_Range=validator)
        assert (part.status_code, part.content) == (206, SAMPLE[300_000:])
        assert part.headers["content-range"] == f"bytes 300000-{size - 1}/{size}"
        assert part.headers["content-length"] == str(size - 300_000)
    assert get(service, slug, Range="bytes=5-7").content == SAMPLE[5:8]
    changed = get(service, slug, Range="bytes=300000-", If_Range='"another"')
    assert (changed.status_code, changed.content) == (200, SAMPLE)
    beyond = get(service, slug, Range=f"bytes={size}-")
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{size}")
    known = get(service, slug, If_None_Match=etag)
    assert (known.status_code, known.content) == (304, b"")


def test_permissions_and_invalid_data_files(service: Service) -> None:
    slug = service.competition(rules="Be good.")
    refused(service.call("ada", "PUT", f"/competitions/{slug}/data/x.csv", content=b"1"), 403, "wrong-role")
    put(service, slug)
    refused(get(service, slug, who=None), 401, "no-token")
    refused(get(service, slug), 403, "rules-not-accepted")
    assert get(service, slug, who="organizer").status_code == 200
    version = service.call("ada", "GET", f"/competitions/{slug}").json()["rules_sha256"]
    service.call("ada", "PUT", f"/competitions/{slug}/rules-acceptance", json={"rules_sha256": version})
    assert get(service, slug).status_code == 200
    draft = service.competition(opens_at=None, closes_at=None)
    put(service, draft)
    refused(get(service, draft), 404, "no-competition")
    refused(service.call("ada", "GET", f"/competitions/{draft}/data"), 404, "no-competition")
    for name in ("-x", "a%20b", ".hidden", "x" * 101):
        refused(put(service, slug, name), 422, "bad-name")
    refused(put(service, slug, content=b""), 422, "empty")


def test_training_images_can_be_offered_but_secret_images_cannot(service: Service) -> None:
    slug = service.competition()
    train = put(service, slug, "train.zip", b"", source="train")
    assert train.status_code == 200, train.text
    assert get(service, slug, "train.zip").content == make_zip(noise_images(1, 40, 16))
    other = service.competition()
    for images in (noise_images(2, 12, 16), noise_images(3, 10, 16)):
        refused(put(service, other, "nice.zip", make_zip(images)), 409, "secret-images")
    more = make_zip(noise_images(77, 10, 16))
    assert put(service, slug, "more.zip", more).status_code == 200
    path = f"/competitions/{other}/references/held_out"
    refused(service.call("organizer", "PUT", path, content=more), 409, "offered-images")
    service.call("organizer", "DELETE", f"/competitions/{slug}/data/more.zip")
    assert service.call("organizer", "PUT", path, content=more).status_code == 200


def test_an_organizer_offers_files_from_the_command_line(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = service.competition()
    (tmp_path / "sample.bin").write_bytes(SAMPLE)

    def names() -> list[str]:
        return [file["name"] for file in service.call(None, "GET", f"/competitions/{slug}/data").json()["files"]]

    with serve(service.app) as url:
        monkeypatch.setenv("KENNEL_URL", url)
        monkeypatch.setenv("KENNEL_TOKEN", service.tokens["organizer"])

        def data_file(act: str, *arguments: str) -> Any:
            return CliRunner().invoke(app, ["admin", "file", act, slug, *arguments])

        output = data_file("offer", str(tmp_path / "sample.bin")).stdout
        assert f"sample.bin: 1,024,000 bytes, SHA-256 {hashlib.sha256(SAMPLE).hexdigest()}" in output
        assert data_file("offer", "--train").exit_code == 0
        assert names() == ["sample.bin", "train.zip"]
        assert "no longer" in data_file("withdraw", "sample.bin").stdout
        assert names() == ["train.zip"]
        for wrong in (("offer",), ("withdraw",), ("offer", str(tmp_path / "sample.bin"), "--train")):
            assert data_file(*wrong).exit_code == 2


def test_the_competition_page_shows_offered_files_immediately(service: Service) -> None:
    """The page reads the board cache, which the change feed updates."""
    slug = service.competition()

    def shown() -> tuple[bool, str]:
        page = service.http.get(f"/competitions/{slug}")
        return "sample.bin" in page.text, page.headers["etag"]

    none, before = shown()
    assert put(service, slug).status_code == 200
    offered, after = shown()
    assert service.call("organizer", "DELETE", f"/competitions/{slug}/data/sample.bin").status_code == 204
    withdrawn, last = shown()
    assert (none, offered, withdrawn) == (False, True, False)
    assert len({before, after, last}) == 3
