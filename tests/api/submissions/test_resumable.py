"""Resumable uploads: the tus protocol, stored bytes after a lost connection, and refusals."""

import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import anyio
import pytest
from anyio.to_thread import run_sync
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from scorer.archive.limited_listing import require_images
from scorer.db.tables import Submission, Upload
from scorer.errors import Conflict, TooLarge
from scorer.submissions import intake, upload_bytes, uploads
from scorer.submissions.upload_bytes import Appender
from scorer.teams.storage import build_upload_limits
from tests.api.conftest import API, Service, refused
from tests.api.submissions.tus import TUS, ZIP, begun, checksum, create, head, send, stored, words
from tests.factories import make_zip, noise_images

pytestmark = pytest.mark.usefixtures("one_day")


@pytest.fixture
def slug(service: Service) -> str:
    return service.competition()


def test_the_last_byte_turns_an_upload_into_a_submission(service: Service, slug: str) -> None:
    path = begun(service, slug, Upload_Metadata=words(filename="my entry.zip", note="third try"))
    half = len(ZIP) // 2
    first = send(service, path, 0, ZIP[:half])
    assert (first.status_code, first.headers["upload-offset"]) == (204, str(half))
    assert "kennel-submission" not in first.headers
    response = head(service, path)
    assert (response.status_code, response.headers["upload-offset"], response.headers["upload-length"]) == (
        200,
        str(half),
        str(len(ZIP)),
    )
    assert response.headers["cache-control"] == "no-store"
    last = send(service, path, half, ZIP[half:])
    assert last.status_code == 204, last.text
    entry = service.call("ada", "GET", f"/submissions/{last.headers['kennel-submission']}").json()
    assert (entry["file_name"], entry["note"], entry["status"]) == ("my entry.zip", "third try", "received")
    assert (entry["bytes"], entry["sha256"]) == (len(ZIP), hashlib.sha256(ZIP).hexdigest())
    service.run_jobs()
    assert service.call("ada", "GET", f"/submissions/{entry['id']}").json()["status"] == "scored"


def test_a_repeated_request_gets_the_same_submission(service: Service, slug: str) -> None:
    path = begun(service, slug)
    made = send(service, path, 0, ZIP).headers["kennel-submission"]
    repeated = send(service, path, len(ZIP), b"")
    assert (repeated.status_code, repeated.headers["kennel-submission"]) == (204, made)
    assert head(service, path).headers["kennel-submission"] == made
    assert service.call("ada", "POST", f"{path}/complete").json()["submission"] == made
    upload = service.call("ada", "GET", path).json()
    assert (upload["state"], upload["submission"], upload["url"]) == ("done", made, None)
    refused(send(service, path, 0, ZIP), 409, "wrong-offset")
    assert len(service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]) == 1


def test_discovery_lists_versions_and_extensions(service: Service, slug: str) -> None:
    for path in (f"/competitions/{slug}/uploads", "/uploads/any"):
        answer = service.call(None, "OPTIONS", path)
        assert answer.status_code == 204
        assert answer.headers["tus-version"] == "1.0.0"
        assert set(answer.headers["tus-extension"].split(",")) == {"creation", "expiration", "checksum", "termination"}
        assert int(answer.headers["tus-max-size"]) == service.context.settings.max_upload_bytes
        assert "sha1" in answer.headers["tus-checksum-algorithm"].split(",")


def test_responses_name_the_version_and_others_are_refused(service: Service, slug: str) -> None:
    path = begun(service, slug)
    answers = [head(service, path), send(service, path, 7, b"x"), head(service, "/uploads/none")]
    assert [answer.status_code for answer in answers] == [200, 409, 404]
    assert all(answer.headers["tus-resumable"] == "1.0.0" for answer in answers)
    for method, where in (("POST", f"/competitions/{slug}/uploads"), ("HEAD", path), ("PATCH", path)):
        for headers in ({"Tus-Resumable": "0.2.2"}, {}):
            answer = service.call("ada", method, where, headers=headers)
            assert (answer.status_code, answer.headers["tus-version"]) == (412, "1.0.0")


