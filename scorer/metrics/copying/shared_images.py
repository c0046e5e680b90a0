"""Shared images: the images of an entry that another entry also has, equal or nearly equal, upright or mirrored.

Two images are equal if their pixels are, and nearly equal if at most :data:`MAX_DISTANCE` bits of their perceptual
hashes differ. An entry is compared with all others in one pass over their hashes, which need no index: the entry's
hashes are put into tables, and the hashes of others are looked up in them.

Two hashes are compared if one of their eight words of 32 bits differs in at most one bit. If 15 bits differ, some word
differs in at most one, so all pairs within 15 bits are found. Of pairs within 31 bits most are found, because changes
gather in the words of high frequencies (``docs/explanation/metrics.md#shared-images`` has the shares).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorer.metrics.copying.perceptual_hashes import (
    WORD_BITS,
    WORDS,
    PerceptualHashes,
    hamming_distances,
    have_hashes,
    mirror_hashes,
)
from scorer.metrics.cosine import Indices

MAX_DISTANCE = 31
"""The most bits, of 256, in which nearly equal images differ."""
MIN_SHARE = 0.01
"""The smallest share of an entry's images for which a pair of entries is recorded."""
MAX_TEAMS = 50
"""The most other teams that have an image before it is common."""
MAX_PAIRS = 200
"""The most pairs of entries recorded for an entry: those that share most."""
MAX_ALIKE = 32
"""The most images of an entry looked up with the same word. An entry that has collapsed has thousands."""
_BATCH = 16
_FILTER_BITS = 24
_MULTIPLIERS = np.uint32(2654435769), np.uint32(2246822519)
"""Odd numbers that spread words with dependent bits over a filter; the first is the one of Fibonacci hashing."""
_BIT = (1 << np.arange(8)).astype(np.uint8)
_EQUAL = -1


@dataclass(frozen=True, eq=False)
class ImageHashes:
    """The hashes of n images as they are stored: (10, n) uint32, 40 bytes per image. The first two rows are the halves
    of 64-bit pixel hashes, the other rows the words of perceptual hashes."""

    array: NDArray[np.uint32]

    @classmethod
    def of(cls, pixels: NDArray[np.uint8], mirrored: NDArray[np.uint8], perceptual: PerceptualHashes) -> "ImageHashes":
        """From pixel hashes (n, 16) of the images and of their mirror images, and perceptual hashes (n, 8). An image
        and its mirror image have the same pixel hash here, the lower of both."""
        upright, turned = (np.ascontiguousarray(hashes[:, :8]).view("<u8")[:, 0] for hashes in (pixels, mirrored))
        lower = np.minimum(upright, turned)
        halves = np.stack([lower & np.uint64(2**32 - 1), lower >> np.uint64(32)]).astype(np.uint32)
        return cls(np.concatenate([halves, perceptual.T]))

    def __len__(self) -> int:
        return int(self.array.shape[1])

    @property
    def pixels(self) -> NDArray[np.uint64]:
        """The pixel hashes, (n,)."""
        pixels: NDArray[np.uint64] = self.array[0] | self.array[1].astype(np.uint64) << np.uint64(32)
        return pixels

    @property
    def words(self) -> NDArray[np.uint32]:
        """The words of the perceptual hashes, (8, n)."""
        return self.array[2:]

    @property
    def perceptual(self) -> PerceptualHashes:
        """The perceptual hashes, (n, 8)."""
        return self.words.T


@dataclass(frozen=True, eq=False)
class ImagePairs:
    """The m images that two entries share: equal ones first, then the nearest. Each image is in at most one pair, so an
    image that an entry has several times is shared once."""

    own: Indices
    other: Indices
    distance: Indices
    """The number of bits in which the perceptual hashes differ; -1 for equal pixels."""

    def __len__(self) -> int:
        return len(self.own)

    @property
    def equal(self) -> int:
        """The number of pairs that are equal pixel by pixel, upright or mirrored."""
        return int(np.count_nonzero(self.distance == _EQUAL))

    def without(self, images: NDArray[np.bool_]) -> "ImagePairs":
        """The pairs without those of some own images, given as a mask (n,)."""
        rest = ~images[self.own]
        return ImagePairs(self.own[rest], self.other[rest], self.distance[rest])


class _BloomFilter:
    """Excludes most numbers that are not in a set, and none that are."""

    def __init__(self, numbers: NDArray[Any]) -> None:
        self._bits = [self._build_bits(numbers, multiplier) for multiplier in _MULTIPLIERS]

    def places(self, numbers: NDArray[Any]) -> Indices:
        """The positions of the numbers that may be in the set."""
        places: Indices = np.arange(0)
        for step, (bits, multiplier) in enumerate(zip(self._bits, _MULTIPLIERS, strict=True)):
            bit = _spread(numbers[places] if step else numbers, multiplier)
            may_be = np.flatnonzero(bits[bit >> np.uint32(3)] & _BIT[bit & np.uint32(7)])
            places = places[may_be] if step else may_be
        return places

    @staticmethod
    def _build_bits(numbers: NDArray[Any], multiplier: np.uint32) -> NDArray[np.uint8]:
        present = np.zeros(1 << _FILTER_BITS, np.bool_)
        present[_spread(numbers, multiplier)] = True
        return np.packbits(present, bitorder="little")


def _spread(numbers: NDArray[Any], multiplier: np.uint32) -> NDArray[np.uint32]:
    """The bit of each number in a filter."""
    words = numbers if numbers.dtype == np.uint32 else numbers.astype(np.uint32)
    bits: NDArray[np.uint32] = (words * multiplier) >> np.uint32(32 - _FILTER_BITS)
    return bits


