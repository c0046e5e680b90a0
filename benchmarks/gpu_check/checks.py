"""What a check found, and the sizes of a run."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

PASSED, FAILED, NO_GPU = 0, 1, 2
"""Exit statuses."""


@dataclass(frozen=True)
class Plan:
    """Sizes of a run."""

    networks: tuple[str, ...] = ("inception_v3", "nasnetalarge", "inception_2015", "efficientnet_lite0")
    compared: int = 64
    """Images whose features are compared."""
    seconds: float = 15.0
    """Roughly how long the throughput of a network is measured."""
    max_images: int = 10_000
    matrix_side: int = 8192
    """Rows of the square matrices whose product is timed."""
    copied_bytes: int = 2**30
    """Size of the copy that is timed."""


@dataclass(frozen=True)
class Check:
    """One line of the outcome."""

    subject: str
    """The network, or ``GPU``."""
    name: str
    found: str
    demanded: str
    passed: bool


@dataclass(frozen=True)
class Throughput:
    """Images per second of a network, beside the bound of this device's measured peaks."""

    network: str
    batch_size: int
    images: int
    rate: float
    bound: float
    """Images per second: the lower of the roofs of arithmetic and memory."""
    gibibytes: float | None
    """The most device memory reserved; None on a CPU."""


def outcome_of(subject: str, name: str, demanded: str, check: Callable[[], tuple[str, bool]]) -> Check:
    """The line of one check, which returns what it found and whether that is enough. An error fails it."""
    try:
        found, passed = check()
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs on the page
        found, passed = f"{type(error).__name__}: {_first_line(error)}", False
    return Check(subject, name, found, demanded, passed)


def all_passed(checks: Iterable[Check]) -> bool:
    """Whether every check passed, and there was one."""
    results = [check.passed for check in checks]
    return bool(results) and all(results)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "no message")
