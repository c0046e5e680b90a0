"""Finding weights, and refusing any that are not exactly what they should be."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from scorer.catalogue import ExtractorSpec
from scorer.errors import Unavailable
from scorer.extractors.options import ExtractorOptions

SUFFIXES = (".safetensors", ".pth", ".bin")


@dataclass(frozen=True)
class Weights:
    """A weight file and the SHA-256 of its bytes (hex)."""

    path: Path
    sha256: str


def find(spec: ExtractorSpec, options: ExtractorOptions) -> Weights:
    """The weights of an extractor, with their hash checked.

    Those that a package carries have a known hash. Of an operator's file it is the one that the operator gave, or the
    one recorded beside the file (``inception_v3.sha256``) at its first use and required from then on.
    """
    path = _in_package(spec) if spec.weights_package else _of_operator(spec, options)
    status = path.stat()
    found = _sha256(path, status.st_mtime_ns, status.st_size)
    expected = spec.weights_sha256 or options.weights_sha256.get(spec.name) or _recorded(path, found)
    if found != expected:
        raise Unavailable(
            "wrong-weights",
            f"The weights of {spec.name} in {path} have the SHA-256 {found}, not {expected}: this is another file.",
        )
    return Weights(path, found)


def _in_package(spec: ExtractorSpec) -> Path:
    package = find_spec(spec.weights_package or "")
    if package is None or package.origin is None:
        name = (spec.weights_package or "").replace("_", "-")
        raise Unavailable("no-weights", f"The weights of {spec.name} are missing: install the package {name}.")
    files = sorted(Path(package.origin).parent.rglob("*.pth"))
    if len(files) != 1:
        raise Unavailable("no-weights", f"The package {spec.weights_package} should carry one .pth file.")
    return files[0]


def _of_operator(spec: ExtractorSpec, options: ExtractorOptions) -> Path:
    if options.weights_dir is None:
        raise Unavailable(
            "no-weights", f"The weights of {spec.name} are missing: set KENNEL_WEIGHTS_DIR to the folder that has them."
        )
    for suffix in SUFFIXES:
        path = options.weights_dir / f"{spec.name}{suffix}"
        if path.is_file():
            return path
    names = " or ".join(f"{spec.name}{suffix}" for suffix in SUFFIXES)
    raise Unavailable("no-weights", f"The weights of {spec.name} are missing: {options.weights_dir} has no {names}.")


def _recorded(path: Path, found: str) -> str:
    record = path.with_suffix(".sha256")
    if not record.exists():
        try:
            record.write_text(found + "\n")
        except OSError as error:
            raise Unavailable(
                "no-weights-hash",
                f"The SHA-256 of {path} cannot be recorded beside it ({error.strerror}): write it to {record}.",
            ) from None
    return record.read_text().split()[0]


@lru_cache(maxsize=16)
def _sha256(path: Path, modified_ns: int, size: int) -> str:  # noqa: ARG001 - a changed file is hashed again
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
