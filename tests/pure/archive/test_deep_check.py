"""The deep check names every fault of a member or PNG and refuses nothing valid."""

import io
import struct
import tracemalloc
import zipfile
import zlib
from typing import BinaryIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from kennel_client.archive.faults import MemberError
from kennel_client.archive.zip_check import check_zip
from kennel_client.archive.zip_reader import inflate
from scorer.archive import ImageSpec, PixelHashes, check_images, hash_pixels, list_images, write_images
from scorer.errors import Invalid, KennelError
from tests.examples import examples
from tests.pure.archive.broken_files import (
    SIGNATURE,
    BrokenZipEntry,
    Chunk,
    build_png,
    chunk,
    header,
    interlaced_png,
    png,
    pngs,
    random_images,
    raw_zip,
    rows,
    zipped,
)

PIXELS = random_images(1)[0]
PACKED = zlib.compress(rows(PIXELS))
SOUND = png(PIXELS)


def checked(file: BinaryIO, count: int, size: int = 8) -> tuple[NDArray[np.uint8], PixelHashes]:
    """The pixels and hashes that the service reads. The client's check must report the same faults in the same
    words."""
    spec = ImageSpec(count, size)
    out = np.zeros((count, size, size, 3), np.uint8)
    client, service = None, None
    try:
        assert check_zip(file, spec).pixels_decoded
    except Invalid as error:
        client = vars(error)
    try:
        return out, check_images(file, list_images(file, spec), spec, out=out)
    except Invalid as error:
        service = vars(error)
        raise
    finally:
        assert client == service


def fault(content: bytes) -> str:
    """The fault reported for a member with this content between two valid members."""
    with pytest.raises(Invalid) as caught:
        checked(zipped([("a.png", SOUND), ("dog.png", content), ("z.png", SOUND)]), 3)
    assert caught.value.slug == "bad-images"
    assert caught.value.message == "1 of 3 images can't be used."
    assert caught.value.extra["fault_count"] == 1
    (message,) = caught.value.faults
    return message


