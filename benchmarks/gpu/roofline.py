"""Roofline of one H100 (Williams et al. 2009): upper bounds of images per second from counted work, beside what a
check has measured.

GPU.md has them, and what is simulated with what was measured of the host. :mod:`benchmarks.gpu_check` measures on a
GPU.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.gpu import submissions
from benchmarks.gpu.check_pages import CheckPage, kept_pages
from benchmarks.gpu.submissions import TrackWork
from benchmarks.harness.networks import spec_of
from benchmarks.harness.plan import FULL
from benchmarks.harness.results import BenchmarkResult, read_result
from scorer.extractors.networks import trunk_of, unfilled_network

NETWORKS = ("inception_v3", "nasnetalarge")
CHECKED = (*NETWORKS, "inception_2015", "efficientnet_lite0")
IMAGES = 10_000
SIDE = 64
PAGE = Path(__file__).parents[1] / "GPU.md"
RESULTS = Path(__file__).parents[1] / "results"
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
    spec = spec_of(name)
    network = trunk_of(unfilled_network(spec), spec)
    image = torch.empty(1, 3, spec.input_size, spec.input_size, device="meta")
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


def fastest_track(work: Work, device: Device) -> TrackWork:
    """An entry's seconds on a device that reaches its roofs, eager."""
    return _track(work, work.bound(device, work.traffic), device.flops)


def measured_track(work: Work, page: CheckPage) -> TrackWork:
    """An entry's seconds on the GPU that a check has measured. Its products with the reference were not timed: they are
    counted at the speed that a large product reached there."""
    return _track(work, page.rates[work.name], page.flops)


def _track(work: Work, rate: float, flops: float) -> TrackWork:
    dimension = spec_of(work.name).dimension
    products = 2.0 * IMAGES * FULL.reference * dimension / flops
    copies = 4.0 * (IMAGES + FULL.reference) * dimension / PCIE
    return TrackWork(work.name, dimension, IMAGES / rate, products + copies)


def measured(name: str) -> BenchmarkResult:
    """A stored measurement; ``LookupError`` if there is none."""
    result = read_result(name, RESULTS)
    if result is None:
        raise LookupError(f"{name} was not measured: python -m benchmarks {name}")
    return result


def page(works: list[Work], device: Device, checked: list[CheckPage]) -> str:
    """The text of GPU.md. ``checked`` are the pages of checks, the newest last."""
    newest = checked[-1]
    measured_tracks = [measured_track(work, newest) for work in works]
    fastest_tracks = [fastest_track(work, device) for work in works]
    results = {name: measured(name) for name in submissions.NEEDED}
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
    first = works[0]
    resized = 4.0 * 3 * spec_of(first.name).input_size ** 2
    return TEXT.format(
        device=device.name,
        side=SIDE,
        input=spec_of(first.name).input_size,
        pixels_kb=SIDE * SIDE * 3 / 1e3,
        resized_mb=resized / 1e6,
        resized_gb=IMAGES * resized / 1e9,
        resized_share=resized / first.traffic,
        teraflops=device.flops / 1e12,
        terabytes=device.bandwidth / 1e12,
        rows="\n".join(rows),
        entries="\n".join(
            [
                _entry("**measured**", [newest.rates[work.name] for work in works]),
                *(_entry(f"the roof, {mode}", bounds) for mode, bounds in modes.items()),
            ]
        ),
        with_host=submissions.section(results, measured_tracks, fastest_tracks),
        checked_device=newest.fact("device"),
        checked_date=newest.fact("date"),
        checked_page=newest.text.removeprefix("# GPU check: passed\n").strip(),
        checks="\n".join(_check(each) for each in checked),
        first=first.name,
        second=works[1].name,
        images=f"{IMAGES:,}",
        megabytes=IMAGES * SIDE * SIDE * 3 / 1e6,
        milliseconds=IMAGES * SIDE * SIDE * 3 / PCIE * 1e3,
    )


