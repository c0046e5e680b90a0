"""A tus client of others with two API servers and a network that cuts."""

import hashlib
from io import BytesIO
from typing import Any

import pytest
from tusclient.client import TusClient
from tusclient.exceptions import TusUploadFailed

from api.main import create_app
from kennel_client.api import ApiClient
from kennel_client.errors import Refused
from kennel_client.resumable import ByteProgress, PendingUpload, upload
from kennel_client.steps import MAX_TRIES, RETRY_SECONDS
from scorer.submissions.upload_bytes import PART_BYTES
from tests.api.conftest import API, Service
from tests.factories import noise_images, zip_of
from tests.flaky_proxy import FlakyProxy
from tests.http_server import serve

CUTS = 10
MEGABYTE = 10**6


def ignore(_sent: int, _total: int) -> None:
    """Nobody follows the progress."""


@pytest.mark.parametrize(
    ("count", "size", "megabytes"),
    [(104, 256, 20), pytest.param(130, 512, 100, marks=pytest.mark.slow)],
)
def test_an_upload_survives_ten_cut_connections(service: Service, count: int, size: int, megabytes: int) -> None:
    slug = service.competition(image_count=count, image_size=size)
    content = zip_of(noise_images(1, count, size))
    assert len(content) > megabytes * MEGABYTE
    second = create_app(service.context.settings)
    with serve(service.app) as one, serve(second, lifespan="on") as other:
        proxy = FlakyProxy([one, other], after=len(content) // (CUTS + 5), cuts=CUTS)
        with proxy.running() as address:
            client = TusClient(
                f"{address}{API}/competitions/{slug}/uploads",
                headers={"Authorization": f"Bearer {service.tokens['ada']}"},
            )
            uploader = client.uploader(
                file_stream=BytesIO(content), metadata={"filename": "big.zip"}, retries=50, retry_delay=0.1
            )
            uploader.upload()
    assert proxy.cut == CUTS
    assert proxy.bytes_carried < len(content) + CUTS * PART_BYTES, "it went on, it did not begin again"
    (entry,) = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert (entry["file_name"], entry["bytes"]) == ("big.zip", len(content))
    assert entry["sha256"] == hashlib.sha256(content).hexdigest()
    path = f"/uploads/{(uploader.url or '').rsplit('/', 1)[1]}"
    response = service.call("ada", "HEAD", path, headers={"Tus-Resumable": "1.0.0"})
    assert response.headers["kennel-submission"] == entry["id"]


def test_a_tus_client_sends_checksums_and_learns_of_a_refusal(service: Service) -> None:
    slug = service.competition()
    with serve(service.app) as server:
        client = TusClient(
            f"{server}{API}/competitions/{slug}/uploads",
            headers={"Authorization": f"Bearer {service.tokens['ada']}"},
        )
        good = zip_of(noise_images(9))
        client.uploader(file_stream=BytesIO(good), chunk_size=1000, upload_checksum=True).upload()
        with pytest.raises(TusUploadFailed) as caught:
            client.uploader(file_stream=BytesIO(good[:-1])).upload()
    assert caught.value.status_code == 422
    assert b"not-a-zip" in caught.value.response_content
    (entry,) = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert entry["sha256"] == hashlib.sha256(good).hexdigest()


def test_our_own_client_goes_on_after_cuts(service: Service) -> None:
    count, size = 40, 128
    slug = service.competition(image_count=count, image_size=size)
    content = zip_of(noise_images(3, count, size))
    seen: list[int] = []
    pauses: list[float] = []
    with serve(service.app) as server:
        proxy = FlakyProxy([server], after=len(content) // 4, cuts=3)
        with proxy.running() as address, ApiClient(address, service.tokens["ada"]) as client:

            def upload_zip(data: bytes, key: str, progress: ByteProgress = ignore) -> str:
                promise = PendingUpload(slug, "ours.zip", len(data), key, "n")
                return client.run(upload(promise, BytesIO(data), progress), sleep=pauses.append)

            made = upload_zip(content, "kept", progress=lambda sent, _: seen.append(sent))
            assert upload_zip(content, "kept") == made
            with pytest.raises(Refused, match="zip"):
                upload_zip(content[:-1], "another")
    assert proxy.cut == 3
    assert len(pauses) >= 3
    assert seen[-1] == len(content)
    assert proxy.bytes_carried < 4 * len(content)
    (entry,) = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert (entry["id"], entry["file_name"], entry["note"]) == (made, "ours.zip", "n")


class BodyLimit:
    """An application behind a proxy that refuses bodies above ``limit`` bytes, with a page and no problem."""

    def __init__(self, app: Any, limit: int) -> None:
        self.app = app
        self.state = app.state
        self.limit = limit
        self.refused: list[int] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        length = int(dict(scope.get("headers", ())).get(b"content-length", b"0"))
        if length <= self.limit:
            await self.app(scope, receive, send)
            return
        self.refused.append(length)
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"<h1>413 Request Entity Too Large</h1>"})


def test_our_client_halves_its_requests_for_a_proxy_with_a_small_limit(service: Service) -> None:
    slug = service.competition(image_count=20, image_size=128)
    content = zip_of(noise_images(4, 20, 128))
    proxy: Any = BodyLimit(service.app, len(content) // 3)
    pauses: list[float] = []
    with serve(proxy) as server, ApiClient(server, service.tokens["ada"]) as client:
        pending = PendingUpload(slug, "ours.zip", len(content), "key")
        made = client.run(upload(pending, BytesIO(content), ignore), sleep=pauses.append)
        assert proxy.refused == [len(content), len(content) // 2]
        proxy.limit = 1000
        pending = PendingUpload(slug, "ours.zip", len(content), "other")
        with pytest.raises(Refused, match=r"proxy .* refuses requests of 65536 bytes") as caught:
            client.run(upload(pending, BytesIO(content), ignore), sleep=pauses.append)
    assert (caught.value.status, pauses) == (413, [])
    entry = service.call("ada", "GET", f"/submissions/{made}").json()
    assert entry["sha256"] == hashlib.sha256(content).hexdigest()


def test_our_own_client_gives_up_on_a_service_that_is_gone() -> None:
    pauses: list[float] = []
    with ApiClient("http://127.0.0.1:9", "none") as client, pytest.raises(Refused, match="No answer"):
        client.run(upload(PendingUpload("any", "x.zip", 1, "key"), BytesIO(b"x"), ignore), sleep=pauses.append)
    assert len(pauses) == MAX_TRIES
    assert pauses[0] < pauses[4] <= RETRY_SECONDS[4] < pauses[-1] <= RETRY_SECONDS[-1]
