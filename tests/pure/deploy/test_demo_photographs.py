"""The demo's photographs: three balanced, reproducible parts that share no pixel."""

from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from deploy.demo import photographs as module
from deploy.demo.photographs import (
    BUNDLED_PHOTOGRAPHS,
    MAX_TILES_PER_PHOTOGRAPH,
    Photographs,
    bundled_photographs,
    photographs_in,
)
from deploy.demo.tiles import MIN_TILE_CONTRAST, PARTS, Tiles, identity_up_to_mirror, tiles_at
from scorer.errors import Invalid, Unavailable


@pytest.fixture(scope="module")
def shipped() -> Photographs:
    return bundled_photographs(0)


def list_parts(cut: Photographs) -> list[Tiles]:
    return [getattr(cut, part) for part in PARTS]


def hashes(tiles: Tiles, *, mirrored: bool = False) -> list[bytes]:
    """SHA-256 of each image, or of its mirror image."""
    return [sha256((image[:, ::-1] if mirrored else image).tobytes()).digest() for image in tiles.images]


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    """Whether two rectangles share more than a rounding error of area."""
    return min(a[2], b[2]) - max(a[0], b[0]) > 1e-6 and min(a[3], b[3]) - max(a[1], b[1]) > 1e-6


def test_the_parts_are_large_enough(shipped: Photographs) -> None:
    assert len(shipped.train) >= 1000
    assert len(shipped.held_out) >= 400
    assert len(shipped.private_extra) >= 200


def test_every_tile_is_an_rgb_image_with_a_source_and_a_rectangle(shipped: Photographs) -> None:
    for part in list_parts(shipped):
        assert part.images.dtype == np.uint8
        assert part.images.shape == (len(part), 64, 64, 3)
        assert len(part.sources) == len(part.rectangles) == len(part)


def test_no_tile_equals_another_or_its_mirror(shipped: Photographs) -> None:
    plain = [digest for part in list_parts(shipped) for digest in hashes(part)]
    mirrored = [digest for part in list_parts(shipped) for digest in hashes(part, mirrored=True)]
    assert len(set(plain)) == len(plain)
    symmetric = {a for a, b in zip(plain, mirrored, strict=True) if a == b}
    assert set(plain) & set(mirrored) <= symmetric


def test_no_two_parts_share_a_pixel_of_a_photograph(shipped: Photographs) -> None:
    for one, other in (("train", "held_out"), ("train", "private_extra"), ("held_out", "private_extra")):
        a, b = getattr(shipped, one), getattr(shipped, other)
        for source in set(a.sources) & set(b.sources):
            left = [r for r, name in zip(a.rectangles, a.sources, strict=True) if name == source]
            right = [r for r, name in zip(b.rectangles, b.sources, strict=True) if name == source]
            assert not any(overlap(x, y) for x in left for y in right), (one, other, source)


def test_tiles_of_one_scale_do_not_overlap_inside_a_part(shipped: Photographs) -> None:
    tiles = shipped.train
    for source in set(tiles.sources):
        rectangles = [r for r, name in zip(tiles.rectangles, tiles.sources, strict=True) if name == source]
        native = [r for r in rectangles if abs(r.right - r.left - 64) < 1e-9]
        assert len(native) > 1
        assert not any(overlap(a, b) for i, a in enumerate(native) for b in native[:i]), source


def test_a_native_tile_has_the_unscaled_pixels_of_its_photograph(shipped: Photographs) -> None:
    files = {Path(photograph.file).stem: photograph.file for photograph in BUNDLED_PHOTOGRAPHS}
    tiles = shipped.held_out
    i = next(i for i, r in enumerate(tiles.rectangles) if r.right - r.left == 64 == r.bottom - r.top)
    with Image.open(module._path_in_wheel(files[tiles.sources[i]])) as image:
        cut = np.asarray(image.convert("RGB").crop(tiles.rectangles[i]))
    assert np.array_equal(cut, tiles.images[i])


def test_no_photograph_gives_too_many_tiles(shipped: Photographs) -> None:
    for name in PARTS:
        counts = Counter(getattr(shipped, name).sources)
        assert max(counts.values()) <= MAX_TILES_PER_PHOTOGRAPH[name]
    assert max(Counter(shipped.train.sources).values()) < 0.15 * len(shipped.train)


def test_every_photograph_is_used_and_some_only_in_the_held_out_part(shipped: Photographs) -> None:
    used = {source for part in list_parts(shipped) for source in part.sources}
    assert used == {Path(photograph.file).stem for photograph in BUNDLED_PHOTOGRAPHS}
    unseen = [source for source in shipped.held_out.sources if source not in shipped.train.sources]
    assert 0.2 < len(unseen) / len(shipped.held_out) < 0.5


def test_near_constant_tiles_are_dropped(shipped: Photographs) -> None:
    for part in list_parts(shipped):
        spread = part.images.transpose(0, 3, 1, 2).reshape(len(part), 3, -1).std(axis=2).max(axis=1)
        assert spread.min() >= MIN_TILE_CONTRAST - 1e-6


