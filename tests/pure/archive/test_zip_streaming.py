"""Streamed zips of many files that are never stored, and ranges of such a response."""

import io
import zipfile
import zlib
from datetime import UTC, datetime
from itertools import chain, zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.ranges import requested_range
from scorer.archive import ZipEntry, zip_headers

NAMES = st.text("abcXYZ019._-", min_size=1, max_size=30)
MOMENTS = st.integers(315_532_800, 4_354_819_199).map(lambda second: datetime.fromtimestamp(second, UTC))
"""What a zip can tell: from 1980 to 2107."""


@given(st.dictionaries(NAMES, st.tuples(st.binary(max_size=300), MOMENTS), max_size=5))
def test_any_reader_of_zips_finds_the_files(files: dict[str, tuple[bytes, datetime]]) -> None:
    packed = [ZipEntry(name, len(content), zlib.crc32(content), at) for name, (content, at) in files.items()]
    contents = [content for content, _ in files.values()]
    whole = b"".join(chain.from_iterable(zip_longest(zip_headers(packed), contents, fillvalue=b"")))
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == dict(zip(files, contents, strict=True))
        for each in archive.infolist():
            at = files[each.filename][1]
            assert each.date_time == (*at.timetuple()[:5], at.second // 2 * 2)


def test_sizes_beyond_four_gigabytes_are_written() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    files = [ZipEntry("large.zip", 5 << 32, 1, at), ZipEntry("after.csv", 7, 2, at)]
    *heads, end = zip_headers(files)
    whole = sum(map(len, heads)) + sum(file.bytes for file in files)
    directory = end.index(b"PK\6\6")
    assert int.from_bytes(end[directory + 40 : directory + 48], "little") == directory
    assert int.from_bytes(end[directory + 48 : directory + 56], "little") == whole
    assert (5 << 32).to_bytes(8, "little") in heads[0]
    assert (len(heads[0]) + (5 << 32)).to_bytes(8, "little") in end


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("bytes=0-", range(100)),
        ("bytes=7-9", range(7, 10)),
        ("bytes=90-1000", range(90, 100)),
        ("bytes=-10", range(90, 100)),
        ("bytes=-1000", range(100)),
        ("bytes=100-", range(0)),
        ("bytes=-0", range(0)),
        ("", None),
        ("bytes=-", None),
        ("bytes=9-7", None),
        ("bytes=0-1,4-5", None),
        ("lines=0-1", None),
        ("bytes=a-b", None),
    ],
)
def test_a_range_is_what_the_standard_says(header: str, wanted: range | None) -> None:
    assert requested_range(header, 100) == wanted
