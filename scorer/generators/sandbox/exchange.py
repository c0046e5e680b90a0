"""The files by which the sandbox and its parent exchange inputs and results: JSON and arrays, never pickles.

Results are validated like an upload, because the process that wrote them has run the generator.
"""

import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid, KennelError, Unavailable
from scorer.generators.limits import GeneratorLimits

GENERATOR, ENCODER = "generator.onnx", "encoder.onnx"
TRAIN, HELD_OUT, REQUEST = "train.npy", "held_out.npy", "request.json"
REPORT, ARRAYS, REFUSAL = "report.json", "arrays.npz", "refusal.json"
MAX_REPORT_BYTES = 64 << 20
MAX_MESSAGE_LENGTH = 4000
Pixels = NDArray[np.uint8]
_KINDS: dict[str, type[KennelError]] = {"Invalid": Invalid, "Unavailable": Unavailable}


@dataclass(frozen=True)
class AuditRequest:
    """How to audit: the latent space, the plan, the declared range (or None), the limits; all of it JSON."""

    latent: Mapping[str, Any]
    plan: Mapping[str, Any]
    values: str | None
    limits: Mapping[str, int]


def write_inputs(
    folder: Path, content: bytes, train: Pixels, held_out: Pixels, request: AuditRequest, encoder: bytes | None = None
) -> None:
    """Write all inputs of an audit for the child."""
    (folder / GENERATOR).write_bytes(content)
    if encoder is not None:
        (folder / ENCODER).write_bytes(encoder)
    np.save(folder / TRAIN, train, allow_pickle=False)
    np.save(folder / HELD_OUT, held_out, allow_pickle=False)
    (folder / REQUEST).write_text(json.dumps(asdict(request)))


def read_inputs(folder: Path) -> tuple[bytes, Pixels, Pixels, AuditRequest]:
    """The generator, the training and held-out images (memory-mapped), and the request that :func:`write_inputs`
    wrote."""
    train, held_out = (np.load(folder / name, mmap_mode="r", allow_pickle=False) for name in (TRAIN, HELD_OUT))
    request = AuditRequest(**json.loads((folder / REQUEST).read_text()))
    return (folder / GENERATOR).read_bytes(), train, held_out, request


def read_encoder_input(folder: Path) -> bytes | None:
    """The encoder to use instead of a search, if there is one."""
    path = folder / ENCODER
    return path.read_bytes() if path.is_file() else None


def write_result(folder: Path, report: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the report and the arrays of an audit."""
    np.savez(folder / ARRAYS, **arrays)  # type: ignore[arg-type] # its own parameter is no array
    (folder / REPORT).write_text(json.dumps(report))


def write_refusal(folder: Path, error: KennelError) -> None:
    """Write an error in place of a result."""
    refusal = {"kind": type(error).__name__, "slug": error.slug, "message": error.message}
    (folder / REFUSAL).write_text(json.dumps(refusal))


def read_result(folder: Path, limits: GeneratorLimits) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
    """The report and the arrays, or None if there are none. Raises the child's refusal if it wrote one instead."""
    if (folder / REFUSAL).is_file():
        raise _refusal(json.loads(_text(folder / REFUSAL)))
    if not (folder / REPORT).is_file():
        return None
    report: dict[str, Any] = json.loads(_text(folder / REPORT))
    with zipfile.ZipFile(folder / ARRAYS) as archive:
        if sum(each.file_size for each in archive.infolist()) > limits.written_bytes:
            raise Invalid("too-much-memory", "The audit's pictures are larger than is allowed.")
    with np.load(folder / ARRAYS, allow_pickle=False) as stored:
        return report, {name: stored[name] for name in stored.files}


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(MAX_REPORT_BYTES).decode("utf-8", "replace")


def _refusal(refusal: Mapping[str, Any]) -> KennelError:
    slug = str(refusal.get("slug"))
    message = str(refusal.get("message"))[:MAX_MESSAGE_LENGTH]
    if not re.fullmatch(r"[a-z0-9-]{1,40}", slug):
        slug = "not-onnx"
    kind = _KINDS.get(str(refusal.get("kind")), Invalid)
    return kind(slug, "".join(letter if letter.isprintable() else " " for letter in message))
