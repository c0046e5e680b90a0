"""The packages of an image: a Python that finds what ``kennel-server[EXTRA]`` brings, where more is installed."""

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


def packages_of(extra: str) -> frozenset[str]:
    """The names of the distributions that ``kennel-server[extra]`` brings, by ``pyproject.toml`` and their metadata."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    found: set[tuple[str, str]] = set()
    wanted = [Requirement(line) for line in (*project["dependencies"], *project["optional-dependencies"][extra])]
    while wanted:
        requirement = wanted.pop()
        for each in {"", *requirement.extras}:
            if (requirement.name, each) not in found:
                found.add((requirement.name, each))
                wanted += _requirements(requirement.name, each)
    return frozenset(canonicalize_name(name) for name, _ in found)


def _requirements(name: str, extra: str) -> Iterator[Requirement]:
    for line in distribution(name).requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def block_other_packages(extra: str, folder: Path) -> None:
    """Write a ``sitecustomize.py`` into ``folder``: a Python with the folder in its PYTHONPATH finds the packages of
    ``kennel-server[extra]`` and no others."""
    allowed = {*packages_of(extra), DISTRIBUTION}
    blocked = {
        module
        for module, distributions in packages_distributions().items()
        if not allowed & {canonicalize_name(name) for name in distributions}
    }
    (folder / "sitecustomize.py").write_text(BLOCKER.format(blocked=sorted(blocked)))
