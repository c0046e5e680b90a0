"""How the operator wants networks to run."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from scorer.errors import Unavailable


@dataclass(frozen=True)
class ExtractorOptions:
    """``mode`` is about CPUs: ``compiled`` (torch.compile, frozen) or ``eager``; ``auto`` is :func:`default_mode`.

    ``batch`` and ``threads`` (None: the number of cores) are part of what a score means to its last bit, so they are
    recorded with it. ``cache_dir`` keeps compiled code across restarts.
    """

    weights_dir: Path | None = None
    weights_sha256: Mapping[str, str] = field(default_factory=dict)
    """By extractor name: hashes that the operator requires of weights that the catalogue cannot know."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    mode: Literal["auto", "compiled", "eager"] = "auto"
    batch: int = 16
    threads: int | None = None
    cache_dir: Path | None = None

    @property
    def chosen_mode(self) -> Literal["compiled", "eager"]:
        """The mode on a CPU; ``Unavailable`` if ``compiled`` was asked for and there is no compiler."""
        if self.mode == "auto":
            return default_mode()
        if self.mode == "compiled" and not has_compiler():
            raise Unavailable("no-compiler", "Compiled networks need a C++ compiler (g++), and there is none.")
        return self.mode


@cache
def has_compiler() -> bool:
    """Whether torch.compile would find a C++ compiler."""
    return shutil.which("g++") is not None or shutil.which("clang++") is not None


def default_mode() -> Literal["compiled", "eager"]:
    """``compiled`` where a C++ compiler is installed, else ``eager``; which one ran is in the provenance."""
    return "compiled" if has_compiler() else "eager"
