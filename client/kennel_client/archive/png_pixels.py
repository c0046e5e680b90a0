"""PNG pixels decoded with Pillow, an optional dependency of the client."""

import hashlib
import io

from PIL import Image

from kennel_client.archive.faults import MemberError
from kennel_client.archive.objections import PixelHash
from kennel_client.archive.png_check import bare_png

HASH_BYTES = 16


def load_png(png: bytes, size: int) -> Image.Image:
    """Decode an RGB 8-bit PNG of ``size`` x ``size``. Raises ``MemberError`` as :func:`bare_png` does, and for pixels
    that cannot be decoded.
    """
    bare = bare_png(png, size)
    try:
        with Image.open(io.BytesIO(bare), formats=("PNG",)) as image:
            image.load()
    except (OSError, SyntaxError, ValueError):
        raise MemberError("is damaged: its pixels can't be decoded") from None
    return image


def compute_pixel_hash(image: Image.Image) -> PixelHash:
    return PixelHash(_digest(image), _digest(image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)))


def _digest(image: Image.Image) -> bytes:
    return hashlib.blake2b(image.tobytes(), digest_size=HASH_BYTES).digest()
