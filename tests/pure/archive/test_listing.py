"""The check of a zip's directory: every fault in a directory, and unusual zips that must pass."""

import io
import struct
import zipfile
import zlib
from typing import Any, BinaryIO

import numpy as np
import pytest

from kennel_client.archive import central_directory
from scorer.archive import ImageSpec, Listing, list_images, list_references
from scorer.errors import Invalid
from tests.pure.archive.broken_files import BrokenZipEntry, png, pngs, random_images, raw_zip, zipped

SPEC = ImageSpec(count=3, size=8)
PNG = png(random_images(1)[0])


def refused(file: BinaryIO, spec: ImageSpec = SPEC) -> Invalid:
    with pytest.raises(Invalid) as caught:
        list_images(file, spec)
    return caught.value


def accepted(*names: str) -> Listing:
    return list_images(zipped([(name, PNG) for name in names]), ImageSpec(len(names), 8))


def test_a_listing_has_sizes_and_the_names_in_byte_order() -> None:
    listing = list_images(zipped([(name, PNG) for name in ("b.png", "é.png", "C.PNG", "a10.png")]), ImageSpec(4, 8))
    assert listing.names == ("C.PNG", "a10.png", "b.png", "é.png")
    assert sum(member.size for member in listing.members) == 4 * len(PNG)
    assert 0 < sum(member.compressed for member in listing.members) < 4 * len(PNG) + 40


@pytest.mark.parametrize("names", [("a.png", "b.png"), ("dogs/a.png", "dogs/b.png"), ("./a.png", "b.png")])
def test_images_may_be_at_the_top_or_in_one_folder(names: tuple[str, ...]) -> None:
    assert accepted(*names).names == names


def test_backslashes_separate_folders() -> None:
    file = raw_zip([BrokenZipEntry(b"dogs\\a.png", PNG), BrokenZipEntry(b"dogs\\b.png", PNG)])
    assert list_images(file, ImageSpec(2, 8)).names == ("dogs/a.png", "dogs/b.png")


JUNK = [
    "__MACOSX/dogs/._0.png",
    "__MACOSX/._dogs",
    ".DS_Store",
    "dogs/._0.png",
    "dogs/Thumbs.db",
    "dogs/thumbs.db",
    "desktop.ini",
    "dogs/Icon\r",
    "dogs/@eaDir/0.png/SYNOPHOTO_THUMB_M.png",
    "dogs/.ipynb_checkpoints/0-checkpoint.png",
    ".cache/deep/0.png",
]


def test_folders_and_junk_files_are_ignored_and_named() -> None:
    file = zipped(
        [(name, b"") for name in ["dogs/", *JUNK]] + [(f"./dogs/{name}", content) for name, content in pngs()]
    )
    listing = list_images(file, SPEC)
    assert listing.names == ("./dogs/0.png", "./dogs/1.png", "./dogs/2.png")
    assert listing.ignored is not None
    assert listing.ignored.startswith("11 files were ignored: .DS_Store, .cache/deep/0.png, __MACOSX/._dogs, ")
    assert listing.ignored.endswith("dogs/Icon\\r, dogs/Thumbs.db and 1 more.")
    assert accepted("0.png").ignored is None


def test_ignored_files_count_against_the_limits_of_the_zip() -> None:
    many = [(f".{index}", b"") for index in range(2 * SPEC.count + 1000)]
    assert refused(zipped([*pngs(), *many])).slug == "too-many-files"
    junk = random_images(1, 170)[0].tobytes()
    error = refused(zipped([*pngs(), ("Thumbs.db", junk)], zipfile.ZIP_STORED))
    assert error.slug == "too-much-metadata"
    assert "87 KB in files that are not images" in error.message


def test_a_path_outside_the_zip_is_a_fault_even_of_an_ignored_file() -> None:
    assert refused(zipped([*pngs(2), ("../.hidden/2.png", PNG)])).faults == ("../.hidden/2.png has '..' in its path",)


