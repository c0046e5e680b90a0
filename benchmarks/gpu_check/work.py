"""The work of an image in a network, counted, and the bounds that a device's peaks set (Williams et al. 2009)."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.harness.networks import spec_of
from scorer.extractors.determinism import exact_arithmetic
from scorer.extractors.networks import trunk_of, unfilled_network
from scorer.extractors.options import ExtractorOptions


@dataclass(frozen=True)
class Device:
    """A GPU's peaks, from its maker's data sheet."""

    name: str
    flops: float
    """Float32 without tensor cores, per second: TF32 is not for final scores."""
    bandwidth: float
    """Bytes per second of its memory."""


H100 = Device("NVIDIA H100 SXM", flops=67e12, bandwidth=3.35e12)


@dataclass(frozen=True)
class Work:
    name: str
    flops: float
    """A multiplication with its addition counts two."""
    traffic: float
    """Bytes read and written if every operator goes through memory."""
    min_traffic: float
    """Bytes that convolutions alone read and write: everything between them fused."""
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

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view and "empty" not in func.name():
            traffic = sum(_bytes(each) for each in tree_leaves((args, kwargs, result)))
            self.all += traffic
            self.convolutions += traffic if "conv" in func.name() else 0
        return result


def _bytes(value: object) -> int:
    return value.numel() * value.element_size() if isinstance(value, Tensor) else 0


def count_cost(name: str) -> Work:
    """Count one image's work, on tensors without storage, with batch norms folded into convolutions."""
    spec = spec_of(name)
    network = trunk_of(unfilled_network(spec), spec)
    image = torch.empty(1, 3, spec.input_size, spec.input_size, device="meta")
    for path, module in list(network.named_modules()):
        if isinstance(module, nn.BatchNorm2d):
            parent, _, child = path.rpartition(".")
            setattr(network.get_submodule(parent), child, getattr(module, "act", nn.Identity()))
    flops = FlopCounterMode(display=False)
    traffic = _Traffic()
    with torch.inference_mode(), flops, traffic:
        network.eval()(image)
    weights = sum(_bytes(each) for each in network.parameters())
    return Work(name, flops.get_total_flops(), traffic.all - weights, traffic.convolutions - weights, weights)


REPEATS = 5


def wait_for(device: torch.device) -> None:
    """Wait until a device has done what it was given. A CPU has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measured_peaks(device: torch.device, copied_bytes: int, matrix_side: int) -> Device:
    """The roofs as the device's fastest copy and product reach them, in the arithmetic of final scores (no TF32)."""
    with exact_arithmetic(ExtractorOptions().resolved_threads):
        # A copy reads and writes each byte.
        bandwidth = 2 * copied_bytes / _seconds_of_copy(device, copied_bytes)
        flops = 2 * matrix_side**3 / _seconds_of_product(device, matrix_side)
    return Device(torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU", flops, bandwidth)


def _seconds_of_copy(device: torch.device, size: int) -> float:
    source = torch.ones(size // 4, device=device)
    target = torch.empty_like(source)
    return _fastest(lambda: target.copy_(source), device)


def _seconds_of_product(device: torch.device, side: int) -> float:
    matrix = torch.ones(side, side, device=device)
    product = torch.empty_like(matrix)
    return _fastest(lambda: torch.mm(matrix, matrix, out=product), device)


def _fastest(act: Callable[[], object], device: torch.device) -> float:
    """Seconds of the fastest of some repetitions, after one that is not counted."""
    times = []
    for _ in range(1 + REPEATS):
        wait_for(device)
        start = time.perf_counter()
        act()
        wait_for(device)
        times.append(time.perf_counter() - start)
    return min(times[1:])
