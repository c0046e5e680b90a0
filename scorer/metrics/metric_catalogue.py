"""The metrics available for shown tracks: each is one number of a set of generated features against a reference.

A shown track is a number in addition to the two that are ranked (:mod:`scorer.competitions.shown_tracks`). Each metric
is a function of this package under one name, with its constants and the direction in which it is better.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from scorer.errors import Invalid
from scorer.metrics.cosine import NormalisedFeatures
from scorer.metrics.features import Estimate, Features
from scorer.metrics.memorization import nearest
from scorer.metrics.mifid import EPSILON, mifid
from scorer.metrics.sample_quality.cmmd import cmmd
from scorer.metrics.sample_quality.diversity import rke, vendi_score
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of
from scorer.metrics.sample_quality.frechet_standard_error import frechet_standard_error
from scorer.metrics.sample_quality.kernel_sums import median_width
from scorer.metrics.sample_quality.kid import squared_mmd
from scorer.metrics.sample_quality.prdc import prdc_with_error
from scorer.progress import ProgressCallback

Direction = Literal["lower", "higher"]
"""Whether lower or higher values are better."""


@dataclass(frozen=True, eq=False)
class Reference:
    """Reference features (m, d) float32 with their row lengths, and their mean and covariance (with the factor).
    ``signed``: cosine similarities keep their sign."""

    normalised: NormalisedFeatures
    statistics: Statistics
    signed: bool


Compute = Callable[[Features, Reference, Mapping[str, float], ProgressCallback], Estimate]


@dataclass(frozen=True)
class Metric:
    """A metric with its name. ``constants`` has the default of each constant; None means it must be given."""

    name: str
    title: str
    direction: Direction
    compute: Compute
    constants: Mapping[str, float | None] = field(default_factory=lambda: MappingProxyType({}))


def _frechet(
    generated: Features, reference: Reference, _constants: Mapping[str, float], progress: ProgressCallback
) -> Estimate:
    fid = frechet_distance(statistics_of(generated), reference.statistics)
    return Estimate(fid, frechet_standard_error(generated, reference.statistics, progress=progress))


def _memorization(
    generated: Features, reference: Reference, _constants: Mapping[str, float], progress: ProgressCallback
) -> Estimate:
    neighbours = nearest(generated, reference.normalised, signed=reference.signed, progress=progress)
    return Estimate(neighbours.mean, neighbours.standard_error)


def _mifid(
    generated: Features, reference: Reference, constants: Mapping[str, float], progress: ProgressCallback
) -> Estimate:
    fid = frechet_distance(statistics_of(generated), reference.statistics)
    distance = _memorization(generated, reference, constants, progress).value
    return Estimate(mifid(fid, distance, constants["tau"], constants["epsilon"]), None)


def _kid(
    generated: Features, reference: Reference, _constants: Mapping[str, float], progress: ProgressCallback
) -> Estimate:
    return squared_mmd(generated, reference.normalised.features, progress=progress)


def _cmmd(
    generated: Features, reference: Reference, _constants: Mapping[str, float], progress: ProgressCallback
) -> Estimate:
    return cmmd(generated, reference.normalised.features, progress=progress)


def _prdc(name: str) -> Compute:
    def compute(
        generated: Features, reference: Reference, constants: Mapping[str, float], progress: ProgressCallback
    ) -> Estimate:
        k = int(constants["k"])
        values, errors = prdc_with_error(generated, reference.normalised.features, k=k, density_k=k, progress=progress)
        return Estimate(getattr(values, name), getattr(errors, name))

    return compute


def _vendi(
    generated: Features, _reference: Reference, _constants: Mapping[str, float], _: ProgressCallback
) -> Estimate:
    return vendi_score(generated)


def _rke(
    generated: Features, reference: Reference, _constants: Mapping[str, float], progress: ProgressCallback
) -> Estimate:
    features = reference.normalised.features
    return rke(generated, median_width(features, features), progress=progress)


_ALL = (
    Metric("fid", "Fréchet distance", "lower", _frechet),
    Metric("memorization_distance", "memorization distance", "higher", _memorization),
    Metric("mifid", "MiFID", "lower", _mifid, {"tau": None, "epsilon": EPSILON}),
    Metric("kid", "KID (unbiased MMD²)", "lower", _kid),
    Metric("cmmd", "CMMD", "lower", _cmmd),
    Metric("precision", "precision", "higher", _prdc("precision"), {"k": 3}),
    Metric("recall", "recall", "higher", _prdc("recall"), {"k": 3}),
    Metric("density", "density", "higher", _prdc("density"), {"k": 5}),
    Metric("coverage", "coverage", "higher", _prdc("coverage"), {"k": 5}),
    Metric("vendi", "Vendi score", "higher", _vendi),
    Metric("rke", "RKE", "higher", _rke),
)
METRICS: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _ALL})
LIMITS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"tau": (0.0, 2.0), "epsilon": (1e-300, 1.0), "k": (1, 100)}
)
"""The smallest and the largest value of each constant."""


def find_metric(name: str) -> Metric:
    """The metric called ``name``; :class:`Invalid` (``unknown-metric``) with the list of metrics."""
    if name not in METRICS:
        raise Invalid("unknown-metric", f"There is no metric {name!r}. Choose one of: {', '.join(METRICS)}.")
    return METRICS[name]


def complete_constants(metric: Metric, given: Mapping[str, float]) -> dict[str, float]:
    """The constants of a metric, completed with its defaults; :class:`Invalid` (``bad-constants``) for a constant that
    is unknown, missing or outside ``LIMITS``."""
    faults = [f"{metric.name} has no constant {name}" for name in given if name not in metric.constants]
    values = {name: given.get(name, default) for name, default in metric.constants.items()}
    complete = {}
    for name, value in values.items():
        low, high = LIMITS[name]
        if value is None:
            faults.append(f"{metric.name} needs a value for {name}")
        elif not low <= value <= high or (name == "k" and value != int(value)):
            faults.append(f"{name} must be {'a whole number ' if name == 'k' else ''}from {low:g} to {high:g}")
        else:
            complete[name] = float(value)
    if faults:
        raise Invalid("bad-constants", f"The constants of {metric.name} are invalid.", faults=faults)
    return complete
