"""Presigned addresses for a body of a given length, compared with the signatures of the AWS library."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from scorer.blobs.object_store import with_signed_length
from scorer.blobs.store import Blobs

KEY, SECRET, REGION = "a-key", "a+secret/with=signs", "eu-central-1"
LIFE = timedelta(hours=1)


def presigned(monkeypatch: pytest.MonkeyPatch, key: str, length: int) -> str:
    """The presigned address of the object store."""
    for name, value in {"ACCESS_KEY_ID": KEY, "REGION": REGION, "ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    store = Blobs("s3://kennel/some folder", public_endpoint="http://s3.example.org:9000", secret_key=SECRET)
    url = store.presigned_put(key, length, LIFE)
    assert url is not None
    return url


def read_signature(url: str) -> str:
    return parse_qs(urlsplit(url).query)["X-Amz-Signature"][0]


@pytest.mark.parametrize("key", ["uploads/abc", "uploads/a b+c/\u00fc~%.zip"])
def test_the_signature_is_that_of_aws(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    url = presigned(monkeypatch, key, 12_345)
    parts = urlsplit(url)
    moment = datetime.strptime(parse_qs(parts.query)["X-Amz-Date"][0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    monkeypatch.setattr(auth, "get_current_datetime", lambda **_: moment.replace(tzinfo=None))
    request = AWSRequest("PUT", f"{parts.scheme}://{parts.netloc}{parts.path}", headers={"Content-Length": "12345"})
    auth.S3SigV4QueryAuth(Credentials(KEY, SECRET), "s3", REGION, int(LIFE.total_seconds())).add_auth(request)
    assert read_signature(url) == read_signature(request.url)


def test_another_length_has_another_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    url = presigned(monkeypatch, "uploads/abc", 10)
    assert with_signed_length(url, 10, SECRET) == url
    assert read_signature(with_signed_length(url, 11, SECRET)) != read_signature(url)
