"""A GPU that runs out of memory: recognising its errors, and a context that they end.

:class:`scorer.extractors.torch_extractor.TorchExtractor` then halves its batch, and cosines are compared on the host.
"""

from types import TracebackType

import torch

_MEMORY_ALLOCATION = 2
"""CUDA's cudaErrorMemoryAllocation. Unlike other CUDA errors, it leaves the process intact."""
_OUT_OF_MEMORY = ("CUDA out of memory", "CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED")


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error reports a lack of GPU memory, or was raised while such an error was handled: ending a failed
    capture raises another error."""
    while error is not None:
        is_allocation = getattr(error, "error_code", None) == _MEMORY_ALLOCATION
        if isinstance(error, torch.OutOfMemoryError) or is_allocation or _mentions_memory(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _mentions_memory(error: BaseException) -> bool:
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _OUT_OF_MEMORY)


class OutOfMemorySuppressed:
    """A context that a lack of GPU memory ends early. After it, nothing holds the memory allocated inside, unlike the
    traceback of an error."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return isinstance(error, RuntimeError) and is_out_of_memory(error)
