"""Roofline of one H100 (Williams et al. 2009): upper bounds of images per second from counted work, and their check.

``python -m benchmarks.speed.roofline`` counts and writes GPU.md. With ``--measure`` it runs the networks on this
machine's GPU instead and prints images per second beside the bounds; that needs CUDA.
"""

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import timm
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.harness.seeded_weights import seeded_state
from scorer.extractor_catalogue import find_extractor
from scorer.extractors import ExtractorOptions, load

NETWORKS = ("inception_v3", "nasnetalarge")
IMAGES = 10_000
SIDE = 64
PAGE = Path(__file__).parents[1] / "GPU.md"
REACHED = 0.4
"""The share of the bound that is assumed for planning."""
PCIE = 50e9
"""Bytes per second from host to device."""


@dataclass(frozen=True)
class Device:
    """A GPU's peaks, from its maker's data sheet."""

    name: str
    flops: float
    """Float32 without tensor cores, per second: TF32 is not for final scores."""
    bandwidth: float
    """Bytes per second of its memory."""


H100 = Device("NVIDIA H100 SXM", flops=67e12, bandwidth=3.35e12)


@dataclass(frozen=True)
class Work:
    """The work of one image in a network."""

    name: str
    flops: float
    """A multiplication with its addition counts two."""
    traffic: float
    """Bytes read and written if every operator goes through memory."""
    min_traffic: float
    """Bytes that convolutions alone read and write: everything between them fused."""
    weights: float
    """Bytes, read once a batch."""

    def bound(self, device: Device, traffic: float) -> float:
        """Images per second: the lower of the bounds by arithmetic and by memory."""
        return min(device.flops / self.flops, device.bandwidth / traffic)