class _Lookup:
    """Images by number, at most ``max_alike`` for each number."""

    def __init__(self, numbers: NDArray[Any], images: Indices, max_alike: int) -> None:
        order = np.argsort(numbers, kind="stable")
        numbers, images = numbers[order], images[order]
        within = np.arange(len(numbers)) - np.searchsorted(numbers, numbers) < max_alike
        self._numbers, self._images = numbers[within], images[within]
        self._filter = _BloomFilter(self._numbers)

    def find(self, numbers: NDArray[Any]) -> tuple[Indices, Indices]:
        """The positions of the numbers that belong to images, and these images: one pair for each image of a number."""
        places = self._filter.places(numbers)
        wanted = numbers[places]
        first = np.searchsorted(self._numbers, wanted)
        counts = np.searchsorted(self._numbers, wanted, side="right") - first
        starts = np.repeat(first - np.cumsum(counts) + counts, counts)
        return np.repeat(places, counts), self._images[starts + np.arange(len(starts))]


class ImageTables:
    """The images of one entry in tables, in which images of other entries are looked up."""

    def __init__(self, own: ImageHashes) -> None:
        self._pixels = _Lookup(own.pixels, np.arange(len(own)), 1)
        hashes = np.ascontiguousarray(own.words.T)
        images = np.flatnonzero(have_hashes(hashes))
        self._images = np.concatenate([images, images])
        self._hashes = np.concatenate([hashes[images], mirror_hashes(hashes[images])])
        flips = np.concatenate([[0], 1 << np.arange(WORD_BITS)]).astype(np.uint32)
        rows = np.repeat(np.arange(len(self._hashes)), len(flips))
        self._words = [_Lookup((self._hashes[:, word, None] ^ flips).ravel(), rows, MAX_ALIKE) for word in range(WORDS)]

    def shared_with(self, others: Sequence[ImageHashes]) -> list[ImagePairs]:
        words = np.concatenate([entry.words for entry in others], axis=1)
        other, own = self._pixels.find(np.concatenate([entry.pixels for entry in others]))
        found = [np.stack([own, other, np.full(len(own), _EQUAL)])]
        for word, lookup in zip(words, self._words, strict=True):
            other, row = lookup.find(word)
            distance = hamming_distances(self._hashes[row], words[:, other].T)
            near = distance <= MAX_DISTANCE
            found.append(np.stack([self._images[row[near]], other[near], distance[near]]))
        own, other, distance = np.concatenate(found, axis=1)
        order = np.lexsort((own, distance, other))
        own, other, distance = own[order], other[order], distance[order]
        starts = np.cumsum([0, *(len(entry) for entry in others)])
        bounds = np.searchsorted(other, starts)
        return [
            _one_to_one(own[first:last], other[first:last] - start, distance[first:last])
            for start, first, last in zip(starts, bounds, bounds[1:], strict=False)
        ]


def _one_to_one(own: Indices, other: Indices, distance: Indices) -> ImagePairs:
    """The nearest pairs such that each image is in at most one, nearest first."""
    rows = np.lexsort((other, own, distance))
    for images in (other, own):
        rows = rows[np.sort(np.unique(images[rows], return_index=True)[1])]
    return ImagePairs(own[rows], other[rows], distance[rows])


class OtherEntry(NamedTuple):
    ref: int
    team: int
    hashes: ImageHashes


@dataclass(frozen=True, eq=False)
class EntryComparison:
    common: NDArray[np.bool_]
    """Whether each of its n images is common, (n,)."""
    shared: Mapping[int, ImagePairs]
    """What it shares with each entry, by ref, without common images; the entries that share most first."""
    compared: int


def compare_entry(own: ImageHashes, others: Iterable[OtherEntry]) -> EntryComparison:
    """Compare an entry with entries of other teams, which must be grouped by team and are read once, in batches.

    An image that more than :data:`MAX_TEAMS` teams have is *common* and in no pair. Records the pairs of entries that
    share at least :data:`MIN_SHARE` of the images, at most :data:`MAX_PAIRS` of them.
    """
    tables = ImageTables(own)
    least = math.ceil(MIN_SHARE * len(own))
    teams, newest_team = np.zeros(len(own), np.int64), np.full(len(own), -1)
    pairs: list[tuple[int, ImagePairs]] = []
    compared = 0
    for batch in _batches(others):
        for other, shared in zip(batch, tables.shared_with([entry.hashes for entry in batch]), strict=True):
            teams[shared.own] += newest_team[shared.own] != other.team
            newest_team[shared.own] = other.team
            if len(shared) >= least:
                pairs.append((other.ref, shared))
        compared += len(batch)
        if len(pairs) > 2 * MAX_PAIRS:
            pairs = _largest(pairs)
    common = teams > MAX_TEAMS
    distinctive = [(ref, shared.without(common)) for ref, shared in pairs]
    largest = _largest([pair for pair in distinctive if len(pair[1]) >= least])
    return EntryComparison(common, dict(largest), compared)


def _batches(others: Iterable[OtherEntry]) -> Iterator[list[OtherEntry]]:
    rest = iter(others)
    while batch := list(islice(rest, _BATCH)):
        yield batch


def _largest(pairs: Sequence[tuple[int, ImagePairs]]) -> list[tuple[int, ImagePairs]]:
    return sorted(pairs, key=lambda pair: (-len(pair[1]), pair[0]))[:MAX_PAIRS]
