"""Checks of each network on the device: loading, capture, equality with the CPU and itself, images per second."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.gpu_check.checks import Check, Plan, Throughput, run_check
from benchmarks.gpu_check.work import Device, count_cost
from benchmarks.harness.networks import find_extractor_spec, load_spec, write_weights
from scorer.extractor_catalogue import ExtractorSpec
from scorer.extractors import ExtractorOptions, Features
from scorer.extractors.torch_extractor import TorchExtractor
from scorer.metrics.cosine import host_shortlist
from scorer.metrics.memorization import nearest

Images = NDArray[np.uint8]
Found = tuple[str, bool]
"""The finding of a check, and whether it passed."""
SIDE = 64
"""Pixels, as in the competition of 2019."""
MAX_FROM_CPU = 1e-4
"""Relative difference of one image's features, in the norm.

Libraries add in different orders and may use Winograd's algorithm. A wrong layer, padding or normalisation causes a
much larger difference.
"""
MAX_FROM_UNCAPTURED = 1e-5
"""Relative difference of the same kernels inside and outside a graph."""


def noise(count: int, seed: int = 0) -> Images:
    """Images (count, 64, 64, 3)."""
    return np.random.default_rng(seed).integers(0, 256, (count, SIDE, SIDE, 3), dtype=np.uint8)


def distance(features: Features, others: Features) -> float:
    """The largest difference of one image's features, relative to their norm."""
    return float((np.linalg.norm(features - others, axis=1) / np.linalg.norm(others, axis=1)).max())


def load_on(spec: ExtractorSpec, options: ExtractorOptions) -> TorchExtractor:
    extractor = load_spec(spec, options)
    assert isinstance(extractor, TorchExtractor)
    return extractor


def check_network(
    name: str, options: ExtractorOptions, plan: Plan, *, peaks: Device, folder: Path
) -> tuple[list[Check], Throughput | None]:
    """Check one network, with seeded weights if no package has trained ones. No throughput if it does not load."""
    spec = find_extractor_spec(name)
    write_weights(spec, folder)
    options = replace(options, weights_dir=folder)
    loaded: list[TorchExtractor] = []

    def load() -> Found:
        start = time.perf_counter()
        loaded.append(load_on(spec, options))
        seconds, layout = time.perf_counter() - start, loaded[0].provenance["convolutions"]
        return f"{seconds:.1f} s, batch size {loaded[0].batch_size}, {layout}", True

    checks = [run_check(name, "loading and capture", "no error", check=load)]
    if not loaded:
        return checks, None
    (extractor,) = loaded
    images = noise(plan.compared)
    checks += [
        run_check(name, what, demanded, check=partial(check, extractor, images, options))
        for what, demanded, check in (
            ("same with and without capture", f"within {MAX_FROM_UNCAPTURED:g}", _compare_with_uncaptured),
            ("same as on the CPU", f"within {MAX_FROM_CPU:g}", _compare_with_cpu),
            ("determinism", "equal, bit for bit", _repeat),
            ("nearest neighbours", "equal to the CPU's, bit for bit", _compare_neighbours),
        )
    ]
    measured: list[Throughput] = []

    def measure() -> Found:
        measured.append(_throughput(extractor, plan, peaks))
        return f"{measured[0].rate:,.0f} images/s", True

    checks.append(run_check(name, "throughput", "no error", check=measure))
    return checks, measured[0] if measured else None


def _within(difference: float, bound: float) -> Found:
    found = "equal, bit for bit" if difference == 0.0 else f"{difference:.1e} relative"
    return found, difference <= bound


def _compare_with_uncaptured(extractor: TorchExtractor, images: Images, _: ExtractorOptions) -> Found:
    captured = extractor.features(images)
    extractor.release_graphs()  # the next call needs their memory
    return _within(distance(captured, extractor.uncaptured_features(images)), MAX_FROM_UNCAPTURED)


def _compare_with_cpu(extractor: TorchExtractor, images: Images, options: ExtractorOptions) -> Found:
    on_cpu = load_on(extractor.spec, replace(options, device="cpu", batch_size=None))
    return _within(distance(extractor.features(images), on_cpu.features(images)), MAX_FROM_CPU)


def _repeat(extractor: TorchExtractor, images: Images, options: ExtractorOptions) -> Found:
    """The same images again, in another order, and with the network loaded again."""
    features = extractor.features(images)
    order = np.random.default_rng(1).permutation(len(images))
    others = {
        "when repeated": extractor.features(images),
        "in another order": extractor.features(images[order])[np.argsort(order)],
    }
    extractor.release_graphs()
    reloaded = load_on(extractor.spec, replace(options, batch_size=extractor.batch_size))
    others["reloaded"] = reloaded.features(images)
    faults = [how for how, other in others.items() if not np.array_equal(features, other)]
    return (f"not equal {', '.join(faults)}" if faults else "equal " + ", ".join(others)), not faults


def _compare_neighbours(extractor: TorchExtractor, images: Images, _: ExtractorOptions) -> Found:
    """Compare nearest mirrored images with shortlists from the device and from the CPU."""
    features, others = extractor.features(images), extractor.features(np.ascontiguousarray(images[:, :, ::-1]))
    on_device, on_cpu = (
        nearest(features, others, shortlister=shortlister) for shortlister in (extractor.shortlister, host_shortlist)
    )
    equal = np.array_equal(on_device.index, on_cpu.index) and np.array_equal(on_device.distance, on_cpu.distance)
    return ("equal" if equal else "not equal"), equal


def _throughput(extractor: TorchExtractor, plan: Plan, peaks: Device) -> Throughput:
    """Time features for about ``plan.seconds``, from the host's memory and back."""
    trial = noise(min(2 * extractor.batch_size, plan.max_images))
    count = min(plan.max_images, max(len(trial), int(plan.seconds * _rate(extractor, trial))))
    images = noise(count)
    work = count_cost(extractor.spec.name)
    on_gpu = extractor.provenance["device"] == "cuda"
    if on_gpu:
        extractor.release_graphs()  # the peak so far is that of a batch size that was too large
        torch.cuda.reset_peak_memory_stats()
    return Throughput(
        extractor.spec.name,
        extractor.batch_size,
        count,
        _rate(extractor, images),
        work.bound(peaks, work.traffic),
        torch.cuda.max_memory_reserved() / 2**30 if on_gpu else None,
    )


def _rate(extractor: TorchExtractor, images: Images) -> float:
    extractor.features(images[: extractor.batch_size])
    start = time.perf_counter()
    extractor.features(images)
    return len(images) / (time.perf_counter() - start)
