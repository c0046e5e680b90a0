"""The process that decodes images of an upload, started by :mod:`scorer.confinement.fork_server`.

Compressed images come in and pixels go out through the shared window, which is its fourth open file. A line on standard
input has the number of images. A line on standard output has, as JSON, the faults and which images were resized. Before
the process sees the first byte of an upload, it has given up the network, all files and further processes, and its
memory is limited.
"""

import io
import json
import os
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from kennel_client.archive.faults import MemberError
from kennel_client.archive.zip_reader import inflate
from scorer.archive.png_pixels import decode_png
from scorer.archive.reference_image import FORMATS, MAX_PIXELS, decode_reference
from scorer.archive.shared_window import PackedImage, SharedWindow, WindowShape
from scorer.confinement.process import confine, limit_memory

MEMORY_BYTES = 64 << 20
"""Memory beyond that of the libraries, in addition to that of 32 images."""
REFERENCE_BYTES = 40 * MAX_PIXELS
"""Memory for one reference image: its pixels as bytes with and without transparency, and its three bands as floats."""
STANDARD_STREAMS = 3
WINDOW_DESCRIPTOR = 3
_BLACK_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63606060000000040001f61738550000000049454e44ae426082"
)


def main(*words: str) -> None:
    """Decode images that come through a window until standard input ends. ``words`` come from :func:`to_arguments`."""
    size, slots, data_bytes, of_references = map(int, words)
    shape = WindowShape(size, slots, data_bytes, of_references=bool(of_references))
    window = SharedWindow(shape, WINDOW_DESCRIPTOR)
    os.close(WINDOW_DESCRIPTOR)
    _import_decoders(shape)
    limit_memory(MEMORY_BYTES + 32 * shape.image_bytes + (REFERENCE_BYTES if shape.of_references else 0))
    measures = confine(open_files=STANDARD_STREAMS)
    _answer(measures)
    while line := sys.stdin.buffer.readline(16):
        count = int(line)
        _answer(decode_into(window, window.take(count), shape))


def decode_into(window: SharedWindow, images: Sequence[PackedImage], shape: WindowShape) -> dict[str, object]:
    """Decode images into the window's pixels, one after another. Returns ``faults`` by slot, and ``resized``, the
    slots of references that had another size."""
    faults: dict[int, str] = {}
    resized: list[int] = []
    for slot, (data, method, content_bytes, crc) in enumerate(images):
        try:
            pixels = _decoded(inflate(data, method, content_bytes, crc=crc), shape)
        except MemberError as error:
            faults[slot] = str(error)
        except MemoryError:
            faults[slot] = "needs more memory to decode than an image may use"
        else:
            window.pixels[slot] = pixels
            resized += [slot] if pixels.dtype != np.uint8 else []
    return {"faults": faults, "resized": resized}


def _decoded(content: bytes, shape: WindowShape) -> NDArray[np.uint8] | NDArray[np.float32]:
    return decode_reference(content, shape.size) if shape.of_references else decode_png(content, shape.size)


def _import_decoders(shape: WindowShape) -> None:
    """Make Pillow import everything that it needs, because a confined process can no longer read files."""
    decode_png(_BLACK_PIXEL, 1)
    if shape.of_references:
        for file_format in FORMATS:
            buffer = io.BytesIO()
            Image.new("RGB", (2, 2)).save(buffer, file_format)
            decode_reference(buffer.getvalue(), 1)


def to_arguments(shape: WindowShape) -> list[str]:
    """A window's shape as arguments of the process: size, slots, bytes, and 1 if its images are references."""
    return [str(int(number)) for number in (shape.size, shape.slots, shape.data_bytes, shape.of_references)]


def _answer(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
