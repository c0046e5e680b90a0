"""The files that the sandbox and its parent exchange: inputs and results as JSON and arrays, never pickles.

Results are validated like an upload, because the process that wrote them ran the generator. Their files exist before it
starts, so it does not need the right to create any.
"""

import io
import json
import math
import mmap  # noqa: F401 - numpy imports it when it maps a file, and the confined process can import nothing more
import os
import stat
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from scorer.confinement.refusals import encode_refusal, error_from
from scorer.errors import Invalid, KennelError
from scorer.generators.limits import GeneratorLimits
from scorer.generators.recovery.targets import EntryTargets, Pixels
from scorer.metrics.copying.near_targets import NearTargets

GENERATOR, ENCODER = "generator.onnx", "encoder.onnx"
TRAIN, HELD_OUT, ENTRY, NEAR, REQUEST = "train.npy", "held_out.npy", "entry.npy", "near.npz", "request.json"
DRAWN, OTHERS = "drawn.npy", "others.npy"
"""``DRAWN`` replaces ``ENTRY`` if the generator is the entry."""
RESULTS = REPORT, ARRAYS, REFUSAL = "report.json", "arrays.npz", "refusal.json"
IMAGES = "images.npy"
"""The result of a draw, in addition to the others."""
MAX_REPORT_BYTES = 64 << 20
Task = Literal["audit", "check", "draw"]
Report = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Request:
    """What to do with a generator, as JSON: the task with its parameters, and the limits.

    ``accept_weaker``: whether the available sandbox measures are enough.
    """

    task: Task
    parameters: Mapping[str, Any]
    limits: Mapping[str, int]
    accept_weaker: bool = False


@dataclass(frozen=True, eq=False)
class AuditInputs:
    content: bytes
    """The generator."""
    train: Pixels
    held_out: Pixels
    encoder: bytes | None = None
    """Replaces the search."""
    entry: EntryTargets | None = None
    """The targets of an entry, if one is compared."""


def write_request(folder: Path, request: Request) -> None:
    """Write a request for the child, and create empty files for its results."""
    for name in (*RESULTS, IMAGES) if request.task == "draw" else RESULTS:
        (folder / name).touch()
    (folder / REQUEST).write_text(json.dumps(asdict(request)))


def read_request(folder: Path) -> Request:
    return Request(**json.loads((folder / REQUEST).read_text()))


def write_inputs(folder: Path, inputs: AuditInputs) -> None:
    """Write all inputs of an audit for the child."""
    (folder / GENERATOR).write_bytes(inputs.content)
    if inputs.encoder is not None:
        (folder / ENCODER).write_bytes(inputs.encoder)
    np.save(folder / TRAIN, inputs.train, allow_pickle=False)
    np.save(folder / HELD_OUT, inputs.held_out, allow_pickle=False)
    if inputs.entry is not None:
        np.save(folder / (DRAWN if inputs.entry.drawn else ENTRY), inputs.entry.images, allow_pickle=False)
        if inputs.entry.near is not None:
            np.savez(folder / NEAR, allow_pickle=False, **vars(inputs.entry.near))
        if inputs.entry.others is not None:
            np.save(folder / OTHERS, inputs.entry.others, allow_pickle=False)


def read_inputs(folder: Path) -> AuditInputs:
    """Read the inputs that :func:`write_inputs` wrote, with training and held-out images memory-mapped."""
    train, held_out = (np.load(folder / name, mmap_mode="r", allow_pickle=False) for name in (TRAIN, HELD_OUT))
    encoder = (folder / ENCODER).read_bytes() if (folder / ENCODER).is_file() else None
    return AuditInputs((folder / GENERATOR).read_bytes(), train, held_out, encoder, _entry(folder))


def _entry(folder: Path) -> EntryTargets | None:
    drawn = (folder / DRAWN).is_file()
    images = folder / (DRAWN if drawn else ENTRY)
    if not images.is_file():
        return None
    near = None
    if (folder / NEAR).is_file():
        with np.load(folder / NEAR, allow_pickle=False) as stored:
            near = NearTargets(stored["train"], stored["held_out"], float(stored["held_out_share"]))
    others = np.load(folder / OTHERS, allow_pickle=False) if (folder / OTHERS).is_file() else None
    return EntryTargets(np.load(images, allow_pickle=False), near, others, drawn)


def write_result(folder: Path, report: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    np.savez(folder / ARRAYS, **arrays)  # type: ignore[arg-type] # its own parameter is no array
    (folder / REPORT).write_text(json.dumps(report))


def write_refusal(folder: Path, error: KennelError) -> None:
    (folder / REFUSAL).write_text(json.dumps(encode_refusal(error)))


def read_result(folder: Path, limits: GeneratorLimits) -> tuple[Report, Arrays] | None:
    """The report and the arrays, or None if there are none. Raises the child's refusal if it wrote one, and ``Invalid``
    for anything that is not a result: links, pipes, pickles, malformed data, and data beyond the limits."""
    try:
        refusal, report = (_text(folder / name) for name in (REFUSAL, REPORT))
        if refusal:
            raise error_from(dict(json.loads(refusal)), default_slug="not-onnx")
        if not report:
            return None
        return dict(json.loads(report)), _arrays(folder / ARRAYS, limits)
    except (OSError, ValueError, TypeError, EOFError, MemoryError, RecursionError, NotImplementedError) as error:
        raise unreadable_result() from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise unreadable_result() from error


def npy_header(shape: tuple[int, ...]) -> bytes:
    """The start of an .npy file of uint8 numbers."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": shape})
    return header.getvalue()


def move_images(folder: Path, shape: tuple[int, ...], out: Path) -> None:
    """Move the drawn images to ``out``; ``Invalid`` unless they are an .npy file of exactly this shape."""
    header = npy_header(shape)
    try:
        with _opened(folder / IMAGES) as file:
            size = os.fstat(file.fileno()).st_size
            fits = size == len(header) + math.prod(shape) and file.read(len(header)) == header
    except OSError as error:
        raise unreadable_result() from error
    if not fits:
        raise unreadable_result()
    os.chown(folder / IMAGES, os.geteuid(), os.getegid())  # the process may have been another user
    (folder / IMAGES).replace(out)


def unreadable_result() -> Invalid:
    """The error for a generator if its process has left something other than a result."""
    return Invalid("generator-crashed", "The process that ran the generator left no readable result.")


def _arrays(path: Path, limits: GeneratorLimits) -> Arrays:
    with _opened(path) as file:
        with zipfile.ZipFile(file) as archive:
            if sum(member.file_size for member in archive.infolist()) > limits.written_bytes:
                raise Invalid("too-much-memory", f"The images exceed the limit of {limits.written_bytes >> 20:,} MB.")
        file.seek(0)
        with np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}


def _opened(path: Path) -> BinaryIO:
    """Open a result for reading. Raises ``OSError`` unless it is a regular file with a single name: a link would reveal
    files that its writer may not read, and a pipe would never end."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        file.close()
        raise OSError(f"{path.name} is not a regular file with a single name")
    return file


def _text(path: Path) -> str:
    with _opened(path) as file:
        return file.read(MAX_REPORT_BYTES).decode("utf-8", "replace")
