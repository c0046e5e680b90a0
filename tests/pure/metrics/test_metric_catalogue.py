"""The metrics of shown tracks: each computes the function of its name, with its constants."""

from collections.abc import Mapping

import numpy as np
import pytest

from scorer.errors import Invalid
from scorer.metrics.cosine import normalise
from scorer.metrics.features import Estimate, Features
from scorer.metrics.memorization import nearest
from scorer.metrics.metric_catalogue import METRICS, Reference, complete_constants, find_metric
from scorer.metrics.mifid import mifid
from scorer.metrics.sample_quality.cmmd import cmmd
from scorer.metrics.sample_quality.diversity import rke, vendi_score
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from scorer.metrics.sample_quality.frechet_standard_error import frechet_standard_error
from scorer.metrics.sample_quality.kernel_sums import median_width
from scorer.metrics.sample_quality.kid import squared_mmd
from scorer.metrics.sample_quality.prdc import prdc_with_error

RANDOM = np.random.default_rng(7)
GENERATED = RANDOM.normal(0.3, 1.0, (60, 8)).astype(np.float32)
REAL = RANDOM.normal(0.0, 1.1, (80, 8)).astype(np.float32)


def compute_estimate(name: str, given: Mapping[str, float] | None = None, generated: Features = GENERATED) -> Estimate:
    metric = find_metric(name)
    reference = Reference(normalise(REAL), statistics_of(REAL), signed=True)
    shares: list[float] = []
    return metric.compute(generated, reference, complete_constants(metric, given or {}), shares.append)


def expected() -> dict[str, tuple[float, float | None]]:
    fid = frechet_distance(statistics_of(GENERATED), statistics_of(REAL))
    neighbours = nearest(GENERATED, REAL, signed=True)
    kid, distance = squared_mmd(GENERATED, REAL), cmmd(GENERATED, REAL)
    prdc, errors = prdc_with_error(GENERATED, REAL)
    vendi, modes = vendi_score(GENERATED), rke(GENERATED, median_width(REAL, REAL))
    return {
        "fid": (fid, frechet_standard_error(GENERATED, statistics_of(REAL))),
        "memorization_distance": (neighbours.mean, neighbours.standard_error),
        "mifid": (mifid(fid, neighbours.mean, 1.5, 0.01), None),
        "kid": (kid.value, kid.standard_error),
        "cmmd": (distance.value, distance.standard_error),
        **{
            name: (getattr(prdc, name), getattr(errors, name))
            for name in ("precision", "recall", "density", "coverage")
        },
        "vendi": tuple(vendi),
        "rke": tuple(modes),
    }


def test_each_metric_computes_the_function_of_its_name() -> None:
    assert expected().keys() == METRICS.keys()
    for name, (value, error) in expected().items():
        estimate = compute_estimate(name, {"tau": 1.5, "epsilon": 0.01} if name == "mifid" else {})
        assert estimate.value == pytest.approx(value, rel=1e-9), name
        assert estimate.standard_error == (None if error is None else pytest.approx(error, rel=1e-6)), name


def test_the_direction_of_a_metric_favours_better_entries() -> None:
    copies, noise = REAL[:60], RANDOM.normal(5.0, 0.01, (60, 8)).astype(np.float32)
    for name in ("fid", "kid", "cmmd", "precision", "recall", "density", "coverage"):
        near, far = compute_estimate(name, generated=copies).value, compute_estimate(name, generated=noise).value
        assert (near < far) is (METRICS[name].direction == "lower"), name


def test_k_is_the_number_of_neighbours() -> None:
    assert (
        compute_estimate("precision", {"k": 7}).value == prdc_with_error(GENERATED, REAL, k=7, density_k=7)[0].precision
    )
    assert compute_estimate("density", {"k": 7}).value == prdc_with_error(GENERATED, REAL, k=7, density_k=7)[0].density


@pytest.mark.parametrize(
    ("name", "given", "fault"),
    [
        ("fid", {"tau": 0.1}, "fid has no constant tau"),
        ("mifid", {}, "mifid needs a value for tau"),
        ("mifid", {"tau": 2.5}, "tau must be from 0 to 2"),
        ("mifid", {"tau": float("nan")}, "tau must be from 0 to 2"),
        ("recall", {"k": 2.5}, "k must be a whole number from 1 to 100"),
    ],
)
def test_invalid_constants_are_refused(name: str, given: dict[str, float], fault: str) -> None:
    with pytest.raises(Invalid) as caught:
        complete_constants(METRICS[name], given)
    assert (caught.value.slug, list(caught.value.faults)) == ("bad-constants", [fault])


def test_constants_have_defaults() -> None:
    assert complete_constants(METRICS["mifid"], {"tau": 0.3}) == {"tau": 0.3, "epsilon": 1e-15}
    assert complete_constants(METRICS["kid"], {}) == {}
    with pytest.raises(Invalid, match=r"There is no metric 'is'\. Choose one of: fid, "):
        find_metric("is")
