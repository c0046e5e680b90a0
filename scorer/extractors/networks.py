"""Networks of the timm library as extractors. The only module that imports torch.

Determinism (METRICS A9): float32, TF32 and autotuning off, a fixed batch that the last one is padded to, a fixed number
of threads. The same images then give the same features, bit for bit, on one machine in one mode.
"""

import os
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import timm
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn

from scorer.catalogue import ExtractorSpec
from scorer.errors import Invalid, Unavailable
from scorer.extractors.options import ExtractorOptions
from scorer.extractors.weights import Weights


class Network:
    """A network up to its global average pool, with its preprocessing."""

    def __init__(self, spec: ExtractorSpec, weights: Weights, options: ExtractorOptions) -> None:
        self._spec, self._batch = spec, options.batch
        self._device = _device(options)
        on_cpu = self._device.type == "cpu"
        mode = options.chosen_mode if on_cpu else "eager"
        threads = options.threads or os.cpu_count() or 1
        _be_exact(threads)
        module = (
            Preprocessed(spec, network(spec, weights)).eval().to(self._device).to(memory_format=torch.channels_last)
        )
        self._run = _compiled(module, options) if mode == "compiled" else module
        self.provenance: dict[str, Any] = {
            "extractor": spec.identity,
            "weights_sha256": weights.sha256,
            "device": "cpu" if on_cpu else torch.cuda.get_device_name(self._device),
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "precision": "float32",
            "mode": mode,
            "batch": options.batch,
            "threads": threads,
            "torch": torch.__version__,
            "timm": version("timm"),
        }

    def features(self, images: NDArray[Any], *, progress: Callable[[float], None] | None = None) -> NDArray[np.float32]:
        """Features (n, d) float32 of images (n, h, w, 3), uint8 or float32 in 0..255."""
        features = np.empty((len(images), self._spec.dimension), np.float32)
        for start in range(0, len(images), self._batch):
            rows = images[start : start + self._batch]
            features[start : start + len(rows)] = self._features_of(rows)
            if progress is not None:
                progress((start + len(rows)) / len(images))
        _require_finite(features)
        return features

    def _features_of(self, rows: NDArray[Any]) -> NDArray[np.float32]:
        # One shape for ever: the last batch is filled up, so nothing is compiled or rounded differently for it.
        batch = np.zeros((self._batch, *rows.shape[1:]), rows.dtype)
        batch[: len(rows)] = rows
        with torch.inference_mode():
            found = self._run(torch.from_numpy(batch).to(self._device))
        result: NDArray[np.float32] = found[: len(rows)].cpu().numpy()
        return result


class Preprocessed(nn.Module):
    """A network behind its preprocessing: (b, h, w, 3) in 0..255 to (b, d).

    Images are resized whole, in float, by torch's antialiased filter, clamped to 0..255 and never rounded (METRICS A6):
    the networks' own recipes crop the centre and resize 8-bit images, which a metric must not.
    """

    def __init__(self, spec: ExtractorSpec, inner: nn.Module) -> None:
        super().__init__()
        self._size, self._interpolation, self._inner = spec.input_size, spec.interpolation, inner
        self.register_buffer("_mean", torch.tensor(spec.mean).view(1, 3, 1, 1) * 255)
        self.register_buffer("_scale", 1 / (torch.tensor(spec.std).view(1, 3, 1, 1) * 255))

    def forward(self, images: Tensor) -> Tensor:
        """Features of a batch."""
        x = images.permute(0, 3, 1, 2).to(torch.float32)
        if x.shape[-2:] != (self._size, self._size):
            size = (self._size, self._size)
            x = nn.functional.interpolate(x, size, mode=self._interpolation, antialias=True, align_corners=False)
            x = x.clamp(0, 255)
        x = (x - self.get_buffer("_mean")) * self.get_buffer("_scale")
        found: Tensor = self._inner(x.contiguous(memory_format=torch.channels_last))
        return found


def network(spec: ExtractorSpec, weights: Weights, classes: int = 0) -> nn.Module:
    """The timm network with these weights; ``classes`` 0 leaves the global average pool as its output.

    Raises ``Unavailable`` (``wrong-shape``) if the file does not hold this network, tensor by tensor.
    """
    module: nn.Module = timm.create_model(str(spec.timm_model), pretrained=False, num_classes=1000)
    wanted = module.state_dict()
    given = _state(weights)
    in_order = [name for name in wanted if not name.endswith("num_batches_tracked")]
    values = [value for name, value in given.items() if not name.endswith("num_batches_tracked")]
    # A package's checkpoint has names of its own, in timm's order; an operator's has timm's names.
    named = dict(zip(in_order, values, strict=False)) if spec.weights_package else given
    fits = len(values) == len(in_order) if spec.weights_package else named.keys() >= set(in_order)
    if not fits or any(named[name].shape != wanted[name].shape for name in in_order):
        raise Unavailable(
            "wrong-shape", f"The weights of {spec.name} in {weights.path} do not fit the network {spec.timm_model}."
        )
    module.load_state_dict({**wanted, **{name: named[name] for name in in_order}})
    if classes == 0:
        module.reset_classifier(0)  # type: ignore[operator]
    return module


def _state(weights: Weights) -> Mapping[str, Tensor]:
    try:
        if weights.path.suffix == ".safetensors":
            state: Mapping[str, Tensor] = load_file(weights.path)
        else:
            state = torch.load(weights.path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise Unavailable("wrong-weights", f"{weights.path} cannot be read as weights: {error}.") from error
    return state


def _device(options: ExtractorOptions) -> torch.device:
    if options.device == "cuda" and not torch.cuda.is_available():
        raise Unavailable("no-gpu", "KENNEL_DEVICE asks for a GPU, and torch finds none.")
    return torch.device("cuda" if options.device != "cpu" and torch.cuda.is_available() else "cpu")


def _be_exact(threads: int) -> None:
    torch.set_num_threads(threads)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False


def _compiled(module: nn.Module, options: ExtractorOptions) -> Callable[[Tensor], Tensor]:
    if options.cache_dir is not None:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(options.cache_dir)
    # Frozen weights are folded into the code: batch norms vanish, layouts are chosen once.
    compiled: Callable[[Tensor], Tensor] = torch.compile(
        module, fullgraph=True, dynamic=False, options={"freezing": True}
    )
    return compiled


def _require_finite(features: NDArray[np.float32]) -> None:
    wrong = np.flatnonzero(~np.isfinite(features).all(axis=1))
    if len(wrong):
        rows = ", ".join(str(row) for row in wrong[:10])
        raise Invalid(
            "degenerate-features",
            f"The features of {len(wrong)} image(s) are not finite: image {rows}.",
            rows=wrong.tolist(),
        )
