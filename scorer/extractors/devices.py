"""Devices: the choice of a device, the meaning of a GPU's errors for the process, and deterministic arithmetic: process
settings with which the same images give the same bits (``docs/explanation/reproducibility.md``).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from scorer.errors import Unavailable
from scorer.extractors.batches import DeviceLost
from scorer.extractors.options import ExtractorOptions
from scorer.extractors.out_of_memory import is_out_of_memory

_DEVICE_ERRORS = ("CUDA error", "CUDA driver error", "CUBLAS_STATUS_", "CUDNN_STATUS_", "NVML")


def choose_device(options: ExtractorOptions) -> torch.device:
    """The device for the options. ``Unavailable`` (``no-gpu``) for a GPU that torch does not find."""
    if options.device == "cpu":
        return torch.device("cpu")
    index = options.device_index or 0
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if index < count:
        return torch.device("cuda", index)
    if options.device == "auto":
        return torch.device("cpu")
    found = f"only GPUs 0 to {count - 1}" if count else "no GPU"
    name = "cuda" if options.device_index is None else f"cuda:{index}"
    raise Unavailable("no-gpu", f"The device is set to '{name}', but torch finds {found}.")


def is_device_error(error: BaseException) -> bool:
    is_from_library = isinstance(error, RuntimeError) and any(text in str(error) for text in _DEVICE_ERRORS)
    return isinstance(error, torch.AcceleratorError) or is_from_library


@contextmanager
def translated_device_errors() -> Iterator[None]:
    """Raise ``Unavailable`` (``no-gpu-memory``) for a lack of GPU memory, and ``DeviceLost`` for every other CUDA
    error. After most of these, every later CUDA call of this process also fails."""
    try:
        yield
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise Unavailable("no-gpu-memory", "The GPU has too little free memory for even one image.") from error
        if is_device_error(error):
            raise DeviceLost(f"{type(error).__name__}: {str(error).strip().splitlines()[0]}") from error
        raise


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
    """Inference with ``threads`` threads, deterministic kernels that are not chosen by timing, and float32 without TF32
    or bfloat16 inside products. Restores the previous settings afterwards."""
    # cuBLAS reads this on first use.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = {
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "fill": _memory.fill_uninitialized_memory,
        "benchmark": torch.backends.cudnn.benchmark,
        "cudnn_deterministic": torch.backends.cudnn.deterministic,
    }
    precisions = [backend.fp32_precision for backend in _FLOAT32]
    try:
        _set(threads, True, False, fill=False, benchmark=False, cudnn_deterministic=True)
        for backend in _FLOAT32:
            backend.fp32_precision = "ieee"
        with torch.inference_mode():
            yield
    finally:
        _set(**before)
        for backend, precision in zip(_FLOAT32, precisions, strict=True):
            backend.fp32_precision = precision


def _set(
    threads: int, deterministic: bool, warn_only: bool, *, fill: bool, benchmark: bool, cudnn_deterministic: bool
) -> None:
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
    # Filling new memory with NaN helps debugging and costs a pass over every activation.
    _memory.fill_uninitialized_memory = fill
    torch.backends.cudnn.benchmark = benchmark
    torch.backends.cudnn.deterministic = cudnn_deterministic