@pytest.mark.parametrize(
    ("headers", "extension"),
    [
        ({"Upload-Concat": "partial"}, "concatenation"),
        ({"Upload-Concat": "final;/a /b"}, "concatenation"),
        ({"Upload-Defer-Length": "1"}, "creation-defer-length"),
        ({"Content-Type": "application/offset+octet-stream"}, "creation-with-upload"),
    ],
)
def test_unsupported_extensions_are_refused_at_creation(
    service: Service, slug: str, headers: dict[str, str], extension: str
) -> None:
    answer = create(service, slug, len(ZIP), **headers)
    refused(answer, 501, "tus-extension")
    assert extension in answer.json()["title"]
    assert answer.headers["tus-resumable"] == "1.0.0"
    assert service.call("ada", "GET", f"/competitions/{slug}/uploads").json()["uploads"] == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/zip", "Upload-Offset": "0"}, 415),
        ({"Content-Type": "application/offset+octet-stream"}, 400),
        ({"Content-Type": "application/offset+octet-stream", "Upload-Offset": "-1"}, 422),
        ({"Content-Type": "application/offset+octet-stream", "Upload-Offset": "5"}, 409),
        (
            {
                "Content-Type": "application/offset+octet-stream",
                "Upload-Offset": "0",
                "Upload-Checksum": "md4 AAAA",
            },
            400,
        ),
    ],
)
def test_malformed_pieces_are_refused(service: Service, slug: str, headers: dict[str, str], status: int) -> None:
    path = begun(service, slug)
    answer = service.call("ada", "PATCH", path, headers={**TUS, **headers}, content=b"abc")
    assert answer.status_code == status, answer.text
    assert head(service, path).headers["upload-offset"] == "0"


def test_the_refusal_of_a_wrong_offset_has_the_right_one(service: Service, slug: str) -> None:
    path = begun(service, slug)
    send(service, path, 0, ZIP[:10])
    answer = send(service, path, 0, ZIP[:10])
    refused(answer, 409, "wrong-offset")
    assert answer.headers["upload-offset"] == "10"


def appender(service: Service, path: str, writer: str, offset: int = 0) -> Appender:
    """Return the appender of a request that has taken over the upload at ``offset``."""
    begin = service.context.sessions.begin
    upload_id = path.rsplit("/", 1)[1]
    with begin() as session:
        upload = uploads.current_upload(session, upload_id)
        uploads.take_over(session, upload, offset=offset, adds=None, writer=writer)
    life = timedelta(hours=1)
    context = service.context
    return Appender(
        begin, context.blobs, upload, writer, offset, life, build_upload_limits(context.settings), context.now
    )


async def torn(*pieces: bytes) -> AsyncIterator[bytes]:
    """A body that ends with a lost connection."""
    for piece in pieces:
        yield piece
    raise ConnectionError


def test_bytes_before_a_lost_connection_are_stored(service: Service, slug: str) -> None:
    path = begun(service, slug)
    with pytest.raises(ConnectionError):
        anyio.run(appender(service, path, "w").append, torn(ZIP[:100], ZIP[100:150]))
    assert head(service, path).headers["upload-offset"] == "150"
    assert "kennel-submission" in send(service, path, 150, ZIP[150:]).headers


