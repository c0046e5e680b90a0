"""How thoroughly a generator is searched."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from scorer.errors import Invalid

Method = Literal["wolfe", "authors"]
Region = tuple[float, float, float, float]


@dataclass(frozen=True)
class Plan:
    """The numbers of an audit; JSON by :meth:`as_json`. Equal plans give equal audits.

    Raises :class:`Invalid` (``bad-plan``) for numbers that make no audit.
    """

    train: int = 200
    """Training images looked for, drawn from all of them; fewer where there are fewer."""
    held_out: int = 200
    generated: int = 60
    """Images of the generator itself: whether these are found says whether the search can be trusted."""
    distorted: int = 20
    """Training and generated images looked for in each distorted form; 0 for none."""
    starts: int = 3
    """Starts of a target at most: further ones only for targets that are not found yet. The best counts."""
    candidates: int = 64
    """A start is the nearest of so many latent points drawn; 1 is the paper's start."""
    iterations: int = 80
    method: Method = "wolfe"
    """``authors``: 50 evaluations with step 1 and no line search, one start, as in the paper's code."""
    batch: int = 64
    """Images that the generator makes at a time."""
    region: Region | None = None
    """Top, left, bottom, right as shares of the image: only there is compared (local overfitting)."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what makes no audit."""
        least = {"train": 8, "held_out": 8, "generated": 8, "starts": 1, "candidates": 1, "iterations": 1, "batch": 1}
        for name, number in (least | {"distorted": 0, "seed": 0}).items():
            if getattr(self, name) < number:
                raise Invalid("bad-plan", f"{name} must be at least {number}, not {getattr(self, name)}.")
        if self.method not in {"wolfe", "authors"}:
            raise Invalid("bad-plan", f"The method is wolfe or authors, not {self.method}.")
        if self.region is not None:
            top, left, bottom, right = self.region
            if not (0 <= top < bottom <= 1 and 0 <= left < right <= 1):
                raise Invalid("bad-plan", f"The region {self.region} is not top, left, bottom, right within 0..1.")

    def as_json(self) -> dict[str, Any]:
        """All numbers by name."""
        return asdict(self)


def plan_from(given: Mapping[str, Any]) -> Plan:
    """The plan that :meth:`Plan.as_json` told; :class:`Invalid` (``bad-plan``) for unknown names."""
    unknown = given.keys() - {each.name for each in fields(Plan)}
    if unknown:
        raise Invalid("bad-plan", f"A plan has no {', '.join(sorted(unknown))}.")
    region = given.get("region")
    return Plan(**{**given, "region": None if region is None else tuple(region)})