def saved(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def test_written_images_are_read_unchanged() -> None:
    images = random_images(30)
    file = io.BytesIO()
    write_images(images, file)
    out, hashes = checked(file, 30)
    np.testing.assert_array_equal(out, images)
    np.testing.assert_array_equal(hashes, hash_pixels(images))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_order_of_the_members_in_the_file_does_not_matter(compression: int) -> None:
    members = pngs(40)
    shuffled = [members[index] for index in np.random.default_rng(5).permutation(40)]
    (one, first), (other, second) = checked(zipped(members, compression), 40), checked(zipped(shuffled), 40)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(first, second)


def test_images_are_read_into_a_mapped_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("images") / "pixels"
    out = np.memmap(path, np.uint8, "w+", shape=(3, 8, 8, 3))
    file = zipped(pngs())
    check_images(file, list_images(file, ImageSpec(3, 8)), ImageSpec(3, 8), out=out)
    np.testing.assert_array_equal(out, random_images(3))


def test_progress_ends_with_all_images() -> None:
    steps: list[tuple[int, int]] = []
    # The gaps force several reads.
    gap = bytes(70_000)
    members = [member for name, content in pngs(3, 128) for member in ((name, content), (f"__MACOSX/{name}", gap))]
    file = zipped(members, zipfile.ZIP_STORED)
    spec = ImageSpec(3, 128)
    out = np.zeros((3, 128, 128, 3), np.uint8)
    check_images(file, list_images(file, spec), spec, out=out, progress=lambda *step: steps.append(step))
    assert steps == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("shape", [(2, 8, 8, 3), (3, 9, 9, 3), (3, 8, 8, 4)])
def test_an_array_of_another_shape_is_a_value_error(shape: tuple[int, ...]) -> None:
    file = zipped(pngs())
    spec = ImageSpec(3, 8)
    with pytest.raises(ValueError, match="out must be"):
        check_images(file, list_images(file, spec), spec, out=np.zeros(shape, np.uint8))


def test_interlaced_images_have_the_same_pixels() -> None:
    for size in (1, 2, 3, 4, 5, 8, 13):
        images = random_images(2, size)
        members = [(f"{index}.png", interlaced_png(image)) for index, image in enumerate(images)]
        np.testing.assert_array_equal(checked(zipped(members), 2, size)[0], images)


@pytest.mark.parametrize(
    "harmless",
    [
        (b"tEXt", b"Comment\0hello"),
        (b"zTXt", b"Comment\0\0" + zlib.compress(bytes(50_000_000))),
        (b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0<x/>"),
        (b"pHYs", struct.pack(">2LB", 2835, 2835, 1)),
        (b"tIME", struct.pack(">H5B", 2024, 1, 1, 0, 0, 0)),
        (b"sRGB", b"\0"),
        (b"cHRM", struct.pack(">8L", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)),
        (b"gAMA", struct.pack(">L", 45455)),
        (b"cICP", bytes((1, 13, 0, 1))),
        (b"PLTE", bytes(9)),
        (b"bKGD", bytes(6)),
        (b"sBIT", b"\10\10\10"),
        (b"prVt", b"anything"),
    ],
    ids=lambda c: c[0].decode(),
)
def test_chunks_without_effect_on_the_pixels_are_ignored(harmless: Chunk) -> None:
    out, _ = checked(zipped([("0.png", png(PIXELS, before=[harmless]))], zipfile.ZIP_STORED), 1)
    np.testing.assert_array_equal(out[0], PIXELS)


def test_bytes_after_the_end_of_a_png_are_ignored() -> None:
    out, _ = checked(zipped([("0.png", SOUND + b"after the end")]), 1)
    np.testing.assert_array_equal(out[0], PIXELS)


def test_image_data_may_be_in_many_chunks_even_empty_ones() -> None:
    parts = b"".join(chunk(b"IDAT", PACKED[at : at + 9]) for at in range(0, len(PACKED), 9)) + chunk(b"IDAT")
    out, _ = checked(zipped([("0.png", SIGNATURE + header(8, 8) + parts + chunk(b"IEND"))]), 1)
    np.testing.assert_array_equal(out[0], PIXELS)


IMAGE = Image.fromarray(PIXELS)
NOT_RGB = {
    "palette": (saved(IMAGE.quantize(16)), "has a palette and is not RGB"),
    "grey": (saved(IMAGE.convert("L")), "is greyscale, not RGB"),
    "bits": (saved(IMAGE.convert("1")), "is greyscale, not RGB"),
    "grey16": (saved(Image.fromarray(np.zeros((8, 8), np.uint16))), "is greyscale, not RGB"),
    "grey alpha": (saved(IMAGE.convert("LA")), "is greyscale with an alpha channel, not RGB"),
    "alpha": (saved(IMAGE.convert("RGBA")), "has an alpha channel and is not RGB"),
    "rgb16": (
        build_png(header(8, 8, depth=16), zlib.compress(bytes(8 * 49))),
        "has 16 bits per channel, not 8",
    ),
}


@pytest.mark.parametrize("case", NOT_RGB)
def test_images_other_than_8_bit_rgb_are_refused(case: str) -> None:
    content, says = NOT_RGB[case]
    assert fault(content) == f"dog.png {says}"


@pytest.mark.parametrize(("width", "height"), [(32, 32), (8, 9), (9, 8), (0, 0), (100_000, 100_000)])
def test_a_wrong_size_is_read_from_the_header(width: int, height: int) -> None:
    assert fault(build_png(header(width, height), PACKED)) == f"dog.png is {width}x{height}, not 8x8"


@pytest.mark.parametrize(
    ("refused", "says"),
    [
        ((b"tRNS", bytes(6)), "dog.png has a transparent colour (tRNS)"),
        ((b"acTL", struct.pack(">2L", 2, 0)), "dog.png is animated (acTL)"),
        ((b"iCCP", b"p\0\0" + zlib.compress(b"profile")), "dog.png has a colour profile (iCCP)"),
        ((b"eXIf", b"MM\0*\0\0\0\10\0\0"), "dog.png has EXIF data (eXIf)"),
        ((b"gAMA", struct.pack(">L", 100_000)), "dog.png has a gamma (gAMA) other than 1/2.2"),
        ((b"gAMA", b""), "dog.png has a gamma (gAMA) other than 1/2.2"),
        ((b"cICP", bytes((9, 16, 0, 1))), "dog.png has a colour space (cICP) other than sRGB"),
        ((b"ABCD", b""), "dog.png has an unknown critical chunk (ABCD)"),
        ((b"IHDR", header(8, 8)[8:21]), "dog.png is damaged: its header is not the first chunk"),
    ],
    ids=lambda c: c[0].decode() if isinstance(c, tuple) else "",
)
def test_chunks_that_change_the_shown_image_are_refused(refused: Chunk, says: str) -> None:
    assert fault(png(PIXELS, before=[refused])).startswith(says)
    assert fault(png(PIXELS, after=[refused])).startswith(says)


def test_a_real_animation_is_refused() -> None:
    frames = [Image.fromarray(image) for image in random_images(3)]
    content = saved(frames[0], save_all=True, append_images=frames[1:])
    assert fault(content) == "dog.png is animated (acTL)"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not a PNG file"),
        (b"hello", "is not a PNG file"),
        (saved(IMAGE, "JPEG"), "is not a PNG file: it is a JPEG"),
        (saved(IMAGE, "WEBP"), "is not a PNG file: it is a WebP"),
        (saved(IMAGE, "GIF"), "is not a PNG file: it is a GIF"),
        (SIGNATURE, "is cut short"),
        (SOUND[:-1], "is cut short"),
        (SOUND[:-12], "is cut short"),
        (SOUND[: len(SOUND) // 2], "is cut short"),
        (SIGNATURE + chunk(b"IEND"), "is damaged: its header is not the first chunk"),
        (SIGNATURE + chunk(b"IDAT", PACKED) + header(8, 8), "is damaged: its header is not the first chunk"),
        (SIGNATURE + chunk(b"IHDR", bytes(12)), "is damaged: its header has a wrong length"),
        (SIGNATURE + header(8, 8) + chunk(b"IEND"), "is cut short: rows are missing from its image data"),
        (build_png(header(8, 8, colour=5), PACKED), "is damaged: its header has invalid values"),
        (build_png(header(8, 8, interlace=2), PACKED), "is damaged: its header has invalid values"),
        (build_png(header(8, 8), PACKED[:-1] + b"?"), "is damaged: its image data can't be unpacked"),
        (build_png(header(8, 8), b"no zlib"), "is damaged: its image data can't be unpacked"),
        (build_png(header(8, 8), PACKED[:-4]), "is cut short: rows are missing from its image data"),
        (
            build_png(header(8, 8), zlib.compress(rows(PIXELS)[:100])),
            "is cut short: rows are missing from its image data",
        ),
        (
            build_png(header(8, 8), zlib.compress(rows(PIXELS) + bytes(10**7))),
            "is damaged: its image data is longer than its size says",
        ),
        (
            build_png(header(8, 8), zlib.compress(b"\x09" + rows(PIXELS)[1:])),
            "is damaged: its pixels can't be decoded",
        ),
        (
            SIGNATURE + header(8, 8) + chunk(b"IDAT", PACKED[:50]) + chunk(b"tEXt") + chunk(b"IDAT", PACKED[50:]),
            "is damaged: its image data is interrupted",
        ),
    ],
)
def test_a_damaged_png_is_refused(content: bytes, says: str) -> None:
    assert fault(content) == f"dog.png {says}"


@pytest.mark.parametrize("kind", [b"IHDR", b"tEXt", b"IDAT", b"IEND"])
def test_a_wrong_checksum_is_refused_in_any_chunk(kind: bytes) -> None:
    content = bytearray(png(PIXELS, before=[(b"tEXt", b"a\0b")]))
    at = content.index(kind)
    content[at + 4 + int.from_bytes(content[at - 4 : at], "big")] ^= 1
    assert fault(bytes(content)) == f"dog.png is damaged: a wrong checksum in its {kind.decode()} chunk"


def test_all_faults_are_counted_and_the_first_ten_are_named() -> None:
    small = png(random_images(1, 4)[0])
    members = [(f"{index:02}.png", small if index % 2 else SOUND) for index in reversed(range(50))]
    with pytest.raises(Invalid) as caught:
        checked(zipped(members), 50)
    assert caught.value.faults == tuple(f"{index:02}.png is 4x4, not 8x8" for index in range(1, 20, 2))
    assert caught.value.extra["fault_count"] == 25
    assert caught.value.message == "25 of 50 images can't be used."


def member_fault(entry: BrokenZipEntry, *others: BrokenZipEntry) -> str:
    with pytest.raises(Invalid) as caught:
        checked(raw_zip([entry, *others]), 1 + len(others))
    (message,) = caught.value.faults
    return message


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize(("off_by", "says"), [(-1, "longer"), (1, "shorter")])
def test_a_member_of_another_length_than_declared_is_refused(method: int, off_by: int, says: str) -> None:
    size = len(SOUND) + off_by
    message = member_fault(BrokenZipEntry(b"0.png", SOUND, method=method, size=size))
    assert message == f"0.png is {says} than the {size} bytes the zip declares for it"


def test_a_member_that_unpacks_to_far_more_than_declared_is_refused() -> None:
    message = member_fault(BrokenZipEntry(b"0.png", bytes(10**7), method=zipfile.ZIP_DEFLATED, size=100))
    assert message == "0.png is longer than the 100 bytes the zip declares for it"


def test_a_member_is_unpacked_no_further_than_declared() -> None:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    bomb = compressor.compress(bytes(1 << 26)) + compressor.flush()
    tracemalloc.start()
    try:
        with pytest.raises(MemberError, match="is longer than the 100 bytes"):
            inflate(bomb, zipfile.ZIP_DEFLATED, 100, crc=0)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_damaged_members_are_refused() -> None:
    packed = BrokenZipEntry(b"0.png", SOUND, method=zipfile.ZIP_DEFLATED)
    cut = member_fault(BrokenZipEntry(b"0.png", SOUND, method=zipfile.ZIP_DEFLATED, compressed=len(packed.packed) - 5))
    assert cut == "0.png can't be unpacked: its compressed data is cut short"
    renamed = member_fault(BrokenZipEntry(b"0.png", SOUND, local_name=b"1.png"))
    assert renamed == "0.png has another name in the zip's directory than in its own header"
    content = zipped([("0.png", SOUND)], zipfile.ZIP_STORED).getvalue()
    with pytest.raises(Invalid) as caught:
        checked(io.BytesIO(content.replace(b"IDAT", b"IDOT")), 1)
    assert caught.value.faults == ("0.png does not match its checksum: the zip is damaged",)
    with pytest.raises(Invalid) as caught:
        checked(io.BytesIO(content.replace(b"PK\3\4", b"PK\3\5")), 1)
    assert caught.value.faults == ("0.png is not at the position in the zip's directory",)


def test_a_member_whose_local_header_pushes_it_into_the_next_is_refused() -> None:
    content = bytearray(raw_zip([BrokenZipEntry(b"0.png", SOUND), BrokenZipEntry(b"1.png", SOUND)]).getvalue())
    content[28:30] = b"\x10\0"  # the local header now claims 16 bytes of extra fields
    with pytest.raises(Invalid) as caught:
        checked(io.BytesIO(content), 2)
    assert caught.value.faults == ("0.png runs into the next part of the zip",)


FUZZ = settings(max_examples=examples(150), deadline=None, database=None, derandomize=True)
FLIPS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=6)


def flipped(content: bytes, flips: list[tuple[int, int]]) -> bytes:
    changed = bytearray(content)
    for at, mask in flips:
        changed[at % len(changed)] ^= mask
    return bytes(changed)


def only_expected_errors(file: BinaryIO, count: int) -> None:
    """Check the zip. Any exception except ``KennelError`` fails the test."""
    error = None
    try:
        checked(file, count)
    except KennelError as raised:
        error = raised
    assert error is None or (error.message.endswith(".") and len(error.faults) <= 10)


VALID = raw_zip(
    [
        BrokenZipEntry(b"a.png", SOUND, method=zipfile.ZIP_DEFLATED),
        BrokenZipEntry(b"b.png", interlaced_png(PIXELS), zip64=True),
        BrokenZipEntry(b"c.png", png(PIXELS, before=[(b"tEXt", b"a\0b")]), method=zipfile.ZIP_DEFLATED),
    ],
    zip64=True,
).getvalue()


@FUZZ
@given(FLIPS)
def test_a_zip_with_flipped_bytes_is_checked_or_refused(flips: list[tuple[int, int]]) -> None:
    only_expected_errors(io.BytesIO(flipped(VALID, flips)), 3)


@FUZZ
@given(st.lists(st.tuples(st.integers(0, 400), st.integers(1, 255)), min_size=1, max_size=4))
def test_a_directory_with_flipped_bytes_is_checked_or_refused(flips: list[tuple[int, int]]) -> None:
    directory = VALID.index(b"PK\1\2")
    only_expected_errors(io.BytesIO(VALID[:directory] + flipped(VALID[directory:], flips)), 3)


@FUZZ
@given(FLIPS, st.sampled_from([SOUND, interlaced_png(PIXELS)]))
def test_a_png_with_flipped_bytes_in_a_valid_zip_is_checked_or_refused(
    flips: list[tuple[int, int]], content: bytes
) -> None:
    only_expected_errors(zipped([("0.png", flipped(content, flips))]), 1)


@FUZZ
@given(FLIPS, st.booleans())
def test_flipped_pixel_data_with_valid_checksums_is_checked_or_refused(
    flips: list[tuple[int, int]], packed: bool
) -> None:
    data = flipped(PACKED, flips) if packed else zlib.compress(flipped(rows(PIXELS), flips))
    only_expected_errors(zipped([("0.png", build_png(header(8, 8), data))]), 1)


@FUZZ
@given(st.integers(0, len(VALID)))
def test_a_zip_cut_anywhere_is_refused(length: int) -> None:
    if length < len(VALID):
        with pytest.raises(Invalid):
            checked(io.BytesIO(VALID[:length]), 3)
