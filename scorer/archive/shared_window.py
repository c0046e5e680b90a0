"""Memory shared by a worker and its decoding process: compressed bytes go in, pixels come out."""

import fcntl
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

PackedImage = tuple[bytes, int, int, int]
"""A member's compressed bytes, method, size and CRC."""
_NUMBERS = 4  # method, size, CRC, compressed bytes


@dataclass(frozen=True)
class WindowShape:
    """Up to ``slots`` images of ``size`` pixels a side, and at most ``data_bytes`` of compressed bytes. Images of
    entries are uint8. Images of references are float32, including those that were uint8."""

    size: int
    slots: int
    data_bytes: int
    of_references: bool = False

    @property
    def dtype(self) -> type[np.uint8] | type[np.float32]:
        return np.float32 if self.of_references else np.uint8

    @property
    def image_bytes(self) -> int:
        return 3 * self.size**2 * np.dtype(self.dtype).itemsize

    @property
    def pixels_at(self) -> int:
        """The offset of the pixels in bytes."""
        return 8 * self.slots * _NUMBERS + -(-self.data_bytes // 8) * 8

    @property
    def bytes(self) -> int:
        return self.pixels_at + self.slots * self.image_bytes


class SharedWindow:
    """A window over shared memory, the same for both processes."""

    def __init__(self, shape: WindowShape, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, shape.bytes)
        self._numbers: NDArray[np.int64] = np.ndarray((shape.slots, _NUMBERS), np.int64, self._memory)
        images = (shape.slots, shape.size, shape.size, 3)
        self.pixels: NDArray[Any] = np.ndarray(images, shape.dtype, self._memory, shape.pixels_at)
        """(slots, size, size, 3)"""

    def put(self, images: Sequence[PackedImage]) -> None:
        """Write compressed images into the window, starting at its first slot."""
        start = self._numbers.nbytes
        for slot, (data, *numbers) in enumerate(images):
            self._numbers[slot] = (*numbers, len(data))
            self._memory[start : start + len(data)] = data
            start += len(data)

    def take(self, count: int) -> Sequence[PackedImage]:
        images: list[PackedImage] = []
        start = self._numbers.nbytes
        for method, size, crc, length in self._numbers[:count].tolist():
            images.append((self._memory[start : start + length], method, size, crc))
            start += length
        return images


def new_memory(shape: WindowShape) -> int:
    """The descriptor of new memory for a window. No process can shorten it, which would end those that read it."""
    descriptor = os.memfd_create("kennel-images", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, shape.bytes)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    return descriptor
