"""Data files from an S3 store (moto's): participants download them from the store, not through the API."""

import io
import zipfile

import httpx

from tests.api.competitions.test_data_files import SAMPLE, get, put
from tests.api.conftest import Service
from tests.api.submissions.test_presigned import settings
from tests.api.test_blobs import s3

__all__ = ["s3", "settings"]


def test_a_file_is_a_redirect_and_many_are_a_stream(service: Service) -> None:
    slug = service.competition()
    put(service, slug)
    service.http.follow_redirects = False
    answer = get(service, slug)
    assert (answer.status_code, answer.headers["cache-control"]) == (302, "no-store")
    assert answer.headers["location"].split("?")[0].endswith("/sample.bin")
    fetched = httpx.get(answer.headers["location"], headers={"Range": "bytes=10-19"})
    assert (fetched.status_code, fetched.content) == (206, SAMPLE[10:20])
    # The kaggle client would ask its proxy, which is us, for an address without TLS.
    assert service.call("ada", "GET", f"/kaggle/files/{slug}/sample.bin").content == SAMPLE
    put(service, slug, "train.zip", b"", source="train")
    assert get(service, slug, "train.zip").status_code == 200
    whole = service.call("ada", "GET", f"/kaggle/bundles/{slug}.zip")
    assert whole.status_code == 200
    with zipfile.ZipFile(io.BytesIO(whole.content)) as archive:
        assert (archive.testzip(), archive.namelist()) == (None, ["sample.bin", "train.zip"])
    part = service.call("ada", "GET", f"/kaggle/bundles/{slug}.zip", headers={"Range": "bytes=50-2000000"})
    assert (part.status_code, part.content) == (206, whole.content[50:2_000_001])
