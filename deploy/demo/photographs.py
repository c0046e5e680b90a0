"""Real photographs for the demo competition, without any download.

The scikit-image and scikit-learn wheels contain a few photographs. :func:`bundled_photographs` cuts them into square
tiles at several scales. No two parts share a pixel of a photograph at any scale: a photograph belongs to one part, or
it is cut once, vertically, into a region for training and a strip for the held-out part.

The composition of the held-out part determines the distance of held-out images from the training set. Strips of the
training photographs alone are too close (the next patch of gravel is nearly the same gravel). Other photographs alone
follow another distribution and have a large Fréchet distance. Therefore the part contains both.

Ten photographs are in colour, ten in grey (stored as three equal channels): the colour photographs alone do not fill
the parts without overlap. Drawings, logos and test patterns are omitted, and so is the second image of the stereo pair,
which shows the same scene again.

:func:`photographs_in` creates the same parts from any folder of photographs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from deploy.demo.tiles import PARTS, Part, Tile, TileCollection, Tiles, open_photograph, tiles_at
from kennel_client.archive.listing import is_junk
from scorer.errors import Invalid, Unavailable

SIZE = 64
SCALES = tuple(2.0 ** (-step / 2) for step in range(5))
"""Each scale has half the area of the previous one."""
MAX_TILES_PER_PHOTOGRAPH: Mapping[Part, int] = {"train": 160, "held_out": 100, "private_extra": 110}
"""The most tiles per photograph and part; otherwise one large photograph could fill a third of a part."""
MIN_PHOTOGRAPHS = 12
"""The minimum number of photographs in a folder. With fewer, the held-out part would have only one or two."""
SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp"})


@dataclass(frozen=True)
class Photographs:
    """The three roles of a reference set: training images, held-out images, images only for the private track."""

    train: Tiles
    held_out: Tiles
    private_extra: Tiles

    def first(self, counts: Mapping[str, int]) -> "Photographs":
        """The first images of each role, as many as ``counts`` says."""
        return Photographs(**{part: getattr(self, part).first(counts[part]) for part in PARTS})


class BundledPhotograph(NamedTuple):
    """A photograph in a wheel: its file, its part, and the width in pixels of the strip at its right edge for the
    held-out part.
    """

    file: str
    part: Part
    held_out_pixels: int = 0


BUNDLED_PHOTOGRAPHS = (
    BundledPhotograph("skimage/data/astronaut.png", "train", 128),
    BundledPhotograph("skimage/data/brick.png", "train", 128),
    BundledPhotograph("skimage/data/camera.png", "train", 128),
    BundledPhotograph("skimage/data/cell.png", "train"),
    BundledPhotograph("skimage/data/chelsea.png", "held_out"),
    BundledPhotograph("skimage/data/clock_motion.png", "private_extra"),
    BundledPhotograph("skimage/data/coffee.png", "held_out"),
    BundledPhotograph("skimage/data/coins.png", "private_extra"),
    BundledPhotograph("skimage/data/grass.png", "train", 128),
    BundledPhotograph("skimage/data/gravel.png", "train", 128),
    BundledPhotograph("skimage/data/hubble_deep_field.jpg", "train", 128),
    BundledPhotograph("skimage/data/ihc.png", "train", 128),
    BundledPhotograph("skimage/data/moon.png", "train", 128),
    BundledPhotograph("skimage/data/motorcycle_left.png", "train", 192),
    BundledPhotograph("skimage/data/page.png", "private_extra"),
    BundledPhotograph("skimage/data/retina.jpg", "train", 288),
    BundledPhotograph("skimage/data/rocket.jpg", "train", 128),
    BundledPhotograph("skimage/data/text.png", "private_extra"),
    BundledPhotograph("sklearn/datasets/images/china.jpg", "train", 128),
    BundledPhotograph("sklearn/datasets/images/flower.jpg", "private_extra"),
)


def bundled_photographs(
    seed: int = 0, *, size: int = SIZE, max_tiles: Mapping[Part, int] = MAX_TILES_PER_PHOTOGRAPH
) -> Photographs:
    """The photographs in the installed wheels as the demo's three parts.

    ``seed`` determines the order, and which tiles remain of a photograph with more than ``max_tiles``. Raises
    :class:`Unavailable` if a wheel or a photograph is missing.
    """
    collection = TileCollection()
    for bundled in BUNDLED_PHOTOGRAPHS:
        photograph = open_photograph(_path_in_wheel(bundled.file))
        width, height = photograph.size
        seam = width - bundled.held_out_pixels
        name = Path(bundled.file).stem
        collection.add(bundled.part, tiles_at(SCALES, photograph, name, box=(0, 0, seam, height), size=size))
        if bundled.held_out_pixels:
            strip = (seam, 0, width, height)
            collection.add("held_out", tiles_at(SCALES, photograph, name, box=strip, size=size))
    rng = np.random.default_rng(seed)
    balanced = {part: _balanced(collection.tiles[part], max_tiles[part], rng) for part in PARTS}
    return _photographs_from(balanced, rng)


def photographs_in(
    folder: Path,
    *,
    size: int = SIZE,
    seed: int = 0,
    train: int = 1000,
    held_out: int = 400,
    private_extra: int = 200,
) -> Photographs:
    """The same parts, in the given sizes, from a folder of photographs (jpg, png, webp; including subfolders).

    Every photograph belongs to one part. First, it is cut into the coarsest tiles (its short side scaled to ``size``).
    While a part is not full, its photographs are cut again at the next finer scale, never enlarged. Equal and mirrored
    tiles count once; copies of a photograph in two sizes are not recognised. Raises :class:`Invalid` for a folder with
    too few or unusable photographs.
    """
    wanted: dict[Part, int] = {"train": train, "held_out": held_out, "private_extra": private_extra}
    rng = np.random.default_rng(seed)
    paths = _paths_in(folder)
    shares = _split_paths([paths[i] for i in rng.permutation(len(paths))], wanted)
    collection = TileCollection()
    for part in PARTS:
        _add_tiles(collection, part, wanted[part], paths=shares[part], folder=folder, size=size)
        if len(collection.tiles[part]) < wanted[part]:
            raise Invalid(
                "too-few-photographs",
                f"The {len(paths)} photographs in {folder} give only {len(collection.tiles[part])} of the "
                f"{wanted[part]} tiles for the part {part}: add more or larger photographs.",
            )
    return _photographs_from(collection.tiles, rng)


def _paths_in(folder: Path) -> list[Path]:
    """All photographs under the folder, sorted; ``Invalid`` if they are too few."""
    if not folder.is_dir():
        raise Invalid("no-such-folder", f"{folder} is not a folder.")
    paths = sorted(path for path in folder.rglob("*") if _is_photograph(path, folder))
    if len(paths) < MIN_PHOTOGRAPHS:
        raise Invalid(
            "too-few-photographs",
            f"{folder} has {len(paths)} photographs (jpg, png or webp), but at least {MIN_PHOTOGRAPHS} are needed "
            "so that no photograph is in two parts.",
        )
    return paths


def _is_photograph(path: Path, folder: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not is_junk(path.relative_to(folder).as_posix())


def _split_paths(paths: Sequence[Path], wanted: Mapping[Part, int]) -> dict[Part, Sequence[Path]]:
    """Distribute whole photographs over the parts in proportion to the wanted tiles, at least one to each."""
    total = sum(wanted.values())
    held_out = max(1, round(len(paths) * wanted["held_out"] / total))
    extra = max(1, round(len(paths) * wanted["private_extra"] / total))
    return {
        "held_out": paths[:held_out],
        "private_extra": paths[held_out : held_out + extra],
        "train": paths[held_out + extra :],
    }


def _add_tiles(
    collection: TileCollection, part: Part, max_tiles: int, *, paths: Sequence[Path], folder: Path, size: int
) -> None:
    """Cut the part's photographs, coarse to fine, until it has ``max_tiles`` tiles or they are exhausted.

    Decodes a photograph again at each scale, because all decoded photographs might not fit in memory, and with many
    photographs one scale suffices.
    """
    for step in count():
        finer = False
        for path in paths:
            if len(collection.tiles[part]) >= max_tiles:
                return
            photograph = open_photograph(path)
            width, height = photograph.size
            if min(width, height) < size:
                raise Invalid(
                    "photograph-too-small",
                    f"{path} is {width} x {height} pixels; at least {size} x {size} are needed.",
                )
            scale = size / min(width, height) * 2.0 ** (step / 2)
            if scale <= 1:
                finer = True
                name = path.relative_to(folder).as_posix()
                tiles = tiles_at([scale], photograph, name, box=(0, 0, width, height), size=size)
                collection.add(part, tiles, max_tiles)
        if not finer:
            return


def _balanced(tiles: Sequence[Tile], max_tiles: int, rng: np.random.Generator) -> list[Tile]:
    """At most ``max_tiles`` tiles of each photograph, drawn uniformly."""
    of_source: dict[str, list[Tile]] = {}
    for tile in tiles:
        of_source.setdefault(tile.source, []).append(tile)
    balanced: list[Tile] = []
    for group in of_source.values():
        chosen = range(len(group)) if len(group) <= max_tiles else rng.choice(len(group), max_tiles, replace=False)
        balanced += [group[i] for i in chosen]
    return balanced


def _photographs_from(tiles: Mapping[Part, Sequence[Tile]], rng: np.random.Generator) -> Photographs:
    """The three parts (none may be empty), each in random order, so that its first images represent all of it."""
    parts = {}
    for part in PARTS:
        shuffled = [tiles[part][i] for i in rng.permutation(len(tiles[part]))]
        images, sources, rectangles = zip(*shuffled, strict=True)
        parts[part] = Tiles(np.stack(images), sources, rectangles)
    return Photographs(**parts)


def _path_in_wheel(file: str) -> Path:
    """The path of a file in an installed wheel; the package is located, not imported."""
    package = file.split("/", maxsplit=1)[0]
    spec = find_spec(package)
    root = Path(spec.origin).parent.parent if spec and spec.origin else None
    if root is None or not (root / file).is_file():
        raise Unavailable(
            "photographs-missing",
            f"The demo's photograph {file} is not installed: install Kennel with its `demo` extra.",
        )
    return root / file
