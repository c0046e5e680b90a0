"""The check of a zip's directory: every fault that it can show, and every zip that must pass."""

import io
import zipfile
from typing import BinaryIO

import pytest

from scorer.archive import ImageSpec, Listing, list_images
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


def test_a_listing_has_the_names_in_order_of_their_bytes_and_the_sizes() -> None:
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


def test_folders_and_what_operating_systems_leave_behind_are_ignored() -> None:
    junk = [
        "dogs/",
        "__MACOSX/dogs/._0.png",
        "__MACOSX/._dogs",
        ".DS_Store",
        "dogs/.DS_Store",
        "dogs/Thumbs.db",
    ]
    file = zipped([(name, b"") for name in junk] + [(f"dogs/{name}", content) for name, content in pngs()])
    assert list_images(file, SPEC).names == ("dogs/0.png", "dogs/1.png", "dogs/2.png")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n" * 100, "not a zip"),
        (zipped(pngs()).getvalue()[:-30], "cut short"),
        (b"prefix" + zipped(pngs()).getvalue(), "not where its end says"),
        (zipped(pngs()).getvalue() + b"\r\n", "damaged"),
    ],
)
def test_what_is_not_a_whole_zip_is_refused(content: bytes, says: str) -> None:
    error = refused(io.BytesIO(content))
    assert error.slug == "not-a-zip"
    assert says in error.message


def test_a_directory_that_declares_another_number_of_members_is_damaged() -> None:
    content = bytearray(zipped(pngs()).getvalue())
    content[-14:-10] = b"\2\0\2\0"
    assert refused(io.BytesIO(content)).slug == "not-a-zip"


def test_a_comment_is_fine_even_one_that_looks_like_the_end() -> None:
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
def test_a_wrong_count_says_how_many_there_are_and_how_many_are_needed(count: int) -> None:
    error = refused(zipped(pngs(count)), SPEC)
    assert error.slug == "wrong-count"
    assert f"has {count} image" in error.message
    assert "asks for 3." in error.message


def test_a_directory_longer_than_the_images_can_need_is_not_read() -> None:
    file = Counting(zipped([("x" * 60_000 + f"{index}.png", b"") for index in range(20)]).getvalue())
    error = refused(file)
    assert error.slug == "wrong-count"
    assert "20 images" in error.message
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
        (b"1.PNG", "1.png has the same name as 1.PNG, up to case and Unicode form"),
        (b"1.png", "1.png is there twice"),
    ],
)
def test_a_name_that_cant_be_used_is_named(name: bytes, says: str) -> None:
    error = refused(raw_zip([BrokenZipEntry(b"0.png", PNG), BrokenZipEntry(b"1.png", PNG), BrokenZipEntry(name, PNG)]))
    assert (error.slug, error.faults, error.extra["fault_count"]) == ("wrong-names", (says,), 1)


def test_bytes_that_are_no_utf8_are_unreadable_where_utf8_is_promised() -> None:
    assert refused(raw_zip([BrokenZipEntry(b"\xff\xfe.png", PNG, flags=1 << 11)])).slug == "wrong-names"
    assert list_images(raw_zip([BrokenZipEntry(b"\x84.png", PNG)]), ImageSpec(1, 8)).names == ("ä.png",)
    assert list_images(raw_zip([BrokenZipEntry("ä.png".encode(), PNG)]), ImageSpec(1, 8)).names == ("ä.png",)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("é.png", "e\u0301.png"),
        ("STRASSE.png", "straße.png"),
        ("α\u0345\u0301.png", "\u1fb4.png"),
    ],
)
def test_names_that_are_the_same_after_nfc_and_case_folding_collide(one: str, other: str) -> None:
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


def test_one_member_larger_than_a_png_can_be_is_a_bomb() -> None:
    error = refused(zipped([*pngs(2), ("bomb.png", bytes(SPEC.member_bytes + 1))]))
    assert error.slug == "zip-bomb"
    assert error.faults[0].startswith("bomb.png would take")


def test_a_member_that_is_huge_inside_the_zip_is_refused_too() -> None:
    file = raw_zip(
        [*(BrokenZipEntry(name.encode(), c) for name, c in pngs(2)), BrokenZipEntry(b"2.png", bytes(70_000), size=100)]
    )
    assert refused(file).slug == "zip-bomb"


def test_too_much_in_all_is_a_bomb_though_each_member_is_possible() -> None:
    spec = ImageSpec(40, 8)
    noise = [(f"{index}.png", random_images(1, 120, index).tobytes()) for index in range(40)]
    assert max(len(content) for _, content in noise) < spec.member_bytes
    error = refused(zipped(noise, zipfile.ZIP_STORED), spec)
    assert (error.slug, "unpack to 1,728,000 bytes" in error.message) == ("zip-bomb", True)


def test_a_ratio_that_no_images_have_is_a_bomb() -> None:
    error = refused(zipped([(f"{index}.png", bytes(20_000)) for index in range(3)]))
    assert error.slug == "zip-bomb"
    assert "100 times" in error.message


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


def test_a_member_quoted_inside_another_is_a_bomb() -> None:
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


def test_zip64_as_the_standard_library_writes_it_is_read() -> None:
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
    """Answers every read with at most 7 bytes, as a remote file may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(7, size if size is not None and size >= 0 else 7))


def test_a_file_that_answers_in_parts_is_read_whole() -> None:
    assert len(list_images(Dripping(zipped(pngs()).getvalue()), SPEC).names) == 3


def test_a_directory_longer_than_the_tail_is_read_separately() -> None:
    count = 5_000
    file = Counting(zipped([("x" * 200 + f"{index:05}.png", PNG) for index in range(count)]).getvalue())
    assert len(list_images(file, ImageSpec(count, 8)).names) == count
    assert file.reads == 2


@pytest.mark.parametrize(("count", "size"), [(0, 64), (1, 0), (-1, 64)])
def test_a_spec_asks_for_something(count: int, size: int) -> None:
    with pytest.raises(ValueError, match="positive"):
        ImageSpec(count, size)