def _entry(name: str, rates: list[float]) -> str:
    """One row of the table of entries."""
    both = sum(IMAGES / rate for rate in rates)
    cells = [f"{rate:,.0f}" for rate in rates] + [f"{IMAGES / rate:.1f}" for rate in rates]
    return f"| {name} | {' | '.join(cells)} | {both:.1f} | {86_400 / both:,.0f} |"


def _check(checked: CheckPage) -> str:
    """One row of the table of checks."""
    cells = [f"{checked.rates[name]:,.0f} ({checked.shares[name]:.0%})" for name in CHECKED]
    return f"| {checked.fact('date')} | {' | '.join(cells)} |"


TEXT = """\
# What one GPU does

**Measured on one {checked_device}** ({checked_date} UTC), by

```console
$ make gpu-check
```

which prints a page to paste: whether the networks load, are captured, equal the CPU's and themselves, what happens
without memory and after an error of CUDA, and images per second beside the roof that it measures on that GPU. It took
about two minutes there. Without CUDA it says so. Its exit status (of `python -m benchmarks.gpu_check`; make has its
own) is 0, 1 if a check fails, or 2 if there is no such GPU. The page is [below](#the-page-of-the-check), as it was
printed. Everything else here is **counted** from the networks' work and the maker's peaks of one {device}
({teraflops:g} TFLOP/s in float32 without tensor cores, since final scores use no TF32; {terabytes:g} TB/s of memory),
or **simulated**, and says so. `make bench` writes this page, and `python -m benchmarks --render` does from what is
stored.

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

The bound is the lower of a network's two roofs by the maker's peaks. Networks of many small convolutions don't reach
it. These are the features alone. Copying an
entry's {megabytes:.0f} MB of pixels takes {milliseconds:.0f} ms over PCIe 5 (50 GB/s) and is hidden behind the network.

{with_host}
## The order of tensors in memory

Images per second of each check, behind them the share of the roof that the same check measured (a product of matrices
and a copy). The first ran at 89e7f7ab, where all networks were channels last; the second at 9dfbca01, where a network
is channels first, or channels last with its convolutions of 1 x 1 as products of matrices
(`scorer/extractors/gpu_layout.py`): channels last, cuDNN copies the input before most convolutions in float32 without
TF32, and the output behind them.

| date | `inception_v3` | `nasnetalarge` | `inception_2015` | `efficientnet_lite0` |
| --- | ---: | ---: | ---: | ---: |
{checks}

## What the whole service did

`make gpu-entries` starts the service of `kennel up` with the GPU, and has it score entries of 10,000 images of noise
with `inception_v3` and `nasnetalarge`. It was run once, with four of them on the machine of the second check, and **did
not end in the 205 s that were left of the machine's time**: three public scores, and no private one. What its log and
`nvidia-smi` told: both references of 5,000 and 6,000 images were ready 74 s after the worker was; an entry's check took
2.4 to 3.5 s by one process; the first public score, 12.3 s from its claim. Then the worker without a GPU began
evidence, and **the GPU was idle for a minute**, in which two scores were at what follows the features. The likely
cause, not measured there: two processes that score and one that makes evidence had 16 threads each on 16 cores,
and threads of a product or a decomposition wait for each other. Since then the cores are shared out among the worker
processes ([how](../docs/how-to/run-many-processes.md#threads)). **With that it has not run on a GPU.**

## What the code does on a GPU

- Images stay uint8 until they are on the device; resizing, normalising and the network run there.
  Checking, reading and decoding are done ahead, by other processes; **resizing ahead was decided against**. An image of
  {side} x {side} has {pixels_kb:.0f} KB, and as float32 of {input} x {input}, which is what `{first}` is given,
  {resized_mb:.2f} MB: {resized_gb:.1f} GB an entry to keep in memory and to copy, instead of {megabytes:.0f} MB. On the
  device resizing is one more operator of the captured graph; what it writes is {resized_share:.1%} of what the
  network's operators move through memory (left out above).
- Two batches are under way at once, each with pinned host memory, copies that don't wait, a stream and a CUDA graph of
  its own (`scorer/extractors/cuda_graphs.py`). What the CPU has in common with it is the same code: order, filling of
  the last batch, naming of degenerate images (`scorer/extractors/batches.py`).
- Everything that a graph needs is on the device before it is captured: constants are buffers.
- Two processes take turns on a GPU: while one computes an entry's features, the other has claimed the next entry, reads
  or decodes it, and does what follows the features (`worker/runtime/device_turns.py`). A GPU's worker takes scores,
  references and comparisons alone; checks, evidence, audits and releases are those of workers without one.
- The products by which nearest neighbours are shortlisted are the GPU's; the pairs of the shortlist are decided in
  float64 on the host, so the answer is the CPU's to the last bit (`scorer/extractors/device_neighbours.py`). The
  Fréchet distance stays on the host, beside the next entry's features; on a GPU it was not timed.
- The largest batch, a power of two up to 256, with which a network's weights, graphs and activations keep within a
  fifth of the memory is found at the first start, written to the cache folder and fixed from then on: the networks of
  both tracks stay loaded in both processes. `KENNEL_BATCH_SIZE` overrides it. Where a GPU runs out of memory all the
  same, the process halves its batch, says so in its log, and computes all images of the entry anew. Each measurement
  records the batch that all its features come from, since their last bits depend on it.
- Graphs of one image size are held at a time, so that what was measured to fit does fit. A network that has no room
  beside others takes theirs; they are loaded again when needed.
- One worker uses one GPU: `KENNEL_DEVICE=cuda:3`, or `CUDA_VISIBLE_DEVICES=3` and `KENNEL_DEVICE=cuda`. A scoring
  worker whose GPU does not compute does not start.
- After any other error of CUDA the process ends, and its job goes back to the queue without an attempt, however often.
  Celery starts a new process, which asks a further one whether the GPU computes before it claims a job, and claims none
  for 1, 5, then 15 minutes while it does not.
- Float32 without TF32, deterministic kernels, no autotuning.

## What was verified, and what was not

On one H100 the check below passed: CUDA captures these networks; features are the CPU's within the stated bound, and
the same bits when they are computed again, in another order, or with the network loaded again; neighbours are the
CPU's; a lack of memory halves the batch; an error of CUDA is taken for a loss, and the GPU computes for the process
after that. There torch was 2.11.0, not 2.14.1, which is pinned. On CPUs it was verified that

- nothing in a captured graph touches the host: every network of the catalogue on torch's meta device, with every
  operator and every function of torch watched (`tests/worker/extractors/test_cuda_capture.py`);
- work is enqueued in the right order, and buffers live long enough: an imitation of CUDA that does nothing until it is
  waited for (`tests/worker/extractors/test_cuda_graphs.py`);
- a batch is halved, a loss is recognised, a device is chosen by its index: an imitation that computes on the host and
  raises torch's errors (`tests/worker/extractors/test_devices.py`);
- a lost GPU costs no entry an attempt: a real worker of Celery, whose process is replaced
  (`tests/worker/scoring/test_device_loss.py`);
- processes take turns, and one that waits has its images by then: a real worker of Celery with two processes
  (`tests/worker/scoring/test_device_turns.py`);
- neighbours by torch's products are the host's, also with products that are off by nearly as much as the bound allows:
  on CPU tensors (`tests/worker/extractors/test_device_neighbours.py`);
- the check itself finds what is wrong: on the CPU, and over that imitation
  (`tests/worker/benchmarks/test_gpu_check.py`).

Not verified: the mode `compiled` on a GPU, several GPUs at once, the torch that is pinned on a GPU, weights as
published, and how long whole entries take on one (above).

## The page of the check

(That of 2026-11-27 01:44 names the commit on which that machine's copy was based; what ran was the tree of 9dfbca01.
Its column of memory is the most since the network began to load, with the batch that was tried last and found too
large; later pages have what the timed features took.)

{checked_page}
"""


def render() -> None:
    """Write the page."""
    PAGE.write_text(page([count_cost(name) for name in NETWORKS], H100, kept_pages()))
