"""The outcome of a check, and the sizes of a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch.backends import cudnn

from benchmarks.gpu_check.work import Device
from benchmarks.harness.machine import machine
from benchmarks.harness.report import render_markdown

PASSED, FAILED, NO_GPU = 0, 1, 2
"""Exit statuses."""


@dataclass(frozen=True)
class Plan:
    networks: tuple[str, ...] = ("inception_v3", "nasnetalarge", "inception_2015", "efficientnet_lite0")
    compared: int = 64
    """Number of images for comparing features."""
    seconds: float = 15.0
    """Approximate time for measuring a network's throughput."""
    max_images: int = 10_000
    matrix_side: int = 8192
    """Rows of the square matrices in the timed product."""
    copied_bytes: int = 2**30
    """Size of the timed copy."""


@dataclass(frozen=True)
class Check:
    """One line of the outcome."""

    subject: str
    """The network, or ``GPU``."""
    name: str
    found: str
    demanded: str
    passed: bool


@dataclass(frozen=True)
class Throughput:
    """Images per second of a network, with the bound from this device's measured peaks."""

    network: str
    batch_size: int
    images: int
    rate: float
    bound: float
    """Images per second: the roofline, the lower of the limits of arithmetic and memory."""
    gibibytes: float | None
    """The most device memory reserved; None on a CPU."""


def run_check(subject: str, name: str, demanded: str, *, check: Callable[[], tuple[str, bool]]) -> Check:
    """The line of one check. ``check`` returns its finding and whether it passed; an error fails it."""
    try:
        found, passed = check()
    except Exception as error:  # noqa: BLE001 - any error belongs on the page
        found, passed = f"{type(error).__name__}: {next(iter(str(error).strip().splitlines()), 'no message')}", False
    return Check(subject, name, found, demanded, passed)


def all_passed(checks: Iterable[Check]) -> bool:
    """Whether there was a check and every check passed."""
    results = [check.passed for check in checks]
    return bool(results) and all(results)


BAD = "**FAILED**"
FACTS = ("processor", "cores", "system", "commit", "date", "versions")


def describe_device(device: torch.device) -> dict[str, str]:
    """The page's facts about machine, code, device and driver."""
    facts = {name: value for name, value in machine().items() if name in FACTS}
    if device.type != "cuda":
        return facts | {"device": "a CPU: a rehearsal, which says nothing about GPUs"}
    properties = torch.cuda.get_device_properties(device)
    return facts | {
        "device": f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB, "
        f"compute capability {properties.major}.{properties.minor}",
        "CUDA version of torch": str(torch.version.cuda),
        "cuDNN": str(cudnn.version()),  # type: ignore[no-untyped-call]
        "GPUs visible to this process": str(torch.cuda.device_count()),
    }


def render_page(
    facts: Mapping[str, str],
    peaks: Sequence[Device],
    checks: Sequence[Check],
    *,
    throughputs: Sequence[Throughput],
    seconds: float,
) -> str:
    failed = [check for check in checks if not check.passed]
    verdict = "passed" if all_passed(checks) else f"FAILED: {len(failed)} of {len(checks)} checks"
    checked = [(row.subject, row.name, row.found, row.demanded, "ok" if row.passed else BAD) for row in checks]
    timed = [
        (
            network.network,
            f"{network.rate:,.0f}",
            f"{network.rate / network.bound:.0%}",
            f"{network.bound:,.0f}",
            str(network.batch_size),
            "" if network.gibibytes is None else f"{network.gibibytes:.1f}",
            str(network.images),
        )
        for network in throughputs
    ]
    columns = ("network", "images/s", "of the roofline", "roofline, images/s", "batch", "memory, GiB", "images timed")
    peaks_line = [
        f"Peaks measured here: {device.flops / 1e12:.2f} TFLOP/s in float32 without TF32 (matrix multiplication), "
        f"{device.bandwidth / 1e9:,.0f} GB/s (copy, counting reads and writes)."
        for device in peaks
    ]
    parts = [
        f"# GPU check: {verdict}",
        "\n".join(table(("", ""), facts.items())),
        "\n".join(table(("", "check", "found", "required", ""), checked)),
        *peaks_line,
        "\n".join(table(columns, timed)),
        f"The checks took {seconds:.0f} s. If no package contains a network's trained weights, it has random, seeded "
        "weights.",
    ]
    return "\n\n".join(parts) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return render_markdown(header, [[cell.replace("|", "/") for cell in row] for row in rows])
