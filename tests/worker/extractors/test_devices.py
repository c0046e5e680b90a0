"""The choice of a process's device, and GPUs that fail or run out of memory."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from benchmarks.harness.networks import find_extractor_spec, write_weights
from scorer.errors import Unavailable
from scorer.extractors import DeviceLost, ExtractorOptions, torch_extractor, weights
from scorer.extractors.devices import choose_device, is_device_error
from scorer.extractors.options import parse_device
from scorer.extractors.out_of_memory import is_out_of_memory
from scorer.extractors.torch_extractor import TorchExtractor
from tests.worker.extractors.host_gpu import OUT_OF_MEMORY, HostGpu
from worker.runtime import device_probe
from worker.runtime.device_probe import device_fault

SMALL = find_extractor_spec("small")
CPU = ExtractorOptions(device="cpu", threads=1)
ILLEGAL = "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be reported later."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights")
    write_weights(SMALL, path)
    return path


@pytest.fixture
def images() -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (11, 32, 32, 3), dtype=np.uint8)


def extractor_on(
    gpu: HostGpu, folder: Path, monkeypatch: pytest.MonkeyPatch, batch_size: int | None = None
) -> TorchExtractor:
    monkeypatch.setattr(torch_extractor, "find_gpu", lambda _: gpu)
    options = replace(CPU, weights_dir=folder, batch_size=batch_size)
    return TorchExtractor(SMALL, weights.read_weights(SMALL, options), options)


def accelerator_error(text: str, code: int | None = None) -> Exception:
    error: Any = torch.AcceleratorError(text)
    if code is not None:
        error.error_code = code
    return error  # type: ignore[no-any-return]


# One GPU per process


@pytest.mark.parametrize(
    ("name", "kind", "index"),
    [("auto", "auto", None), ("cpu", "cpu", None), ("cuda", "cuda", None), ("cuda:3", "cuda", 3)],
)
def test_a_device_is_named_by_kind_and_index(name: str, kind: str, index: int | None) -> None:
    assert parse_device(name) == (kind, index)


@pytest.mark.parametrize("name", ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:0", "auto:0"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="There is no device"):
        parse_device(name)


def test_a_process_takes_the_gpu_of_its_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 8)
    assert choose_device(ExtractorOptions(device="cuda", device_index=3)) == torch.device("cuda:3")
    assert choose_device(ExtractorOptions(device="cuda")) == choose_device(ExtractorOptions()) == torch.device("cuda:0")
    assert choose_device(ExtractorOptions(device="cpu", device_index=3)) == torch.device("cpu")
    with pytest.raises(Unavailable, match=r"set to 'cuda:8', but torch finds only GPUs 0 to 7") as error:
        choose_device(ExtractorOptions(device="cuda", device_index=8))
    assert error.value.slug == "no-gpu"


def test_without_a_gpu_only_auto_takes_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device(ExtractorOptions()) == torch.device("cpu")
    with pytest.raises(Unavailable, match="set to 'cuda', but torch finds no GPU"):
        choose_device(ExtractorOptions(device="cuda"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_new_process_reports_a_gpu_that_does_not_work() -> None:
    fault = device_fault("cuda:1")
    assert fault is not None
    assert fault.startswith("The GPU 'cuda:1' does not work: Unavailable: The device is set to 'cuda:1'")


# Out of memory


@pytest.mark.parametrize(
    ("error", "memory", "device"),
    [
        (torch.OutOfMemoryError(OUT_OF_MEMORY), True, False),
        (accelerator_error("CUDA error: out of memory"), True, True),
        (accelerator_error("an error", code=2), True, True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True, True),
        (accelerator_error(ILLEGAL), False, True),
        (accelerator_error("an error", code=700), False, True),
        (RuntimeError("CUDA error: unspecified launch failure"), False, True),
        (RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"), False, True),
        (RuntimeError("The size of tensor a (3) must match the size of tensor b (4)"), False, False),
        (ValueError("CUDA error"), False, False),
    ],
)
def test_errors_are_distinguished(error: Exception, memory: bool, device: bool) -> None:
    assert is_out_of_memory(error) is memory
    if not memory:
        assert is_device_error(error) is device


def test_a_capture_that_fails_for_lack_of_memory_is_out_of_memory() -> None:
    error = accelerator_error("CUDA error: operation failed due to a previous error during capture")
    assert not is_out_of_memory(error)
    error.__context__ = torch.OutOfMemoryError(OUT_OF_MEMORY)
    assert is_out_of_memory(error)


def test_a_batch_that_does_not_fit_is_halved(
    folder: Path, images: NDArray[np.uint8], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        extractor = extractor_on(HostGpu(room=3), folder, monkeypatch, batch_size=8)
    assert [record.getMessage() for record in caplog.records] == [
        "small@1: cpu has no memory for 8 images at a time; continuing with 4",
        "small@1: cpu has no memory for 4 images at a time; continuing with 2",
    ]
    assert extractor.provenance["batch_size"] == 2
    expected = extractor_on(HostGpu(), folder, monkeypatch, batch_size=2)
    assert np.array_equal(extractor.features(images), expected.features(images)), (
        "features are those of the recorded batch size"
    )


@pytest.mark.parametrize(
    "fault", [torch.OutOfMemoryError(OUT_OF_MEMORY), accelerator_error("CUDA error: out of memory")]
)
def test_running_out_of_memory_changes_all_batches_of_an_entry(
    folder: Path, images: NDArray[np.uint8], monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    extractor = extractor_on(HostGpu(faults=[None, None, None, fault]), folder, monkeypatch, batch_size=4)
    before = extractor.provenance
    shares: list[float] = []
    features = extractor.features(images, progress=shares.append)
    assert (before["batch_size"], extractor.provenance["batch_size"]) == (4, 2)
    assert shares[-1] == 1.0
    assert np.array_equal(features, extractor_on(HostGpu(), folder, monkeypatch, batch_size=2).features(images))


def test_a_gpu_without_room_for_one_image_is_no_fault_of_the_entry(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Unavailable) as error:
        extractor_on(HostGpu(room=0), folder, monkeypatch, batch_size=4)
    assert error.value.slug == "no-gpu-memory"


def test_the_batch_is_the_largest_that_fits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert extractor_on(HostGpu(room=50), folder, monkeypatch).provenance["batch_size"] == 32


def test_weights_and_activations_of_all_loaded_networks_have_room(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both tracks' networks in both processes that take turns."""
    weights_bytes = extractor_on(HostGpu(), folder, monkeypatch, batch_size=1)._weight_bytes
    gpu = HostGpu()
    gpu.image_bytes = weights_bytes / 40
    gpu.memory_bytes = 5 * 2 * weights_bytes
    batch = extractor_on(gpu, folder, monkeypatch).provenance["batch_size"]
    assert batch == 32, "64 images would fit only without weights"
    assert 2 * 2 * (weights_bytes + batch * gpu.image_bytes) <= 0.8 * gpu.memory_bytes


