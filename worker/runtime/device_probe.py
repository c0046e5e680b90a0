"""The probe of a GPU: whether a new process can compute on it.

A process that has used CUDA cannot fork workers that use it, and one that has met an error of CUDA cannot use it again.
So the question is put to a process of its own, which is this module run as a program.
"""

import subprocess
import sys
from pathlib import Path

PROBE_SECONDS = 120
"""Loading torch and CUDA takes some seconds; a GPU that hangs never answers."""
DRIVER = (Path("/proc/driver/nvidia/version"), Path("/dev/nvidiactl"), Path("/dev/dxg"))
"""What is there where NVIDIA's driver is; the last one in a Linux that Windows runs."""
_SIDE = 64


def device_fault(device: str) -> str | None:
    """What is wrong with the GPU ``device`` (``cuda`` or ``cuda:3``), in a sentence; None if it computes."""
    try:
        probe = subprocess.run(  # noqa: S603 - this module, on a device that the settings name
            [sys.executable, "-m", __name__, device], capture_output=True, text=True, timeout=PROBE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"The GPU '{device}' has not answered within {PROBE_SECONDS} s."
    if probe.returncode == 0:
        return None
    lines = (probe.stdout or probe.stderr).strip().splitlines()
    return f"The GPU '{device}' does not compute: {lines[-1] if lines else f'exit status {probe.returncode}'}"


def device_found(device: str) -> str:
    """The device that ``auto`` finds: ``cuda`` if the first GPU computes, else still ``auto``; any other ``device`` as
    it is. Without a driver torch, which takes seconds to load, is not asked."""
    if device == "auto" and any(each.exists() for each in DRIVER) and device_fault("cuda") is None:
        return "cuda"
    return device


def _compute(device: str) -> None:
    """Multiply two matrices on ``device``."""
    # For the process of its own alone: torch, and numpy, which is memory that `kennel up` would keep.
    import torch  # noqa: PLC0415

    from scorer.extractors.devices import device_of  # noqa: PLC0415
    from scorer.extractors.options import ExtractorOptions, parse_device  # noqa: PLC0415

    kind, index = parse_device(device)
    ones = torch.ones(_SIDE, _SIDE, device=device_of(ExtractorOptions(device=kind, device_index=index)))
    if float((ones @ ones).sum()) != _SIDE**3:
        raise ArithmeticError("A product of two matrices is wrong.")


if __name__ == "__main__":
    try:
        _compute(sys.argv[1])
    except Exception as error:  # noqa: BLE001 - whatever it is, the GPU does not compute
        sys.exit(f"{type(error).__name__}: {error}")
