"""The blob store in a folder and in moto's S3, and a service with an unusable store."""

import errno
import shutil
import tracemalloc
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from pydantic import SecretStr

from api.health.routes import build_readiness
from api.http import problem_details
from api.http.problem_details import RETRY_SECONDS
from kennel_client import steps
from kennel_client.cli.exit_codes import ExitCode
from scorer.blobs import Blobs, object_store, open_blobs
from scorer.blobs.blob_writer import MEMORY_BYTES, StagedFile, StagedParts
from scorer.errors import NotFound, OutOfSpace, StoreUnavailable, TooLarge
from scorer.settings import Settings
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service
from tests.api.submissions.tus import begun, send
from tests.api.unusable_store import refusing_s3, unusable_folder
from tests.factories import make_zip, noise_images
from tests.privacy.requests import CODE

__all__ = ["terminal"]  # pytest finds the fixture by its name in this module

MIB = 1 << 20


@pytest.fixture(params=["file", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Blobs:
    """A store in a folder or in S3."""
    if request.param == "file":
        return Blobs((tmp_path / "blobs").as_uri())
    settings = {"ENDPOINT": request.getfixturevalue("s3"), "ALLOW_HTTP": "true", "REGION": "us-east-1"}
    for name, value in {**settings, "ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    return Blobs(f"s3://kennel/{tmp_path.name}")


async def stream(mebibytes: int) -> AsyncIterator[bytes]:
    """Yield chunks of one MiB. All bytes of a chunk are its number."""
    for number in range(mebibytes):
        yield bytes([number]) * MIB


def test_a_stream_is_stored_completely_and_read_in_parts(store: Blobs) -> None:
    received = anyio.run(lambda: store.receive("a/b.zip", stream(24), limit=24 * MIB))
    assert received.bytes == 24 * MIB
    with store.open("a/b.zip") as file:
        assert file.seek(-2, 2) == 24 * MIB - 2
        assert file.read() == bytes([23, 23])
        file.seek(5 * MIB - 1)
        assert file.read(2) == bytes([4, 5])


def test_a_stream_over_the_limit_leaves_no_blob(store: Blobs) -> None:
    with pytest.raises(TooLarge):
        anyio.run(lambda: store.receive("a/b.zip", stream(3), limit=2 * MIB))
    assert not store.exists("a/b.zip")


def test_an_interrupted_stream_leaves_nothing(store: Blobs, tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield bytes(MIB)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        anyio.run(lambda: store.receive("a/b.zip", broken(), limit=2 * MIB))
    assert not list(store.stored())
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_bytes_of_slow_uploads_are_buffered_on_the_disk(store: Blobs) -> None:
    """Otherwise a hundred idle uploads of some MB would take a GB of the web process's memory."""

    async def peak() -> int:
        writer = store.writer("a/b.zip")
        tracemalloc.start()
        for number in range(7 * 16):  # less than a part, as from slow senders
            await writer.write(bytes([number]) * (MIB // 16))
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        await writer.abort()
        return size

    assert anyio.run(peak) < 2 * MEMORY_BYTES


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_refuses_new_bytes_and_keeps_the_old(
    store: Blobs, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    store.write("a/old.zip", b"old")

    def full(*_: object) -> None:
        raise OSError(error, "no room")

    for kind in (StagedFile, StagedParts):
        monkeypatch.setattr(kind, "add", full)
    for key in ("a/b.zip", "a/old.zip"):
        with pytest.raises(OutOfSpace):
            anyio.run(partial(store.receive, key, stream(1), limit=2 * MIB))
    assert [blob.key for blob in store.stored()] == ["a/old.zip"]
    assert store.read("a/old.zip") == b"old"


def test_a_disk_keeps_its_reserve_free(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    with pytest.raises(OutOfSpace):
        anyio.run(lambda: Blobs(tmp_path.as_uri(), min_free_bytes=2 * free).receive("a", stream(1), limit=MIB))


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A disk of 100 MiB and 1,000 inodes. Before this test's files, 10 MiB and ``free_files`` inodes are free."""
    disk = SimpleNamespace(free_files=1000)

    def statvfs(_: Path) -> SimpleNamespace:
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        blocks = 10 * MIB - sum(path.stat().st_size for path in files)
        sizes = {"f_frsize": 1, "f_blocks": 100 * MIB, "f_bavail": blocks}
        return SimpleNamespace(**sizes, f_files=1000, f_favail=disk.free_files - len(files))

    monkeypatch.setattr("scorer.blobs.blob_writer.os.statvfs", statvfs)
    return disk


def test_free_inodes_count_as_free_space(tmp_path: Path, small_disk: SimpleNamespace) -> None:
    store = Blobs(tmp_path.as_uri(), min_free_bytes=6 * MIB)
    small_disk.free_files = 62
    for key in ("one", "two"):
        anyio.run(partial(store.receive, key, stream(1), limit=MIB))
    with pytest.raises(OutOfSpace):
        anyio.run(partial(store.receive, "three", stream(1), limit=MIB))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


@pytest.mark.usefixtures("small_disk")
def test_free_space_is_checked_while_bytes_arrive(tmp_path: Path) -> None:
    store = Blobs(tmp_path.as_uri(), min_free_bytes=7 * MIB)
    anyio.run(lambda: store.receive("small", stream(2), limit=9 * MIB))
    with pytest.raises(OutOfSpace):
        anyio.run(lambda: store.receive("large", stream(4), limit=9 * MIB))
    assert [path.name for path in tmp_path.iterdir()] == ["small"]


@pytest.mark.usefixtures("small_disk")
def test_parts_are_joined_if_there_is_space(tmp_path: Path) -> None:
    store = Blobs(tmp_path.as_uri(), min_free_bytes=6 * MIB)
    for key in ("one", "two"):
        anyio.run(partial(store.receive, key, stream(1), limit=MIB))
    assert store.join(["one", "two"], "both").bytes == 2 * MIB
    with pytest.raises(OutOfSpace):
        store.join(["one", "two"], "more")
    assert sorted(blob.key for blob in store.stored()) == ["both", "one", "two"]
    assert len(list(tmp_path.iterdir())) == 3, "the refused join leaves no files"


def test_joining_a_missing_part_stores_nothing(store: Blobs) -> None:
    store.write("a/one", b"1")
    with pytest.raises(NotFound):
        store.join(["a/one", "a/two"], "a/both")
    assert [blob.key for blob in store.stored()] == ["a/one"]


def test_parts_for_s3_keep_the_disks_reserve_free(
    settings: Settings, s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"ENDPOINT": s3, "ALLOW_HTTP": "true", "REGION": "us-east-1", "ACCESS_KEY_ID": "key"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    limits = {"scratch": tmp_path / "scratch", "min_free_bytes": 2 * shutil.disk_usage(tmp_path).free}
    for address in (f"s3://kennel/{tmp_path.name}", (tmp_path / "blobs").as_uri()):
        update = {"blob_url": address, "s3_secret_key": SecretStr("secret"), **limits}
        with pytest.raises(OutOfSpace):
            anyio.run(partial(open_blobs(settings.model_copy(update=update)).receive, "a", stream(1), limit=MIB))


def test_a_file_is_stored_completely(store: Blobs, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(range(256)) * 4096 * 12)
    store.write_file("f", tmp_path / "large")
    assert store.read("f") == (tmp_path / "large").read_bytes()


def test_blobs_can_be_replaced_and_deleted(store: Blobs, tmp_path: Path) -> None:
    store.write("k", b"one")
    store.write("k", b"two")
    assert store.read("k") == b"two"
    assert store.local("k", tmp_path / "cache").read_bytes() == b"two"
    store.delete("k")
    store.delete("k")
    assert not store.exists("k")
    for look in (lambda: store.read("k"), lambda: store.open("k").read(), lambda: store.local("k", tmp_path / "other")):
        with pytest.raises(NotFound):
            look()


def uses(store: Blobs, file: Path) -> dict[str, Callable[[], object]]:
    """Return all operations on a store, by name."""
    now = datetime.now(UTC)
    return {
        "size": lambda: store.size("k"),
        "is_older": lambda: store.is_older("k", now),
        "read": lambda: store.read("k"),
        "read_part": lambda: store.read_part("k", 0, 1),
        "open": lambda: store.open("k").read(1),
        "hash_blob": lambda: store.hash_blob("k"),
        "copy": lambda: store.copy("k", "to"),
        "join": lambda: store.join(["k"], "to"),
        "local": lambda: store.local("k", file.parent / "cache"),
        "write": lambda: store.write("k", b"x"),
        "write_file": lambda: store.write_file("k", file),
        "receive": lambda: anyio.run(lambda: store.receive("k", stream(1), limit=MIB)),
        "receive much": lambda: anyio.run(lambda: store.receive("k", stream(17), limit=17 * MIB)),
        "stored": lambda: list(store.stored()),
        "older_than": lambda: list(store.older_than("", now)),
        "require_usable": store.require_usable,
        "delete": lambda: store.delete("k"),
        "delete_all": lambda: store.delete_all(["k", "l"]),
    }


@pytest.mark.parametrize(
    ("status", "code"),
    [(503, "SlowDown"), (403, "InvalidAccessKeyId"), (400, "ExpiredToken"), (301, "PermanentRedirect"), (500, "")],
)
def test_a_refusing_store_is_unavailable(
    status: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "MAX_RETRIES", 0)
    (tmp_path / "file").write_bytes(b"x")
    with refusing_s3(status, code) as address:
        settings = {"ENDPOINT": address, "ALLOW_HTTP": "true", "REGION": "auto", "ACCESS_KEY_ID": "key"}
        for name, value in {**settings, "SECRET_ACCESS_KEY": "secret", "SESSION_TOKEN": "token"}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        store = Blobs("s3://kennel")
        store.discard(["k"])
        for use in uses(store, tmp_path / "file").values():
            with pytest.raises(StoreUnavailable) as error:
                use()
    assert address in str(error.value)
    assert address not in error.value.message


def test_a_missing_bucket_is_unavailable(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ENDPOINT": s3, "ALLOW_HTTP": "true", "ACCESS_KEY_ID": "k", "SECRET_ACCESS_KEY": "s"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    (tmp_path / "file").write_bytes(b"x")
    store = Blobs("s3://absent")
    for name in ("read", "hash_blob", "write", "write_file", "receive", "receive much", "stored", "require_usable"):
        with pytest.raises(StoreUnavailable):
            uses(store, tmp_path / "file")[name]()


def test_an_unusable_folder_is_unavailable(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    store = open_blobs(settings)
    store.write("k", b"x")
    with unusable_folder(settings):
        for name, use in uses(store, tmp_path / "file").items():
            if name not in {"stored", "older_than"}:  # for obstore, a missing folder has no blobs
                with pytest.raises(StoreUnavailable):
                    use()
    assert store.read("k") == b"x"


SENTENCE = "The file store is unavailable. Please try again later."
ZIP = make_zip(noise_images(9))


def require_unavailable(answer: Any) -> None:
    """Require a 503 with the sentence and the time to retry."""
    assert (answer.status_code, answer.headers.get("Retry-After")) == (503, str(RETRY_SECONDS)), answer.text
    assert (answer.json()["type"], answer.json()["title"]) == ("urn:kennel:problem:blob-store", SENTENCE)


def test_requests_that_need_the_store_are_503_until_it_is_back(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(8))
    sprite = entry["sprite"].removeprefix("/api/v1")
    code = f"/submissions/{entry['id']}/code"
    assert service.call("ada", "PUT", code, content=CODE).status_code == 200
    data = f"/competitions/{slug}/data/notes.txt"
    assert service.call("organizer", "PUT", data, content=b"read me").is_success
    upload = begun(service, slug, ZIP)
    with unusable_folder(service.context.settings):
        require_unavailable(service.submit("bob", slug, ZIP))
        require_unavailable(send(service, upload, 0, ZIP))
        for who, path in (("ada", sprite), ("organizer", code), ("ada", data)):
            require_unavailable(service.call(who, "GET", path))
        require_unavailable(service.call("ada", "PUT", code, content=CODE))
        reasons = [str(vars(record).get("error")) for record in caplog.records if vars(record).get("status") == 503]
        assert reasons
        assert all(reason.startswith("The blob store cannot be used: ") for reason in reasons), reasons
        state: Any = service.app.state
        state.readiness = build_readiness(state)
        ready = service.http.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["blobs"].startswith("The file store is unavailable.")
        assert service.call("ada", "GET", f"/competitions/{slug}/leaderboard").status_code == 200
    assert send(service, upload, 0, ZIP).status_code == 204
    assert service.submit("bob", slug, ZIP).status_code == 202
    assert service.call("ada", "GET", data).content == b"read me"


def test_the_client_reports_an_unusable_store(
    terminal: CliTerminal, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = service.competition()
    (tmp_path / "entry.zip").write_bytes(ZIP)
    monkeypatch.setattr(steps, "RETRY_SECONDS", (0.0,))
    monkeypatch.setattr(problem_details, "RETRY_AFTER", {StoreUnavailable: 0})
    with unusable_folder(service.context.settings):
        refused = terminal.run("submit", slug, tmp_path / "entry.zip")
    assert refused.status == ExitCode.NO_ANSWER
    assert refused.err.count(f"{SENTENCE} Trying again.") == 1, refused.err
    assert refused.err.rstrip().endswith(SENTENCE)
    assert terminal.run("submit", slug, tmp_path / "entry.zip").status == ExitCode.DONE
