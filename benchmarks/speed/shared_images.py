"""Benchmark of shared images: comparing an entry with all others of a competition, and finding altered copies."""

import io
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from benchmarks.harness.isolation import Run, Runner, interleaved
from benchmarks.harness.report import Findings, MarkdownTable, Target, mebibytes, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median
from deploy.demo.photographs import bundled_photographs
from scorer.archive import hash_pixels, mirror_images
from scorer.metrics.copying.perceptual_hashes import hamming_distances, mirror_hashes, perceptual_hashes
from scorer.metrics.copying.shared_images import MAX_DISTANCE, ImageHashes, ImageTables, OtherEntry, compare_entry

STORED, SHARING, SHARE, FLIPS = 256, 10, 0.3, 12
"""Stored entries; one in ``SHARING`` shares this share of its images; the number of differing bits in each of these."""
SIDE, SEED = 64, 0
Images = NDArray[np.uint8]


class Size(NamedTuple):
    """Images of an entry, entries to compare it with, and photographs with altered copies."""

    rounds: int = 3
    images: int = 10_000
    entries: int = 11_192
    photographs: int = 1500


FULL, QUICK = Size(), Size(1, 300, 336, 300)


def measure(size: Size, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case for speed, with synthetic hashes, and one for recall, with photographs."""
    sizes, photographs = {"images": size.images, "entries": size.entries}, {"images": size.photographs}
    compared = {"Kennel": "benchmarks.speed.shared_images:compare"}
    found = {"Kennel": "benchmarks.speed.shared_images:find_altered_copies"}
    return [
        BenchmarkCase("speed", sizes, interleaved(compared, {"folder": str(folder), **sizes}, size.rounds, run=run)),
        BenchmarkCase("recall", photographs, interleaved(found, photographs, 1, run=run)),
    ]


def findings(result: BenchmarkResult) -> Findings:
    speed, recall = result.cases
    runs, found = speed.runs["Kennel"], recall.numbers
    entries, images = speed.settings["entries"], speed.settings["images"]
    rows = [
        ("comparison, s", seconds(runs)),
        ("processor time, s", seconds(runs, "cpu_seconds")),
        ("per million hashes, ms", f"{1e9 * compute_median(runs, 'cpu_seconds') / (entries * images):.0f}"),
        ("stored per entry, kB", f"{compute_median(runs, 'stored_bytes') / 1000:,.0f}"),
        ("peak memory, MiB", mebibytes(runs)),
        ("hashing an entry's images, s", seconds(runs, "hashing_seconds")),
    ]
    alterations = [name for name in found if name.startswith("found ")]
    shares = [(name.removeprefix("found "), f"{100 * found[name]:.1f} %") for name in alterations]
    size = f"{entries:,} entries of {images:,} images"
    targets = [
        Target(f"{size}: processor time of a comparison", compute_median(runs, "cpu_seconds"), 60, False, " s"),
        Target("missed shared images", compute_median(runs, "missed"), 0, False),
        Target("different photographs considered nearly equal", found["strangers"], 0, False),
    ]
    copies = f"Altered copies found, of {recall.settings['images']:,} photographs"
    tables = [MarkdownTable(size, ("", ""), rows), MarkdownTable(copies, ("alteration", "found"), shares)]
    return Findings(tables, targets)


def compare(folder: str, entries: int, images: int) -> Run:
    """Compare an entry with ``entries`` others (``seconds``, ``cpu_seconds``), and count the ``missed`` pairs."""
    random = np.random.default_rng(SEED)
    own = random.integers(0, 2**32, (10, images), dtype=np.uint32)
    paths = [Path(folder) / f"{number}.npy" for number in range(min(STORED, entries))]
    for number, path in enumerate(paths):
        array = random.integers(0, 2**32, (10, images), dtype=np.uint32)
        if number % SHARING == 0:
            shared = int(SHARE * images)
            array[2:, :shared] = _with_flips(own[2:, :shared], random)
        np.save(path, array)
    pixels = random.integers(0, 256, (min(images, 2000), SIDE, SIDE, 3), dtype=np.uint8)
    begin = time.process_time()
    _compute_hashes(pixels)
    hashing = (time.process_time() - begin) * images / len(pixels)
    begin, begin_cpu = time.perf_counter(), time.process_time()
    comparison = compare_entry(ImageHashes(own), _others(paths, entries))
    end, end_cpu = time.perf_counter(), time.process_time()
    sharing = [ref for ref in range(entries) if ref % len(paths) % SHARING == 0]
    expected = min(len(sharing), 200) * int(SHARE * images)
    return {
        "seconds": end - begin,
        "cpu_seconds": end_cpu - begin_cpu,
        "hashing_seconds": hashing,
        "stored_bytes": float(paths[0].stat().st_size),
        "missed": float(expected - sum(len(pair) for pair in comparison.shared.values())),
    }


def _others(paths: list[Path], entries: int) -> Iterator[OtherEntry]:
    """The stored entries repeatedly, all from two teams, so no image counts as common."""
    for ref in range(entries):
        yield OtherEntry(ref, ref * 2 // entries, ImageHashes(np.load(paths[ref % len(paths)], mmap_mode="r")))


def _with_flips(words: NDArray[np.uint32], random: np.random.Generator) -> NDArray[np.uint32]:
    bits = np.unpackbits(np.ascontiguousarray(words.T).view(np.uint8), axis=1)
    places = random.random(bits.shape).argpartition(FLIPS, axis=1)[:, :FLIPS]
    np.put_along_axis(bits, places, 1 - np.take_along_axis(bits, places, axis=1), axis=1)
    return np.packbits(bits, axis=1).view(np.uint32).T


def _compute_hashes(images: Images) -> ImageHashes:
    return ImageHashes.of(hash_pixels(images), hash_pixels(mirror_images(images)), perceptual_hashes(images))


def _jpeg(quality: int) -> Callable[[Images], Images]:
    def compress(image: Images) -> Images:
        buffer = io.BytesIO()
        Image.fromarray(image).save(buffer, "JPEG", quality=quality)
        return np.asarray(Image.open(buffer))

    return compress


def _resized(side: int) -> Callable[[Images], Images]:
    return lambda image: np.asarray(Image.fromarray(image).resize((side, side)).resize(image.shape[:2]))


def _noisy(levels: float) -> Callable[[Images], Images]:
    random = np.random.default_rng(SEED)
    return lambda image: np.clip(image + random.normal(scale=levels, size=image.shape), 0, 255).astype(np.uint8)


def _one_pixel(image: Images) -> Images:
    changed = image.copy()
    changed[SIDE // 4, SIDE // 4] ^= 255
    return changed


def _cropped(pixels: int) -> Callable[[Images], Images]:
    return lambda image: np.asarray(
        Image.fromarray(image[pixels:-pixels, pixels:-pixels].copy()).resize(image.shape[:2])
    )


ALTERATIONS: Mapping[str, Callable[[Images], Images]] = MappingProxyType(
    {
        "mirroring": lambda image: image[:, ::-1],
        "one pixel inverted": _one_pixel,
        "JPEG, quality 90": _jpeg(90),
        "JPEG, quality 75": _jpeg(75),
        "JPEG, quality 50": _jpeg(50),
        "48 x 48 pixels and back": _resized(48),
        "32 x 32 pixels and back": _resized(32),
        "noise of 2 grey levels": _noisy(2.0),
        "noise of 5 grey levels": _noisy(5.0),
        "noise of 10 grey levels": _noisy(10.0),
        "blurring by 1 pixel": lambda image: np.asarray(Image.fromarray(image).filter(ImageFilter.GaussianBlur(1))),
        "less contrast": lambda image: (image * 0.7 + 10.0).astype(np.uint8),
        "no colour": lambda image: np.asarray(Image.fromarray(image).convert("L").convert("RGB")),
        "cropping by 1 pixel": _cropped(1),
        "cropping by 2 pixels": _cropped(2),
    }
)


def find_altered_copies(images: int) -> Run:
    """The share of altered copies found, by alteration, and the number of near pairs of different photographs."""
    begin = time.perf_counter()
    parts = bundled_photographs(SEED)
    photographs = np.concatenate([parts.train.images, parts.held_out.images, parts.private_extra.images])[:images]
    own = _compute_hashes(photographs)
    tables = ImageTables(own)
    result: Run = {}
    for name, alter in ALTERATIONS.items():
        [found] = tables.shared_with([_compute_hashes(np.stack([alter(image) for image in photographs]))])
        result[f"found {name}"] = float(np.count_nonzero(found.own == found.other) / len(photographs))
    words = np.ascontiguousarray(own.words.T)
    strangers = 0
    for row in range(1, len(words)):
        near = [
            hamming_distances(words[row], others) <= MAX_DISTANCE
            for others in (words[:row], mirror_hashes(words[:row]))
        ]
        strangers += int(np.count_nonzero(np.logical_or(*near))) if words[row].any() else 0
    return result | {"strangers": float(strangers), "seconds": time.perf_counter() - begin}
