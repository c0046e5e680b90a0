"""The kaggle client's protocol: hostile requests, and requests that the official client does not make."""

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from api.http.problem_details import RETRY_SECONDS
from api.http.rate_limits import RateLimiter
from scorer.accounts import api_tokens
from scorer.db.tables import Account, Upload
from scorer.identifiers import hash_secret
from scorer.submissions import upload_bytes, uploads
from tests.api.conftest import API, Service
from tests.api.kaggle.kaggle_client import CALLS, refusal_message, rpc
from tests.api.submissions.tus import send, stored
from tests.factories import make_zip, noise_images
from worker.maintenance import cleanup

pytestmark = pytest.mark.usefixtures("one_day")

ZIP = make_zip(noise_images(9))


@pytest.fixture
def slug(service: Service) -> str:
    return service.competition(pending_limit=3, daily_limit=4)


def start(service: Service, slug: str, content: bytes = ZIP, who: str = "ada") -> tuple[str, str]:
    """Start an upload. Return its token and the address for its bytes."""
    body = {"competitionName": slug, "contentLength": len(content), "fileName": "mine.zip"}
    answer = rpc(service, "StartSubmissionUpload", who, **body, lastModifiedEpochSeconds=1_700_000_000)
    assert answer.status_code == 200, answer.text
    return answer.json()["token"], answer.json()["createUrl"]


def secret_in(address: str) -> str:
    """Return the secret of an upload: the password in the address, which clients send as a header."""
    secret = urlsplit(address).password
    assert secret
    return secret


def create(service: Service, slug: str, token: str, who: str = "ada", **body: Any) -> Any:
    """Create the submission of an upload."""
    return rpc(service, "CreateSubmission", who, competitionName=slug, blobFileTokens=token, **body)


def entries(service: Service, slug: str) -> list[dict[str, Any]]:
    """Return Ada's submissions from Kennel's API."""
    rows: list[dict[str, Any]] = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    return rows


