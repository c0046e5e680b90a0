"""A GPU that runs out of memory: how its errors are told from others, and the context that they end.

:class:`scorer.extractors.torch_extractor.TorchExtractor` halves its batch then, and cosines are compared on the host.
"""

from types import TracebackType

import torch

_MEMORY_ALLOCATION = 2
"""CUDA's cudaErrorMemoryAllocation. Unlike its other errors it leaves the process as it was."""
_OUT_OF_MEMORY = ("CUDA out of memory", "CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED")


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error says that a GPU has too little memory, or was raised while one that says so was handled: ending
    a capture that has failed is an error of its own."""
    while error is not None:
        is_allocation = getattr(error, "error_code", None) == _MEMORY_ALLOCATION
        if isinstance(error, torch.OutOfMemoryError) or is_allocation or _says_so(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _says_so(error: BaseException) -> bool:
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _OUT_OF_MEMORY)


class OutOfMemorySuppressed:
    """A context that a lack of GPU memory ends early. Behind it nothing holds the memory of what was begun there, as an
    error's traceback does."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return isinstance(error, RuntimeError) and is_out_of_memory(error)