def test_a_piece_is_stored_if_its_commit_is_not_acknowledged(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the row would name a deleted part, and the upload could never become an entry."""
    record = Appender._record

    def lose(self: Appender, *args: Any) -> None:
        record(self, *args)
        raise OperationalError("COMMIT", {}, Exception("server closed the connection unexpectedly"))

    path = begun(service, slug)
    with monkeypatch.context() as patch:
        patch.setattr(Appender, "_record", lose)
        assert send(service, path, 0, ZIP[:50]).status_code == 503
    offset = int(head(service, path).headers["upload-offset"])
    assert offset == 50
    assert "kennel-submission" in send(service, path, offset, ZIP[offset:]).headers


def test_no_more_than_the_announced_bytes_are_stored(service: Service, slug: str) -> None:
    path = begun(service, slug)
    with pytest.raises(TooLarge):
        anyio.run(appender(service, path, "w").append, torn(ZIP[:50], ZIP[50:] + b"x"))
    assert head(service, path).headers["upload-offset"] == "50"
    assert "kennel-submission" in send(service, path, 50, ZIP[50:]).headers


def test_the_size_and_age_of_parts_are_limited(service: Service, slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_bytes, "PART_BYTES", 100)
    monkeypatch.setattr(upload_bytes, "MIN_PART_BYTES", 50)
    path = begun(service, slug)
    older = appender(service, path, "w")
    with pytest.raises(ConnectionError):
        anyio.run(older.append, torn(*(ZIP[at : at + 30] for at in range(0, 300, 30))))
    assert [part.stat().st_size for part in stored(service, "uploads")] == [120, 120, 60]
    monkeypatch.setattr(upload_bytes, "PART_FLUSH_AFTER", timedelta(0))
    slow = appender(service, path, "v", 300)
    with pytest.raises(ConnectionError):
        anyio.run(slow.append, torn(ZIP[300:301], ZIP[301:302]))
    assert [part.stat().st_size for part in stored(service, "uploads")] == [120, 120, 60, 2]
    assert "kennel-submission" in send(service, path, 302, ZIP[302:]).headers


def test_small_pieces_become_one_part(service: Service, slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_bytes, "MIN_PART_BYTES", 50)
    path = begun(service, slug)
    for at in range(60):
        checked = {"Upload_Checksum": checksum("sha1", ZIP[at : at + 1])} if at % 2 else {}
        assert send(service, path, at, ZIP[at : at + 1], **checked).status_code == 204
    assert [part.read_bytes() for part in stored(service, "uploads")] == [ZIP[:50], ZIP[50:60]]
    monkeypatch.undo()
    assert send(service, path, 60, ZIP[60:70]).status_code == 204
    assert [part.read_bytes() for part in stored(service, "uploads")] == [ZIP[:50], ZIP[50:70]]
    made = send(service, path, 70, ZIP[70:]).headers["kennel-submission"]
    entry = service.call("ada", "GET", f"/submissions/{made}").json()
    assert entry["sha256"] == hashlib.sha256(ZIP).hexdigest()


def test_a_request_with_a_replaced_small_part_is_taken_over(service: Service, slug: str) -> None:
    path = begun(service, slug)
    send(service, path, 0, ZIP[:10])
    older = appender(service, path, "older", 10)
    send(service, path, 10, ZIP[10:20])
    with pytest.raises(Conflict) as caught:
        anyio.run(older.append, torn(ZIP[10:15]))
    assert caught.value.slug == "taken-over"
    assert [part.read_bytes() for part in stored(service, "uploads")] == [ZIP[:20]]
    assert "kennel-submission" in send(service, path, 20, ZIP[20:]).headers


def test_a_newer_request_takes_over_from_a_hanging_one(service: Service, slug: str) -> None:
    path = begun(service, slug)
    older = appender(service, path, "older")

    async def hanging() -> AsyncIterator[bytes]:
        yield b"\0" * 40
        newer = await run_sync(send, service, path, 0, ZIP[:70])
        assert (newer.status_code, newer.headers["upload-offset"]) == (204, "70")
        yield b"\0" * 40

    with pytest.raises(Conflict) as caught:
        anyio.run(older.append, hanging())
    assert caught.value.slug == "taken-over"
    assert [part.read_bytes() for part in stored(service, "uploads")] == [ZIP[:70]]
    assert "kennel-submission" in send(service, path, 70, ZIP[70:]).headers


def test_more_than_the_announced_bytes_are_refused_early(service: Service, slug: str) -> None:
    path = begun(service, slug)
    refused(send(service, path, 0, ZIP + b"x"), 413, "too-long")
    assert head(service, path).headers["upload-offset"] == "0"


def test_a_piece_with_a_wrong_checksum_is_not_stored(service: Service, slug: str) -> None:
    path = begun(service, slug)
    refused(send(service, path, 0, ZIP[:60], Upload_Checksum=checksum("sha1", ZIP[:61])), 460, "checksum-mismatch")
    assert head(service, path).headers["upload-offset"] == "0"
    assert stored(service, "uploads") == []
    first = send(service, path, 0, ZIP[:60], Upload_Checksum=checksum("sha1", ZIP[:60]))
    assert first.headers["upload-offset"] == "60"
    last = send(service, path, 60, ZIP[60:], Upload_Checksum=checksum("sha256", ZIP[60:]))
    assert "kennel-submission" in last.headers


def test_a_piece_with_a_checksum_can_be_longer_than_a_part(service: Service) -> None:
    slug = service.competition(image_count=500, image_size=64)
    content = make_zip(noise_images(9, 500, 64))
    assert len(content) > upload_bytes.PART_BYTES
    path = begun(service, slug, content)
    wrong = content[:-1] + bytes([content[-1] ^ 1])
    refused(send(service, path, 0, content, Upload_Checksum=checksum("sha1", wrong)), 460, "checksum-mismatch")
    assert head(service, path).headers["upload-offset"] == "0"
    assert stored(service, "uploads") == [], "no byte of the piece is stored"
    whole = send(service, path, 0, content, Upload_Checksum=checksum("sha1", content))
    assert (whole.status_code, whole.headers["upload-offset"]) == (204, str(len(content)))
    made = service.call("ada", "GET", f"/submissions/{whole.headers['kennel-submission']}").json()
    assert made["sha256"] == hashlib.sha256(content).hexdigest()


def test_a_piece_with_a_checksum_counts_at_its_end(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upload_bytes, "PART_BYTES", 100)
    path = begun(service, slug)

    async def broken() -> AsyncIterator[bytes]:
        for start in range(0, 1000, 50):
            yield ZIP[start : start + 50]
            assert load_received_bytes(service, path) == 0, "nothing counts before the checksum is verified"
        raise ConnectionResetError

    def load_received_bytes(service: Service, path: str) -> int:
        with service.context.sessions() as session:
            return session.get_one(Upload, path.rpartition("/")[2]).received

    cut = appender(service, path, "a writer")
    with pytest.raises(ConnectionResetError):
        anyio.run(cut.append_whole, broken(), "sha1", hashlib.sha1(ZIP[:1000]).digest())
    assert (load_received_bytes(service, path), stored(service, "uploads")) == (0, [])
    piece = ZIP[:1000]
    first = send(service, path, 0, piece, Upload_Checksum=checksum("sha256", piece))
    assert (first.status_code, first.headers["upload-offset"]) == (204, "1000")
    too_much = ZIP[1000:] + b"x"
    refused(send(service, path, 1000, too_much, Upload_Checksum=checksum("sha1", too_much)), 413, "too-long")
    last = send(service, path, 1000, ZIP[1000:], Upload_Checksum=checksum("sha1", ZIP[1000:]))
    assert "kennel-submission" in last.headers


def test_the_zip_is_checked_once_with_the_last_byte(service: Service, slug: str) -> None:
    wrong = make_zip(noise_images(1, 7))
    path = begun(service, slug, wrong, Idempotency_Key="k")
    problem = refused(send(service, path, 0, wrong), 422, "wrong-count")
    again = refused(send(service, path, len(wrong), b""), 422, "wrong-count")
    assert again == problem
    assert head(service, path).status_code == 422
    upload = service.call("ada", "GET", path).json()
    assert upload["state"] == "refused"
    assert upload["problem"] == {
        "type": problem["type"],
        "title": problem["title"],
        "faults": problem.get("faults", []),
    }
    assert stored(service, "submissions") == []
    assert begun(service, slug, Idempotency_Key="k") != path, "the key can be used again"


def test_an_announced_hash_is_checked(service: Service, slug: str) -> None:
    right = begun(service, slug, Upload_Metadata=words(sha256=hashlib.sha256(ZIP).hexdigest()))
    assert "kennel-submission" in send(service, right, 0, ZIP).headers
    wrong = begun(service, slug, Upload_Metadata=words(sha256="0" * 64))
    refused(send(service, wrong, 0, ZIP), 422, "wrong-sha256")


def test_impossible_uploads_are_refused_at_creation(service: Service) -> None:
    now = datetime.now(UTC)
    over = service.competition(opens_at=now - timedelta(days=9), closes_at=now - timedelta(minutes=1))
    refused(create(service, over, 10), 409, "closed")
    slug = service.competition(pending_limit=1)
    refused(create(service, slug, 1 << 20), 413, "too-large")
    refused(create(service, slug, 0), 422, "empty")
    refused(create(service, "none", 10), 404, "no-competition")
    refused(service.call("ada", "POST", f"/competitions/{slug}/uploads", headers=TUS), 400, "no-length")
    refused(create(service, slug, 10, Upload_Metadata="filename !!"), 422, "bad-metadata")
    anonymous = service.call(None, "POST", f"/competitions/{slug}/uploads", headers={**TUS, "Upload-Length": "10"})
    refused(anonymous, 401, "no-token")
    assert service.submit("ada", slug, ZIP).status_code == 202
    refused(create(service, slug, len(ZIP)), 429, "pending-limit")


def test_limits_are_checked_again_at_the_end(service: Service) -> None:
    slug = service.competition(daily_limit=1)
    paths = [begun(service, slug), begun(service, slug)]
    assert send(service, paths[0], 0, ZIP).status_code == 204
    refused(send(service, paths[1], 0, ZIP), 429, "daily-limit")
    assert len(stored(service, "submissions")) == 1


def test_only_the_owner_can_use_an_upload(service: Service, slug: str) -> None:
    path = begun(service, slug)
    for who in ("bob", "organizer"):
        assert head(service, path, who).status_code == 404
        refused(service.call(who, "GET", path), 404, "no-upload")
        refused(send(service, path, 0, ZIP, who), 404, "no-upload")
        refused(service.call(who, "DELETE", path, headers=TUS), 404, "no-upload")
        refused(service.call(who, "POST", f"{path}/complete"), 404, "no-upload")
    assert head(service, path).headers["upload-offset"] == "0"


def test_an_upload_can_be_abandoned(service: Service, slug: str) -> None:
    path = begun(service, slug)
    send(service, path, 0, ZIP[:50])
    answer = service.call("ada", "DELETE", path, headers=TUS)
    assert (answer.status_code, answer.headers["tus-resumable"]) == (204, "1.0.0")
    assert head(service, path).status_code == 404
    refused(send(service, path, 50, ZIP[50:]), 404, "no-upload")
    done = begun(service, slug)
    send(service, done, 0, ZIP)
    refused(service.call("ada", "DELETE", done, headers=TUS), 409, "upload-closed")


def test_an_entry_is_accepted_when_the_last_byte_arrives(service: Service, slug: str) -> None:
    path = begun(service, slug)
    before = datetime.now(UTC)
    made = send(service, path, 0, ZIP).headers["kennel-submission"]
    with service.context.sessions() as session:
        upload = session.query(Upload).one()
        submission = session.query(Submission).one()
    assert submission.id == made
    assert submission.accepted_at == upload.completed_at
    assert before <= submission.accepted_at <= datetime.now(UTC)


@pytest.mark.parametrize(("ago", "accepted"), [(timedelta(minutes=1), True), (timedelta(minutes=20), False)])
def test_an_upload_begun_in_time_can_finish_in_the_grace_period(
    service: Service, slug: str, ago: timedelta, accepted: bool
) -> None:
    path = begun(service, slug)
    now = datetime.now(UTC)
    with service.context.sessions.begin() as session:
        session.query(Upload).one().begun_at = now - timedelta(hours=1)
    change = {"closes_at": (now - ago).isoformat()}
    assert service.call("organizer", "PATCH", f"/competitions/{slug}", json=change).status_code == 200
    refused(create(service, slug, len(ZIP)), 409, "closed")
    answer = send(service, path, 0, ZIP)
    if accepted:
        assert answer.status_code == 204, answer.text
    else:
        refused(answer, 409, "closed")


def test_unfinished_uploads_are_listed_for_their_owner(service: Service, slug: str) -> None:
    described = words(filename="mine.zip", note="first words", lastmodified="7")
    path = begun(service, slug, Upload_Metadata=described)
    send(service, path, 0, ZIP[:10])

    def listed(who: str = "ada") -> Any:
        return service.call(who, "GET", f"/competitions/{slug}/uploads").json()["uploads"]

    (upload,) = listed()
    assert (upload["file_name"], upload["note"], upload["offset"]) == ("mine.zip", "first words", 10)
    assert (upload["described"], upload["url"]) == (described, API + path)
    assert listed("bob") == []
    changed = service.call("ada", "PUT", f"{path}/note", json={"note": "better words"})
    assert (changed.status_code, changed.json()["offset"]) == (200, 10), "the bytes are unchanged"
    closed = {"closes_at": datetime.now(UTC).isoformat()}
    assert service.call("organizer", "PATCH", f"/competitions/{slug}", json=closed).is_success
    assert len(listed()) == 1, "the upload can still finish in the grace period"
    made = send(service, path, 10, ZIP[10:]).headers["kennel-submission"]
    assert service.call("ada", "GET", f"/submissions/{made}").json()["note"] == "better words"
    refused(service.call("ada", "PUT", f"{path}/note", json={"note": "a late note"}), 409, "upload-closed")
    assert listed() == []


def test_after_the_grace_period_unfinished_uploads_are_not_listed(service: Service, slug: str) -> None:
    begun(service, slug)
    change = {"closes_at": (datetime.now(UTC) - timedelta(hours=1)).isoformat()}
    assert service.call("organizer", "PATCH", f"/competitions/{slug}", json=change).is_success
    assert service.call("ada", "GET", f"/competitions/{slug}/uploads").json()["uploads"] == []


def test_an_upload_expires_later_after_progress(service: Service, slug: str) -> None:
    answer = create(service, slug, len(ZIP))
    life = timedelta(seconds=service.context.settings.upload_life_seconds)
    first = parsedate_to_datetime(answer.headers["upload-expires"])
    assert abs(first - datetime.now(UTC) - life) < timedelta(seconds=30)
    path = answer.headers["location"].removeprefix(API)
    with service.context.sessions.begin() as session:
        session.query(Upload).one().expires_at = datetime.now(UTC) + timedelta(seconds=60)
    moved = parsedate_to_datetime(send(service, path, 0, ZIP[:5]).headers["upload-expires"])
    assert abs(moved - datetime.now(UTC) - life) < timedelta(seconds=30)
    with service.context.sessions.begin() as session:
        session.query(Upload).one().expires_at = datetime.now(UTC) - timedelta(seconds=1)
    assert head(service, path).status_code == 404
    refused(send(service, path, 5, ZIP[5:]), 404, "no-upload")


def test_the_sixth_upload_ends_the_longest_idle_one(service: Service, slug: str) -> None:
    paths = [begun(service, slug) for _ in range(uploads.MAX_OPEN_UPLOADS)]
    send(service, paths[0], 0, ZIP[:5])
    paths.append(begun(service, slug))
    assert [head(service, path).status_code for path in paths] == [200, 404, 200, 200, 200, 200]


def test_a_repeated_key_returns_the_same_upload(service: Service, slug: str) -> None:
    path = begun(service, slug, Idempotency_Key="once")
    send(service, path, 0, ZIP[:5])
    assert begun(service, slug, Idempotency_Key="once") == path
    refused(create(service, slug, len(ZIP) + 1, Idempotency_Key="once"), 409, "key-reused")
    refused(create(service, slug, len(ZIP), Idempotency_Key="once", Upload_Metadata=words(note="x")), 409, "key-reused")
    made = send(service, path, 5, ZIP[5:]).headers["kennel-submission"]
    assert begun(service, slug, Idempotency_Key="once") == path
    assert head(service, path).headers["kennel-submission"] == made
    other = create(service, slug, len(ZIP), who="bob", Idempotency_Key="once")
    assert other.headers["location"] != f"{API}{path}"
    elsewhere = service.competition()
    assert begun(service, elsewhere, Idempotency_Key="once") != path


def test_direct_and_resumable_uploads_share_idempotency_keys(service: Service, slug: str) -> None:
    direct = f"/competitions/{slug}/submissions"
    once = {"Idempotency-Key": "once"}
    made = service.call("ada", "POST", direct, content=ZIP, headers=once).json()["id"]
    path = begun(service, slug, Idempotency_Key="once")
    assert head(service, path).headers["kennel-submission"] == made
    assert send(service, path, len(ZIP), b"").headers["kennel-submission"] == made
    refused(create(service, slug, len(ZIP) - 1, Idempotency_Key="once", Upload_Metadata="note"), 409, "key-reused")
    other = service.call("ada", "POST", direct, content=make_zip(noise_images(10)), headers=once)
    refused(other, 409, "key-reused")
    same = service.call("ada", "POST", direct, content=ZIP, headers=once)
    assert same.json()["id"] == made
    assert len(stored(service, "submissions")) == 1


def test_a_key_with_other_bytes_is_refused_without_a_length(service: Service, slug: str) -> None:
    direct = f"/competitions/{slug}/submissions"
    once = {"Idempotency-Key": "once"}
    assert service.call("ada", "POST", direct, content=ZIP, headers=once).status_code == 202
    other = service.call("ada", "POST", direct, content=iter([make_zip(noise_images(10))]), headers=once)
    refused(other, 409, "key-reused")
    assert len(stored(service, "submissions")) == 1


def test_after_an_internal_error_an_upload_can_be_finished(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = begun(service, slug)

    def broken(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("scorer.blobs.Blobs.join", broken)
        with pytest.raises(OSError, match="disk"):
            send(service, path, 0, ZIP)
    assert service.call("ada", "GET", path).json()["state"] == "finishing"
    assert "kennel-submission" in send(service, path, len(ZIP), b"").headers


def test_two_parallel_finishes_create_one_submission(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second request claims the upload while the first still works, as after an expired lease."""
    path = begun(service, slug)
    upload_id = path.rsplit("/", 1)[1]
    done: list[int] = []

    def late(*args: Any, **options: Any) -> None:
        if not done:
            done.append(1)
            with service.context.sessions.begin() as session:
                session.query(Upload).one().finishing_until = datetime.now(UTC)
            begin = service.context.sessions.begin
            other = upload_bytes.finalise(
                begin, service.context.blobs, upload_id, public_id="second", now=service.context.now
            )
            assert other.state == "done"
        require_images(*args, **options)

    monkeypatch.setattr(intake, "require_images", late)
    assert send(service, path, 0, ZIP).headers["kennel-submission"] == "second"
    with service.context.sessions() as session:
        assert _count(session) == 1
    assert len(stored(service, "submissions")) == 1
    service.run_jobs()
    assert service.call("ada", "GET", "/submissions/second").json()["status"] == "scored"


def _count(session: Session) -> int:
    return session.query(Submission).count()


def test_a_post_can_replace_a_patch(service: Service, slug: str) -> None:
    path = begun(service, slug)
    piece = {**TUS, "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}
    assert service.call("ada", "POST", path, headers=piece, content=ZIP).status_code == 405
    answer = service.call("ada", "POST", path, headers={**piece, "X-HTTP-Method-Override": "PATCH"}, content=ZIP)
    assert (answer.status_code, "kennel-submission" in answer.headers) == (204, True)


def test_json_creates_a_tus_upload_if_the_store_is_a_folder(service: Service, slug: str) -> None:
    answer = service.call("ada", "POST", f"/competitions/{slug}/uploads", json={"length": len(ZIP), "note": "n"})
    view = answer.json()
    assert (answer.status_code, view["method"], view["offset"], view["note"]) == (201, "tus", 0, "n")
    assert view["url"] == answer.headers["location"] == f"{API}/uploads/{view['id']}"
    assert "kennel-submission" in send(service, f"/uploads/{view['id']}", 0, ZIP).headers
    put = {"length": 5, "method": "put"}
    refused(service.call("ada", "POST", f"/competitions/{slug}/uploads", json=put), 422, "no-put")
    unfinished = begun(service, slug)
    refused(service.call("ada", "POST", f"{unfinished}/complete"), 409, "not-complete")