def test_a_busy_database_gives_an_error_in_the_clients_format(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    token, address = start(service, slug)

    def busy(*_: object, **__: object) -> None:
        raise PoolTimeoutError("no free connection")

    monkeypatch.setattr(upload_bytes, "take_bytes", busy)
    monkeypatch.setattr(upload_bytes, "submit_wire_upload", busy)
    for answer in (service.http.put(address, content=ZIP), create(service, slug, token)):
        assert "Try again" in refusal_message(answer, 503)
        assert answer.headers["Retry-After"] == str(RETRY_SECONDS)
    lines = [record.__dict__ for record in caplog.records if record.getMessage() == "request"]
    assert [line["status"] for line in lines[-2:]] == [503, 503]
    assert "no free connection" in lines[-1]["error"]
    assert secret_in(address) not in str(lines)


def test_every_step_can_be_repeated(service: Service, slug: str) -> None:
    token, address = start(service, slug)
    assert refusal_message(create(service, slug, token)) == f"{len(ZIP):,} bytes are still missing. Send them first."
    for content in (ZIP, ZIP):
        assert service.http.put(address, content=content).status_code == 200
    assert len(stored(service, "uploads")) == 1
    first = create(service, slug, token, submissionDescription="mine")
    again = create(service, slug, token, submissionDescription="other words")
    assert (first.status_code, first.json()) == (200, again.json())
    assert service.http.put(address, content=ZIP).status_code == 200
    made = entries(service, slug)
    assert [(entry["ref"], entry["note"], entry["file_name"]) for entry in made] == [
        (first.json()["ref"], "mine", "mine.zip")
    ]
    assert f"/submissions/{made[0]['id']}" in first.json()["message"]


def test_only_the_receiver_of_the_address_can_send(service: Service, slug: str) -> None:
    token, address = start(service, slug)
    assert secret_in(address) not in urlsplit(address).path
    for wrong in ("guess", token):
        guessed = address.replace(secret_in(address), wrong)
        assert "no such upload" in refusal_message(service.http.put(guessed, content=ZIP), 404)
    bare = address.replace(f"upload:{secret_in(address)}@", "")
    assert refusal_message(service.http.put(bare, content=ZIP))
    tus = send(service, f"/uploads/{token}", 0, ZIP)
    assert tus.status_code == 409
    assert f"more bytes than the {len(ZIP):,} that were announced" in refusal_message(
        service.http.put(address, content=ZIP + b"x")
    )
    assert "were announced" in refusal_message(service.http.put(address, content=ZIP[:-1]))
    assert service.http.put(address, content=ZIP).status_code == 200
    assert "no such upload" in refusal_message(create(service, slug, token, "bob"), 404)
    assert "no such upload" in refusal_message(create(service, service.competition(), token), 404)
    assert entries(service, slug) == []
    assert create(service, slug, token).status_code == 200


def test_an_upload_is_finished_only_on_request(service: Service, slug: str) -> None:
    token, address = start(service, slug)
    assert service.http.put(address, content=ZIP).status_code == 200
    later = datetime.now(UTC) + timedelta(hours=1)
    with service.context.sessions.begin() as session:
        assert uploads.next_unfinished(session, later) is None
    cleanup.clean_up_uploads(service.context)
    assert entries(service, slug) == []
    with service.context.sessions.begin() as session:
        assert uploads.expire(session, later + timedelta(days=2)) == 1
    assert "no such upload" in refusal_message(create(service, slug, token), 404)
    assert "no such upload" in refusal_message(service.http.put(address, content=ZIP), 404)


def test_a_refused_zip_stays_refused_and_uses_no_quota(service: Service, slug: str) -> None:
    bad = make_zip(noise_images(9, 3))
    token, address = start(service, slug, bad)
    assert service.http.put(address, content=bad).status_code == 200
    first, again = (refusal_message(create(service, slug, token)) for _ in range(2))
    assert (first, "3 images" in first) == (again, True)
    limits = rpc(service, "GetSubmissionLimits", competitionName=slug).json()
    assert limits == {"numToday": 0, "numTotal": 0, "numAllowedNow": 4, "limitedByTotal": False}


def test_the_limits_of_the_api_apply(service: Service, slug: str) -> None:
    for _ in range(3):
        assert service.submit("ada", slug, ZIP).status_code == 202
    limits = rpc(service, "GetSubmissionLimits", competitionName=slug).json()
    assert (limits["numToday"], limits["numTotal"], limits["numAllowedNow"]) == (3, 3, 1)
    refused = rpc(service, "StartSubmissionUpload", competitionName=slug, contentLength=len(ZIP))
    assert "the limit of entries in progress (3)" in refusal_message(refused)
    assert "retry-after" not in refused.headers
    huge = rpc(service, "StartSubmissionUpload", "bob", competitionName=slug, contentLength=1 << 40)
    assert "too large" in refusal_message(huge)
    assert "at least one byte" in refusal_message(rpc(service, "StartSubmissionUpload", "bob", competitionName=slug))
    service.run_jobs()
    token, address = start(service, slug)
    assert service.http.put(address, content=ZIP).status_code == 200
    assert service.submit("ada", slug, ZIP).status_code == 202
    # The entry through the API has used the last slot.
    assert "the limit of entries per UTC day (4)" in refusal_message(create(service, slug, token))


def test_callers_authenticate_with_a_handle_and_token(service: Service, slug: str) -> None:
    def listed(authorization: str | None) -> Any:
        headers = {} if authorization is None else {"Authorization": authorization}
        return service.http.post(f"{API}/{CALLS}/ListCompetitions", json={}, headers=headers)

    def basic(text: str) -> str:
        return f"Basic {b64encode(text.encode()).decode()}"

    for good in (
        "Bearer secret-of-ada",
        "bearer secret-of-ada",
        basic("ada:secret-of-ada"),
        basic("ADA:secret-of-ada"),
    ):
        assert listed(good).status_code == 200, good
    for bad in (None, "", "Basic", "Basic !", "Basic /w==", basic("ada"), basic("ada:"), "Digest x", "Bearer"):
        assert "KAGGLE_USERNAME to your handle" in refusal_message(listed(bad))
    assert "does not belong to 'bob'" in refusal_message(listed(basic("bob:secret-of-ada")))
    assert "is unknown or was revoked" in refusal_message(listed(basic("ada:x")))
    who = "/security.OAuthService/IntrospectToken"
    identity = service.call(None, "POST", who, json={"token": "secret-of-ada"}).json()
    assert identity == {"active": True, "username": "ada"}, "the response does not number accounts"
    assert service.call(None, "POST", who, json={"token": "guess"}).json()["active"] is False
    assert service.call(None, "POST", who, json={}).json()["active"] is False


def test_a_token_with_the_scope_read_cannot_submit(service: Service, slug: str) -> None:
    with service.context.sessions.begin() as session:
        account = session.query(Account).filter_by(handle="ada").one()
        api_tokens.issue(session, account, "read-only", name="x", now=datetime.now(UTC), scopes=["read"])
    service.tokens["reader"] = "read-only"
    assert rpc(service, "ListSubmissions", "reader", competitionName=slug).status_code == 200
    refused = rpc(service, "StartSubmissionUpload", "reader", competitionName=slug, contentLength=9)
    assert "scope submit" in refusal_message(refused)


def test_session_cookies_do_not_authenticate(service: Service, slug: str) -> None:
    service.http.cookies.set("kennel", "whatever")
    answer = service.http.post(f"{API}/{CALLS}/ListSubmissions", json={"competitionName": slug})
    assert "KAGGLE_USERNAME" in refusal_message(answer)


def test_invalid_fields_and_unsupported_methods_are_refused(service: Service, slug: str) -> None:
    assert "pageToken" in refusal_message(rpc(service, "ListSubmissions", competitionName=slug, pageToken="x"))
    assert "pageSize" in refusal_message(rpc(service, "GetLeaderboard", competitionName=slug, pageSize=10**9))
    assert "competitionName" in refusal_message(rpc(service, "ListDataFiles"))
    assert "NUL" in refusal_message(rpc(service, "ListDataFiles", competitionName="a\0b"))
    assert "does not support ListTopics" in refusal_message(rpc(service, "ListTopics"), 404)
    assert "no competition" in refusal_message(rpc(service, "GetLeaderboard", competitionName="cats"), 404)


def test_private_scores_and_entries_of_others_stay_hidden(service: Service) -> None:
    slug = service.competition()
    refs = [
        service.scored(who, slug, noise_images(seed))["ref"] for seed, who in enumerate(("ada", "ada", "bob"), start=20)
    ]
    for who in ("ada", "organizer"):
        submission = rpc(service, "GetSubmission", who, ref=refs[0]).json()
        assert (submission["status"], submission["privateScore"]) == ("COMPLETE", "")
        assert float(submission["publicScore"]) > 0
    unknown = refusal_message(rpc(service, "GetSubmission", ref=999_999), 404).replace("999999", str(refs[2]))
    assert refusal_message(rpc(service, "GetSubmission", ref=refs[2]), 404) == unknown
    first = rpc(service, "ListSubmissions", competitionName=slug, pageSize=1, page=1).json()
    rest = rpc(service, "ListSubmissions", competitionName=slug, pageToken=first["nextPageToken"]).json()
    pages = [entry["ref"] for page in (first, rest) for entry in page["submissions"]]
    assert (pages, rest["nextPageToken"]) == ([refs[1], refs[0]], "")
    before = rpc(service, "GetLeaderboard", competitionName=slug).json()
    closes_at = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    service.call("organizer", "PATCH", f"/competitions/{slug}", json={"closes_at": closes_at})
    act = {"published": True, "reason": "The competition is over.", "override": "No entry has been reviewed."}
    assert service.call("organizer", "POST", f"/competitions/{slug}/publication", json=act).status_code == 201
    submission = rpc(service, "GetSubmission", ref=refs[0]).json()
    assert float(submission["privateScore"]) > 0
    final = rpc(service, "GetLeaderboard", competitionName=slug).json()["submissions"]
    ours = service.call(None, "GET", f"/competitions/{slug}/leaderboard?track=private").json()["entries"]
    assert [row["teamName"] for row in final] == [row["team"] for row in ours]
    assert [float(row["score"]) for row in final] == pytest.approx([row["score"] for row in ours])
    assert rpc(service, "GetLeaderboard", competitionName=slug, overridePublic=True).json() == before
    page = rpc(service, "GetLeaderboard", competitionName=slug, pageSize=1).json()
    assert (page["submissions"], page["nextPageToken"]) == (final[:1], "1")
    assert rpc(service, "GetSubmissionLimits", competitionName=slug).json()["numAllowedNow"] == 0


def test_competitions_are_listed_by_group_search_and_order(service: Service) -> None:
    early = service.competition(title="Early dogs", closes_at=(datetime.now(UTC) + timedelta(days=1)))
    prizes = [{"place": 2, "amount": "$1,000"}, {"place": 1, "amount": "$5,000"}]
    late = service.competition(title="Late dogs", prizes=prizes)
    service.competition(title="Secret dogs", opens_at=None, closes_at=None)
    service.scored("ada", early, noise_images(5))

    def refs(who: str = "ada", **body: Any) -> list[str]:
        answer = rpc(service, "ListCompetitions", who, **body)
        assert answer.status_code == 200, answer.text
        return [competition["ref"] for competition in answer.json()["competitions"]]

    assert refs() == [late, early]
    listed = rpc(service, "ListCompetitions").json()["competitions"]
    assert [competition["reward"] for competition in listed] == ["$5,000, $1,000", ""], (
        "all prizes in the order of places"
    )
    assert refs(sortBy="COMPETITION_SORT_BY_EARLIEST_DEADLINE") == [early, late]
    assert refs(group="COMPETITION_LIST_TAB_ENTERED") == [early]
    assert refs(search="late DOGS") == [late]
    assert len(refs("organizer")) == 3
    assert len(refs("organizer", group="COMPETITION_LIST_TAB_UNLAUNCHED")) == 1
    assert refs(group="COMPETITION_LIST_TAB_UNLAUNCHED") == []
    page = rpc(service, "ListCompetitions", pageSize=1).json()
    assert refs(pageSize=1, pageToken=page["nextPageToken"]) == refs(pageSize=1, page=2) == [early]


def test_a_rate_limited_client_waits_if_it_can(service: Service, slug: str) -> None:
    ref = service.entered("ada", slug, ZIP)["ref"]
    service.app.state.rates = RateLimiter(
        service.context.settings.model_copy(update={"rates": {"request": "1/minute"}})
    )
    assert rpc(service, "GetSubmission", ref=ref).status_code == 200
    hurried = rpc(service, "GetSubmission", ref=ref)
    assert "too many requests" in refusal_message(hurried, 429)
    assert 0 < int(hurried.headers["retry-after"]) <= 61
    elsewhere = rpc(service, "ListSubmissions", competitionName=slug)
    assert "too many requests" in refusal_message(elsewhere)
    assert "retry-after" not in elsewhere.headers


def test_the_upload_address_has_the_host_of_the_request(service: Service, slug: str) -> None:
    service.app.state.settings = service.context.settings.model_copy(update={"public_url": "https://dogs.example/k"})
    assert start(service, slug)[1].partition("@")[2].startswith(f"testserver{API}/kaggle/uploads/")
    body = {"competitionName": slug, "contentLength": len(ZIP)}
    headers = {"Host": "dogs.example"}
    answer = service.call("ada", "POST", f"/{CALLS}/StartSubmissionUpload", json=body, headers=headers)
    url = answer.json()["createUrl"]
    assert url.startswith("https://upload:")
    assert url.partition("@")[2].startswith(f"dogs.example/k{API}/kaggle/uploads/")
    with service.context.sessions.begin() as session:
        upload = session.get_one(Upload, answer.json()["token"])
        assert (upload.method, upload.put_digest) == ("wire", hash_secret(secret_in(url)))