@pytest.mark.parametrize(
    ("names", "encoding"),
    [
        (["画像/表_0.png", "画像/ソ.png", "画像/能十.png"], "cp932"),
        (["犬_1.png", "表_1.png", "猫_1.png"], "cp932"),
        (["ア.png", "チ.png", "予.png"], "cp932"),  # 83 41 and 83 60
        (["成功/1.png", "成功/許.png", "成功/3.png"], "big5"),
        (["ä.png", "Ä.png", "ö.png"], "cp437"),
    ],
)
def test_names_in_unknown_encodings_are_accepted_and_shown_as_bytes(names: list[str], encoding: str) -> None:
    raw = [name.encode(encoding) for name in names]
    listing = list_images(raw_zip([BrokenZipEntry(name, PNG) for name in raw]), SPEC)
    assert len(listing.names) == 3
    assert all(name.isascii() for name in listing.names)


def test_a_backslash_in_an_unknown_encoding_may_be_a_second_byte() -> None:
    files = ["漢\\表.png", "漢\\1.png"]
    listing = list_images(raw_zip([BrokenZipEntry(name.encode("cp932"), PNG) for name in files]), ImageSpec(2, 8))
    assert listing.names == ("\\x8a\\xbf/1.png", "\\x8a\\xbf/\\x95\\x5c.png")


def test_a_name_in_an_unknown_encoding_is_shown_with_its_position() -> None:
    error = refused(
        raw_zip(
            [
                *(BrokenZipEntry(f"{i}.png".encode(), PNG) for i in range(3)),
                BrokenZipEntry("表.txt".encode("cp932"), PNG),
            ]
        )
    )
    assert error.faults == ("file 4 in the zip (\\x95\\x5c.txt) is not a .png",)
    entries = [BrokenZipEntry(name, PNG) for name in (b"\x83A.png", b"\x83a.png", b"\x83A.png")]
    assert refused(raw_zip(entries)).faults == ("file 3 in the zip (\\x83A.png) appears twice",)


def unicode_path(raw: bytes, name: bytes) -> bytes:
    return struct.pack("<HHBL", 0x7075, 5 + len(name), 1, zlib.crc32(raw)) + name


def test_the_unicode_path_field_counts_if_its_checksum_matches() -> None:
    timestamp = struct.pack("<HHBL", 0x5455, 5, 1, 0)
    entries = [
        BrokenZipEntry(b"?.png", PNG, extra=timestamp + unicode_path(b"?.png", f"图{i}.png".encode())) for i in range(2)
    ]
    stale = [BrokenZipEntry(b"%d.png" % i, PNG, extra=unicode_path(b"?.png", b"same.png")) for i in range(2)]
    broken = [BrokenZipEntry(b"4.png", PNG, extra=unicode_path(b"4.png", b"\xff.png"))]
    listing = list_images(raw_zip([*entries, *stale, *broken]), ImageSpec(5, 8))
    assert listing.names == ("0.png", "1.png", "4.png", "图0.png", "图1.png")
    error = refused(
        raw_zip([BrokenZipEntry(b"2.png", PNG, extra=unicode_path(b"2.png", b"../2.png"))]), ImageSpec(1, 8)
    )
    assert error.faults == ("../2.png has '..' in its path",)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n" * 100, "not a zip"),
        (zipped(pngs()).getvalue()[:-30], "cut short"),
        (b"prefix" + zipped(pngs()).getvalue(), "not where its end says"),
        (zipped(pngs()).getvalue() + b"\r\n", "2 extra bytes after the zip's end"),
        (zipped(pngs(), comment=b"x" * 100).getvalue() + bytes(100_000), "100,000 extra bytes after"),
        (zipped([("inner.zip", zipped(pngs()).getvalue())], zipfile.ZIP_STORED).getvalue()[:-30], "cut short"),
    ],
)
def test_an_incomplete_or_extended_zip_is_refused(content: bytes, says: str) -> None:
    error = refused(io.BytesIO(content))
    assert error.slug == "not-a-zip"
    assert says in error.message


