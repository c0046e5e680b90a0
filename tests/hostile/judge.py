"""Passes a hostile input to the reader and compares the outcome with the required one."""

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scorer.archive import ImageSpec, check_images, list_images
from scorer.errors import Invalid, KennelError
from tests.hostile.input import Fate, HostileInput
from tests.hostile.pngs import SIDE
from tests.hostile.zips import COUNT

SPEC = ImageSpec(COUNT, SIDE)
Reader = Callable[[bytes], NDArray[np.generic]]


@dataclass(frozen=True)
class Verdict:
    """The outcome of an input: ``accepted``, or the slug of its refusal. ``wrong`` explains why it is wrong."""

    kind: str
    outcome: str
    wrong: str = ""


def judge_zip(hostile: HostileInput) -> Verdict:
    """Pass a zip to the reader of entries."""
    return _judge(
        hostile,
        read_accepted_images,
        lambda content: hostile.truth if hostile.fate is Fate.ACCEPTED else _by_pillow(content),
    )


def judge_onnx(hostile: HostileInput) -> Verdict:
    """Pass an ONNX file to the reader of generators, and let it make two images."""
    from tests.hostile.onnx_reading import images_by_reader, images_by_reference  # noqa: PLC0415 - torch is slow to import

    return _judge(hostile, images_by_reader, lambda content: images_by_reference(hostile.truth or content))


def _judge(hostile: HostileInput, read: Reader, truth: Reader) -> Verdict:
    try:
        found = read(hostile.content)
    except KennelError as error:
        wrong = "refused" if hostile.fate is Fate.ACCEPTED else ""
        return Verdict(hostile.kind, error.slug, wrong and f"{wrong}: {error.message} {error.faults}")
    except Exception as error:  # noqa: BLE001 - any error that is not a refusal by name is a finding
        return Verdict(hostile.kind, type(error).__name__, f"not refused by name: {error!r}")
    if hostile.fate is Fate.REFUSED:
        return Verdict(hostile.kind, "accepted", "accepted")
    try:
        right = np.allclose(found, truth(hostile.content), atol=1e-4)
    except Exception as error:  # noqa: BLE001
        return Verdict(hostile.kind, "accepted", f"accepted, but another reader fails with {error!r}")
    return Verdict(hostile.kind, "accepted", "" if right else "accepted as other images")


def read_accepted_images(content: bytes) -> NDArray[np.generic]:
    """The images of a zip, from the reader of entries."""
    file = io.BytesIO(content)
    out = np.zeros((COUNT, SIDE, SIDE, 3), np.uint8)
    check_images(file, list_images(file, SPEC), SPEC, out=out)
    return out


def _by_pillow(content: bytes) -> NDArray[np.generic]:
    """The images of a zip, from the standard library and Pillow."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [
            name for name in sorted(archive.namelist()) if name.lower().endswith(".png") and "__MACOSX" not in name
        ]
        images = [np.asarray(Image.open(archive.open(name))) for name in names]
    if len(images) != COUNT:
        raise Invalid("wrong-count", "Another reader finds a different number of images.")
    return np.stack(images)