def test_graphs_of_one_shape_are_held_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = HostGpu()
    extractor = extractor_on(gpu, folder, monkeypatch, batch_size=2)
    gpu.captures.clear()
    for _ in range(2):
        extractor.features(np.ones((3, 32, 32, 3), np.uint8))
    assert len(gpu.captures) == 2, "two slots, captured once"
    extractor.features(np.ones((3, 40, 32, 3), np.uint8))
    assert len(gpu.captures) == 4
    assert len(extractor._slots) == 1


# Lost devices


@pytest.mark.parametrize(
    "fault",
    [accelerator_error(ILLEGAL), RuntimeError(ILLEGAL), RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED")],
)
@pytest.mark.parametrize("replays", [0, 3])
def test_a_cuda_error_loses_the_device(
    folder: Path, images: NDArray[np.uint8], monkeypatch: pytest.MonkeyPatch, fault: Exception, replays: int
) -> None:
    """During loading and during computation."""
    gpu = HostGpu(faults=[*[None] * replays, fault])
    with pytest.raises(DeviceLost, match=r"illegal memory access|EXECUTION_FAILED") as error:
        extractor_on(gpu, folder, monkeypatch, batch_size=4).features(images)
    assert "\n" not in str(error.value)
    assert error.value.__cause__ is fault


def test_other_errors_are_raised_unchanged(
    folder: Path, images: NDArray[np.uint8], monkeypatch: pytest.MonkeyPatch
) -> None:
    extractor = extractor_on(HostGpu(faults=[None, None, RuntimeError("a bug")]), folder, monkeypatch, batch_size=4)
    with pytest.raises(RuntimeError, match="a bug"):
        extractor.features(images)
    assert extractor.provenance["batch_size"] == 4


def test_torch_looks_for_a_gpu_only_if_its_driver_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch takes seconds to load."""

    def fault(_: str) -> str | None:
        raise AssertionError("torch was loaded")

    monkeypatch.setattr(device_probe, "DRIVER", (tmp_path / "nvidiactl",))
    monkeypatch.setattr(device_probe, "device_fault", fault)
    assert device_probe.device_found("auto") == "auto"
