"""Deterministic arithmetic: process settings with which the same images give the same bits
(``docs/explanation/metrics.md#determinism-and-provenance``).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

# These modules create attributes at import time, invisible to a type checker.
_backends: Any = torch.backends
_memory: Any = torch.utils.deterministic
_FLOAT32 = (
    _backends.cuda.matmul,
    _backends.cudnn.conv,
    _backends.cudnn.rnn,
    _backends.mkldnn.conv,
    _backends.mkldnn.matmul,
)


@contextmanager
def exact_arithmetic(threads: int) -> Iterator[None]:
    """Inference with ``threads`` threads, deterministic kernels that are not chosen by timing, and float32
    without TF32 or bfloat16 inside products. The settings before are restored afterwards."""
    # cuBLAS reads this when it is first used.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = (
        torch.get_num_threads(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        _memory.fill_uninitialized_memory,
        torch.backends.cudnn.benchmark,
        torch.backends.cudnn.deterministic,
    )
    precisions = [backend.fp32_precision for backend in _FLOAT32]
    try:
        _set(threads, True, False, False, False, True)
        for backend in _FLOAT32:
            backend.fp32_precision = "ieee"
        with torch.inference_mode():
            yield
    finally:
        _set(*before)
        for backend, precision in zip(_FLOAT32, precisions, strict=True):
            backend.fp32_precision = precision


def _set(
    threads: int, deterministic: bool, warn_only: bool, fill: bool, benchmark: bool, cudnn_deterministic: bool
) -> None:
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
    # Filling new memory with NaN helps debugging and costs a pass over every activation.
    _memory.fill_uninitialized_memory = fill
    torch.backends.cudnn.benchmark = benchmark
    torch.backends.cudnn.deterministic = cudnn_deterministic