def test_a_wrong_number_of_members_in_the_directory_is_damage() -> None:
    content = bytearray(zipped(pngs()).getvalue())
    content[-14:-10] = b"\2\0\2\0"
    assert refused(io.BytesIO(content)).slug == "not-a-zip"


def test_a_comment_is_allowed_even_if_it_looks_like_an_end_record() -> None:
    end = zipped([]).getvalue()
    assert len(list_images(zipped(pngs(), comment=b"x" * 500 + end + b"y"), SPEC).names) == 3


@pytest.mark.parametrize("flags", [1, 1 << 6 | 1, 1 << 13])
def test_encrypted_members_are_refused_by_name(flags: int) -> None:
    error = refused(raw_zip([BrokenZipEntry(b"0.png", PNG), BrokenZipEntry(b"1.png", PNG, flags=flags)]))
    assert (error.slug, error.faults) == ("encrypted", ("1.png is encrypted",))


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_only_stored_and_deflated_members_are_read(compression: int) -> None:
    error = refused(zipped(pngs(), compression))
    assert (error.slug, error.extra["fault_count"]) == ("unsupported-compression", 3)
    assert list_images(zipped(pngs(), zipfile.ZIP_STORED), SPEC).names == ("0.png", "1.png", "2.png")


@pytest.mark.parametrize("count", [0, 2, 4])
def test_a_wrong_count_reports_the_number_of_images_and_the_required_one(count: int) -> None:
    error = refused(zipped(pngs(count)), SPEC)
    assert error.slug == "wrong-count"
    assert f"has {count} image" in error.message
    assert "requires 3." in error.message
    assert ("0.png, 1.png" in error.message) == (count > 0)


def test_a_wrong_count_names_the_counted_and_the_ignored_files() -> None:
    names = [*(f"{index:02}.png" for index in range(12)), "._00.png"]
    message = refused(zipped([(name, PNG) for name in names])).message
    counted = ", ".join(names[:10])
    assert message == (
        f"The zip has 12 images ({counted} and 2 more); the competition requires 3. 1 file was ignored: ._00.png."
    )


def test_a_directory_too_long_for_the_images_is_not_read() -> None:
    file = Counting(zipped([("x" * 60_000 + f"{index}.png", b"") for index in range(20)]).getvalue())
    error = refused(file)
    assert error.slug == "wrong-count"
    assert "20 files" in error.message
    assert file.reads == 1


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (b"notes.txt", "notes.txt is not a .png"),
        (b"dog.png.jpg", "dog.png.jpg is not a .png"),
        (b"a/b/2.png", "a/b/2.png is in a folder within a folder"),
        (b"a/2.png", "a/2.png is not at the top like the others"),
        (b"/2.png", "/2.png has an absolute path"),
        (b"C:\\2.png", "C:/2.png has an absolute path"),
        (b"../2.png", "../2.png has '..' in its path"),
        (b"..\\2.png", "../2.png has '..' in its path"),
        (b"2\n.png", "2\\n.png has unreadable characters in its name"),
        ("2\u202egnp.png".encode(), "2\\u202egnp.png has unreadable characters in its name"),
        (b"1.PNG", "1.png has the same name as 1.PNG, ignoring case and Unicode form"),
        (b"1.png", "1.png appears twice"),
    ],
)
def test_an_unusable_name_is_reported(name: bytes, says: str) -> None:
    error = refused(raw_zip([BrokenZipEntry(b"0.png", PNG), BrokenZipEntry(b"1.png", PNG), BrokenZipEntry(name, PNG)]))
    assert (error.slug, error.faults, error.extra["fault_count"]) == ("wrong-names", (says,), 1)


