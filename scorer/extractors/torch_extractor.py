"""Extractors that run a network with torch. Only this module and its imports need torch."""

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from scorer.extractor_catalogue import ExtractorSpec
from scorer.extractors.batches import Features, Images, Slot, immediate_slots, in_batches, require_images
from scorer.extractors.batchnorm_folding import fold
from scorer.extractors.cuda_graphs import (
    MAX_MEMORY_SHARE,
    Gpu,
    find_gpu,
    fixed_batch,
    graph_slots,
    largest_safe_batch,
)
from scorer.extractors.device_neighbours import shortlister_on
from scorer.extractors.devices import choose_device, exact_arithmetic, translated_device_errors
from scorer.extractors.forward_time import count_worker, timed
from scorer.extractors.fused_convolutions import can_fuse, fuse
from scorer.extractors.gpu_layout import lay_out
from scorer.extractors.networks import build_network
from scorer.extractors.options import CPU_BATCH, ExtractorOptions
from scorer.extractors.out_of_memory import OutOfMemorySuppressed
from scorer.extractors.preprocessing import Preprocessing
from scorer.extractors.weights import Weights, record_sha256
from scorer.metrics.cosine import Shortlister, host_shortlist
from scorer.process_resources import keep_freed_memory, processor_name
from scorer.progress import ProgressCallback

T = TypeVar("T")

log = logging.getLogger(__name__)


