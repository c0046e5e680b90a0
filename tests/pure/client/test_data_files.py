"""Downloads of data files from the service or its store: resumed, interrupted or damaged."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from kennel_client.api import ApiClient
from kennel_client.cli.start import download
from kennel_client.errors import Refused, Unreachable, Unreadable

CONTENT = bytes(range(256)) * 8
FILE = {"name": "train.zip", "bytes": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}
STORE = "https://store.example.org/data/train.zip?signature=1"


def build_client(answer: Callable[[httpx.Request], httpx.Response], requests: list[httpx.Request]) -> ApiClient:
    """A client that records its requests and gets its responses from a function."""

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return answer(request)

    client = ApiClient("https://kennel.example.org", "the token")
    client._http = httpx.Client(
        base_url=client._http.base_url, headers=client._http.headers, transport=httpx.MockTransport(handle)
    )
    return client


def ranged(request: httpx.Request) -> httpx.Response:
    """The file, or the requested range of it."""
    if "Range" not in request.headers:
        return httpx.Response(200, content=CONTENT)
    start = int(request.headers["Range"].removeprefix("bytes=").removesuffix("-"))
    return httpx.Response(206, content=CONTENT[start:])


def redirecting(request: httpx.Request) -> httpx.Response:
    """The service redirects to its object store, which has the file."""
    if request.url.host == "store.example.org":
        return ranged(request)
    return httpx.Response(302, headers={"Location": STORE})


@pytest.mark.parametrize("arrived", [b"", CONTENT[:700]])
def test_the_store_gets_the_range_and_no_token(tmp_path: Path, arrived: bytes) -> None:
    target = tmp_path / "train.zip"
    if arrived:
        (tmp_path / "train.zip.part").write_bytes(arrived)
    shares: list[float] = []
    requests: list[httpx.Request] = []
    client = build_client(redirecting, requests)
    download(client, "dogs", FILE, target=target, progress=shares.append)
    assert target.read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["train.zip"]
    assert shares[-1] == 1
    assert [request.headers.get("Authorization") for request in requests] == ["Bearer the token", None]
    assert requests[1].headers.get("Range") == ("bytes=700-" if arrived else None)
    download(client, "dogs", FILE, target=target, progress=shares.append)
    assert len(requests) == 2, "an existing file is not downloaded again"


def test_a_service_without_ranges_sends_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "train.zip.part").write_bytes(b"of another file")
    download(
        build_client(lambda _: httpx.Response(200, content=CONTENT), []),
        "dogs",
        FILE,
        target=tmp_path / "train.zip",
        progress=print,
    )
    assert (tmp_path / "train.zip").read_bytes() == CONTENT


def test_a_file_with_another_hash_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "train.zip.part").write_bytes(b"of another file")
    with pytest.raises(Refused, match="was damaged in transit"):
        download(build_client(ranged, []), "dogs", FILE, target=tmp_path / "train.zip", progress=print)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(Unreadable, match="cannot be written"):
        download(build_client(ranged, []), "dogs", FILE, target=tmp_path / "file" / "train.zip", progress=print)


def test_a_lost_connection_keeps_the_received_bytes(tmp_path: Path) -> None:
    def chunks() -> Iterator[bytes]:
        yield CONTENT[:500]
        raise httpx.ReadError("gone")

    with pytest.raises(Unreachable):
        download(
            build_client(lambda _: httpx.Response(200, content=chunks()), []),
            "dogs",
            FILE,
            target=tmp_path / "a.zip",
            progress=print,
        )
    assert (tmp_path / "a.zip.part").read_bytes() == CONTENT[:500]
    download(build_client(ranged, []), "dogs", FILE, target=tmp_path / "a.zip", progress=print)
    assert (tmp_path / "a.zip").read_bytes() == CONTENT


@pytest.mark.parametrize("arrived", [b"", CONTENT[:700]])
def test_a_refused_download_keeps_the_bytes_received_before(tmp_path: Path, arrived: bytes) -> None:
    part = tmp_path / "train.zip.part"
    if arrived:
        part.write_bytes(arrived)
    refusing = build_client(lambda _: httpx.Response(403, json={"title": "Accept the rules first."}), [])
    with pytest.raises(Refused, match="Accept the rules"):
        download(refusing, "dogs", FILE, target=tmp_path / "train.zip", progress=print)
    assert [path.name for path in tmp_path.iterdir()] == ([part.name] if arrived else [])
    assert not arrived or part.read_bytes() == arrived