def test_the_parts_depend_only_on_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [photograph for photograph in BUNDLED_PHOTOGRAPHS if Path(photograph.file).stem in {"retina", "text"}]
    monkeypatch.setattr(module, "BUNDLED_PHOTOGRAPHS", few)
    one, same, other = bundled_photographs(0), bundled_photographs(0), bundled_photographs(1)
    for part in PARTS:
        assert np.array_equal(getattr(one, part).images, getattr(same, part).images)
        assert getattr(one, part).sources == getattr(same, part).sources
        assert getattr(one, part).rectangles == getattr(same, part).rectangles
        assert len(getattr(one, part)) == len(getattr(other, part))
        assert not np.array_equal(getattr(one, part).images, getattr(other, part).images)
    assert set(one.train.rectangles) != set(other.train.rectangles), "the choice differs, not only the order"


def test_scaling_a_region_reads_no_pixel_outside_it() -> None:
    pixels = np.zeros((128, 256, 3), np.uint8)
    pixels[:, 128:] = 255
    photograph = Image.fromarray(pixels)
    left = list(tiles_at([0.5], photograph, "edge", box=(0, 0, 128, 128), size=64))
    assert len(left) == 1
    assert left[0].image.max() == 0
    assert left[0].rectangle == (0, 0, 128, 128)


def test_only_mirror_images_have_the_same_identity() -> None:
    image = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    assert identity_up_to_mirror(image) == identity_up_to_mirror(image[:, ::-1])
    assert identity_up_to_mirror(image) != identity_up_to_mirror(image[::-1])


def test_a_missing_wheel_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(Unavailable, match=r"astronaut\.png is not installed.*`demo` extra") as error:
        bundled_photographs(0)
    assert error.value.slug == "photographs-missing"


def a_folder(where: Path, photographs: int = 14, size: tuple[int, int] = (80, 48), suffix: str = "png") -> Path:
    """A folder with photographs of random pixels."""
    rng = np.random.default_rng(7)
    (where / "more").mkdir(parents=True)
    for i in range(photographs):
        pixels = rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
        Image.fromarray(pixels).save(where / ("more" if i % 2 else ".") / f"{i:02d}.{suffix}")
    return where


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp"])
def test_a_folder_is_split_by_whole_photographs(tmp_path: Path, suffix: str) -> None:
    folder = a_folder(tmp_path / "mine", suffix=suffix)
    (folder / "notes.txt").write_text("not a photograph")
    cut = photographs_in(folder, size=16, train=20, held_out=8, private_extra=4)
    assert [len(part) for part in list_parts(cut)] == [20, 8, 4]
    sources = [set(part.sources) for part in list_parts(cut)]
    assert sum(map(len, sources)) == len(set.union(*sources))
    assert cut.train.images.shape == (20, 16, 16, 3)
    for source in set.union(*sources):
        assert (folder / source).is_file()


def test_a_folder_is_cut_coarse_to_fine_and_never_enlarged(tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "mine", photographs=12, size=(32, 32))
    few = photographs_in(folder, size=16, train=6, held_out=2, private_extra=1)
    assert {r.right - r.left for part in list_parts(few) for r in part.rectangles} == {32.0}
    many = photographs_in(folder, size=16, train=24, held_out=8, private_extra=4)
    assert min(r.right - r.left for part in list_parts(many) for r in part.rectangles) == 16.0


def test_a_folder_gives_the_same_parts_for_the_same_seed(tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "mine")
    one, same, other = (
        photographs_in(folder, size=16, seed=seed, train=20, held_out=8, private_extra=4) for seed in (3, 3, 4)
    )
    assert np.array_equal(one.train.images, same.train.images)
    assert one.held_out.sources != other.held_out.sources


def test_a_mirrored_photograph_counts_once(tmp_path: Path) -> None:
    folder = a_folder(tmp_path / "mine", photographs=12, size=(16, 16))
    for path in sorted(folder.rglob("*.png")):
        with Image.open(path) as image:
            image.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(path.with_name(f"mirror-{path.name}"))
    with pytest.raises(Invalid, match=r"The 24 photographs in .* give only \d+ of the"):
        photographs_in(folder, size=16, train=16, held_out=4, private_extra=4)


@pytest.mark.parametrize(
    ("photographs", "size", "slug"),
    [
        (11, (80, 48), "too-few-photographs"),
        (12, (80, 48), "too-few-photographs"),
        (12, (80, 12), "photograph-too-small"),
    ],
)
def test_an_unusable_folder_is_one_clear_error(
    tmp_path: Path, photographs: int, size: tuple[int, int], slug: str
) -> None:
    folder = a_folder(tmp_path / "mine", photographs, size)
    with pytest.raises(Invalid) as error:
        photographs_in(folder, size=16, train=1000, held_out=400, private_extra=200)
    assert error.value.slug == slug
    assert str(folder) in error.value.message


def test_a_missing_folder_or_an_unreadable_photograph_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="is not a folder"):
        photographs_in(tmp_path / "nowhere")
    folder = a_folder(tmp_path / "mine")
    for path in folder.rglob("*.png"):
        path.write_bytes(b"not a picture")
    with pytest.raises(Invalid, match=r"\.png can't be read as a photograph") as error:
        photographs_in(folder, size=16, train=20, held_out=8, private_extra=4)
    assert error.value.slug == "unreadable-photograph"
