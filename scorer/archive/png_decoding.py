"""The pixels of an entry's PNG as an array."""

import numpy as np
from numpy.typing import NDArray

from kennel_client.archive.png_pixels import load_png


def decode_png(png: bytes, size: int) -> NDArray[np.uint8]:
    """The pixels of an RGB 8-bit PNG of ``size`` x ``size``, (size, size, 3) uint8; raises ``MemberError`` for anything
    else (:func:`kennel_client.archive.png_check.bare_png`)."""
    return np.asarray(load_png(png, size))
