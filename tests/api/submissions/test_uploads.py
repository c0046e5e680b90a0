"""Refused uploads: the errors, and that nothing is stored."""

import struct
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest

from api.http.request_bodies import MAX_FILES_PER_ACCOUNT
from scorer.db.tables import Submission
from scorer.teams.quotas import RETRY_AFTER_SECONDS
from tests.api.conftest import API, Service, refused
from tests.api.submissions.tus import stored
from tests.factories import make_spec, make_zip, noise_images
from tests.lost_acknowledgement import lost_acknowledgement

pytestmark = pytest.mark.usefixtures("one_day")
JSON = {"Content-Type": "application/json"}
NUL_IN_UTF_16 = r'{"login": "a\u0000b", "password": "wrong"}'.encode("utf-16")


def with_names(names: list[str]) -> bytes:
    """Return a zip of tiny members with these names."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    return buffer.getvalue()


def encrypted(content: bytes) -> bytes:
    """Return the zip with the encryption flag of its first member set."""
    changed = bytearray(content)
    at = changed.index(b"PK\x01\x02")
    struct.pack_into("<H", changed, at + 8, 1)
    return bytes(changed)


def bomb() -> bytes:
    """Return a zip of eight names that unpacks to far more bytes than eight images."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(8):
            archive.writestr(f"{number}.png", bytes(1 << 22))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "slug"),
    [
        (b"this is no zip", "not-a-zip"),
        (b"", "not-a-zip"),
        (encrypted(make_zip(noise_images(1))), "encrypted"),
        (make_zip(noise_images(1, 7)), "wrong-count"),
        (with_names([f"{number}.jpg" for number in range(8)]), "wrong-names"),
        (bomb(), "zip-bomb"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_simple_faults_are_refused_immediately(service: Service, content: bytes, slug: str) -> None:
    where = service.competition(daily_limit=1)
    refused(service.submit("ada", where, content), 422, slug)
    assert stored(service, "submissions") == []
    assert service.submit("ada", where, make_zip(noise_images(9))).status_code == 202, "the refused upload uses no slot"


@pytest.mark.parametrize("minutes", [-2, 2])
def test_a_server_with_a_wrong_clock_accepts_no_entries(
    service: Service, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    slug, other = service.competition(), service.competition()
    clock = "api.http.right_clock.utc_now"
    closed = {"closes_at": (datetime.now(UTC) - timedelta(seconds=1)).isoformat()}
    assert service.call("organizer", "PATCH", f"/competitions/{other}", json=closed).status_code == 200
    with monkeypatch.context() as patch:
        patch.setattr(clock, lambda: datetime.now(UTC) + timedelta(minutes=minutes))
        for competition in (slug, other):
            refused(service.submit("ada", competition, make_zip(noise_images(9))), 503, "wrong-clock")
        headers = {"Tus-Resumable": "1.0.0", "Upload-Length": "1000"}
        begun = service.call("ada", "POST", f"/competitions/{slug}/uploads", headers=headers)
        refused(begun, 503, "wrong-clock")
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202


def test_the_response_to_an_upload_has_its_location(service: Service) -> None:
    slug = service.competition()
    answer = service.submit("ada", slug, make_zip(noise_images(9)), file_name="my entry.zip")
    assert answer.status_code == 202
    assert answer.headers["location"] == f"{API}/submissions/{answer.json()['id']}"
    assert answer.json() == {"id": answer.json()["id"], "status": "received", "queue_position": 1}
    assert service.call("ada", "GET", f"/submissions/{answer.json()['id']}").json()["file_name"] == "my entry.zip"


def test_the_response_names_ignored_files(service: Service) -> None:
    slug = service.competition()
    content = BytesIO(make_zip(noise_images(9)))
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr("._0.png", b"")
        archive.writestr(".ipynb_checkpoints/0-checkpoint.png", b"")
    entry = service.entered("ada", slug, content.getvalue())
    assert entry["ignored"] == "2 files were ignored: ._0.png, .ipynb_checkpoints/0-checkpoint.png."
    attached = service.call(
        "organizer", "PUT", f"/competitions/{slug}/references/train?attach=false", content=content.getvalue()
    )
    assert (attached.status_code, attached.json()["ignored"]) == (200, entry["ignored"])


def test_an_upload_needs_a_valid_token(service: Service) -> None:
    slug = service.competition()
    path = f"/competitions/{slug}/submissions"
    answer = service.call(None, "POST", path, content=make_zip(noise_images(9)))
    refused(answer, 401, "no-token")
    assert answer.headers["www-authenticate"] == "Bearer"
    wrong = service.http.post(f"{API}{path}", content=b"", headers={"Authorization": "Bearer wrong"})
    refused(wrong, 401, "bad-token")


def test_a_zip_over_the_possible_size_is_refused_early(service: Service) -> None:
    slug = service.competition()
    promised = service.call("ada", "POST", f"/competitions/{slug}/submissions", content=bytes(1 << 20))
    problem = refused(promised, 413, "too-large")
    assert "KB of metadata per image on average. Strip it" in problem["title"]
    streamed = service.call("ada", "POST", f"/competitions/{slug}/submissions", content=iter([bytes(1 << 16)] * 16))
    refused(streamed, 413, "too-large")
    assert stored(service, "submissions") == []


def test_the_refusal_of_a_form_shows_a_working_command(service: Service) -> None:
    slug = service.competition()
    form = {"file": ("entry.zip", make_zip(noise_images(9)))}
    problem = refused(service.call("ada", "POST", f"/competitions/{slug}/submissions", files=form), 422, "not-a-form")
    assert "curl" in problem["title"]


def test_nobody_can_enter_before_the_start_or_after_the_close(service: Service) -> None:
    now = datetime.now(UTC)
    later = service.competition(opens_at=now + timedelta(days=1))
    refused(service.submit("ada", later, make_zip(noise_images(9))), 404, "no-competition")
    refused(service.submit("organizer", later, make_zip(noise_images(9))), 409, "not-open")
    over = service.competition(opens_at=now - timedelta(days=9), closes_at=now - timedelta(minutes=1))
    for who in ("ada", "organizer"):
        refused(service.submit(who, over, make_zip(noise_images(9))), 409, "closed")
    assert service.submit("organizer", over, make_zip(noise_images(9)), benchmark="A line").status_code == 202


def test_parallel_posts_do_not_exceed_the_daily_limit(service: Service) -> None:
    slug = service.competition(daily_limit=3, pending_limit=100)
    content = make_zip(noise_images(9))
    with ThreadPoolExecutor(MAX_FILES_PER_ACCOUNT) as pool:  # more parallel files of an account are refused
        answers = list(pool.map(lambda _: service.submit("ada", slug, content), range(24)))
    assert [answer.status_code for answer in answers].count(202) == 3
    late = [answer for answer in answers if answer.status_code != 202]
    refused(late[0], 429, "daily-limit")
    assert 0 < int(late[0].headers["retry-after"]) <= 86_400
    assert len(service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]) == 3
    assert len(stored(service, "submissions")) == 3


def test_the_number_of_pending_entries_is_limited(service: Service) -> None:
    slug = service.competition(pending_limit=1)
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202
    second = service.submit("ada", slug, make_zip(noise_images(9)))
    refused(second, 429, "pending-limit")
    assert second.headers["retry-after"] == str(RETRY_AFTER_SECONDS)
    service.run_jobs()
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202


def test_a_repeated_request_returns_the_same_submission(service: Service) -> None:
    slug = service.competition(daily_limit=1)
    first, second = (
        service.call(
            "ada",
            "POST",
            f"/competitions/{slug}/submissions",
            content=make_zip(noise_images(9)),
            headers={"Idempotency-Key": "once"},
        )
        for _ in range(2)
    )
    assert first.json()["id"] == second.json()["id"]
    assert len(stored(service, "submissions")) == 1


def test_only_the_team_and_organizers_see_a_submission(service: Service) -> None:
    slug = service.competition()
    entry = service.submit("ada", slug, make_zip(noise_images(9))).json()
    path = f"/submissions/{entry['id']}"
    assert service.call("ada", "GET", path).status_code == 200
    assert service.call("organizer", "GET", path).status_code == 200
    refused(service.call("bob", "GET", path), 404, "no-submission")
    refused(service.call("bob", "GET", "/submissions/nothing"), 404, "no-submission")
    assert service.call("bob", "GET", f"/competitions/{slug}/submissions").json()["submissions"] == []


def test_only_organizers_can_organize(service: Service) -> None:
    slug = service.competition()
    entry = service.submit("ada", slug, make_zip(noise_images(9))).json()["id"]
    attempts = [
        ("POST", "/competitions", {}),
        ("POST", f"/competitions/{slug}/tracks/public/preparation", None),
        ("GET", f"/competitions/{slug}/tracks/private/thresholds", None),
        ("POST", f"/competitions/{slug}/tracks/public/thresholds", {"method": "manual", "tau": 1, "reason": "mine"}),
        ("PUT", f"/competitions/{slug}/submissions/{entry}/label", {"label": "legitimate"}),
        ("POST", f"/competitions/{slug}/publication", {"published": True, "reason": "now"}),
        ("POST", "/admin/accounts", {"handle": "mallory", "role": "admin"}),
    ]
    for method, path, body in attempts:
        assert service.call("ada", method, path, json=body).status_code == 403, path
        assert service.call(None, method, path, json=body).status_code == 401, path


def test_the_error_of_a_broken_reference_set_names_the_file(service: Service) -> None:
    slug = service.competition()
    broken = BytesIO()
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("good.png", zipfile.ZipFile(BytesIO(make_zip(noise_images(1)))).read("00000.png"))
        archive.writestr("torn.png", b"\x89PNG\r\n\x1a\n")
    attached = service.call("organizer", "PUT", f"/competitions/{slug}/references/train", content=broken.getvalue())
    assert attached.status_code == 200
    service.call("organizer", "POST", f"/competitions/{slug}/tracks/public/preparation")
    service.run_jobs()
    preparation = service.call("organizer", "GET", f"/competitions/{slug}/tracks/public/preparation").json()
    assert preparation["state"] == "failed"
    assert "torn.png" in preparation["error"]
    assert service.submit("ada", slug, make_zip(noise_images(9))).json()["type"] == "urn:kennel:problem:not-ready"


def test_participants_cannot_see_a_draft(service: Service) -> None:
    draft = service.competition(opens_at=None)
    for path in (f"/competitions/{draft}", f"/competitions/{draft}/submissions", f"/competitions/{draft}/leaderboard"):
        refused(service.call("ada", "GET", path), 404, "no-competition")
        assert service.call("organizer", "GET", path).status_code == 200


def test_a_change_opens_a_draft(service: Service) -> None:
    draft = service.competition(opens_at=None, closes_at=None)
    path = f"/competitions/{draft}"
    now = datetime.now(UTC)
    assert service.call("organizer", "GET", path).json()["missing"] == ["opens_at, the opening time, is not set"]
    opened = {"opens_at": (now - timedelta(hours=1)).isoformat()}
    refused(service.call("ada", "PATCH", path, json=opened), 403, "wrong-role")
    assert service.call("organizer", "PATCH", path, json=opened).json()["missing"] == []
    assert service.submit("ada", draft, make_zip(noise_images(9))).status_code == 202
    wrong = {"closes_at": (now - timedelta(days=1)).isoformat()}
    refused(service.call("organizer", "PATCH", path, json=wrong), 422, "bad-times")


def test_a_request_can_be_repeated_after_the_close(service: Service) -> None:
    slug = service.competition()
    now = datetime.now(UTC)
    path = f"/competitions/{slug}/submissions"
    once = {"Idempotency-Key": "once"}
    first = service.call("ada", "POST", path, content=make_zip(noise_images(9)), headers=once)
    change = {"closes_at": (now - timedelta(hours=1)).isoformat()}
    assert service.call("organizer", "PATCH", f"/competitions/{slug}", json=change).status_code == 200
    again = service.call("ada", "POST", path, content=make_zip(noise_images(9)), headers=once)
    assert again.json()["id"] == first.json()["id"]


def test_names_of_teams_and_benchmarks_never_collide(service: Service) -> None:
    slug = service.competition()
    assert service.entered("ada", slug, make_zip(noise_images(9)))["team"] == "Ada"
    for _ in range(2):
        line = service.entered("organizer", slug, make_zip(noise_images(9)), benchmark="Ada")
        assert line["team"] == "Ada (benchmark)"


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [
        ("GET", "/competitions/a%00b", {}),
        ("GET", "/submissions/%00", {}),
        ("GET", "/competitions?x=%00", {}),
        ("POST", "/admin/accounts", {"json": {"handle": "abc", "name": "a\0b"}}),
        ("POST", "/session", {"content": NUL_IN_UTF_16, "headers": JSON}),
    ],
)
def test_a_nul_character_is_refused(service: Service, method: str, path: str, options: dict[str, Any]) -> None:
    refused(service.call("admin", method, path, **options), 422, "nul-character")


@pytest.mark.parametrize(
    "body", [rb'{"login": "ada", "password": "\ud800"}', b'{"login": "ada", "password": "\xed\xa0\x80"}']
)
def test_half_a_surrogate_pair_is_refused(service: Service, body: bytes) -> None:
    refused(service.call(None, "POST", "/session", content=body, headers=JSON), 422, "lone-surrogate")
    whole = rb'{"login": "ada", "password": "\ud83d\ude00"}'
    refused(service.call(None, "POST", "/session", content=whole, headers=JSON), 401, "wrong-login")


@pytest.mark.parametrize("body", [b'{"login": "\xff"}', b"[" * 100_000, b"1" * 5000], ids=["not-utf-8", "deep", "long"])
def test_an_unreadable_body_is_refused_as_documented(service: Service, body: bytes) -> None:
    """By default FastAPI responds with 400, which is not documented."""
    refused(service.call(None, "POST", "/session", content=body, headers=JSON), 422, "bad-request")


@pytest.mark.parametrize("name", ["evil\nBcc: all@example.org", "a\rb.zip", "a\x1b[31m.zip", "a\u2028b.zip"])
def test_a_file_name_with_a_line_break_is_refused(service: Service, name: str) -> None:
    slug = service.competition()
    answer = service.call(
        "ada",
        "POST",
        f"/competitions/{slug}/submissions",
        params={"file_name": name},
        content=make_zip(noise_images(9)),
    )
    refused(answer, 422, "bad-file-name")
    upload = service.call("ada", "POST", f"/competitions/{slug}/uploads", json={"length": 9, "file_name": name})
    refused(upload, 422, "bad-file-name")


def test_a_slug_cannot_end_with_a_line_break(service: Service) -> None:
    body = make_spec(datetime.now(UTC)).model_dump(mode="json") | {"slug": "dogs\n"}
    refused(service.call("organizer", "POST", "/competitions", json=body), 422, "bad-request")


def test_an_enormous_page_number_is_refused(service: Service) -> None:
    slug = service.competition()
    assert service.call(None, "GET", f"/competitions/{slug}/leaderboard?after={10**20}").status_code == 422
    assert service.call("ada", "GET", f"/competitions/{slug}/submissions?after={10**20}").status_code == 422


def test_a_blob_stays_if_the_broker_accepts_no_message(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition()

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no broker")

    monkeypatch.setattr(service.app.state.broker, "send_task", broken)
    assert service.submit("ada", slug, make_zip(noise_images(9))).status_code == 202
    assert len(stored(service, "submissions")) == 1


def test_an_accepted_zip_stays_if_its_commit_is_not_acknowledged(service: Service) -> None:
    """In a failover, the row can exist although COMMIT raised an error. Without its zip, scoring would fail."""
    slug = service.competition()
    content = make_zip(noise_images(10))
    headers = {"Idempotency-Key": "once"}
    with lost_acknowledgement(Submission) as lost:
        answer = service.call("ada", "POST", f"/competitions/{slug}/submissions", content=content, headers=headers)
    assert lost == ["submissions"]
    assert answer.status_code == 503
    again = service.call("ada", "POST", f"/competitions/{slug}/submissions", content=content, headers=headers)
    assert again.status_code == 202
    service.run_jobs()
    assert service.call("ada", "GET", f"/submissions/{again.json()['id']}").json()["status"] == "scored"
    assert len(stored(service, "submissions")) == 1, "the second upload of the same bytes is not stored"
