"""Networks as extractors. Only modules that this one imports know torch."""

import logging
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from scorer.catalogue import ExtractorSpec
from scorer.errors import Unavailable
from scorer.extractors.arithmetic import exact_arithmetic
from scorer.extractors.batches import Features, Images, Progress, in_batches
from scorer.extractors.folding import fold
from scorer.extractors.fusing import can_fuse, fuse
from scorer.extractors.memory import kept_memory
from scorer.extractors.networks import network
from scorer.extractors.options import ExtractorOptions
from scorer.extractors.weights import Weights, record

log = logging.getLogger(__name__)


class TorchExtractor:
    """A network up to its global average pool, behind its preprocessing, in one mode on one device."""

    def __init__(self, spec: ExtractorSpec, weights: Weights, options: ExtractorOptions) -> None:
        self.spec = spec
        self._options, self._device = options, _device(options)
        module = network(spec, weights)
        record(spec, options, weights)
        self.classifier = _classifier(module)
        """The head's weights (classes, d) and biases (classes,): ``features @ weights.T + biases`` are its logits."""
        module.reset_classifier(0)  # type: ignore[operator]
        module = fold(module).to(self._device).to(memory_format=torch.channels_last)
        fused = options.chosen_mode == "eager" and self._device.type == "cpu" and can_fuse()
        self._network: Callable[[Tensor], Tensor] = fuse(module) if fused else module
        if options.chosen_mode == "compiled":
            self._network = _compiled(module, options.cache_dir)
        self.provenance = self._provenance(weights, fused)
        self._warm_up()
        log.info("loaded %s: %s", spec.identity, self.provenance)

    def features(self, images: Images, *, progress: Progress | None = None) -> Features:
        """Features (n, d) float32 of images (n, h, w, 3); see :func:`scorer.extractors.batches.in_batches`."""
        with self._settled(), self._one_graph():
            return in_batches(
                images,
                self._forward,
                batch_size=self._options.batch_size,
                dimension=self.spec.dimension,
                progress=progress,
            )

    def _forward(self, batch: Images) -> Features:
        found: Features = self._network(prepared(torch.from_numpy(batch).to(self._device), self.spec)).cpu().numpy()
        return found

    def _warm_up(self) -> None:
        """Run once, so that compiling and laying out weights belong to loading, and faults show at once."""
        side = self.spec.input_size
        with self._settled():
            self._forward(np.zeros((self._options.batch_size, side, side, 3), np.uint8))

    @contextmanager
    def _settled(self) -> Iterator[None]:
        with exact_arithmetic(self._options.chosen_threads), kept_memory():
            yield

    def _one_graph(self) -> AbstractContextManager[None]:
        """A second shape would mean a second graph and other last bits: an error, not a wait."""
        if self._options.chosen_mode == "eager":
            return nullcontext()
        stance: AbstractContextManager[None] = torch.compiler.set_stance("fail_on_recompile")
        return stance

    def _provenance(self, weights: Weights, fused: bool) -> dict[str, Any]:
        cuda = self._device.type == "cuda"
        return {
            "extractor": self.spec.identity,
            "weights_sha256": weights.sha256,
            "device": self._device.type,
            "device_name": torch.cuda.get_device_name(self._device) if cuda else _processor(),
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "precision": "float32",
            "mode": self._options.chosen_mode,
            "convolutions": "onednn-fused" if fused else "torch",
            "batch_size": self._options.batch_size,
            "threads": self._options.chosen_threads,
            "torch": torch.__version__,
            "timm": version("timm"),
        }


def prepared(images: Tensor, spec: ExtractorSpec) -> Tensor:
    """Images (b, h, w, 3) in 0..255 as the network wants them: (b, 3, s, s) float32, channels last.

    Normalised first, at the smaller size: resizing is linear and its weights add up to 1, so the order only matters
    for speed.
    """
    mean, std = (torch.tensor(each, device=images.device).view(3, 1, 1) for each in (spec.mean, spec.std))
    x = (images.permute(0, 3, 1, 2).to(torch.float32) / 255 - mean) / std
    side = (spec.input_size, spec.input_size)
    if x.shape[2:] != side:
        x = nn.functional.interpolate(x, side, mode="bilinear", antialias=True, align_corners=False)
    return x.contiguous(memory_format=torch.channels_last)


def _device(options: ExtractorOptions) -> torch.device:
    if options.device == "cpu":
        return torch.device("cpu")
    found = torch.cuda.is_available()
    if options.device == "cuda" and not found:
        raise Unavailable("no-gpu", "The device 'cuda' was asked for, and torch finds no GPU.")
    return torch.device("cuda:0" if found else "cpu")


def _classifier(module: nn.Module) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    head = module.get_classifier()  # type: ignore[operator]
    return head.weight.numpy().copy(), head.bias.numpy().copy()


def _compiled(module: nn.Module, cache_dir: Path | None) -> Callable[[Tensor], Tensor]:
    if cache_dir is not None:
        # torch reads it from the environment only. Built kernels are kept there; a frozen graph is traced anew.
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(cache_dir)
    # One thread compiles: a pool of compiling processes would outlive a worker that is killed.
    compiled: Callable[[Tensor], Tensor] = torch.compile(
        module, fullgraph=True, dynamic=False, options={"freezing": True, "compile_threads": 1}
    )
    return compiled


def _processor() -> str:
    """The processor's name as Linux gives it, since another model may round its last bits otherwise."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
