"""The plan of a generator audit: how many images are searched for, and how thoroughly."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from scorer.errors import Invalid
from scorer.metrics.copying.near_targets import MIN_TARGETS

Method = Literal["wolfe", "authors"]
Region = tuple[float, float, float, float]


@dataclass(frozen=True)
class AuditPlan:
    """The parameters of an audit; JSON by :meth:`as_json`. Equal plans give equal audits.

    Raises :class:`Invalid` (``bad-plan``) for impossible values.
    """

    train: int = 200
    """Training images to recover, drawn from all of them; fewer where there are fewer. Half of them, and of the
    held-out ones, are near to the entry where one is compared."""
    held_out: int = 200
    generated: int = 60
    """Images of the generator itself: their recovery shows whether the search can be trusted."""
    entry: int = 60
    """Images of the entry to recover, where one is compared."""
    sampled: int = 1000
    """Newly drawn images whose features are compared with those of as many images of the entry. By these features the
    images near to the entry are found, too; 0 for neither."""
    distorted: int = 20
    """Training and generated images to recover in each distorted form; 0 for none."""
    starts: int = 3
    """Maximum starts of a target: further ones only for targets not recovered yet. The best counts."""
    candidates: int = 64
    """Latent points drawn for a start, of which the nearest is taken; 1 is the paper's start."""
    iterations: int = 80
    method: Method = "wolfe"
    """``authors``: 50 evaluations with step 1 and no line search from a drawn point, as in the paper's code; there with
    one start, and with ten in its table 2."""
    stability: int = 0
    """Generated images that are also searched from as many starts, the same for all (the paper's appendix C)."""
    batch: int = 64
    """Images that the generator makes at a time."""
    region: Region | None = None
    """Top, left, bottom, right as shares of the image: only this region is compared (local overfitting)."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        minima = dict.fromkeys(("train", "held_out", "generated", "entry"), MIN_TARGETS)
        minima |= dict.fromkeys(("starts", "candidates", "iterations", "batch"), 1)
        minima |= dict.fromkeys(("sampled", "distorted", "stability", "seed"), 0)
        for name, minimum in minima.items():
            if getattr(self, name) < minimum:
                raise Invalid("bad-plan", f"{name} must be at least {minimum}, not {getattr(self, name)}.")
        if self.method not in {"wolfe", "authors"}:
            raise Invalid("bad-plan", f"The method is wolfe or authors, not {self.method}.")
        if self.region is not None:
            top, left, bottom, right = self.region
            if not (0 <= top < bottom <= 1 and 0 <= left < right <= 1):
                raise Invalid("bad-plan", f"The region {self.region} is not top, left, bottom, right within 0..1.")

    def as_json(self) -> dict[str, Any]:
        """All parameters by name."""
        return asdict(self)


def plan_from(parameters: Mapping[str, Any]) -> AuditPlan:
    """The plan of :meth:`AuditPlan.as_json`, or of a part of it; :class:`Invalid` (``bad-plan``) for unknown names.

    With the authors' steps a target has one start, unless ``starts`` is given.
    """
    unknown = parameters.keys() - {each.name for each in fields(AuditPlan)}
    if unknown:
        raise Invalid("bad-plan", f"A plan has no {', '.join(sorted(unknown))}.")
    for name, value in parameters.items():
        if name not in {"method", "region"} and not isinstance(value, int):
            raise Invalid("bad-plan", f"{name} is a whole number, not {value}.")
    region = parameters.get("region")
    starts = {"starts": 1} if parameters.get("method") == "authors" else {}
    return AuditPlan(**{**starts, **parameters, "region": None if region is None else tuple(region)})
