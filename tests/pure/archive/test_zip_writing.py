"""Zips that Kennel writes: the same images give the same bytes. Streamed zips are never stored."""

import io
import os
import zipfile
import zlib
from datetime import UTC, datetime
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.http.ranges import requested_range
from kennel_client.archive.zip_writing import zip_folder
from scorer.archive import ZipEntry, read_references, write_images, zip_headers
from scorer.errors import Invalid
from tests.pure.archive.broken_files import png, random_images


def filled(folder: Path, names: list[str]) -> Path:
    for name, image in zip(names, random_images(len(names)), strict=True):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(image))
    return folder


def test_the_same_images_give_the_same_bytes() -> None:
    one, other = io.BytesIO(), io.BytesIO()
    write_images(random_images(5), one)
    write_images(random_images(5), other)
    assert one.getvalue() == other.getvalue()


def test_names_are_numbers_that_sort_like_the_images() -> None:
    file = io.BytesIO()
    write_images(random_images(12), file)
    with zipfile.ZipFile(file) as archive:
        assert archive.namelist() == sorted(archive.namelist())
        assert archive.namelist()[11] == "00011.png"
        assert archive.testzip() is None
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_given_names_are_used() -> None:
    file = io.BytesIO()
    write_images(random_images(2), file, names=["b.png", "a.png"])
    np.testing.assert_array_equal(read_references(file, 8).images, random_images(2)[::-1])


@pytest.mark.parametrize("names", [["a.png"], ["a.png", "a.png"]])
def test_each_image_needs_a_unique_name(names: list[str]) -> None:
    with pytest.raises(ValueError, match="2 images"):
        write_images(random_images(2), io.BytesIO(), names)


def test_the_zip_of_a_folder_depends_only_on_names_and_contents(tmp_path: Path) -> None:
    names = ["b/2.png", "a.png", "b/10.png"]
    zips: list[io.BytesIO] = []
    for folder, order in ((tmp_path / "one", names), (tmp_path / "two", names[::-1])):
        images = dict(zip(names, random_images(3), strict=True))
        for name in order:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(png(images[name]))
        os.utime(folder / "a.png", (10**9, 10**9 + len(zips)))
        zips.append(io.BytesIO())
        assert zip_folder(folder, zips[-1]) is None
    assert zips[0].getvalue() == zips[1].getvalue()
    assert read_references(zips[0], 8).names == ("a.png", "b/10.png", "b/2.png")


def test_only_visible_images_are_zipped(tmp_path: Path) -> None:
    folder = tmp_path / ".cache"
    filled(folder, ["a.PNG", "._a.png", "notes.txt", "b.jpg", ".ipynb_checkpoints/a-checkpoint.png", "@eaDir/a.png"])
    file = io.BytesIO()
    ignored = zip_folder(folder, file)
    assert ignored == "4 files were ignored: ._a.png, .ipynb_checkpoints/a-checkpoint.png, @eaDir/a.png, notes.txt."
    with zipfile.ZipFile(file) as archive:
        assert archive.namelist() == ["a.PNG", "b.jpg"]


def test_links_to_images_are_followed_and_links_to_folders_are_not(tmp_path: Path) -> None:
    filled(tmp_path / "elsewhere", ["a.png"])
    folder = filled(tmp_path / "folder", ["b.png"])
    (folder / "linked.png").symlink_to(tmp_path / "elsewhere" / "a.png")
    (folder / "loop").symlink_to(folder)
    file = io.BytesIO()
    assert zip_folder(folder, file) is None
    with zipfile.ZipFile(file) as archive:
        assert archive.namelist() == ["b.png", "linked.png"]


def test_a_folder_that_is_missing_or_without_images_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="There is no folder"):
        zip_folder(tmp_path / "missing", io.BytesIO())
    with pytest.raises(Invalid, match="no PNG, JPEG or WebP"):
        zip_folder(tmp_path, io.BytesIO())


def test_a_name_that_is_not_valid_text_is_an_error(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.png"
    with open(path, "wb") as file:  # noqa: PTH123 - pathlib does not support names as bytes
        file.write(png(random_images(1)[0]))
    with pytest.raises(Invalid) as caught:
        zip_folder(tmp_path, io.BytesIO())
    assert caught.value.slug == "wrong-names"


NAMES = st.text("abcXYZ019._-", min_size=1, max_size=30)
MOMENTS = st.integers(315_532_800, 4_354_819_199).map(lambda second: datetime.fromtimestamp(second, UTC))
"""The times that a zip can represent: 1980 to 2107."""


@given(st.dictionaries(NAMES, st.tuples(st.binary(max_size=300), MOMENTS), max_size=5))
def test_a_streamed_zip_is_readable_by_the_standard_library(files: dict[str, tuple[bytes, datetime]]) -> None:
    packed = [ZipEntry(name, len(content), zlib.crc32(content), at) for name, (content, at) in files.items()]
    contents = [content for content, _ in files.values()]
    whole = b"".join(chain.from_iterable(zip_longest(zip_headers(packed), contents, fillvalue=b"")))
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == dict(zip(files, contents, strict=True))
        for member in archive.infolist():
            at = files[member.filename][1]
            assert member.date_time == (*at.timetuple()[:5], at.second // 2 * 2)


def test_sizes_above_four_gigabytes_are_written() -> None:
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
def test_a_range_is_parsed_as_in_the_standard(header: str, wanted: range | None) -> None:
    assert requested_range(header, 100) == wanted