class _Traffic(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes that operators read and write; views and empty tensors move nothing."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.all = self.convolutions = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view and "empty" not in func.name():
            traffic = sum(_bytes(each) for each in tree_leaves((args, kwargs, result)))
            self.all += traffic
            self.convolutions += traffic if "conv" in func.name() else 0
        return result


def _bytes(value: object) -> int:
    return value.numel() * value.element_size() if isinstance(value, Tensor) else 0


def count_cost(name: str) -> Work:
    """Count one image's work, on tensors without storage, with batch norms folded into convolutions."""
    spec = find_extractor(name)
    with torch.device("meta"):
        network: nn.Module = timm.create_model(str(spec.architecture), pretrained=False, num_classes=0)
        image = torch.empty(1, 3, spec.input_size, spec.input_size)
    for path, module in list(network.named_modules()):
        if isinstance(module, nn.BatchNorm2d):
            parent, _, child = path.rpartition(".")
            setattr(network.get_submodule(parent), child, getattr(module, "act", nn.Identity()))
    flops = FlopCounterMode(display=False)
    traffic = _Traffic()
    with torch.inference_mode(), flops, traffic:
        network.eval()(image)
    weights = sum(_bytes(each) for each in network.parameters())
    return Work(name, flops.get_total_flops(), traffic.all - weights, traffic.convolutions - weights, weights)


def page(works: list[Work], device: Device) -> str:
    """The text of GPU.md."""
    rows = [
        f"| `{work.name}` | {work.flops / 1e9:.1f} | {work.weights / 1e6:.0f} | {work.traffic / 1e6:.0f} | "
        f"{work.min_traffic / 1e6:.0f} | {device.flops / work.flops:,.0f} | {device.bandwidth / work.traffic:,.0f} | "
        f"{device.bandwidth / work.min_traffic:,.0f} |"
        for work in works
    ]
    modes = {
        "eager": [work.bound(device, work.traffic) for work in works],
        "compiled": [work.bound(device, work.min_traffic) for work in works],
    }
    return TEXT.format(
        device=device.name,
        teraflops=device.flops / 1e12,
        terabytes=device.bandwidth / 1e12,
        rows="\n".join(rows),
        entries="\n".join(_entry(mode, bounds, share) for mode, bounds in modes.items() for share in (1.0, REACHED)),
        first=works[0].name,
        second=works[1].name,
        images=f"{IMAGES:,}",
        reached=f"{REACHED:.0%}",
        megabytes=IMAGES * SIDE * SIDE * 3 / 1e6,
        milliseconds=IMAGES * SIDE * SIDE * 3 / PCIE * 1e3,
    )


def _entry(mode: str, bounds: list[float], share: float) -> str:
    """One row of the table of entries, at a share of the bounds."""
    rates = [share * bound for bound in bounds]
    both = sum(IMAGES / rate for rate in rates)
    cells = [f"{rate:,.0f}" for rate in rates] + [f"{IMAGES / rate:.1f}" for rate in rates]
    return f"| {mode}, {share:.0%} of the roof | {' | '.join(cells)} | {both:.1f} | {86_400 / both:,.0f} |"


TEXT = """\
# What one GPU could do

**Not measured.** No GPU was at hand: these are upper bounds, computed by `python -m benchmarks.speed.roofline` from the
networks' counted work and the maker's peaks for one {device}: {teraflops:g} TFLOP/s in float32 without tensor cores
(final scores use no TF32), and {terabytes:g} TB/s of memory. On a machine with a GPU,

```console
$ .venv/bin/python -m benchmarks.speed.roofline --measure
```

prints images per second, batch size and memory beside these bounds, in both modes, and the difference of the features
from the CPU's.

## The work of one image, and the two roofs

| network | GFLOP | weights, MB | traffic, eager, MB | traffic, fused, MB \
| images/s by arithmetic | by memory, eager | by memory, fused |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{rows}

*GFLOP* counts two for a multiplication with its addition, batch norms folded. *Traffic* is what operators read and
write, each through memory; *fused* is what the convolutions alone move, with everything between them fused into them,
which is the most that `torch.compile` can do. Weights are read once a batch and are left out.

## An entry of {images} images

| | images/s, `{first}` | `{second}` | seconds, `{first}` | `{second}` | both tracks | entries a day and GPU |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
{entries}

The bound is the lower of a network's two roofs. Networks of many small convolutions don't reach it; that they reach
{reached} is an assumption for planning, and the measurement's to replace. These are the features alone. Copying an
entry's {megabytes:.0f} MB of pixels takes {milliseconds:.0f} ms over PCIe 5 (50 GB/s) and is hidden behind the network.
Neighbours and Fréchet distance run on the host's CPUs, as long as [RESULTS.md](RESULTS.md) says for two cores; where a
GPU computes the features they are the larger part, and so the next thing to move there.

## What the code does on a GPU

- Images stay uint8 until they are on the device; resizing, normalising and the network run there, channels last.
- Two batches are under way at once, each with pinned host memory, copies that don't wait, a stream and a CUDA graph of
  its own (`scorer/extractors/cuda_graphs.py`). What the CPU has in common with it is the same code: order, filling of
  the last batch, naming of degenerate images (`scorer/extractors/batches.py`).
- The largest batch, a power of two up to 256, that keeps within 80 % of the memory is found at the first start, written
  to the cache folder and fixed from then on; `KENNEL_BATCH_SIZE` overrides it. Each measurement records it.
- Float32 without TF32, deterministic kernels, no autotuning. bfloat16 is for provisional scores only.

The order of what is enqueued and the life of its buffers are tested with an imitation of CUDA that does nothing until
it is waited for (`tests/worker/extractors/test_cuda_graphs.py`). CUDA itself has not run this code.
"""


def measure(folder: Path) -> None:
    """Run both networks on the GPU, eager and compiled, and print their rates. Raises ``Unavailable`` without a GPU."""
    images = np.random.default_rng(0).integers(0, 256, (IMAGES, SIDE, SIDE, 3), dtype=np.uint8)
    for name in NETWORKS:
        save_file(seeded_state(str(find_extractor(name).architecture)), folder / f"{name}.safetensors")
        options = ExtractorOptions(weights_dir=folder, device="cuda", cache_dir=folder / "cache")
        on_cpu = load(name, options=replace(options, device="cpu")).features(images[:8])
        for mode in ("eager", "compiled"):
            extractor = load(name, options=replace(options, mode=mode))
            extractor.features(images[:512])
            start = time.perf_counter()
            features = extractor.features(images)
            rate = IMAGES / (time.perf_counter() - start)
            work = count_cost(name)
            bound = work.bound(H100, work.traffic if mode == "eager" else work.min_traffic)
            difference = float(np.abs(features[:8] - on_cpu).max() / np.abs(on_cpu).max())
            print(
                f"{name} {mode}: {rate:,.0f} images/s, {rate / bound:.0%} of one H100's roof, batch"
                f" {extractor.provenance['batch_size']}, {torch.cuda.max_memory_reserved() / 2**30:.1f} GiB,"
                f" features within {difference:.1e} of the CPU's, on {extractor.provenance['device_name']}"
            )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.roofline", description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true", help="run on this machine's GPU instead of counting")
    if parser.parse_args().measure:
        with TemporaryDirectory() as folder:
            measure(Path(folder))
    else:
        PAGE.write_text(page([count_cost(name) for name in NETWORKS], H100))
        print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
