"""Install an extractor's weights in the operator's folder, from a published file on this machine or at a URL.

The extractor's own loader loads the result, so weights that do not fit are refused. Files of tensors are read as
tensors only; TorchScript archives, which are programs, are refused.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import httpx
import numpy as np
import safetensors.torch
import torch
from timm.models import vision_transformer
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor

from deploy.published_weights.frozen_graph import read_constants
from deploy.published_weights.tensorflow_names import rename_graph_arrays
from scorer.errors import Invalid, Unavailable
from scorer.extractor_catalogue import ExtractorSpec
from scorer.extractors.networks import build_network, unfilled_network
from scorer.extractors.weights import SUFFIXES, Weights

_WRAPPERS = ("model", "state_dict")
"""Keys under which checkpoints store their tensors."""
_TRUNK = "backbone."


def converted(spec: ExtractorSpec, source: Path, published: bytes) -> bytes:
    """The content of ``NAME.safetensors`` from the bytes of the published file ``source``: a frozen TensorFlow graph
    (``.pb``), safetensors, or a torch checkpoint. Numbers become float32 and are otherwise unchanged.

    Raises ``Invalid`` (``bad-graph``, ``no-graph-names``, ``not-tensors``) and ``Unavailable`` (``unfit-weights``).
    """
    state = _build_state(spec, published) if source.suffix == ".pb" else _renamed(spec, _tensors(source, published))
    content = safetensors.torch.save({name: value.float().contiguous() for name, value in state.items()})
    build_network(spec, Weights(source.with_suffix(".safetensors"), content, ""))
    return content


def _build_state(spec: ExtractorSpec, published: bytes) -> dict[str, Tensor]:
    shapes = {name: tuple(value.shape) for name, value in unfilled_network(spec).state_dict().items()}
    arrays = rename_graph_arrays(spec.name, read_constants(published), shapes)
    return {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}


def _tensors(source: Path, published: bytes) -> dict[str, Tensor]:
    try:
        if source.suffix == ".safetensors":
            return safetensors.torch.load(published)
        state = torch.load(BytesIO(published), map_location="cpu", weights_only=True)
    except Exception as error:
        raise Invalid("not-tensors", f"{source} cannot be read as a file of tensors.") from error
    for wrapper in _WRAPPERS:
        state = state.get(wrapper, state) if isinstance(state, Mapping) else state
    if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
        raise Invalid("not-tensors", f"{source} contains something other than named tensors.")
    return dict(state)


def _renamed(spec: ExtractorSpec, state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under timm's names: timm itself knows its transformers' published files."""
    module = unfilled_network(spec)
    if isinstance(module, VisionTransformer):
        state = vision_transformer.checkpoint_filter_fn(state, module)
    return {name.removeprefix(_TRUNK): value for name, value in state.items()}


OTHER_FORMATS = (".safetensors", ".pb")
"""Published formats other than the checkpoint whose hash a publisher states."""
SECONDS = 60.0
"""How long a server may be silent."""


@contextmanager
def published_file(source: str) -> Iterator[Path]:
    """The file at the path or URL ``source``, with its own name; a download is deleted after the block. Raises
    ``Unavailable`` (``no-weights-file``) if it cannot be read.
    """
    if not source.lower().startswith(("http://", "https://")):
        if not Path(source).is_file():
            raise Unavailable(
                "no-weights-file", f"There is no file {source}: give the path of the published file, or its URL."
            )
        yield Path(source)
        return
    with TemporaryDirectory() as folder:
        try:
            file = Path(folder) / (PurePosixPath(httpx.URL(source).path).name or "weights")
            with httpx.stream("GET", source, follow_redirects=True, timeout=SECONDS) as answer, file.open("wb") as out:
                answer.raise_for_status()
                for chunk in answer.iter_bytes():
                    out.write(chunk)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            raise Unavailable(
                "no-weights-file",
                f"{source} cannot be downloaded ({error}): download it on another machine, and give the file's path.",
            ) from error
        yield file


def install(spec: ExtractorSpec, source: Path, folder: Path, *, sha256: str | None) -> Weights:
    """Install the published file ``source`` in ``folder``, and write the installed file's hash to ``NAME.sha256``. The
    operator has confirmed the file's SHA-256 as ``sha256``. Converts a file that the extractor cannot load. Always
    checks the names and shapes of all tensors; never overwrites a file.

    Raises ``Invalid`` (``weights-exist``, ``wrong-weights-file``, ``unconfirmed-weights``, and those of ``converted``)
    and ``Unavailable`` (``unfit-weights``, ``weights-folder``).
    """
    record = folder / f"{spec.name}.sha256"
    for path in (record, *(folder / f"{spec.name}{suffix}" for suffix in SUFFIXES)):
        if path.exists():
            raise Invalid("weights-exist", f"{path} already exists.")
    published = source.read_bytes()  # read once, so that exactly the hashed bytes are installed
    found = hashlib.sha256(published).hexdigest()
    _require_confirmed(spec, source, found, confirmed=sha256)
    weights = _weights(spec, source, folder, published=published, sha256=found)
    draft = weights.path.with_suffix(".new")
    try:
        draft.write_bytes(weights.content)
        record.write_text(f"{weights.sha256}  {weights.path.name}\n")
        draft.replace(weights.path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        record.unlink(missing_ok=True)
        raise Unavailable("weights-folder", f"{folder} cannot be written to ({error.strerror}).") from error
    return weights


def _require_confirmed(spec: ExtractorSpec, source: Path, found: str, *, confirmed: str | None) -> None:
    stated = spec.stated_sha256
    if stated is not None and source.suffix not in OTHER_FORMATS and not found.startswith(stated):
        raise Invalid(
            "wrong-weights-file",
            f"The SHA-256 of {source.name} is {found}, but that of the published file begins with {stated} "
            f"({spec.stated_in}). Download it again from {spec.weights_url}.",
        )
    if confirmed is None:
        raise Invalid(
            "unconfirmed-weights",
            f"The SHA-256 of {source.name} is {found}. Compare it with the SHA-256 that its publisher shows, then "
            f"confirm it with --sha256 {found}.",
        )
    if found != confirmed.strip().lower():
        raise Invalid(
            "wrong-weights-file", f"The SHA-256 of {source.name} is {found}, not {confirmed}: it is a different file."
        )


def _weights(spec: ExtractorSpec, source: Path, folder: Path, *, published: bytes, sha256: str) -> Weights:
    """The weights to install: the unchanged file if the extractor loads it, else converted."""
    if source.suffix in SUFFIXES:
        weights = Weights(folder / f"{spec.name}{source.suffix}", published, sha256)
        with suppress(Exception):  # the conversion explains what is wrong with the file
            build_network(spec, weights)
            return weights
    content = converted(spec, source, published)
    return Weights(folder / f"{spec.name}.safetensors", content, hashlib.sha256(content).hexdigest())
