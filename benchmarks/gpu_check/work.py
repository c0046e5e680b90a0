"""The counted work of an image in a network, and the bounds from a device's peaks (Williams et al. 2009)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.benchmark import Timer
from torch.utils.flop_counter import FlopCounterMode
from typing_extensions import override

from benchmarks.harness.networks import find_extractor_spec
from scorer.extractors.devices import exact_arithmetic
from scorer.extractors.networks import build_trunk, unfilled_network
from scorer.extractors.options import ExtractorOptions


@dataclass(frozen=True)
class Device:
    """A device's peaks."""

    name: str
    flops: float
    """Float32 operations per second without tensor cores, since final scores use no TF32."""
    bandwidth: float
    """Bytes per second of its memory."""


@dataclass(frozen=True)
class Work:
    flops: float
    """A multiplication with its addition counts as two."""
    traffic: float
    """Bytes read and written if every operator goes through memory."""
    min_traffic: float
    """Bytes that convolutions alone read and write, with everything between them fused."""
    weights: float
    """Bytes, read once a batch."""

    def bound(self, device: Device, traffic: float) -> float:
        """Images per second: the lower of the bounds by arithmetic and by memory."""
        return min(device.flops / self.flops, device.bandwidth / traffic)


class _Traffic(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes that operators read and write; views and empty tensors move nothing."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.all = self.convolutions = 0

    @override
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view and "empty" not in func.name():
            traffic = sum(_bytes(leaf) for leaf in tree_leaves((args, kwargs, result)))
            self.all += traffic
            self.convolutions += traffic if "conv" in func.name() else 0
        return result


def _bytes(value: object) -> int:
    return value.numel() * value.element_size() if isinstance(value, Tensor) else 0


def count_cost(name: str) -> Work:
    """Count one image's work, on tensors without storage, with batch norms folded into convolutions."""
    spec = find_extractor_spec(name)
    network = build_trunk(unfilled_network(spec), spec)
    image = torch.empty(1, 3, spec.input_size, spec.input_size, device="meta")
    for path, module in list(network.named_modules()):
        if isinstance(module, nn.BatchNorm2d):
            parent, _, child = path.rpartition(".")
            setattr(network.get_submodule(parent), child, getattr(module, "act", nn.Identity()))
    flops = FlopCounterMode(display=False)
    traffic = _Traffic()
    with torch.inference_mode(), flops, traffic:
        network.eval()(image)
    weights = sum(_bytes(weight) for weight in network.parameters())
    return Work(flops.get_total_flops(), traffic.all - weights, traffic.convolutions - weights, weights)


REPEATS = 5


def measured_peaks(device: torch.device, copied_bytes: int, matrix_side: int) -> Device:
    """Measure the peaks with the device's fastest copy and product, in the arithmetic of final scores (no TF32)."""
    source = torch.ones(copied_bytes // 4, device=device)
    matrix = torch.ones(matrix_side, matrix_side, device=device)
    with exact_arithmetic(ExtractorOptions().resolved_threads):
        # A copy reads and writes each byte.
        bandwidth = 2 * copied_bytes / _fastest("target.copy_(source)", source=source, target=torch.empty_like(source))
        product = _fastest("torch.mm(matrix, matrix, out=out)", matrix=matrix, out=torch.empty_like(matrix))
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    return Device(name, 2 * matrix_side**3 / product, bandwidth)


def _fastest(statement: str, **names: Tensor) -> float:
    """Seconds of the fastest of some repetitions; the timer waits for a GPU and warms up."""
    timer = Timer(statement, globals=names, num_threads=torch.get_num_threads())
    return min(timer.timeit(1).median for _ in range(REPEATS))