def test_utf8_is_read_with_and_without_its_flag() -> None:
    for flags in (0, 1 << 11):
        file = raw_zip([BrokenZipEntry("ä.png".encode(), PNG, flags=flags)])
        assert list_images(file, ImageSpec(1, 8)).names == ("ä.png",)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("é.png", "e\u0301.png"),
        ("STRASSE.png", "straße.png"),
        ("α\u0345\u0301.png", "\u1fb4.png"),
    ],
)
def test_names_that_are_equal_after_nfc_and_case_folding_collide(one: str, other: str) -> None:
    assert refused(zipped([(one, PNG), (other, PNG)])).slug == "wrong-names"


def test_names_in_several_folders_are_refused() -> None:
    error = refused(zipped([("a/0.png", PNG), ("b/1.png", PNG), ("b/2.png", PNG)]))
    assert error.faults == ("a/0.png is not in the folder 'b' like the others",)


def test_the_first_ten_faults_are_named_in_order_and_all_are_counted() -> None:
    error = refused(zipped([(f"{index:02}.txt", b"") for index in reversed(range(25))]))
    assert error.faults == tuple(f"{index:02}.txt is not a .png" for index in range(10))
    assert error.extra["fault_count"] == 25


def test_a_long_name_is_shortened_in_messages() -> None:
    assert len(refused(zipped([("x" * 5_000 + ".txt", b"")])).faults[0]) < 200


def test_metadata_above_the_limit_of_one_image_is_reported() -> None:
    workflow = [(f"{index}.png", PNG + random_images(1, 160, index).tobytes()) for index in range(2)]
    error = refused(zipped([*workflow, ("2.png", PNG)], zipfile.ZIP_STORED))
    assert (error.slug, error.faults) == ("too-much-metadata", ("0.png has 77 KB", "1.png has 77 KB"))
    assert error.message.startswith("Images have too much metadata; one image can have at most 69 KB. Strip it")


def test_metadata_above_the_average_limit_is_reported() -> None:
    spec = ImageSpec(40, 8)
    workflows = [(f"{index}.png", PNG + random_images(1, 80, index).tobytes()) for index in range(40)]
    error = refused(zipped(workflows, zipfile.ZIP_STORED), spec)
    assert error.slug == "too-much-metadata"
    assert error.message.startswith("The images have too much metadata: 20 KB per image; the limit is 4 KB. Strip it")


def test_a_member_with_a_huge_compressed_size_is_refused() -> None:
    file = raw_zip(
        [*(BrokenZipEntry(name.encode(), c) for name, c in pngs(2)), BrokenZipEntry(b"2.png", bytes(80_000), size=100)]
    )
    assert refused(file).slug == "too-much-metadata"


def test_a_compression_ratio_too_high_for_images_is_a_bomb() -> None:
    error = refused(zipped([(f"{index}.png", bytes(20_000)) for index in range(3)]))
    assert error.slug == "zip-bomb"
    assert "100 times" in error.message


@pytest.mark.parametrize("size", [1, 8, 64, 128, 256, 512])
def test_flat_images_without_compression_are_no_bombs(size: int) -> None:
    flat = png(np.zeros((size, size, 3), np.uint8), level=0)
    file = zipped([(f"{index}.png", flat) for index in range(3)])
    assert len(list_images(file, ImageSpec(3, size)).names) == 3
    assert len(list_references(file).names) == 3


def test_members_that_share_all_their_bytes_are_a_bomb() -> None:
    error = refused(
        raw_zip(
            [
                BrokenZipEntry(b"0.png", PNG),
                BrokenZipEntry(b"1.png", PNG, offset=0),
                BrokenZipEntry(b"2.png", PNG, offset=0),
            ]
        )
    )
    assert error.slug == "zip-bomb"
    assert "overlap" in error.message


def test_a_member_inside_another_is_a_bomb() -> None:
    inner = BrokenZipEntry(b"1.png", PNG)
    outer = BrokenZipEntry(b"0.png", inner.local())
    inner.offset = len(outer.local()) - len(inner.local())
    assert refused(raw_zip([outer, inner]), ImageSpec(2, 8)).slug == "zip-bomb"