class TorchExtractor:
    """A network up to its features, with its preprocessing, on one device."""

    def __init__(self, spec: ExtractorSpec, weights: Weights, options: ExtractorOptions) -> None:
        self.spec = spec
        self._options = options
        self._device = choose_device(options)
        trunk, self.classifier = build_network(spec, weights)
        record_sha256(spec, options, weights)
        with translated_device_errors():
            self._gpu = find_gpu(self._device)
            module = fold(trunk).to(device=self._device, dtype=torch.float32)
            self._weight_bytes = sum(tensor.nbytes for tensor in (*module.parameters(), *module.buffers()))
            self._network, self._convolutions, self._memory_format = self._optimised(module)
            self._slots: dict[tuple[Any, ...], Sequence[Slot]] = {}
            with self._deterministic():
                self.batch_size = self._first_batch_size()
                self.provenance = self._provenance(weights)
                self._run_or_halve(self._warm_up)
        count_worker(self._device.type)
        log.info("loaded %s on %s: %s", spec.identity, self._device, self.provenance)

    def features(self, images: Images, *, progress: ProgressCallback | None = None) -> Features:
        """Features (n, d) float32 of images (n, h, w, 3); see :func:`scorer.extractors.batches.in_batches`. If the GPU
        runs out of memory on the way, all are computed again, so they come from batches of one size."""
        with translated_device_errors(), self._deterministic():
            return self._run_or_halve(lambda: self._features_in_batches(images, progress))

    def _optimised(self, module: nn.Module) -> tuple[Callable[[Tensor], Tensor], str, torch.memory_format]:
        """The network in its fastest form for this device, its kind of convolutions, and its input's memory order."""
        if self._gpu is not None:
            layout = lay_out(module)
            return module, str(layout), layout.memory_format
        module.to(memory_format=torch.channels_last)
        if can_fuse():
            return fuse(module), "onednn-fused", torch.channels_last
        return module, "torch", torch.channels_last

    @property
    def shortlister(self) -> Shortlister:
        """The GPU's shortlister, or the host's: on CPUs torch's products are no faster than numpy's."""
        return host_shortlist if self._gpu is None else shortlister_on(self._device, self._options.resolved_threads)

    def uncaptured_features(self, images: Images) -> Features:
        """The features as the device computes them without graphs, for comparison with graphs."""
        with translated_device_errors(), self._deterministic():
            return in_batches(images, self._immediate_slots(images), dimension=self.spec.dimension)

    def release_graphs(self) -> None:
        """Free the memory of captured graphs; the next computation captures them again."""
        self._slots.clear()
        if self._gpu is not None:
            self._gpu.release_memory()

    def _features_in_batches(self, images: Images, progress: ProgressCallback | None) -> Features:
        slots = self._slots_for(images)
        busy_slots = timed(slots, self._device.type)
        return in_batches(images, busy_slots, dimension=self.spec.dimension, progress=progress)

    def logits(self, features: Features) -> Features | None:
        """The classifier's logits, (n, classes) float32; None without a classifier. For the 2015 graph, logits have no
        biases, as the Inception score was published (torch-fidelity's ``logits_unbiased``)."""
        if self.classifier is None:
            return None
        matrix, biases = self.classifier
        products: Features = features @ matrix.T
        return products if self.spec.library == "torch-fidelity" else products + biases

    def _first_batch_size(self) -> int:
        """The operator's setting, or the CPU's default, or the largest safe size measured on a GPU."""
        if self._options.batch_size is not None:
            return self._options.batch_size
        return CPU_BATCH if self._gpu is None else fixed_batch(self._batch_file(self._gpu), self._measured_batch_size)

    def _run_or_halve(self, act: Callable[[], T]) -> T:
        """Call ``act``. While the GPU has too little memory for it, halve the batch and call it again."""
        while self.batch_size > 1:
            with OutOfMemorySuppressed():
                return act()
            log.warning(
                "%s: %s has no memory for %s images at a time; continuing with %s",
                *(self.spec.identity, self._device, self.batch_size, self.batch_size // 2),
            )
            self.release_graphs()
            self.batch_size //= 2
            # The last bits of a feature depend on it. The stored size stays, because another process may have room.
            self.provenance = self.provenance | {"batch_size": self.batch_size}
        return act()

    def _slots_for(self, images: Images) -> Sequence[Slot]:
        """The slots for images of this shape. A CUDA graph has one shape and is slow to capture, so slots are cached
        between calls. Only one shape is cached at a time, because the batch was chosen to fit one."""
        require_images(images)
        if self._gpu is None:
            return self._immediate_slots(images)
        key = (images.shape[1:], images.dtype)
        if key not in self._slots:
            self.release_graphs()
            self._slots[key] = graph_slots(self._gpu, self._forward_for(images), images, batch_size=self.batch_size)
        return self._slots[key]

    def _immediate_slots(self, images: Images) -> Sequence[Slot]:
        forward = self._forward_for(images)

        def compute(batch: Images) -> Features:
            features: Features = forward(torch.from_numpy(batch).to(self._device)).cpu().numpy()
            return features

        return immediate_slots(compute, images, self.batch_size)

    def _forward_for(self, images: Images) -> Callable[[Tensor], Tensor]:
        """The function from batches (b, h, w, 3) of images of this size to features (b, d) float32. Everything that it
        needs is on the device before the call."""
        preprocessing = Preprocessing(self.spec, images.shape[1:3]).to(self._device)
        # The function must not refer to this extractor: its slots hold the function, and a cycle would be freed late.
        network, memory_format = self._network, self._memory_format
        return lambda batch: network(preprocessing(batch).contiguous(memory_format=memory_format))

    def _measured_batch_size(self) -> int:
        """The largest batch with graphs, activations and weights within a network's share of memory."""
        gpu = self._gpu
        side = self.spec.input_size
        assert gpu is not None  # noqa: S101 - for the type checker

        def used_share(batch: int) -> float:
            images = np.zeros((batch, side, side, 3), np.uint8)
            peak = gpu.peak_bytes(lambda: graph_slots(gpu, self._forward_for(images), images, batch_size=batch))
            return (self._weight_bytes + peak) / gpu.memory_bytes

        return largest_safe_batch(used_share)

    def _batch_file(self, gpu: Gpu) -> Path | None:
        """The file with the batch size of this network on this kind of GPU."""
        if self._options.cache_dir is None:
            return None
        how = (self._convolutions, torch.__version__, MAX_MEMORY_SHARE)
        key = (self.spec.identity, gpu.name, *how)
        return self._options.cache_dir / "batches" / f"{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.json"

    def _warm_up(self) -> None:
        """Run once, so loading includes reordering weights, and faults show early."""
        side = self.spec.input_size
        for slot in self._slots_for(np.zeros((1, side, side, 3), np.uint8)):
            slot.launch()
            slot.collect()

    @contextmanager
    def _deterministic(self) -> Iterator[None]:
        with exact_arithmetic(self._options.resolved_threads), keep_freed_memory():
            yield

    def _provenance(self, weights: Weights) -> dict[str, Any]:
        return {
            "extractor": self.spec.identity,
            "weights_sha256": weights.sha256,
            "device": self._device.type,
            "device_name": processor_name() if self._gpu is None else self._gpu.name,
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "precision": "float32",
            "convolutions": self._convolutions,
            "batch_size": self.batch_size,
            "threads": self._options.resolved_threads,
            "torch": torch.__version__,
            self.spec.library: version(self.spec.library),
        }
