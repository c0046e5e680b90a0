"""The version of the product, by the name under which it is installed."""

import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from scorer import product_version
from scorer.product_version import DISTRIBUTION, FORMER_DISTRIBUTION


@pytest.fixture(autouse=True)
def _ask_anew() -> Iterator[None]:
    product_version.product_version.cache_clear()
    yield
    product_version.product_version.cache_clear()


@pytest.mark.parametrize(
    ("installed", "told"),
    [
        ({DISTRIBUTION: "2.0"}, "2.0"),
        ({FORMER_DISTRIBUTION: "1.0"}, "1.0"),
        ({FORMER_DISTRIBUTION: "0.0.0", DISTRIBUTION: "2.0"}, "2.0"),
    ],
)
def test_the_version_is_that_of_the_server(
    installed: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last: a foreign package of the former name stands beside it."""

    def version(name: str) -> str:
        if name not in installed:
            raise PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(product_version, "version", version)
    assert product_version.product_version() == told


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
