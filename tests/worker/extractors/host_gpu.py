"""An imitated GPU that computes on the host, has room for a limited number of images, and can fail."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

OUT_OF_MEMORY = "CUDA out of memory. Tried to allocate 2.00 GiB."


class Event:
    def record(self, stream: object) -> None:
        pass

    def synchronize(self) -> None:
        pass


class HostGpu:
    """Has the methods of :class:`scorer.extractors.cuda_graphs.Gpu`. A capture runs once, a replay runs again.

    Every replay raises the next of ``faults``, or nothing if it is None.
    """

    name = "imitation"
    memory_bytes = 1 << 30

    def __init__(self, room: int = 1_000_000, faults: Sequence[Exception | None] = ()) -> None:
        self.room = room
        self.image_bytes = 0.0
        self._faults = list(faults)
        self.captures: list[tuple[int, ...]] = []

    def pinned(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        return torch.zeros(shape, dtype=dtype)

    zeros = pinned

    def stream(self) -> object:
        return object()

    def on(self, stream: object) -> AbstractContextManager[None]:
        return nullcontext()

    def event(self) -> Event:
        return Event()

    def capture(self, stream: object, run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        output = run()
        if len(output) > self.room:
            raise torch.OutOfMemoryError(OUT_OF_MEMORY)
        self.captures.append(tuple(output.shape))

        def replay() -> None:
            fault = self._faults.pop(0) if self._faults else None
            if fault is not None:
                raise fault
            output.copy_(run())

        return replay, output

    def peak_bytes(self, run: Callable[[], object]) -> float:
        """``image_bytes`` per image of a batch, or infinity without enough room."""
        try:
            run()
        except torch.OutOfMemoryError:
            return float("inf")
        return self.image_bytes * self.captures[-1][0]

    def release_memory(self) -> None:
        pass
