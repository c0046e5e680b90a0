"""The process that decodes images of an upload: ``python -m scorer.archive.decoder_process FILE SIZE SLOTS BYTES``.

Compressed images come in and pixels go out by the shared window, whose file descriptor is ``FILE``. A line on standard
input says how many images there are, one on standard output what is wrong with which, as JSON. Before it sees the first
byte of an upload it has given up the network, all files and further processes, and its memory is limited.
"""

import json
import os
import sys
from collections.abc import Sequence

from scorer.archive.faults import MemberError
from scorer.archive.pixel_hashes import Images
from scorer.archive.png_check import decode_png
from scorer.archive.shared_window import PackedImage, SharedWindow, WindowShape
from scorer.archive.zip_reader import inflate
from scorer.confinement.process import confine, limit_memory

MEMORY_BYTES = 64 << 20
"""Memory beyond what the libraries take, beside that of 32 images."""
STANDARD_STREAMS = 3
_BLACK_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63606060000000040001f61738550000000049454e44ae426082"
)


def main(descriptor: int, shape: WindowShape) -> None:
    """Decode images until standard input ends."""
    window = SharedWindow(shape, descriptor)
    os.close(descriptor)
    decode_png(_BLACK_PIXEL, 1)  # imports all that Pillow needs
    limit_memory(MEMORY_BYTES + 32 * 3 * shape.size**2)
    measures = confine(None, written_bytes=0, open_files=STANDARD_STREAMS)
    _answer(measures)
    while line := sys.stdin.buffer.readline(16):
        count = int(line)
        _answer(decode_into(window.pixels, window.take(count)))


def decode_into(pixels: Images, images: Sequence[PackedImage]) -> dict[int, str]:
    """Decode images into ``pixels`` (n, size, size, 3), one after the other; what is wrong, by slot."""
    faults: dict[int, str] = {}
    for slot, (data, method, content_bytes, crc) in enumerate(images):
        try:
            pixels[slot] = decode_png(inflate(data, method, content_bytes, crc), pixels.shape[1])
        except MemberError as error:
            faults[slot] = str(error)
        except MemoryError:
            faults[slot] = "takes more memory to decode than an image may"
    return faults


def _answer(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), WindowShape(*map(int, sys.argv[2:])))
