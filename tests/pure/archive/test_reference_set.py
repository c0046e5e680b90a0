"""Reference sets: images of the required size stay unchanged, all others are resized with one method."""

import io
import zipfile

import numpy as np
import PIL
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from scorer.archive import BOTTLENECK, hash_pixels, mirror_images, read_references, reference_set, write_images
from scorer.archive.reference_image import MAX_PIXELS
from scorer.errors import Invalid, KennelError, TooLarge
from tests.examples import examples
from tests.pure.archive.broken_files import build_png, header, png, random_images, zipped

WIDE = np.random.default_rng(3).integers(0, 256, (30, 50, 3), np.uint8)


def saved(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def one(content: bytes, name: str = "dog.png", size: int = 8) -> NDArray[np.uint8] | NDArray[np.float32]:
    images = read_references(zipped([(name, content)]), size).images
    return images.reshape(size, size, 3)


def refused(content: bytes, name: str = "dog.png") -> str:
    with pytest.raises(Invalid) as caught:
        read_references(zipped([("a.png", png(random_images(1)[0])), (name, content)]), 8)
    assert (caught.value.slug, caught.value.extra["fault_count"]) == ("bad-images", 1)
    return caught.value.faults[0]


def test_images_of_the_required_size_stay_unchanged() -> None:
    images = random_images(12)
    file = io.BytesIO()
    write_images(images, file)
    read = read_references(file, 8)
    assert read.images.dtype.name == "uint8"
    np.testing.assert_array_equal(read.images, images)
    np.testing.assert_array_equal(read.hashes, hash_pixels(images))
    np.testing.assert_array_equal(read.mirrored_hashes, hash_pixels(mirror_images(images)))


def test_one_image_of_another_size_makes_the_array_float() -> None:
    images = random_images(3)
    members = [(f"{index}.png", png(image)) for index, image in enumerate(images)]
    read = read_references(zipped([*members, ("wide.png", png(WIDE))]), 8)
    assert (read.images.dtype.name, read.images.shape) == ("float32", (4, 8, 8, 3))
    np.testing.assert_array_equal(read.images[:3], images)
    rounded = np.rint(read.images).astype(np.uint8)
    np.testing.assert_array_equal(read.hashes, hash_pixels(rounded))
    np.testing.assert_array_equal(read.mirrored_hashes, hash_pixels(mirror_images(rounded)))


def keys(x: float) -> float:
    """The cubic convolution of Keys with a = -0.5, from its definition (IEEE Trans. ASSP 29, 1981)."""
    x = abs(x)
    if x < 1:
        return 1.5 * x**3 - 2.5 * x**2 + 1
    return -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0


def weights(source: int, target: int) -> NDArray[np.float64]:
    """(target, source) antialiased bicubic weights: a reduction in size stretches the kernel."""
    scale = source / target
    stretch = max(scale, 1.0)
    w = np.empty((target, source))
    for t in range(target):
        centre = (t + 0.5) * scale
        w[t] = [keys((s + 0.5 - centre) / stretch) for s in range(source)]
    w /= w.sum(1, keepdims=True)
    return w


@pytest.mark.parametrize("size", [8, 16, 64])
def test_resizing_is_antialiased_bicubic_in_float(size: int) -> None:
    exact = np.einsum("ty,yxc,sx->tsc", weights(30, size), WIDE.astype(float), weights(50, size)).clip(0, 255)
    resized = one(png(WIDE), size=size)
    np.testing.assert_allclose(resized, exact, atol=0.01)
    assert np.abs(exact - np.rint(exact)).max() > 0.4  # otherwise the test could not detect rounding
    assert resized.dtype.name == "float32"


def test_overshoot_is_clipped_to_the_pixel_range() -> None:
    edge = np.zeros((32, 32, 3), np.uint8)
    edge[:, 17:] = 255
    resized = one(png(edge), size=16)
    assert (resized.min(), resized.max()) == (0, 255)


@pytest.mark.parametrize(("kind", "name"), [("JPEG", "a.jpg"), ("JPEG", "a.JPEG"), ("WEBP", "a.webp")])
def test_other_formats_are_decoded_with_pillow(kind: str, name: str) -> None:
    content = saved(Image.fromarray(random_images(1)[0]), kind)
    np.testing.assert_array_equal(one(content, name), np.asarray(Image.open(io.BytesIO(content)).convert("RGB")))


@pytest.mark.parametrize("mode", ["L", "LA", "P", "1", "RGBA"])
def test_other_modes_become_rgb(mode: str) -> None:
    grey = Image.fromarray(random_images(1)[0, :, :, 0] // 128 * 255)
    expected = np.repeat(np.asarray(grey)[:, :, None], 3, axis=2)
    np.testing.assert_array_equal(one(saved(grey.convert(mode))), expected)


def test_cmyk_photographs_become_rgb() -> None:
    content = saved(Image.new("CMYK", (8, 8), (0, 0, 0, 255)), "JPEG")
    assert one(content, "a.jpg").max() < 5


def test_a_rotated_photograph_is_turned_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # rotate by 90 degrees, clockwise
    content = saved(Image.fromarray(WIDE[:8, :8]), exif=exif)
    np.testing.assert_array_equal(one(content), np.rot90(WIDE[:8, :8], -1))


def test_names_of_any_depth_are_sorted_by_their_bytes() -> None:
    images = random_images(3)
    names = ("n2/husky/1.png", "n10/pug/1.png", "z.png")
    read = read_references(zipped([(n, png(i)) for n, i in zip(names, images, strict=True)]), 8)
    assert read.names == ("n10/pug/1.png", "n2/husky/1.png", "z.png")
    np.testing.assert_array_equal(read.images, images[[1, 0, 2]])


def test_duplicates_are_allowed() -> None:
    images = random_images(5)[[0, 1, 0, 0, 2]]
    file = io.BytesIO()
    write_images(images, file)
    np.testing.assert_array_equal(read_references(file, 8).images, images)


def test_progress_ends_with_all_images() -> None:
    steps: list[tuple[int, int]] = []
    read_references(zipped([("0.png", png(random_images(1)[0]))]), 8, lambda *step: steps.append(step))
    assert steps == [(1, 1)]


RGBA = Image.fromarray(random_images(1)[0]).convert("RGBA")
FRAMES = [Image.fromarray(image) for image in random_images(2)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not a PNG, JPEG or WebP image"),
        (saved(FRAMES[0], "GIF"), "is not a PNG, JPEG or WebP image"),
        (saved(FRAMES[0], "JPEG", quality=90)[:-200], "can't be decoded (OSError)"),
        (png(WIDE)[:-500], "can't be decoded (OSError)"),
        (saved(FRAMES[0], save_all=True, append_images=FRAMES[1:]), "is animated"),
        (saved(FRAMES[0], "WEBP", save_all=True, append_images=FRAMES[1:]), "is animated"),
        (saved(Image.fromarray(np.zeros((8, 8), np.uint16))), "has 16 bits per channel; convert it to 8"),
        (build_png(header(8, 8, depth=16), b""), "has 16 bits per channel; convert it to 8"),
        (saved(RGBA.point([*range(256)] * 3 + [128] * 256)), "is partly transparent; put it on a background"),
        (
            saved(FRAMES[0], transparency=tuple(random_images(1)[0, 0, 0].tolist())),
            "is partly transparent; put it on a background",
        ),
        (build_png(header(8_000, 8_000), b""), f"has more than {MAX_PIXELS:,} pixels"),
        (build_png(header(10_000, 10_000), b""), f"has more than {MAX_PIXELS:,} pixels"),
        (build_png(header(100_000, 100_000), b""), f"has more than {MAX_PIXELS:,} pixels"),
    ],
)
def test_an_unusable_image_is_reported(content: bytes, says: str) -> None:
    assert refused(content) == f"dog.png {says}"


@pytest.mark.parametrize(
    ("names", "slug"),
    [
        ((), "no-images"),
        (("a.txt",), "wrong-names"),
        (("../a.png",), "wrong-names"),
        (("a/A.png", "a/a.png"), "wrong-names"),
    ],
)
def test_a_zip_without_usable_images_is_refused(names: tuple[str, ...], slug: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_references(zipped([(name, png(random_images(1)[0])) for name in names]), 8)
    assert caught.value.slug == slug


def test_a_file_that_is_not_a_zip_is_refused() -> None:
    with pytest.raises(Invalid) as caught:
        read_references(io.BytesIO(b"no zip"), 8)
    assert caught.value.slug == "not-a-zip"


def test_a_bomb_is_refused() -> None:
    with pytest.raises(Invalid) as caught:
        read_references(zipped([("a.png", bytes(65 << 20))]), 8)
    assert caught.value.slug == "zip-bomb"


def test_images_that_exceed_the_memory_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    file = zipped([(f"{index}.png", png(image)) for index, image in enumerate(random_images(3))])
    monkeypatch.setattr(reference_set, "MAX_ARRAY_BYTES", 3 * 8 * 8 * 12 - 1)
    with pytest.raises(TooLarge, match="3 images of 8x8"):
        read_references(file, 8)
    monkeypatch.setattr(reference_set, "MAX_IMAGES", 2)
    with pytest.raises(TooLarge, match="lists 3 files; the limit is 2"):
        read_references(file, 8)


def test_the_bottleneck_names_the_decoder_and_the_filter() -> None:
    assert f"pillow-{PIL.__version__}" in BOTTLENECK
    assert "bicubic-antialias-float32" in BOTTLENECK
    assert "None" not in BOTTLENECK


MIXED = zipped(
    [
        ("a.jpg", saved(Image.fromarray(WIDE), "JPEG")),
        ("b.webp", saved(Image.fromarray(WIDE), "WEBP")),
        ("c.png", png(random_images(1)[0])),
    ],
    zipfile.ZIP_STORED,
).getvalue()


@settings(max_examples=examples(150), deadline=None, database=None, derandomize=True)
@given(
    st.sampled_from(["JPEG", "WEBP", "PNG"]),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=6),
)
def test_flipped_bytes_are_read_or_refused(kind: str, flips: list[tuple[int, int]]) -> None:
    content = bytearray(saved(Image.fromarray(WIDE), kind))
    for at, mask in flips:
        content[at % len(content)] ^= mask
    outcome: object
    try:
        outcome = read_references(zipped([("a.png", bytes(content))]), 8).images.shape
    except KennelError as error:
        outcome = error.slug
    assert outcome in ((1, 8, 8, 3), "bad-images")
