"""The parent's side of the sandbox: audits, checks and drawings of uploaded generators in a confined process.

This module needs neither torch nor ONNX, and never unpickles. Results are validated like an upload. Their provenance
says which measures were in force.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from scorer.generators.latents import Latent
from scorer.generators.limits import DEFAULT_LIMITS, DrawingTime, GeneratorLimits
from scorer.generators.onnx_files import DeclaredLatent, ValueRange
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.recovery.report import Audit, audit_from
from scorer.generators.recovery.targets import EntryTargets, Pixels
from scorer.generators.sandbox.exchange import (
    GENERATOR,
    AuditInputs,
    Request,
    move_images,
    npy_header,
    unreadable_result,
    write_inputs,
)
from scorer.generators.sandbox.supervision import run_in_sandbox
from scorer.generators.seeds import FIXED_LATENTS, PROBE_DIGEST
from scorer.progress import StageProgress

_PREFIX = "kennel-generator-"


def audit_in_sandbox(  # noqa: PLR0913 - all inputs of an audit
    content: bytes,
    latent: Latent | None,
    train: Pixels,
    *,
    held_out: Pixels,
    plan: AuditPlan,
    encoder: bytes | None = None,
    entry: EntryTargets | None = None,
    limits: GeneratorLimits = DEFAULT_LIMITS,
    accept_weaker: bool = False,
    progress: StageProgress | None = None,
) -> Audit:
    """Audit the generator in an ONNX file on training and held-out images (n, s, s, 3) uint8. Without a ``latent``
    space, the file maps images to images: those of the ``encoder``, or else the targets themselves.

    ``encoder``, an ONNX file from images to the generator's inputs, replaces the search. Only the search also compares
    an ``entry``. ``accept_weaker`` opens the file even if a required measure is missing. Raises the ``Invalid`` errors
    of :func:`~scorer.generators.onnx.generator.read_generator`,
    :func:`~scorer.generators.onnx.encoder.read_encoder`,
    :func:`~scorer.generators.onnx.encoder.read_image_to_image` and
    :func:`~scorer.generators.recovery.audit.audit_generator`, and those of
    :func:`~scorer.generators.sandbox.supervision.run_in_sandbox`.
    """
    parameters = {"latent": None if latent is None else asdict(latent), "plan": plan.as_json()}
    request = Request("audit", parameters, asdict(limits), accept_weaker)
    with TemporaryDirectory(prefix=_PREFIX) as name:
        write_inputs(Path(name), AuditInputs(content, train, held_out, encoder, entry))
        result = run_in_sandbox(Path(name), request, progress)
    try:
        audit = audit_from(*result)
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable_result() from error
    if entry is not None and entry.others is not None:
        found = audit.errors.get("others")
        if found is None or found.shape != (len(entry.others),):
            raise unreadable_result()
    samples = audit.samples
    if entry is not None and samples is not None:
        shape = (plan.sampled, *entry.images.shape[1:])
        if samples.dtype != np.uint8 or samples.shape != shape:
            raise unreadable_result()
    return audit


@dataclass(frozen=True, eq=False)
class GeneratorCheck:
    """What the check of an entry finds out about its generator."""

    network_sha256: str
    """The canonical SHA-256 (:mod:`scorer.generators.onnx.canonical`)."""
    latent: Latent
    values: ValueRange
    seconds_per_image: float
    """In a full batch, on this machine."""
    fixed_images: Pixels
    """(64, s, s, 3), at the fixed latents."""
    provenance: Mapping[str, Any]


def check_in_sandbox(  # noqa: PLR0913 - all inputs of a check
    content: bytes,
    declared: DeclaredLatent,
    default: DeclaredLatent,
    *,
    size: int | None,
    fixed_digest: bytes = PROBE_DIGEST,
    time: DrawingTime | None = None,
    limits: GeneratorLimits = DEFAULT_LIMITS,
    accept_weaker: bool = False,
    progress: StageProgress | None = None,
) -> GeneratorCheck:
    """Check the generator in an ONNX file as an entry of a competition with images of ``size`` (None: of any size).

    Its latent space is as ``declared``, as the file's metadata says, or by ``default``. ``fixed_digest`` gives the
    fixed latents. A generator far above the ``time`` limit is refused early. Raises the ``Invalid`` errors of
    :func:`~scorer.generators.onnx.entry.read_entry` and :func:`~scorer.generators.onnx.entry.draw_images`, and those of
    :func:`~scorer.generators.sandbox.supervision.run_in_sandbox`.
    """
    parameters = _drawing_parameters((declared, default), fixed_digest, size) | {"time": time}
    request = Request("check", parameters, asdict(limits), accept_weaker)
    with TemporaryDirectory(prefix=_PREFIX) as name:
        (Path(name) / GENERATOR).write_bytes(content)
        report, arrays = run_in_sandbox(Path(name), request, progress)
    try:
        found = GeneratorCheck(
            str(report["network_sha256"]),
            _latent_from(report["latent"]),
            report["values"],
            float(report["seconds_per_image"]),
            arrays["fixed_images"],
            dict(report["provenance"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable_result() from error
    possible = (
        re.fullmatch("[0-9a-f]{64}", found.network_sha256)
        and found.values in get_args(ValueRange)
        and 0.0 <= found.seconds_per_image < math.inf
        and _are_images(found.fixed_images, size)
    )
    if not possible:
        raise unreadable_result()
    return found


@dataclass(frozen=True, eq=False)
class DrawnImages:
    images: Pixels
    """(n, s, s, 3), memory-mapped."""
    provenance: Mapping[str, Any]


def draw_in_sandbox(  # noqa: PLR0913 - all inputs of a draw
    content: bytes,
    latent: Latent,
    digest: bytes,
    *,
    count: int,
    size: int,
    values: ValueRange,
    out: Path,
    limits: GeneratorLimits = DEFAULT_LIMITS,
    accept_weaker: bool = False,
    progress: StageProgress | None = None,
) -> DrawnImages:
    """Draw the images of a digest from a generator that :func:`check_in_sandbox` has passed, into the .npy file
    ``out``. The process also works in the folder of this file. Raises as :func:`check_in_sandbox`."""
    declared = DeclaredLatent(latent.dimension, latent.distribution, latent.classes or 0)
    parameters = _drawing_parameters((declared, DeclaredLatent()), digest, size)
    shape = (count, size, size, 3)
    written = max(limits.written_bytes, len(npy_header(shape)) + math.prod(shape))
    request = Request(
        "draw",
        parameters | {"count": count, "values": values},
        asdict(replace(limits, written_bytes=written)),
        accept_weaker,
    )
    with TemporaryDirectory(prefix=_PREFIX, dir=out.parent) as name:
        (Path(name) / GENERATOR).write_bytes(content)
        report, _ = run_in_sandbox(Path(name), request, progress)
        move_images(Path(name), shape, out)
    try:
        provenance = dict(report["provenance"])
    except (KeyError, TypeError, ValueError) as error:
        raise unreadable_result() from error
    return DrawnImages(np.load(out, mmap_mode="r", allow_pickle=False), provenance)


def _drawing_parameters(
    latent: tuple[DeclaredLatent, DeclaredLatent], digest: bytes, size: int | None
) -> dict[str, Any]:
    return {"latent": [asdict(part) for part in latent], "digest": digest.hex(), "size": size}


def _are_images(images: NDArray[Any], size: int | None) -> bool:
    if images.dtype != np.uint8 or images.ndim != 4:
        return False
    side = images.shape[1] if size is None else size
    return images.shape == (FIXED_LATENTS, side, side, 3)


def _latent_from(report: Mapping[str, Any]) -> Latent:
    """The latent space of a report."""
    classes = report["classes"]
    return Latent(int(report["dimension"]), report["distribution"], None if classes is None else int(classes))
