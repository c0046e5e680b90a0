"""The product's version is looked up under the name of its installed distribution."""

import tomllib
from pathlib import Path

from scorer.product_version import DISTRIBUTION


def test_the_project_has_the_name_of_the_distribution() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION


def test_no_other_module_looks_up_the_version() -> None:
    """Another name may not be installed."""
    root = Path(__file__).parents[2]
    modules = [
        path.relative_to(root).as_posix()
        for folder in ("api", "deploy", "scorer", "worker")
        for path in (root / folder).rglob("*.py")
        if any(f"version({quote}kennel" in path.read_text() for quote in "\"'")
    ]
    assert modules == []
