"""The libraries' networks, filled from a weight file tensor by tensor."""

import io
import pickle
import struct
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import safetensors
import safetensors.torch
import timm
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_fidelity.feature_extractor_inceptionv3 import BasicConv2d, FeatureExtractorInceptionV3

from scorer.errors import Unavailable
from scorer.extractor_catalogue import ExtractorSpec
from scorer.extractors.batchnorm_folding import put
from scorer.extractors.weights import Weights

# What damaged or foreign files raise in the two readers.
_UNREADABLE = (
    safetensors.SafetensorError,
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    struct.error,
    RuntimeError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    EOFError,
    OverflowError,
)


class Network(NamedTuple):
    """A network up to its features, and the classifier that was trained on top of them."""

    trunk: nn.Module
    """Prepared images (b, 3, s, s) to features (b, d); in evaluation mode, on the CPU, without gradients."""
    weights: NDArray[np.float32]
    """(classes, d): ``features @ weights.T + biases`` are the logits."""
    biases: NDArray[np.float32]
    """(classes,)"""


def build_network(spec: ExtractorSpec, weights: Weights) -> Network:
    """The network whose every tensor comes from ``weights``.

    It is built without storage (on torch's meta device), so there is nothing random that a gap could leave in it and
    nothing is fetched. A package's checkpoint has names of its own in timm's order, and must match one to one in order,
    kind and shape; an operator's file must have the library's names, all of them and no other.

    Raises ``Unavailable`` (``unfit-weights``) saying what does not fit.
    """
    with torch.device("meta"):
        module = _Unfilled() if spec.library == "torch-fidelity" else _timm_model(spec)
    wanted = _counted_out(module.state_dict())
    given = _counted_out(_tensors(weights))
    named = dict(zip(wanted, given.values(), strict=False)) if spec.weights_package else given
    fault = _fault_of_order(wanted, given) if spec.weights_package else None
    fault = fault or _fault_of_tensors(wanted, named)
    if fault is not None:
        raise Unavailable("unfit-weights", f"{weights.path} does not hold the network {spec.architecture}: {fault}.")
    nn.Module.load_state_dict(module, named, strict=False, assign=True)
    # How many batches training saw: no part of inference, and older files leave it out.
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            norm.num_batches_tracked = torch.zeros((), dtype=torch.long)
    return _cut(module.eval().requires_grad_(requires_grad=False))


def _timm_model(spec: ExtractorSpec) -> nn.Module:
    module: nn.Module = timm.create_model(str(spec.architecture), pretrained=False)
    return module


class _Unfilled(FeatureExtractorInceptionV3):  # type: ignore[misc] # the library has no types
    """torch-fidelity's network of the 2015 graph without its weights. Its constructor would download them, or unpickle
    a file with all that a pickle may do; here it is given an empty one, and what it finds there is not loaded."""

    def __init__(self) -> None:
        empty = io.BytesIO()
        torch.save({}, empty)
        empty.seek(0)
        super().__init__("inception-v3-compat", ["2048"], feature_extractor_weights_path=empty)

    def load_state_dict(self, *_: object, **__: object) -> None:
        """Nothing: see above."""


def _cut(module: nn.Module) -> Network:
    """Part a network from its classifier."""
    if isinstance(module, _Unfilled):
        return Network(_trunk_of_2015(module), *_classifier(module.fc))
    head = module.get_classifier()  # type: ignore[operator]
    module.reset_classifier(0)  # type: ignore[operator]
    return Network(module, *_classifier(head))


def _classifier(head: nn.Linear) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return head.weight.numpy().copy(), head.bias.numpy().copy()


def _trunk_of_2015(module: nn.Module) -> nn.Module:
    """Its layers up to the pool, which it defines in the order in which it runs them; resizing and normalising are
    :func:`scorer.extractors.preprocessing.preprocess`'s."""
    for path, block in list(module.named_modules()):
        if isinstance(block, BasicConv2d):  # as it is, with the activation as a module that can be fused
            put(module, path, nn.Sequential(block.conv, block.bn, nn.ReLU(inplace=True)))
    layers = OrderedDict((name, layer) for name, layer in module.named_children() if name != "fc")
    return nn.Sequential(layers | {"flatten": nn.Flatten()}).eval()


def _tensors(weights: Weights) -> Mapping[str, Tensor]:
    try:
        if weights.path.suffix == ".safetensors":
            return safetensors.torch.load(weights.content)
        with warnings.catch_warnings():
            # What is odd about a foreign file shows as an error or as tensors that do not fit.
            warnings.simplefilter("ignore")
            state = torch.load(io.BytesIO(weights.content), map_location="cpu", weights_only=True)
    except _UNREADABLE as error:
        raise Unavailable("unfit-weights", f"{weights.path} cannot be read as a file of weights.") from error
    if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
        raise Unavailable("unfit-weights", f"{weights.path} holds something else than named tensors.")
    return state


def _counted_out(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value for name, value in state.items() if not name.endswith(".num_batches_tracked")}


def _fault_of_order(wanted: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> str | None:
    if len(wanted) != len(given):
        return f"it has {len(given)} tensors, and the network {len(wanted)}"
    for ours, theirs in zip(wanted, given, strict=True):
        # weight, bias, running_mean, running_var: a scale never takes the place of a variance of the same shape.
        if ours.rpartition(".")[2] != theirs.rpartition(".")[2]:
            return f"{theirs} stands where {ours} belongs"
    return None


def _fault_of_tensors(wanted: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> str | None:
    for name, tensor in wanted.items():
        if name not in given:
            return f"{name} is missing"
        found = given[name]
        if found.shape != tensor.shape:
            return f"{name} has the shape {tuple(found.shape)} instead of {tuple(tensor.shape)}"
        if found.dtype != tensor.dtype:
            return f"{name} is {found.dtype} instead of {tensor.dtype}"
        if not bool(torch.isfinite(found).all()):
            return f"{name} has values that are not finite"
    unknown = next((name for name in given if name not in wanted), None)
    return None if unknown is None else f"{unknown} is not part of it"
