"""Networks of timm and torch-fidelity, filled from a weight file tensor by tensor. Some have descriptors as features,
and some transformers run at a different size from the one they were trained at.
"""

import io
import pickle
import struct
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import safetensors
import safetensors.torch
import timm
import torch
from numpy.typing import NDArray
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn
from torch_fidelity.feature_extractor_inceptionv3 import BasicConv2d, FeatureExtractorInceptionV3

from scorer.errors import Unavailable
from scorer.extractor_catalogue import ExtractorSpec
from scorer.extractors.batchnorm_folding import replace_module
from scorer.extractors.weights import Weights

MIN_ACTIVATION = 1e-6
"""Smaller activations count as this, so their power has a root (as in SSCD's code)."""
_OFFSET = 0.1


class GeneralisedMean(nn.Module):
    """Pools (b, c, h, w) to (b, c): the power mean ``(mean x^p)^(1/p)`` over space (Radenović et al. 2019)."""

    def __init__(self, power: float) -> None:
        super().__init__()
        self._power = power

    def forward(self, x: Tensor) -> Tensor:
        powers = x.clamp(min=MIN_ACTIVATION).pow(self._power)
        return powers.mean(dim=(2, 3)).pow(1.0 / self._power)


class UnitLength(nn.Module):
    """Scales every row of (b, d) to Euclidean length 1."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.normalize(x)


def run_at(transformer: Any, side: int) -> None:
    """Make one of timm's vision transformers take images of ``side`` pixels, in place.

    Its position embeddings are resampled once, as DINOv2's code does at every pass: bicubic, without antialiasing, by
    the factor (new + 0.1) / old. timm's own resampling is antialiased, which gives other features.
    """
    positions, old = transformer.pos_embed, transformer.patch_embed.grid_size[0]
    new = side // transformer.patch_embed.patch_size[0]
    if new != old:
        transformer.set_input_size((side, side))
        transformer.pos_embed = nn.Parameter(_resampled(positions, old, new), requires_grad=False)


def _resampled(positions: Tensor, old: int, new: int) -> Tensor:
    """Embeddings (1, 1 + old^2, d) of the class token and a grid, resampled to (1, 1 + new^2, d)."""
    token, grid = positions[:, :1], positions[:, 1:]
    factor = (new + _OFFSET) / old
    grid = grid.reshape(1, old, old, -1).permute(0, 3, 1, 2)
    grid = nn.functional.interpolate(grid, scale_factor=(factor, factor), mode="bicubic")
    return torch.cat([token, grid.permute(0, 2, 3, 1).reshape(1, new * new, -1)], dim=1)


def without_fused_attention(transformer: nn.Module) -> None:
    """Make attention use plain matrix products and a softmax, in place. Fused kernels choose their arithmetic by device
    and ignore the settings of :mod:`scorer.extractors.devices`."""
    for module in transformer.modules():
        if hasattr(module, "fused_attn"):
            setattr(module, "fused_attn", False)  # noqa: B010 - torch's types do not have this attribute


# The errors of the two readers for damaged or foreign files.
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


class Classifier(NamedTuple):
    """A linear classifier of features: ``features @ weights.T + biases`` are the logits."""

    weights: NDArray[np.float32]
    """(classes, d)"""
    biases: NDArray[np.float32]
    """(classes,)"""


class Network(NamedTuple):
    """A network up to its features, and the classifier trained on top of them, if there is one."""

    trunk: nn.Module
    """Prepared images (b, 3, s, s) to features (b, d); in evaluation mode, on the CPU, without gradients."""
    classifier: Classifier | None


def build_network(spec: ExtractorSpec, weights: Weights) -> Network:
    """The network of an extractor, with every tensor from ``weights``.

    The network is built without storage (on torch's meta device), so no tensor can keep a random initial value and
    nothing is downloaded. A package's checkpoint has its own names in timm's order, and must match one to one in order,
    kind and shape. An operator's file must have exactly the library's names, or all but the classifier's.

    Raises ``Unavailable`` (``unfit-weights``) with the first mismatch.
    """
    module = unfilled_network(spec)
    stored = _without_batch_counts(_tensors(weights))
    head = None if spec.is_descriptor else _find_head(module)
    if head and not spec.weights_package and not any(name.startswith(f"{head}.") for name in stored):
        replace_module(module, head, nn.Identity())
    expected = _without_batch_counts(module.state_dict())
    named = dict(zip(expected, stored.values(), strict=False)) if spec.weights_package else stored
    fault = _find_order_fault(expected, stored) if spec.weights_package else None
    fault = fault or _find_tensor_fault(expected, named)
    if fault is not None:
        raise Unavailable("unfit-weights", f"{weights.path} does not contain the network {spec.architecture}: {fault}.")
    nn.Module.load_state_dict(module, named, strict=False, assign=True)
    # Inference does not use the number of training batches, and older files lack it.
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            norm.num_batches_tracked = torch.zeros((), dtype=torch.long)
    module.eval().requires_grad_(requires_grad=False)
    classifier = _classifier(module.get_submodule(head)) if head else None
    return Network(build_trunk(module, spec), classifier)


def unfilled_network(spec: ExtractorSpec) -> nn.Module:
    """An extractor's network with its last linear layer, on torch's meta device: shapes without numbers."""
    with torch.device("meta"):
        if spec.library == "torch-fidelity":
            return _UnfilledInception()
        # A descriptor's linear layer has as many outputs as the descriptor; a classifier has the library's number.
        outputs: dict[str, Any] = {"num_classes": spec.dimension} if spec.is_descriptor else {}
        module: nn.Module = timm.create_model(str(spec.architecture), pretrained=False, **outputs)
    return module


def build_trunk(module: nn.Module, spec: ExtractorSpec) -> nn.Module:
    """A network of :func:`unfilled_network` up to its features, without its classifier."""
    if isinstance(module, _UnfilledInception):
        return _build_2015_trunk(module)
    if isinstance(module, VisionTransformer):
        run_at(module, spec.input_size)
        without_fused_attention(module)
    if spec.gem_power is not None:
        module.global_pool = GeneralisedMean(spec.gem_power)
    if spec.is_descriptor:
        return nn.Sequential(module, UnitLength()).eval()
    module.reset_classifier(0)  # type: ignore[operator]
    return module


class _UnfilledInception(FeatureExtractorInceptionV3):  # type: ignore[misc] # the library has no types
    """torch-fidelity's network of the 2015 graph, without weights. Its constructor would download them, or unpickle a
    file with arbitrary code. This class gives it an empty file and loads nothing."""

    def __init__(self) -> None:
        empty = io.BytesIO()
        torch.save({}, empty)
        empty.seek(0)
        super().__init__("inception-v3-compat", ["2048"], feature_extractor_weights_path=empty)

    def load_state_dict(self, *_: object, **__: object) -> None:
        """Do nothing; see the class."""


def _find_head(module: nn.Module) -> str:
    """The path of the linear layer on top of a network, or of its replacement."""
    head = module.fc if isinstance(module, _UnfilledInception) else module.get_classifier()  # type: ignore[operator]
    path: str = next(path for path, submodule in module.named_modules() if submodule is head)
    return path


def _classifier(head: nn.Module) -> Classifier | None:
    """A linear layer as a classifier; None for its replacement."""
    return Classifier(head.weight.numpy().copy(), head.bias.numpy().copy()) if isinstance(head, nn.Linear) else None


def _build_2015_trunk(module: nn.Module) -> nn.Module:
    """The layers up to the pool, in the order in which the network defines and runs them. Resizing and normalising are
    in :mod:`scorer.extractors.preprocessing` instead."""
    for path, block in list(module.named_modules()):
        if isinstance(block, BasicConv2d):  # with the activation as a module that can be fused
            replace_module(module, path, nn.Sequential(block.conv, block.bn, nn.ReLU(inplace=True)))
    layers = OrderedDict((name, layer) for name, layer in module.named_children() if name != "fc")
    return nn.Sequential(layers | {"flatten": nn.Flatten()}).eval()


def _tensors(weights: Weights) -> Mapping[str, Tensor]:
    try:
        if weights.path.suffix == ".safetensors":
            return safetensors.torch.load(weights.content)
        with warnings.catch_warnings():
            # A faulty foreign file shows as an error or as tensors that do not fit.
            warnings.simplefilter("ignore")
            state = torch.load(io.BytesIO(weights.content), map_location="cpu", weights_only=True)
    except _UNREADABLE as error:
        raise Unavailable("unfit-weights", f"{weights.path} cannot be read as a weight file.") from error
    if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
        raise Unavailable("unfit-weights", f"{weights.path} contains something other than named tensors.")
    return state


def _without_batch_counts(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value for name, value in state.items() if not name.endswith(".num_batches_tracked")}


def _find_order_fault(expected: Mapping[str, Tensor], stored: Mapping[str, Tensor]) -> str | None:
    if len(expected) != len(stored):
        return f"it has {len(stored)} tensors, but the network has {len(expected)}"
    for expected_name, stored_name in zip(expected, stored, strict=True):
        # weight, bias, running_mean, running_var: a scale must not be taken for a variance of the same shape.
        if expected_name.rpartition(".")[2] != stored_name.rpartition(".")[2]:
            return f"it has {stored_name} instead of {expected_name}"
    return None


def _find_tensor_fault(expected: Mapping[str, Tensor], stored: Mapping[str, Tensor]) -> str | None:
    for name, tensor in expected.items():
        if name not in stored:
            return f"{name} is missing"
        candidate = stored[name]
        if candidate.shape != tensor.shape:
            return f"{name} has the shape {tuple(candidate.shape)} instead of {tuple(tensor.shape)}"
        if candidate.dtype != tensor.dtype:
            return f"{name} is {candidate.dtype} instead of {tensor.dtype}"
        if not bool(torch.isfinite(candidate).all()):
            return f"{name} has values that are not finite"
    unknown = next((name for name in stored if name not in expected), None)
    return None if unknown is None else f"{unknown} is not part of the network"
