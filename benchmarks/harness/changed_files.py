"""Which files have changed since the commit that a result was measured at."""

import subprocess
from collections.abc import Callable, Sequence

from benchmarks.harness.isolation import ROOT

ChangedSince = Callable[[str, Sequence[str]], list[str] | None]
"""Which of some files and folders, by their paths in the repository, differ from a commit; None for one that is not
known here."""


def changed_since(commit: str, paths: Sequence[str]) -> list[str] | None:
    """The files among ``paths`` that differ in the working tree from a commit, whose ``-dirty`` is ignored."""
    command = ["git", "diff", "--name-only", commit.removesuffix("-dirty"), "--", *paths]
    if not commit:
        return None
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return None
