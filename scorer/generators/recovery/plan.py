"""The plan of a generator audit: how many images it searches for, and how thoroughly."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from scorer.errors import Invalid
from scorer.metrics.copying.near_targets import MIN_TARGETS

Method = Literal["wolfe", "authors"]
Region = tuple[float, float, float, float]


@dataclass(frozen=True)
class AuditPlan:
    """The parameters of an audit, as JSON from :meth:`as_json`. Equal plans give equal audits.

    Raises :class:`Invalid` (``bad-plan``) for impossible values.
    """

    train: int = 200
    """Training images to recover, drawn from all of them; fewer if there are fewer. If an entry is compared, half of
    them are near the entry, and half of the held-out images."""
    held_out: int = 200
    generated: int = 60
    """Images of the generator itself. Their recovery shows whether the search can be trusted."""
    entry: int = 60
    """Images of the entry to recover, if one is compared. If the generator is the entry, they replace ``generated``."""
    sampled: int = 1000
    """Newly drawn images to compare with the same number of the entry's images, using features. The images near the
    entry are also found with these features. 0 turns both off."""
    distorted: int = 20
    """Training and generated images to recover in each distorted form; 0 for none."""
    starts: int = 3
    """The most starts of a target. Only a target that is not recovered yet gets another one. The best start counts."""
    candidates: int = 64
    """Latent points drawn for a start; the nearest becomes the start. 1 is the paper's start."""
    iterations: int = 80
    method: Method = "wolfe"
    """``authors``: 50 evaluations with step 1 and no line search from a drawn point, as in the paper's code, which uses
    one start, and ten in its table 2."""
    stability: int = 0
    """Generated images that are also searched for, from this many starts each (the paper's appendix C)."""
    batch: int = 64
    """Images that the generator produces at a time."""
    region: Region | None = None
    """Top, left, bottom, right as shares of the image. Only this region is compared (local overfitting)."""
    seed: int = 0

    def __post_init__(self) -> None:
        minima = dict.fromkeys(("train", "held_out", "generated", "entry"), MIN_TARGETS)
        minima |= dict.fromkeys(("starts", "candidates", "iterations", "batch"), 1)
        minima |= dict.fromkeys(("sampled", "distorted", "stability", "seed"), 0)
        for name, minimum in minima.items():
            if getattr(self, name) < minimum:
                raise Invalid("bad-plan", f"{name} is {getattr(self, name)}; it must be at least {minimum}.")
        if self.method not in {"wolfe", "authors"}:
            raise Invalid("bad-plan", f"The method is {self.method}; use wolfe or authors.")
        if self.region is not None:
            top, left, bottom, right = self.region
            if not (0 <= top < bottom <= 1 and 0 <= left < right <= 1):
                raise Invalid(
                    "bad-plan", f"The region is {self.region}; it must be top, left, bottom, right from 0 to 1."
                )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def plan_from(parameters: Mapping[str, Any]) -> AuditPlan:
    """The plan with these parameters, from :meth:`AuditPlan.as_json` or a part of it; :class:`Invalid` (``bad-plan``)
    for unknown names.

    With the authors' steps a target has one start, unless ``starts`` is given.
    """
    unknown = parameters.keys() - {known.name for known in fields(AuditPlan)}
    if unknown:
        raise Invalid("bad-plan", f"An audit plan has no parameter {', '.join(sorted(unknown))}.")
    for name, value in parameters.items():
        if name not in {"method", "region"} and not isinstance(value, int):
            raise Invalid("bad-plan", f"{name} is {value}; it must be a whole number.")
    region = parameters.get("region")
    starts = {"starts": 1} if parameters.get("method") == "authors" else {}
    return AuditPlan(**{**starts, **parameters, "region": None if region is None else tuple(region)})
