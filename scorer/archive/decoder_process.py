"""The process that decodes images of an upload: ``python -m scorer.archive.decoder_process FILE SIZE SLOTS BYTES
KIND``.

Compressed images come in and pixels go out by the shared window, whose file descriptor is ``FILE``. A line on standard
input says how many images there are, one on standard output what is wrong with which and which were resized, as JSON.
``KIND`` is 1 for reference images, 0 for those of entries. Before it sees the first
byte of an upload it has given up the network, all files and further processes, and its memory is limited.
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
from scorer.archive.png_decoding import decode_png
from scorer.archive.reference_image import FORMATS, MAX_PIXELS, decode_reference
from scorer.archive.shared_window import PackedImage, SharedWindow, WindowShape
from scorer.confinement.process import confine, limit_memory

MEMORY_BYTES = 64 << 20
"""Memory beyond what the libraries take, beside that of 32 images."""
REFERENCE_BYTES = 40 * MAX_PIXELS
"""Memory for one reference image: its pixels as bytes with and without transparency, and its three bands as floats."""
STANDARD_STREAMS = 3
_BLACK_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63606060000000040001f61738550000000049454e44ae426082"
)


def main(descriptor: int, shape: WindowShape) -> None:
    """Decode images until standard input ends."""
    window = SharedWindow(shape, descriptor)
    os.close(descriptor)
    _import_decoders(shape)
    limit_memory(MEMORY_BYTES + 32 * shape.image_bytes + (REFERENCE_BYTES if shape.of_references else 0))
    measures = confine(open_files=STANDARD_STREAMS)
    _answer(measures)
    while line := sys.stdin.buffer.readline(16):
        count = int(line)
        _answer(decode_into(window, window.take(count), shape))


def decode_into(window: SharedWindow, images: Sequence[PackedImage], shape: WindowShape) -> dict[str, object]:
    """Decode images into the window's pixels, one after the other; ``faults``: what is wrong, by slot; ``resized``: the
    slots of references that had another size."""
    faults: dict[int, str] = {}
    resized: list[int] = []
    for slot, (data, method, content_bytes, crc) in enumerate(images):
        try:
            pixels = _decoded(inflate(data, method, content_bytes, crc), shape)
        except MemberError as error:
            faults[slot] = str(error)
        except MemoryError:
            faults[slot] = "takes more memory to decode than an image may"
        else:
            window.pixels[slot] = pixels
            resized += [slot] if pixels.dtype != np.uint8 else []
    return {"faults": faults, "resized": resized}


def _decoded(content: bytes, shape: WindowShape) -> NDArray[np.uint8] | NDArray[np.float32]:
    return decode_reference(content, shape.size) if shape.of_references else decode_png(content, shape.size)


def _import_decoders(shape: WindowShape) -> None:
    """Have Pillow import all that it needs: a confined process can read no file any more."""
    decode_png(_BLACK_PIXEL, 1)
    if shape.of_references:
        for file_format in FORMATS:
            buffer = io.BytesIO()
            Image.new("RGB", (2, 2)).save(buffer, file_format)
            decode_reference(buffer.getvalue(), 1)


def arguments(words: Sequence[str]) -> tuple[int, WindowShape]:
    """The descriptor and the shape of the window that a command line names."""
    descriptor, size, slots, data_bytes, kind = map(int, words)
    return descriptor, WindowShape(size, slots, data_bytes, of_references=bool(kind))


def _answer(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*arguments(sys.argv[1:]))
