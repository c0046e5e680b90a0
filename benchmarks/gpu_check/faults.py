"""Checks of a GPU without enough memory and after a CUDA error. They need CUDA.

``python -m benchmarks.gpu_check.faults cuda:0`` provokes the error and prints Kennel's interpretation. It runs in a
separate process, because nothing in that process can use the GPU afterwards.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.gpu_check.checks import Check, run_check
from benchmarks.gpu_check.networks import MAX_FROM_UNCAPTURED, distance, load_on, noise
from benchmarks.harness.isolation import ROOT
from benchmarks.harness.networks import find_extractor_spec, write_weights
from scorer.extractors import DeviceLost, ExtractorOptions
from scorer.extractors.devices import translated_device_errors
from worker.runtime.device_probe import device_fault

SECONDS = 120
SHARE = 0.6
"""The share of a network's memory that remains for it."""


def check_faults(name: str, options: ExtractorOptions, device: torch.device, *, folder: Path) -> list[Check]:
    return [
        run_check(
            "GPU",
            "out of memory",
            "a smaller batch size, no failure",
            check=lambda: _crowd(name, options, device, folder=folder),
        ),
        run_check("GPU", "a CUDA error is treated as a device loss", "yes", check=lambda: _lose(device)),
        run_check("GPU", "the next process can use it", "yes", check=lambda: _probed(device)),
    ]


def _crowd(name: str, options: ExtractorOptions, device: torch.device, *, folder: Path) -> tuple[str, bool]:
    """Load a network, then load it again with less memory than it took."""
    spec = find_extractor_spec(name)
    write_weights(spec, folder)
    options = replace(options, weights_dir=folder)
    images = noise(16)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    roomy = load_on(spec, options)
    features, batch_size = roomy.features(images), roomy.batch_size
    used = torch.cuda.max_memory_reserved(device) / torch.cuda.get_device_properties(device).total_memory
    del roomy
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(SHARE * used, device)
    try:
        crowded = load_on(spec, replace(options, batch_size=batch_size))
        difference = distance(crowded.features(images), features)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, device)
    found = f"batch size reduced from {batch_size} to {crowded.batch_size}, features within {difference:.1e}"
    return found, crowded.batch_size < batch_size and difference <= MAX_FROM_UNCAPTURED


def _lose(device: torch.device) -> tuple[str, bool]:
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu_check.faults", str(device)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    lines = (ended.stdout or ended.stderr).strip().splitlines()
    return (lines[-1] if lines else f"exit status {ended.returncode}"), ended.returncode == 0


def _probed(device: torch.device) -> tuple[str, bool]:
    fault = device_fault(str(device))
    return fault or "yes", fault is None


def lose(device: torch.device) -> None:
    """Read beyond the end of an array. A kernel on the GPU notices it."""
    values = torch.zeros(1, device=device)
    values[torch.tensor([7]).to(device)].sum()
    torch.cuda.synchronize(device)


def caught(device: torch.device) -> str:
    try:
        with translated_device_errors():
            lose(device)
    except DeviceLost as error:
        return str(error)
    raise SystemExit("no error was raised")


if __name__ == "__main__":
    print(caught(torch.device(sys.argv[1])))
