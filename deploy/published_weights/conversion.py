"""From a published weight file to the safetensors file that an extractor loads.

The result is loaded by the extractor's own loader before it is returned, so that it fits the network or is refused.
Files of tensors are read as tensors alone, and TorchScript archives, which are programs, not at all.
"""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from timm.models import vision_transformer
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor

from deploy.published_weights.frozen_graph import constants_of
from deploy.published_weights.tensorflow_names import arrays_of_graph
from scorer.errors import Invalid
from scorer.extractor_catalogue import ExtractorSpec
from scorer.extractors.networks import build_network, unfilled_network
from scorer.extractors.weights import Weights

_WRAPPERS = ("model", "state_dict")
"""Names under which checkpoints keep their tensors."""
_TRUNK = "backbone."


def converted(spec: ExtractorSpec, source: Path, published: bytes) -> bytes:
    """The content of ``NAME.safetensors`` from the bytes of the published file ``source``: a frozen TensorFlow graph
    (``.pb``), safetensors, or a checkpoint of torch. Numbers become float32 and are otherwise unchanged.

    Raises ``Invalid`` (``bad-graph``, ``no-graph-names``, ``not-tensors``) and ``Unavailable`` (``unfit-weights``).
    """
    state = _state_of_graph(spec, published) if source.suffix == ".pb" else _renamed(spec, _tensors(source, published))
    content = safetensors.torch.save({name: value.float().contiguous() for name, value in state.items()})
    build_network(spec, Weights(source.with_suffix(".safetensors"), content, ""))
    return content


def _state_of_graph(spec: ExtractorSpec, published: bytes) -> dict[str, Tensor]:
    shapes = {name: tuple(value.shape) for name, value in unfilled_network(spec).state_dict().items()}
    arrays = arrays_of_graph(spec.name, constants_of(published), shapes)
    return {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}


def _tensors(source: Path, published: bytes) -> dict[str, Tensor]:
    try:
        if source.suffix == ".safetensors":
            return safetensors.torch.load(published)
        state = torch.load(BytesIO(published), map_location="cpu", weights_only=True)
    except Exception as error:
        raise Invalid("not-tensors", f"{source} cannot be read as a file of tensors alone.") from error
    for wrapper in _WRAPPERS:
        state = state.get(wrapper, state) if isinstance(state, Mapping) else state
    if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
        raise Invalid("not-tensors", f"{source} holds something else than named tensors.")
    return dict(state)


def _renamed(spec: ExtractorSpec, state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under timm's names: timm itself knows its transformers' published files."""
    module = unfilled_network(spec)
    if isinstance(module, VisionTransformer):
        state = vision_transformer.checkpoint_filter_fn(state, module)
    return {name.removeprefix(_TRUNK): value for name, value in state.items()}
