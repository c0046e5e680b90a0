"""The GPU check, as far as it can run without a GPU, and the computed work of networks."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks.gpu_check import entries, faults
from benchmarks.gpu_check.__main__ import main
from benchmarks.gpu_check.checks import FAILED, NO_GPU, PASSED, Check, Plan, all_passed
from benchmarks.gpu_check.work import Device, count_cost, measured_peaks
from benchmarks.harness.results import HERE, RESULTS
from scorer.extractors import ExtractorOptions, torch_extractor
from tests.worker.extractors.host_gpu import HostGpu

ROOT = Path(__file__).parents[3]
PLAN = Plan(networks=("small",), compared=6, seconds=0.01, max_images=16, matrix_side=64, copied_bytes=2**16)
CPU = ["--device", "cpu"]


@pytest.fixture(autouse=True)
def one_thread_each(one_thread: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the other cores to tests that run at the same time."""
    monkeypatch.setattr(ExtractorOptions, "resolved_threads", 1)


def rows(page: str) -> dict[str, list[str]]:
    """The table cells of the checks of ``small``, by check."""
    table = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| small")
    ]
    return {cells[1]: cells for cells in table}


def on_imitation(monkeypatch: pytest.MonkeyPatch, *kinds: type[HostGpu]) -> list[HostGpu]:
    """Replace the CPU with imitated GPUs of these kinds in turn, and return the created ones."""
    made: list[HostGpu] = []

    def find_gpu(_: torch.device) -> HostGpu:
        made.append(kinds[len(made) % len(kinds)](room=8))
        return made[-1]

    monkeypatch.setattr(torch_extractor, "find_gpu", find_gpu)
    return made


def test_a_rehearsal_on_the_cpu_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(CPU, PLAN) == PASSED
    page = capsys.readouterr().out
    assert page.startswith("# GPU check: passed\n")
    assert "a CPU: a rehearsal, which says nothing about GPUs" in page
    assert "TFLOP/s in float32 without TF32" in page
    checks = rows(page)
    assert {name: cells[-1] for name, cells in checks.items() if cells[-1] == "ok"} == {
        "loading and capture": "ok",
        "same with and without capture": "ok",
        "same as on the CPU": "ok",
        "determinism": "ok",
        "nearest neighbours": "ok",
        "throughput": "ok",
    }
    assert checks["determinism"][2] == "equal when repeated, in another order, reloaded"
    assert "| network | images/s | of the roofline |" in page


def test_graphs_are_checked_on_the_imitation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = on_imitation(monkeypatch, HostGpu)
    assert main(CPU, PLAN) == PASSED
    assert len(made) == 3, "loaded on the GPU, on the CPU, and again"
    assert all(gpu.captures for gpu in made)
    assert rows(capsys.readouterr().out)["same with and without capture"][2] == "equal, bit for bit"


