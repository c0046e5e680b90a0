"""The machine, the commit and the package versions that a result was measured with."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.harness.isolation import ROOT, THREADS

PACKAGES = (
    "numpy",
    "scipy",
    "torch",
    "timm",
    "pillow",
    "torchmetrics",
    "torch-fidelity",
    "pytorch-fid",
    "clean-fid",
)

WRITTEN = tuple(
    f":(exclude,glob){path}"
    for path in ("benchmarks/*.md", "benchmarks/results/**", "benchmarks/figures/**", "docs/how-to/plan-capacity.md")
)
"""Git's patterns without the files that benchmarks write: of several that run one after the other, each finds those of
the ones before it."""


def machine() -> dict[str, str]:
    """Processor, cores, memory, system, threads, date and time (UTC), commit, and the versions of :data:`PACKAGES`."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "threads": str(THREADS),
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
        "commit": _commit(),
        "versions": ", ".join(f"{package} {_version(package)}" for package in PACKAGES),
    }


def _commit(root: Path = ROOT) -> str:
    """The commit that is checked out, ``-dirty`` if files differ from it but for those that benchmarks write; empty
    outside a git repository."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    try:
        commit = git("describe", "--always", "--abbrev=10")
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *WRITTEN)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f"{commit}-dirty" if changed else commit


def _processor() -> str:
    """The processor's name from Linux, with family, model and stepping, since virtual machines hide the rest."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    numbers = ", ".join(f"{name} {facts[name]}" for name in ("cpu family", "model", "stepping") if name in facts)
    name = facts.get("model name", platform.machine())
    return f"{name} ({numbers})" if numbers else name


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
