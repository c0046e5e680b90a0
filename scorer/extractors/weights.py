"""Weight files of extractors: located, hashed, and refused unless the SHA-256 is the required one."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from stat import S_ISREG

from scorer.errors import Unavailable
from scorer.extractor_catalogue import EXTRACTORS, ExtractorSpec
from scorer.extractors.options import ExtractorOptions

SUFFIXES = (".safetensors", ".pth")


@dataclass(frozen=True)
class Weights:
    """A weight file's bytes, hashed after reading: the parsed bytes are the verified bytes."""

    path: Path
    content: bytes
    sha256: str


def read_weights(spec: ExtractorSpec, options: ExtractorOptions) -> Weights:
    """The weights of an extractor.

    Raises ``Unavailable``: ``missing-weights``, ``unreadable-weights`` if this account may not read them, or
    ``wrong-weights`` if their SHA-256 is not the required one.
    """
    path = _path(spec, options)
    with _readable(path):
        content = path.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    _require(spec, options, path, sha256=sha256)
    return Weights(path, content, sha256)


def hash_weights(spec: ExtractorSpec, options: ExtractorOptions) -> str:
    """The SHA-256 (hex) of an extractor's weights, with the checks of :func:`read_weights`, without holding the file in
    memory."""
    path = _path(spec, options)
    with _readable(path):
        status = path.stat()
        sha256 = _hashed(path, status.st_size, status.st_mtime_ns)
    _require(spec, options, path, sha256=sha256)
    return sha256


def installed_weights(options: ExtractorOptions) -> Mapping[str, str]:
    """The SHA-256 (hex) of the weights of every extractor that can be loaded here, by ``name@version``."""
    installed: dict[str, str] = {}
    for spec in EXTRACTORS.values():
        with suppress(Unavailable):
            # tiny has no network and no weight file; the catalogue has its hash.
            installed[spec.identity] = hash_weights(spec, options) if spec.architecture else str(spec.weights_sha256)
    return installed


def required_sha256(spec: ExtractorSpec, options: ExtractorOptions) -> str | None:
    """The SHA-256 (hex) that an extractor's weights must have; None before the first load has recorded it. Raises
    ``Unavailable`` (``missing-weights``)."""
    return _required(spec, options, _path(spec, options))


def record_sha256(spec: ExtractorSpec, options: ExtractorOptions, weights: Weights) -> None:
    """If no hash is required for these weights, record theirs in a file next to them (``inception_v3.sha256``). From
    then on that hash is required. Call this once the weights have proved to fit their network.

    Raises ``Unavailable`` (``unrecorded-weights``) if the folder cannot be written to.
    """
    if _required(spec, options, weights.path) is not None:
        return
    record = _record_path(weights.path)
    line = f"{weights.sha256}  {weights.path.name}\n"
    try:
        write_once(record, line)
    except OSError as error:
        raise Unavailable(
            "unrecorded-weights",
            f"The SHA-256 of {weights.path} cannot be recorded ({error.strerror}). Write the line "
            f"{line.strip()!r} to {record}.",
        ) from error
    _require(spec, options, weights.path, sha256=weights.sha256)


def write_once(file: Path, text: str) -> None:
    """Write a file unless it exists. If two workers write it at the same time, the first decides for both."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(text)
    try:
        with suppress(FileExistsError):
            file.hardlink_to(draft)
    finally:
        draft.unlink()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """A context with errors that name the unreadable weight file and the account that needs to read it."""
    try:
        yield
    except OSError as error:
        raise Unavailable(
            "unreadable-weights",
            f"{path} cannot be read ({error.strerror}). Allow the account that runs the service (user ID "
            f"{os.geteuid()}) to read it and to enter its folder.",
        ) from error


def _path(spec: ExtractorSpec, options: ExtractorOptions) -> Path:
    return _in_package(spec, spec.weights_package) if spec.weights_package else _in_folder(spec, options.weights_dir)


def _in_package(spec: ExtractorSpec, package: str) -> Path:
    package_spec = find_spec(package)
    path = Path(package_spec.origin).parent / str(spec.weights_file) if package_spec and package_spec.origin else None
    if path is None or not path.is_file():
        raise Unavailable("missing-weights", f"The weights of {spec.name} are missing. Run `{spec.installation}`.")
    return path


def _in_folder(spec: ExtractorSpec, folder: Path | None) -> Path:
    names = [f"{spec.name}{suffix}" for suffix in SUFFIXES]
    if folder is None:
        raise Unavailable(
            "missing-weights",
            f"The weights of {spec.name} are missing. Set KENNEL_WEIGHTS_DIR to a folder with {' or '.join(names)}. "
            f"{_remedy(spec)}",
        )
    with _readable(folder):
        files = [folder / name for name in names if _is_file(folder / name)]
    if not files:
        raise Unavailable(
            "missing-weights",
            f"The weights of {spec.name} are missing: {folder} has no {' or '.join(names)}. {_remedy(spec)}",
        )
    if len(files) > 1:
        raise Unavailable("missing-weights", f"{folder} has both {' and '.join(names)}. Remove one of them.")
    return files[0]


def _remedy(spec: ExtractorSpec) -> str:
    return f"Run `{spec.installation}` (see docs/how-to/weights.md)."


def _is_file(path: Path) -> bool:
    """Whether a path is a file. Raises ``OSError`` if this account may not find out, where ``Path.is_file`` returns
    False in Python 3.14."""
    try:
        return S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _require(spec: ExtractorSpec, options: ExtractorOptions, path: Path, *, sha256: str) -> None:
    required = _required(spec, options, path)
    if required is not None and required != sha256:
        raise Unavailable(
            "wrong-weights",
            f"{path} is not the required weight file of {spec.name}: its SHA-256 is {sha256}, not {required}.",
        )


def _required(spec: ExtractorSpec, options: ExtractorOptions, path: Path) -> str | None:
    """The hash that this file must have: the catalogue's, or the operator's, or the one recorded at the first load."""
    if spec.weights_sha256 is not None:
        return spec.weights_sha256
    if spec.name in options.weights_sha256:
        return options.weights_sha256[spec.name].lower()
    record = _record_path(path)
    with _readable(record):
        if not _is_file(record):
            return None
        # As `sha256sum` writes it: the hash, then the name of the file.
        return next(iter(record.read_text().split()), "").lower()


def _record_path(path: Path) -> Path:
    return path.with_suffix(".sha256")


@lru_cache(maxsize=16)
def _hashed(path: Path, size: int, modified_ns: int) -> str:  # noqa: ARG001 - a changed file is hashed again
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
