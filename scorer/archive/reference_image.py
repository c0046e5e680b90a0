"""Decodes one reference image of any size and resizes it to the competition's size. Provenance calls this the
*bottleneck*.

How references are resized affects FID more than the differences between many models do
(``docs/explanation/metrics.md#reference-images`` and ``#preprocessing``). So it is fixed here, and its name,
``BOTTLENECK``, is part of every statistic's hash. The filter is Pillow's bicubic, which widens with the scale
(antialiased), applied to float samples that are never rounded back to 8 bits. This is known as clean-fid (Parmar et al.
2022). Bicubic is also the default of ``Image.resize``, so participants most likely resize the same images with it, and
it rings less than Lanczos.
"""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, UnidentifiedImageError, __version__, features

from kennel_client.archive.faults import MemberError

FORMATS = ("JPEG", "PNG", "WEBP")
MAX_PIXELS = 50_000_000  # below the size at which Pillow warns of a decompression bomb

BOTTLENECK = "/".join(
    [
        f"pillow-{__version__}",
        f"libjpeg_turbo-{features.version('libjpeg_turbo')}",
        f"webp-{features.version('webp')}",
        "bicubic-antialias-float32-clip-whole-upright",
        "1",  # raise when the code below changes what it returns
    ]
)
"""The identity of decoder and filter. Statistics made under different bottlenecks must not be compared."""

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def decode_reference(content: bytes, size: int) -> NDArray[np.uint8] | NDArray[np.float32]:
    """Decode a PNG, JPEG or WebP to RGB, (size, size, 3).

    uint8, unchanged, if it already has that size. Otherwise it is resized as a whole (no crop, so a wide image is
    squeezed) to float32 in [0, 255], with bicubic's overshoot clipped. It is rotated by its EXIF orientation. Its
    colour profile is not applied, because no training loader applies it. Raises ``MemberError``: not such an image,
    damaged, more than ``MAX_PIXELS``, animated, 16 bits per channel, or partly transparent (the organizer must choose
    the background).
    """
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            _refuse_unfit(image, content)
            upright = _upright(image)
    except (MemberError, MemoryError):
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise MemberError(f"has more than {MAX_PIXELS:,} pixels") from None
    except UnidentifiedImageError:
        raise MemberError("is not a PNG, JPEG or WebP image") from None
    except Exception as error:  # noqa: BLE001 - Pillow's plugins raise nearly anything on a damaged file
        raise MemberError(f"can't be decoded ({type(error).__name__})") from None
    rgb = _opaque(upright)
    return np.asarray(rgb) if rgb.size == (size, size) else _resized(rgb, size)


def round_to_uint8(image: NDArray[np.uint8] | NDArray[np.float32]) -> NDArray[np.uint8]:
    """One or more images rounded to 8 bits, halves to even: for hashing, showing and latent recovery, never for
    measuring. 8-bit images are returned unchanged."""
    if image.dtype == np.uint8:
        return image.astype(np.uint8, copy=False)
    return np.rint(image, out=np.empty(image.shape, np.uint8), casting="unsafe")  # no float copy of it all


def _refuse_unfit(image: Image.Image, content: bytes) -> None:
    """Raise ``MemberError`` for an image whose header already shows that it cannot be used."""
    if image.width * image.height > MAX_PIXELS:
        raise MemberError(f"has more than {MAX_PIXELS:,} pixels")
    # A JPEG of several pictures is an image with previews; its first picture is the image.
    if image.format not in {"JPEG", "MPO"} and getattr(image, "is_animated", False):
        raise MemberError("is animated")
    if image.format == "PNG" and content[24] == 16:  # the header's bit depth; Pillow would drop the low byte
        raise MemberError("has 16 bits per channel; convert it to 8")


def _upright(image: Image.Image) -> Image.Image:
    turn = _TURNS.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    image.load()
    return image.copy() if turn is None else image.transpose(turn)


def _opaque(image: Image.Image) -> Image.Image:
    """The image in RGB, without a fully opaque alpha channel."""
    if image.has_transparency_data:
        image = image.convert("RGBA")
        if image.getchannel("A").getextrema() != (255, 255):
            raise MemberError("is partly transparent; put it on a background")
    return image.convert("RGB")


def _resized(rgb: Image.Image, size: int) -> NDArray[np.float32]:
    bands = [band.convert("F").resize((size, size), Image.Resampling.BICUBIC) for band in rgb.split()]
    return np.stack([np.asarray(band) for band in bands], axis=-1).clip(0, 255)
