"""The timed networks: Kennel's extractor, and for peers the same network from timm.

Seeded random weights replace trained ones that the operator would have to supply.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import timm
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from benchmarks.harness.isolation import THREADS
from scorer.extractor_catalogue import ExtractorSpec, find_extractor
from scorer.extractors import Extractor, ExtractorOptions, load, weights
from scorer.extractors.networks import unfilled_network
from scorer.extractors.torch_extractor import TorchExtractor

_SMALL = replace(
    find_extractor("inception_v3"),
    name="small",
    input_size=160,
    dimension=256,
    architecture="test_efficientnet.r160_in1k",
)
"""For tests of the benchmarks themselves."""


def seeded_state(architecture: str) -> dict[str, Tensor]:
    """Weights of timm's ``architecture`` with timm's names; see :func:`seeded`."""
    with torch.device("meta"):
        return seeded(timm.create_model(architecture, pretrained=False).state_dict())


def seeded(shapes: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Random tensors of these shapes, scaled to keep activations from vanishing or exploding (He et al. 2015)."""
    generator = torch.Generator().manual_seed(0)
    state = {}
    for name, like in shapes.items():
        if like.ndim > 1:
            state[name] = torch.randn(like.shape, generator=generator, device="cpu") * (2 / like[0].numel()) ** 0.5
        elif not like.is_floating_point():
            state[name] = torch.zeros(like.shape, dtype=like.dtype, device="cpu")
        else:
            spread = 0.1 * torch.randn(like.shape, generator=generator, device="cpu")
            state[name] = spread if name.endswith(("bias", "mean")) else 1 + spread.abs()
    return state


def find_extractor_spec(name: str) -> ExtractorSpec:
    """An extractor of the catalogue, or ``small``."""
    return _SMALL if name == _SMALL.name else find_extractor(name)


def write_weights(spec: ExtractorSpec, folder: Path) -> None:
    """Write seeded weights into the operator's folder if no package has trained weights of this network."""
    if spec.weights_package is None:
        save_file(seeded(unfilled_network(spec).state_dict()), folder / f"{spec.name}.safetensors")


def load_extractor(spec: ExtractorSpec, folder: Path) -> Extractor:
    """Load Kennel's extractor as a worker on a CPU does."""
    return load_spec(spec, _options(folder))


def load_spec(spec: ExtractorSpec, options: ExtractorOptions) -> Extractor:
    """Load an extractor of the catalogue, or ``small``."""
    if spec == _SMALL:
        return TorchExtractor(spec, weights.read_weights(spec, options), options)
    return load(spec.identity, options=options)


def plain_network(spec: ExtractorSpec, folder: Path) -> nn.Module:
    """timm's module up to its global pool, with the same weights; (b, 3, s, s) to (b, d)."""
    module: nn.Module = timm.create_model(str(spec.architecture), pretrained=False)
    if spec.weights_package is None:
        module.load_state_dict(seeded_state(str(spec.architecture)))
    else:
        state = torch.load(weights.read_weights(spec, _options(folder)).path, weights_only=True)
        # The package has other names, but timm's order.
        names = [name for name in module.state_dict() if not name.endswith("num_batches_tracked")]
        values = [value for name, value in state.items() if not name.endswith("num_batches_tracked")]
        module.load_state_dict(dict(zip(names, values, strict=True)), strict=False)
    module.reset_classifier(0)  # type: ignore[operator]
    return module.eval().requires_grad_(requires_grad=False)


def _options(folder: Path) -> ExtractorOptions:
    return ExtractorOptions(weights_dir=folder, device="cpu", threads=THREADS)


class Stopwatch:
    """Total seconds spent in forward passes."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._start = 0.0

    def enter(self, *_: object) -> None:
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1

    def leave(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._start


@contextmanager
def outermost_forwards() -> Iterator[Stopwatch]:
    """Measure every call of a torch module that is not inside another module's call."""
    watch = Stopwatch()
    hooks = [
        nn.modules.module.register_module_forward_pre_hook(watch.enter),
        nn.modules.module.register_module_forward_hook(watch.leave),
    ]
    try:
        yield watch
    finally:
        for hook in hooks:
            hook.remove()


class PeerNetwork(nn.Module):
    """The plain network with the preprocessing that a peer leaves to its network; its forward pass is timed.

    Images (b, 3, h, w) times ``scale`` are in 0..1. They are resized bilinearly to the network's size if necessary, and
    normalised like Kennel's.
    """

    def __init__(self, spec: ExtractorSpec, folder: Path, scale: float) -> None:
        super().__init__()
        torch.set_num_threads(THREADS)
        self._network = plain_network(spec, folder)
        self._scale = scale
        self._side = spec.input_size
        self._mean, self._std = (torch.tensor(values).view(3, 1, 1) for values in (spec.mean, spec.std))
        self.watch = Stopwatch()
        with torch.no_grad():  # once before timing, as in Kennel's extractor
            self(torch.zeros((8, 3, self._side, self._side)))
        self.watch.seconds = 0.0

    def forward(self, images: Tensor) -> Tensor:
        x = (images.to(torch.float32) * self._scale - self._mean) / self._std
        if x.shape[-1] != self._side:
            x = nn.functional.interpolate(x, (self._side, self._side), mode="bilinear", align_corners=False)
        self.watch.enter()
        features: Tensor = self._network(x)
        self.watch.leave()
        return features
