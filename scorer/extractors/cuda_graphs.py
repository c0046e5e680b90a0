"""Batches on a GPU: pinned memory, asynchronous copies, and the whole network as one CUDA graph.

The logic (the order of enqueued work, when a buffer may be reused, which batch size is safe) is separate from the calls
to CUDA. These are all in :class:`Gpu`, which tests replace by a slow simulation.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scorer.extractors.batches import Features, Images, Slot, require_images
from scorer.extractors.out_of_memory import OutOfMemorySuppressed
from scorer.extractors.weights import write_once

IN_FLIGHT = 2
"""Batches in flight at the same time: one is read and copied while the other is computed."""
MIN_BATCH, MAX_BATCH = 8, 256
MAX_MEMORY_SHARE = 0.2
"""The share of a GPU's memory for one network. The networks of both tracks stay loaded in each of the two processes
that take turns on a GPU. Other programs, and the workspaces of later versions, need the rest."""


class Gpu:
    """The CUDA device of this process: the operations that this module needs, each with one or two calls."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        # Much of torch uses the current device, which would otherwise be the first: the GPU of other processes.
        torch.cuda.set_device(device)

    @property
    def name(self) -> str:
        """The model and its memory in bytes, which determine a safe batch size."""
        return f"{torch.cuda.get_device_properties(self.device).name}, {self.memory_bytes} bytes"

    def pinned(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Pinned host memory, which the device can access directly."""
        return torch.zeros(tuple(shape), dtype=dtype, pin_memory=True)

    def zeros(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        return torch.zeros(tuple(shape), dtype=dtype, device=self.device)

    def stream(self) -> Any:
        """A queue of work: ordered in itself, concurrent with other queues."""
        return torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]

    def on(self, stream: Any) -> AbstractContextManager[None]:
        """A context in which work is enqueued on ``stream``."""
        context: AbstractContextManager[None] = torch.cuda.stream(stream)
        return context

    def event(self) -> Any:
        """A mark in a queue that can be waited for without spinning."""
        return torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]

    def capture(self, stream: Any, run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        """``run``'s kernels as one graph: (replay, the tensor that each replay writes).

        CUDA requires three calls of ``run`` before, which create workspaces and make lazy choices.
        """
        stream.wait_stream(torch.cuda.current_stream(self.device))  # the network may still be being copied there
        with torch.cuda.stream(stream):
            for _ in range(3):
                run()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            output = run()
        return graph.replay, output

    @property
    def memory_bytes(self) -> int:
        return int(torch.cuda.get_device_properties(self.device).total_memory)

    def peak_bytes(self, run: Callable[[], object]) -> float:
        """The device memory in bytes that ``run`` needs at its peak, beyond the memory held already; infinite if there
        is not enough."""
        self.release_memory()
        held = torch.cuda.memory_reserved(self.device)
        torch.cuda.reset_peak_memory_stats(self.device)
        peak = float("inf")
        with OutOfMemorySuppressed():
            run()
            torch.cuda.synchronize(self.device)
            peak = torch.cuda.max_memory_reserved(self.device) - held
        self.release_memory()
        return peak

    def release_memory(self) -> None:
        """Return all memory that no tensor holds. Capturing a graph cannot use memory cached by others."""
        torch.cuda.synchronize(self.device)
        torch.cuda.empty_cache()


def find_gpu(device: torch.device) -> Gpu | None:
    return None if device.type == "cpu" else Gpu(device)


class GraphSlot:
    """A slot on a GPU: pinned memory, its copy on the device, a graph from there to features, and their copy back."""

    def __init__(self, gpu: Gpu, forward: Callable[[Tensor], Tensor], images: Images, *, batch_size: int) -> None:
        shape = (batch_size, *images.shape[1:])
        dtype = torch.uint8 if images.dtype == np.uint8 else torch.float32
        self._gpu = gpu
        self._stream = gpu.stream()
        self._done = gpu.event()
        self._host = gpu.pinned(shape, dtype)
        self._input = gpu.zeros(shape, dtype)
        self._replay, self._output = gpu.capture(self._stream, lambda: forward(self._input))
        # A graph only knows addresses, so the tensors that it reads must live as long as the graph.
        self._forward = forward
        self._features = gpu.pinned(tuple(self._output.shape), torch.float32)
        self.batch: Images = self._host.numpy()

    def launch(self) -> None:
        """Enqueue the copy, the network and the copy back, and return without waiting."""
        with self._gpu.on(self._stream):
            self._input.copy_(self._host, non_blocking=True)
            self._replay()
            self._features.copy_(self._output, non_blocking=True)
            self._done.record(self._stream)

    def collect(self) -> Features:
        """Wait for the copy back; afterwards the pinned memory may be filled again."""
        self._done.synchronize()
        features: Features = self._features.numpy().copy()
        return features


def graph_slots(gpu: Gpu, forward: Callable[[Tensor], Tensor], images: Images, *, batch_size: int) -> list[Slot]:
    """Two slots, to keep host and device busy at the same time. Raises the errors of :func:`require_images`."""
    require_images(images)
    return [GraphSlot(gpu, forward, images, batch_size=batch_size) for _ in range(IN_FLIGHT)]


def largest_safe_batch(used_share: Callable[[int], float]) -> int:
    """The largest power of two, from 8 to 256, that needs at most :data:`MAX_MEMORY_SHARE` of memory.

    Returns the smallest even if it is not safe: the extractor halves it when it runs out of memory.
    """
    batch = MIN_BATCH
    while batch < MAX_BATCH and used_share(2 * batch) <= MAX_MEMORY_SHARE:
        batch *= 2
    return batch


def fixed_batch(file: Path | None, find: Callable[[], int]) -> int:
    """The batch size stored in ``file``. Without the file, the result of ``find``, which is then stored."""
    if file is None:
        return find()
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_once(file, json.dumps({"batch_size": find()}))
    return int(json.loads(file.read_text())["batch_size"])