class Drifting(HostGpu):
    """A GPU with slightly wrong graphs."""

    def capture(self, stream: object, run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        return super().capture(stream, lambda: run() * 1.001)


class Restless(HostGpu):
    """A GPU with graphs that never give the same bits twice."""

    def capture(self, stream: object, run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        drift = [1.0]

        def other() -> Tensor:
            drift[0] += 1e-6
            return run() * drift[0]

        return super().capture(stream, other)


class Refusing(HostGpu):
    """A GPU that fails with CUDA's error for a constant made inside a capture."""

    def capture(self, stream: object, run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        raise RuntimeError("Cannot copy between CPU and CUDA tensors during CUDA graph capture\nunless pinned")


@pytest.mark.parametrize(
    ("kind", "name", "found"),
    [
        (Drifting, "same with and without capture", "1.0e-03 relative"),
        (Restless, "determinism", "not equal when repeated, in another order, reloaded"),
        (Refusing, "loading and capture", "RuntimeError: Cannot copy between CPU and CUDA tensors during CUDA graph"),
    ],
)
def test_a_faulty_gpu_fails_its_check(
    kind: type[HostGpu],
    name: str,
    found: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    on_imitation(monkeypatch, kind)
    assert main(CPU, PLAN) == FAILED
    page = capsys.readouterr().out
    assert page.startswith("# GPU check: FAILED: ")
    assert rows(page)[name][2].startswith(found)
    assert rows(page)[name][-1] == "**FAILED**"


def test_a_result_other_than_the_cpus_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_imitation(monkeypatch, HostGpu, Drifting, HostGpu)
    assert main(CPU, PLAN) == FAILED
    failed = {name for name, cells in rows(capsys.readouterr().out).items() if cells[-1] == "**FAILED**"}
    assert failed == {"same as on the CPU"}


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_without_a_gpu_nothing_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], PLAN) == NO_GPU
    assert capsys.readouterr().out == ("The device is set to 'cuda', but torch finds no GPU. Nothing was checked.\n")


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_without_a_gpu_no_entries_are_scored(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        entries.main([])
    assert ended.value.code == NO_GPU
    assert capsys.readouterr().err == ("The device is set to 'cuda', but torch finds no GPU. Nothing was measured.\n")


def test_no_check_is_no_success() -> None:
    passed = Check("GPU", "a", "b", "c", passed=True)
    assert all_passed([passed])
    assert not all_passed([passed, Check("GPU", "a", "b", "c", passed=False)])
    assert not all_passed([])


def test_peaks_are_measured() -> None:
    peaks = measured_peaks(torch.device("cpu"), 2**16, 64)
    assert peaks.flops > 0
    assert peaks.bandwidth > 0


# Functions of CUDA, imitated


def test_less_memory_gives_a_smaller_batch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    room = [32]
    shares: list[float] = []

    def restrict(share: float, _: object) -> None:
        shares.append(share)
        room[0] = 32 if share == 1.0 else 10

    for name in ("empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda *_: None)
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda *_: 40)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda *_: SimpleNamespace(total_memory=100))
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", restrict)
    monkeypatch.setattr(torch_extractor, "find_gpu", lambda _: HostGpu(room=room[0]))
    options = ExtractorOptions(device="cpu", threads=1)
    found, passed = faults._crowd("small", options, torch.device("cpu"), folder=tmp_path)
    assert passed
    assert found.startswith("batch size reduced from 32 to 8")
    assert shares == [pytest.approx(0.24), 1.0]


def test_a_provoked_error_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(_: torch.device) -> None:
        raise torch.AcceleratorError("CUDA error: device-side assert triggered\nmore")

    monkeypatch.setattr(faults, "lose", lose)
    caught: Any = faults.caught
    assert caught(torch.device("cpu")) == "AcceleratorError: CUDA error: device-side assert triggered"
    monkeypatch.setattr(faults, "lose", lambda _: None)
    with pytest.raises(SystemExit, match="no error was raised"):
        caught(torch.device("cpu"))


def test_a_program_that_raises_nothing_fails_the_check() -> None:
    found, passed = faults._lose(torch.device("cpu"))
    assert not passed
    assert "IndexError" in found


def test_make_runs_the_check() -> None:
    dry = subprocess.run(
        ["make", "--dry-run", "gpu-check", "DEVICE=cuda:3"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "python -m benchmarks.gpu_check --device cuda:3" in dry.stdout


def test_the_idle_share_spans_before_the_first_batch_to_after_the_last() -> None:
    seen = entries.Observed(
        uploaded=[1.0, 2.0],
        public={"b": 20.0, "a": 12.0},
        private={"a": 30.0, "b": 44.0},
        busy=[(0.0, 5.0), (8.0, 5.0), (9.0, 6.5), (30.0, 20.0), (48.0, 35.0), (50.0, 35.0)],
    )
    page = entries.render_page(seen, entries.Size(entries=2), {"device": "imagined"})
    assert "was 40.0 s, **20.0 s per entry**" in page  # from 8 to 48
    assert "Batches were in progress for 30.0 s, so the GPU was **idle for 25.0%**" in page
    assert "| 1.0 | 12.0 | 30.0 |\n| 2.0 | 20.0 | 44.0 |" in page


def test_the_whole_service_scores_entries(capsys: pytest.CaptureFixture[str]) -> None:
    lite = "efficientnet_lite0"
    references = {"train": 12, "held_out": 8, "private_extra": 8}
    size = entries.Size(entries=2, images=8, references=references, public=lite, private=lite)
    assert entries.main(CPU, size) == 0
    page = capsys.readouterr().out
    assert page.startswith("# 2 entries of 8 images, scored by the whole service\n")
    assert "References: 12 train, 8 held out, 8 private extra." in page


H100 = Device("NVIDIA H100 SXM", flops=67e12, bandwidth=3.35e12)
PAGE = (HERE / "GPU.md").read_text()


@pytest.mark.parametrize(
    ("name", "multiplications", "parameters"),
    # From timm's tables: 5.73 and 23.89 billion; 21.8 and 84.7 million without the classifier.
    [("inception_v3", 5.73e9, 21.8e6), ("nasnetalarge", 23.89e9, 84.7e6)],
)
def test_the_work_per_image_matches_published_numbers(name: str, multiplications: float, parameters: float) -> None:
    work = count_cost(name)
    assert work.flops == pytest.approx(2 * multiplications, rel=0.01)
    assert work.weights == pytest.approx(4 * parameters, rel=0.01)
    assert 0 < work.min_traffic < work.traffic
    assert work.bound(H100, work.traffic) <= H100.flops / work.flops
    row = (
        f"| `{name}` | {work.flops / 1e9:.1f} | {work.weights / 1e6:.0f} | {work.traffic / 1e6:.0f} |"
        f" {work.min_traffic / 1e6:.0f} | {H100.flops / work.flops:,.0f} | {H100.bandwidth / work.traffic:,.0f} |"
        f" {H100.bandwidth / work.min_traffic:,.0f} |"
    )
    assert row in PAGE


def test_the_page_has_the_newest_check() -> None:
    newest = sorted((RESULTS / "gpu_checks").glob("*.md"))[-1].read_text()
    assert newest.removeprefix("# GPU check: passed\n").strip() in PAGE
