"""The peaks of this device, measured: bytes per second of a copy, and float32 operations per second of a product."""

import time
from collections.abc import Callable

import torch

from benchmarks.gpu.roofline import Device
from benchmarks.gpu_check.checks import Plan
from scorer.extractors.determinism import exact_arithmetic
from scorer.extractors.options import ExtractorOptions

REPEATS = 5


def wait_for(device: torch.device) -> None:
    """Wait until a device has done what it was given. A CPU has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def name_of(device: torch.device) -> str:
    """What the device calls itself."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"


def measured_peaks(device: torch.device, plan: Plan) -> Device:
    """The roofs as the device's fastest copy and product reach them, in the arithmetic of final scores (no TF32)."""
    with exact_arithmetic(ExtractorOptions().resolved_threads):
        # A copy reads and writes each byte.
        bandwidth = 2 * plan.copied_bytes / _seconds_of_copy(device, plan.copied_bytes)
        flops = 2 * plan.matrix_side**3 / _seconds_of_product(device, plan.matrix_side)
    return Device(name_of(device), flops, bandwidth)


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
