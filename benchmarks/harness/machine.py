"""The machine, the commit and the package versions that a result was measured with."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path

from benchmarks.harness.isolation import ROOT, THREADS

PACKAGES = [
    "numpy",
    "scipy",
    "torch",
    "onnxruntime",
    "timm",
    "pillow",
    "torchmetrics",
    "torch-fidelity",
    "pytorch-fid",
    "clean-fid",
]
WRITTEN = tuple(f":(exclude,glob)benchmarks/{path}" for path in ("*.md", "results/**", "figures/**", "query_plans/**"))
"""Git patterns that exclude the files written by benchmarks."""


def machine() -> dict[str, str]:
    """Processor, cores, memory, system, threads, date and time (UTC), commit, and the versions of :data:`PACKAGES`."""
    installed = {package.name.lower(): package.version for package in distributions()}
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "threads": str(THREADS),
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        "commit": _commit(),
        "versions": ", ".join(f"{package} {installed[package]}" for package in PACKAGES if package in installed),
    }


def _commit(root: Path = ROOT) -> str:
    """The checked-out commit, with ``-dirty`` if files outside :data:`WRITTEN` differ; empty outside git."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *WRITTEN)
        return git("describe", "--always", "--abbrev=10") + ("-dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _processor() -> str:
    """The processor's name from Linux, with family, model and stepping, since virtual machines hide the rest."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    numbers = ", ".join(f"{name} {facts[name]}" for name in ("cpu family", "model", "stepping") if name in facts)
    name = facts.get("model name", platform.machine())
    return f"{name} ({numbers})" if numbers else name
