"""Batches on an imitated GPU.

The imitation does nothing until the host waits for it. Reading too early or filling a buffer too soon gives wrong
numbers. These tests don't run CUDA.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from scorer.errors import Invalid
from scorer.extractor_catalogue import find_extractor
from scorer.extractors import ExtractorOptions, load, torch_extractor
from scorer.extractors.batches import Slot, immediate_slots, in_batches
from scorer.extractors.cuda_graphs import Gpu, fixed_batch, graph_slots, largest_safe_batch
from scorer.extractors.gpu_layout import GpuLayout, PointwiseProduct, lay_out
from scorer.extractors.networks import unfilled_network
from tests.worker.extractors.host_gpu import HostGpu


class Stream:
    """Work that is delayed until the host waits for it."""

    def __init__(self) -> None:
        self.work: list[Callable[[], object]] = []
        self.done = 0

    def run_to(self, mark: int) -> None:
        while self.done < mark:
            self.work[self.done]()
            self.done += 1


class Event:
    def record(self, stream: Stream) -> None:
        self._stream = stream
        self._mark = len(stream.work)

    def synchronize(self) -> None:
        self._stream.run_to(self._mark)


class Memory:
    """A tensor that enqueues its copies."""

    def __init__(self, gpu: "LazyGpu", value: torch.Tensor) -> None:
        self._gpu = gpu
        self.value = value
        self.shape = value.shape

    def copy_(self, source: "Memory", *, non_blocking: bool) -> None:
        assert non_blocking
        self._gpu.enqueue(lambda: self.value.copy_(source.value))

    def numpy(self) -> NDArray[Any]:
        array: NDArray[Any] = self.value.numpy()
        return array


class LazyGpu:
    """Has the methods of :class:`Gpu`, and returns before the work is done, as CUDA does."""

    name = "imitation"

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.captured = 0
        self._current: Stream | None = None

    def enqueue(self, step: Callable[[], object]) -> None:
        assert self._current is not None, "enqueued on no stream"
        self._current.work.append(step)

    def pinned(self, shape: tuple[int, ...], dtype: torch.dtype) -> Memory:
        return Memory(self, torch.zeros(shape, dtype=dtype))

    zeros = pinned

    def stream(self) -> Stream:
        self.streams.append(Stream())
        return self.streams[-1]

    @contextmanager
    def on(self, stream: Stream) -> Iterator[None]:
        self._current = stream
        yield
        self._current = None

    def event(self) -> Event:
        return Event()

    def capture(self, stream: Stream, run: Callable[[], Memory]) -> tuple[Callable[[], None], Memory]:
        self.captured += 1
        output = run()
        return lambda: self.enqueue(lambda: output.value.copy_(run().value)), output


def images(count: int, dtype: type[np.generic] = np.uint8) -> NDArray[Any]:
    return np.random.default_rng(0).integers(1, 256, (count, 4, 4, 3)).astype(dtype)


def sums(batch: torch.Tensor) -> torch.Tensor:
    return batch.to(torch.float32).sum(dim=(1, 2))


def build_slots(gpu: LazyGpu, like: NDArray[Any], batch_size: int) -> list[Slot]:
    def forward(batch: Any) -> Any:
        return Memory(gpu, sums(batch.value))

    imitation: Any = gpu
    return graph_slots(imitation, forward, like, batch_size=batch_size)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("count", [1, 3, 8, 19])
def test_features_equal_those_without_graphs(count: int, dtype: type[np.generic]) -> None:
    pixels = images(count, dtype)
    shares = list[float]()
    plain = in_batches(
        pixels, immediate_slots(lambda batch: sums(torch.from_numpy(batch)).numpy(), pixels, 3), dimension=3
    )
    features = in_batches(pixels, build_slots(LazyGpu(), pixels, 3), dimension=3, progress=shares.append)
    assert np.array_equal(features, plain)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_the_imitation_detects_a_buffer_that_is_filled_too_soon() -> None:
    """Shows that the test above can fail: without waiting, the first copy reads the second batch's pixels."""
    gpu = LazyGpu()
    slot = build_slots(gpu, images(2), 1)[0]
    for image in images(2):
        slot.batch[0] = image
        slot.launch()
    gpu.streams[0].run_to(3)
    first = slot.collect()[0]
    assert np.array_equal(first, images(2)[1].astype(np.float32).sum(axis=(0, 1)))


def test_two_batches_run_at_the_same_time_on_separate_streams() -> None:
    gpu = LazyGpu()
    in_flight = 0
    most = 0

    class Watched:
        def __init__(self, slot: Slot) -> None:
            self._slot = slot
            self.batch = slot.batch

        def launch(self) -> None:
            nonlocal in_flight, most
            self._slot.launch()
            in_flight, most = in_flight + 1, max(most, in_flight + 1)

        def collect(self) -> NDArray[np.float32]:
            nonlocal in_flight
            in_flight -= 1
            return self._slot.collect()

    in_batches(images(10), [Watched(slot) for slot in build_slots(gpu, images(10), 2)], dimension=3)
    assert most == 2
    assert in_flight == 0
    assert [len(stream.work) for stream in gpu.streams] == [9, 6], "three steps per batch: in, replay, out"
    assert gpu.captured == 2, "once per slot, not per batch"


