"""The probe of a GPU: whether a new process can compute on it.

A process that has used CUDA cannot fork workers that use it, and after a CUDA error it cannot use CUDA again. Therefore
a separate process, which runs this module as a program, does the test.
"""

import subprocess
import sys
from pathlib import Path

PROBE_SECONDS = 120
"""Loading torch and CUDA takes some seconds; a GPU that hangs never responds."""
DRIVER = (Path("/proc/driver/nvidia/version"), Path("/dev/nvidiactl"), Path("/dev/dxg"))
"""Files of NVIDIA's driver; the last one is for Linux on Windows (WSL)."""
_SIDE = 64


def device_fault(device: str) -> str | None:
    """The fault of the GPU ``device`` (``cuda`` or ``cuda:3``), as a sentence; None if it works."""
    try:
        probe = subprocess.run(  # noqa: S603 - this module, on a device that the settings name
            [sys.executable, "-m", __name__, device], capture_output=True, text=True, timeout=PROBE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"The GPU '{device}' has not responded within {PROBE_SECONDS} s."
    if probe.returncode == 0:
        return None
    lines = (probe.stdout or probe.stderr).strip().splitlines()
    return f"The GPU '{device}' does not work: {lines[-1] if lines else f'exit status {probe.returncode}'}"


def device_found(device: str) -> str:
    """The device that ``auto`` means: ``cuda`` if the first GPU works, else still ``auto``; any other ``device``
    unchanged. Without a driver, torch, which takes seconds to load, is not imported.
    """
    if device == "auto" and any(path.exists() for path in DRIVER) and device_fault("cuda") is None:
        return "cuda"
    return device


def _compute(device: str) -> None:
    """Multiply two matrices on ``device``."""
    # Only in the separate process: torch and numpy use memory that `kennel up` would keep.
    import torch  # noqa: PLC0415

    from scorer.extractors.devices import choose_device  # noqa: PLC0415
    from scorer.extractors.options import ExtractorOptions, parse_device  # noqa: PLC0415

    kind, index = parse_device(device)
    ones = torch.ones(_SIDE, _SIDE, device=choose_device(ExtractorOptions(device=kind, device_index=index)))
    if float((ones @ ones).sum()) != _SIDE**3:
        raise ArithmeticError("The product of two matrices is wrong.")


if __name__ == "__main__":
    try:
        _compute(sys.argv[1])
    except Exception as error:  # noqa: BLE001 - whatever it is, the GPU does not compute
        sys.exit(f"{type(error).__name__}: {error}")
