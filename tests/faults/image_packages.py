"""Limits a Python to the packages of an image, those of ``kennel-server[EXTRA]``, even if more are installed."""

import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scorer.product_version import DISTRIBUTION

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
BLOCKER = """
import sys

BLOCKED = frozenset({blocked!r})


class Blocked:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, *places):
        return None if name.partition(".")[0] in BLOCKED else self.finder.find_spec(name, *places)


sys.meta_path[:] = map(Blocked, sys.meta_path)
"""


def list_packages(extra: str) -> frozenset[str]:
    """The distributions that ``kennel-server[extra]`` requires, from ``pyproject.toml`` and their metadata."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    found: set[tuple[str, str]] = set()
    wanted = [Requirement(line) for line in (*project["dependencies"], *project["optional-dependencies"][extra])]
    while wanted:
        requirement = wanted.pop()
        for own in {"", *requirement.extras}:
            if (requirement.name, own) not in found:
                found.add((requirement.name, own))
                wanted += _requirements(requirement.name, own)
    return frozenset(canonicalize_name(name) for name, _ in found)


def _requirements(name: str, extra: str) -> Iterator[Requirement]:
    for line in distribution(name).requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def block_other_packages(extra: str, folder: Path) -> None:
    """Write a ``sitecustomize.py`` into ``folder``.

    A Python with the folder in its PYTHONPATH only finds the packages of ``kennel-server[extra]``.
    """
    allowed = {*list_packages(extra), DISTRIBUTION}
    blocked = {
        module
        for module, distributions in packages_distributions().items()
        if not allowed & {canonicalize_name(name) for name in distributions}
    }
    (folder / "sitecustomize.py").write_text(BLOCKER.format(blocked=sorted(blocked)))