def test_degenerate_images_are_named_on_a_gpu() -> None:
    pixels = images(7)
    pixels[[2, 5]] = 0
    with pytest.raises(Invalid) as error:
        in_batches(pixels, build_slots(LazyGpu(), pixels, 2), dimension=3)
    assert error.value.extra["rows"] == [2, 5]


def test_invalid_arrays_are_refused_before_allocation() -> None:
    gpu = LazyGpu()
    with pytest.raises(Invalid):
        build_slots(gpu, images(2)[..., :1], 2)
    assert not gpu.streams


@pytest.mark.parametrize(
    ("share_of_8", "expected"),
    [(0.0025, 256), (0.025, 64), (0.0475, 32), (0.0525, 16), (0.125, 8), (0.5, 8), (float("inf"), 8)],
)
def test_the_largest_safe_batch_keeps_within_its_share_of_the_memory(share_of_8: float, expected: int) -> None:
    tried: list[int] = []

    def used_share(batch: int) -> float:
        tried.append(batch)
        return share_of_8 * batch / 8

    assert largest_safe_batch(used_share) == expected
    assert tried == sorted(tried)
    assert max(tried) <= max(16, 2 * expected), "no batch that is far too large"


def test_a_batch_size_is_found_once(tmp_path: Path) -> None:
    file = tmp_path / "batches" / "x.json"
    sizes = iter([64, 128])
    assert fixed_batch(file, lambda: next(sizes)) == 64
    assert fixed_batch(file, lambda: next(sizes)) == 64
    assert [path.name for path in file.parent.iterdir()] == ["x.json"]
    assert fixed_batch(None, lambda: next(sizes)) == 128


def test_of_two_workers_the_first_decides(tmp_path: Path) -> None:
    file = tmp_path / "x.json"

    def find() -> int:
        fixed_batch(file, lambda: 32)  # another worker is quicker
        return 64

    assert fixed_batch(file, find) == 32


def test_the_operators_batch_size_takes_precedence() -> None:
    chosen = load("efficientnet_lite0", options=ExtractorOptions(device="cpu", threads=1, batch_size=3))
    assert chosen.provenance["batch_size"] == 3
    assert load("tiny", options=ExtractorOptions()).provenance["batch_size"] == 8


def test_the_real_gpu_has_the_imitations_methods() -> None:
    """Both have every method that the code calls."""
    used = {"pinned", "zeros", "stream", "on", "event", "capture", "name"}
    assert used <= set(dir(Gpu))
    assert used <= set(dir(LazyGpu))
    assert {name for name in dir(HostGpu) if not name.startswith("_")} <= set(dir(Gpu))


CPU = ExtractorOptions(device="cpu", threads=1)


def separable(*, stride: int = 1, padding: int = 0, groups: int = 1) -> nn.Sequential:
    """A depthwise convolution, then a 1 x 1 convolution."""
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(8, 8, 3, groups=8, padding=1), nn.Conv2d(8, 12, 1, stride=stride, padding=padding, groups=groups)
    )


def values(height: int = 7) -> Tensor:
    return torch.randn(2, 8, height, 6, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("stride", [1, 2])
@torch.inference_mode()
def test_a_convolution_of_one_pixel_is_a_product(stride: int) -> None:
    network = separable(stride=stride)
    expected = network(values())
    assert lay_out(network) is GpuLayout.POINTWISE_PRODUCTS
    assert isinstance(network[1], PointwiseProduct)
    found = network(values().contiguous(memory_format=torch.channels_last))
    assert found.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("network", [separable(padding=1), separable(groups=2)], ids=["padded", "in groups"])
@torch.inference_mode()
def test_other_convolutions_stay(network: nn.Sequential) -> None:
    expected = network(values())
    assert lay_out(network) is GpuLayout.POINTWISE_PRODUCTS
    assert isinstance(network[1], nn.Conv2d)
    torch.testing.assert_close(network(values()), expected)


@pytest.mark.parametrize(
    ("name", "layout", "products"),
    [
        ("inception_v3", GpuLayout.CHANNELS_FIRST, 0),
        ("inception_2015", GpuLayout.CHANNELS_FIRST, 0),
        ("nasnetalarge", GpuLayout.POINTWISE_PRODUCTS, 267),
        ("efficientnet_lite0", GpuLayout.POINTWISE_PRODUCTS, 32),
    ],
)
def test_networks_of_the_catalogue(name: str, layout: GpuLayout, products: int) -> None:
    network = unfilled_network(find_extractor(name))
    before = [module for module in network.modules() if isinstance(module, nn.Conv2d) and module.kernel_size == (1, 1)]
    assert lay_out(network) is layout
    made = [module for module in network.modules() if isinstance(module, PointwiseProduct)]
    assert len(made) == (len(before) if products else 0)
    assert len(made) == products


def test_a_gpu_gives_the_cpus_features_and_records_its_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.random.default_rng(2).integers(0, 256, (3, 64, 64, 3), dtype=np.uint8)
    expected = load("efficientnet_lite0", options=CPU).features(images)
    monkeypatch.setattr(torch_extractor, "find_gpu", lambda _: HostGpu())
    extractor = load("efficientnet_lite0", options=replace(CPU, batch_size=2))
    assert extractor.provenance["convolutions"] == "pointwise-products"
    difference = np.linalg.norm(extractor.features(images) - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert difference.max() < 1e-5
