"""PNGs from and to arrays of pixels."""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from kennel_client.archive.png_pixels import load_png


def decode_png(png: bytes, size: int) -> NDArray[np.uint8]:
    """The pixels of an RGB 8-bit PNG of ``size`` x ``size``, (size, size, 3) uint8. Raises ``MemberError`` for anything
    else (:func:`kennel_client.archive.png_check.bare_png`)."""
    return np.asarray(load_png(png, size))


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Pixels (h, w, 3) as a PNG."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()