@pytest.mark.parametrize("offset", [10**6, 2**32 - 2])
def test_a_member_beyond_the_file_is_refused(offset: int) -> None:
    assert refused(raw_zip([BrokenZipEntry(b"0.png", PNG, offset=offset)]), ImageSpec(1, 8)).slug == "zip-bomb"


def test_zip64_is_read_in_entries_and_in_the_end_record() -> None:
    entries = [BrokenZipEntry(name.encode(), content, zip64=True) for name, content in pngs()]
    file = raw_zip(entries, zip64=True)
    with zipfile.ZipFile(file) as oracle:
        assert oracle.namelist() == ["0.png", "1.png", "2.png"]
    listing = list_images(file, SPEC)
    assert [(m.offset, m.size) for m in listing.members] == [(m.header_offset, m.file_size) for m in oracle.infolist()]


def test_zip64_written_by_the_standard_library_is_read() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in pngs():
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(content)
    assert len(list_images(file, SPEC).names) == 3


def test_zip64_sizes_without_their_field_are_damage() -> None:
    assert refused(raw_zip([BrokenZipEntry(b"0.png", PNG, size=0xFFFFFFFF)])).slug == "not-a-zip"


def test_a_zip64_locator_to_nowhere_is_damage() -> None:
    content = raw_zip([BrokenZipEntry(b"0.png", PNG)], zip64=True).getvalue().replace(b"PK\6\6", b"PK\6\0")
    assert refused(io.BytesIO(content)).slug == "not-a-zip"


def test_one_part_of_a_multi_volume_zip_is_refused() -> None:
    entry = BrokenZipEntry(b"0.png", PNG)
    files = [
        raw_zip([entry], disk=1),
        raw_zip([entry], zip64=True, disks=2),
        raw_zip([BrokenZipEntry(b"0.png", PNG, disk=1)]),
    ]
    assert [refused(file).slug for file in files] == ["split-zip"] * 3


class Counting(io.BytesIO):
    """Counts its reads."""

    reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads += 1
        return super().read(size)


def test_a_thousand_images_are_listed_with_one_read() -> None:
    file = Counting(zipped([(f"{index:05}.png", PNG) for index in range(1000)]).getvalue())
    assert len(list_images(file, ImageSpec(1000, 8)).names) == 1000
    assert file.reads == 1


class Dripping(io.BytesIO):
    """Returns at most 7 bytes per read, as a remote file may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(7, size if size is not None and size >= 0 else 7))


def test_a_file_with_partial_reads_is_read_completely() -> None:
    assert len(list_images(Dripping(zipped(pngs()).getvalue()), SPEC).names) == 3


def test_a_directory_longer_than_the_tail_is_read_separately() -> None:
    count = 5_000
    file = Counting(zipped([("x" * 200 + f"{index:05}.png", PNG) for index in range(count)]).getvalue())
    assert len(list_images(file, ImageSpec(count, 8)).names) == count
    assert file.reads == 2


@pytest.mark.parametrize(("count", "size"), [(0, 64), (1, 0), (-1, 64)])
def test_a_spec_needs_a_positive_count_and_size(count: int, size: int) -> None:
    with pytest.raises(ValueError, match="positive"):
        ImageSpec(count, size)


def test_extra_fields_are_not_copied_one_after_the_other() -> None:
    """The cost of 16,000 empty fields before the ZIP64 field is linear in their bytes, not quadratic."""
    copied: list[int] = []

    class Extra(bytes):
        def __getitem__(self, place: Any) -> Any:
            found = super().__getitem__(place)
            copied.append(len(found) if isinstance(found, bytes) else 1)
            return found

    extra = Extra(struct.pack("<HH", 0x9999, 0) * 16_000 + struct.pack("<HHQ", 1, 8, 7))
    assert central_directory._widened((1, 0xFFFFFFFF, 2), extra) == (1, 7, 2)
    assert sum(copied) <= len(extra)
