"""``python -m benchmarks.gpu_check [--device cuda:0]``: check a GPU and print Markdown.

Exit status: 0 if all checks pass, 1 if one fails, 2 if there is no such GPU.
"""

import argparse
import gc
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks.gpu_check.checks import (
    FAILED,
    NO_GPU,
    PASSED,
    Plan,
    Throughput,
    all_passed,
    describe_device,
    render_page,
    run_check,
)
from benchmarks.gpu_check.faults import check_faults
from benchmarks.gpu_check.networks import check_network
from benchmarks.gpu_check.work import Device, measured_peaks
from scorer.errors import Unavailable
from scorer.extractors import ExtractorOptions
from scorer.extractors.devices import choose_device
from scorer.extractors.options import parse_device


def check(options: ExtractorOptions, plan: Plan, folder: Path) -> tuple[str, bool]:
    """Return the page, and whether all checks passed. Raises ``Unavailable`` without the device."""
    begun = time.perf_counter()
    device = choose_device(options)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    found: list[Device] = []

    def measure_peaks() -> tuple[str, bool]:
        found.append(measured_peaks(device, plan.copied_bytes, plan.matrix_side))
        return "see below", True

    checks = [run_check("GPU", "peaks", "no error", check=measure_peaks)]
    throughputs: list[Throughput] = []
    for name in plan.networks if found else ():
        print(f"{name} ...", file=sys.stderr, flush=True)
        outcomes, throughput = check_network(name, options, plan, peaks=found[0], folder=folder)
        checks += outcomes
        throughputs += [] if throughput is None else [throughput]
        gc.collect()  # the next network needs the memory
    if device.type == "cuda":
        print("missing memory, CUDA error ...", file=sys.stderr, flush=True)
        checks += check_faults(plan.networks[0], options, device, folder=folder)
    return render_page(
        describe_device(device), found, checks, throughputs=throughputs, seconds=time.perf_counter() - begun
    ), all_passed(checks)


def main(arguments: Sequence[str] | None = None, plan: Plan | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make gpu-check", description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:3, or cpu for a rehearsal")
    kind, index = parse_device(parser.parse_args(arguments).device)
    options = ExtractorOptions(device=kind, device_index=index)
    try:
        with TemporaryDirectory(prefix="kennel-gpu-check-") as folder:
            page, passed = check(options, plan or Plan(), Path(folder))
    except Unavailable as error:
        if error.slug != "no-gpu":
            raise
        print(f"{error.message} Nothing was checked.")
        return NO_GPU
    print(page)
    return PASSED if passed else FAILED


if __name__ == "__main__":
    sys.exit(main())
