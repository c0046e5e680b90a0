"""The outcome of a check as Markdown."""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch.backends import cudnn

from benchmarks.gpu.roofline import Device
from benchmarks.gpu_check.checks import Check, Throughput, all_passed

FACTS = ("processor", "cores", "system", "commit", "date", "versions")
"""What a page tells of the machine and the code."""


def facts_of(device: torch.device) -> dict[str, str]:
    """What a device and its driver call themselves."""
    if device.type != "cuda":
        return {"device": "a CPU: a rehearsal, which says nothing about GPUs"}
    properties = torch.cuda.get_device_properties(device)
    return {
        "device": f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB, "
        f"compute capability {properties.major}.{properties.minor}",
        "CUDA of torch": str(torch.version.cuda),
        "cuDNN": str(cudnn.version()),  # type: ignore[no-untyped-call]
        "GPUs that this process sees": str(torch.cuda.device_count()),
    }


def page_of(
    facts: Mapping[str, str],
    peaks: Device | None,
    checks: Sequence[Check],
    throughputs: Sequence[Throughput],
    seconds: float,
) -> str:
    """The page: verdict, machine, checks, throughput."""
    failed = [check for check in checks if not check.passed]
    verdict = "passed" if all_passed(checks) else f"FAILED: {len(failed)} of {len(checks)} checks"
    roof = [] if peaks is None else [_peaks_in_words(peaks)]
    return "\n".join(
        [
            f"# GPU check: {verdict}",
            "",
            *table(("", ""), facts.items()),
            "",
            *table(
                ("", "check", "found", "demanded", ""),
                (
                    (each.subject, each.name, each.found, each.demanded, "ok" if each.passed else "**FAILED**")
                    for each in checks
                ),
            ),
            "",
            *roof,
            "",
            *table(
                ("network", "images/s", "of the roof", "roof, images/s", "batch", "memory, GiB", "images timed"),
                (_throughput_row(each) for each in throughputs),
            ),
            "",
            f"It took {seconds:.0f} s. Weights are seeded random numbers where no package has trained ones.",
            "",
        ]
    )


def _peaks_in_words(peaks: Device) -> str:
    return (
        f"Roof, measured here: {peaks.flops / 1e12:.2f} TFLOP/s in float32 without TF32 (a product of matrices), "
        f"{peaks.bandwidth / 1e9:,.0f} GB/s (a copy, read and written)."
    )


def _throughput_row(each: Throughput) -> tuple[str, ...]:
    memory = "" if each.gibibytes is None else f"{each.gibibytes:.1f}"
    share = f"{each.rate / each.bound:.0%}"
    return (
        each.network,
        f"{each.rate:,.0f}",
        share,
        f"{each.bound:,.0f}",
        str(each.batch_size),
        memory,
        str(each.images),
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table of Markdown."""
    lines = [_row(head), _row(["---"] * len(head))]
    return lines + [_row(row) for row in rows]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
