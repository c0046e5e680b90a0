"""The version of the product, by the name under which it is installed."""

import tomllib
from pathlib import Path

from scorer.product_version import DISTRIBUTION


def test_the_distribution_has_this_name() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION


def test_no_other_module_asks_for_a_version_by_name() -> None:
    """It would ask for a name that is not installed."""
    root = Path(__file__).parents[2]
    asking = [
        path.relative_to(root).as_posix()
        for folder in ("api", "deploy", "scorer", "worker")
        for path in (root / folder).rglob("*.py")
        if any(f"version({quote}kennel" in path.read_text() for quote in "\"'")
    ]
    assert asking == []
