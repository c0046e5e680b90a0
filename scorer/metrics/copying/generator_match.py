"""Whether a generator made an entry: can it make the entry's images, and do newly drawn images look like them?

If a generator made the entry, a search of its latents finds the entry's images as often as its other images. It finds
images of another generator at most as often as held-out images.

    reach      found(entry) against found(own), error below 0.025: Fisher's exact test, one-sided
    features   new images against the entry's: the 1-nearest-neighbour two-sample test

The two tests answer different questions. An entry with images that were selected, or drawn closer to the middle of the
latent space (truncation), is within reach but has another distribution. If held-out images are found as often, as for
small images or a generator that can make anything, reach shows nothing; then the detectable share is large or missing.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from scorer.metrics.copying.latent_recovery import MIN_SHARE_FOUND, SIGNIFICANCE_LEVEL, ErrorSummary, summary_of
from scorer.metrics.copying.recovery_power import DetectableShares
from scorer.metrics.features import Vector
from scorer.metrics.sample_quality.two_sample import TwoSample

MatchVerdict = Literal["another-generator", "other-distribution", "no-difference", "inconclusive"]


@dataclass(frozen=True)
class GeneratorMatch:
    entry: ErrorSummary
    generated: ErrorSummary
    held_out: ErrorSummary
    low: float
    """The 95 % interval of the share of the entry's images that the generator can make (Clopper and Pearson)."""
    high: float
    p_value: float
    """One-sided, for the entry's images being found less often than the generator's own."""
    detectable: DetectableShares
    """The smallest shares of images from elsewhere, found as often as held-out images, that reach shows."""
    features: TwoSample | None
    """Of the entry's images (generated) and new ones (real); None if they were not compared."""

    @property
    def verdict(self) -> MatchVerdict:
        """``another-generator``: too many of the entry's images are out of reach; ``other-distribution``: they are
        within reach but new images differ; ``inconclusive``: the search fails on the generator's own images."""
        if self.generated.verbatim < MIN_SHARE_FOUND:
            return "inconclusive"
        if _out_of_reach(self.p_value, self.entry.verbatim):
            return "another-generator"
        differs = self.features is not None and self.features.both.p_above < SIGNIFICANCE_LEVEL
        return "other-distribution" if differs else "no-difference"


def generator_match(
    entry: Vector, generated: Vector, held_out: Vector, features: TwoSample | None = None
) -> GeneratorMatch:
    """Judge the recovery errors of an entry's images (n,), a generator's own (m,) and held-out images (k,).

    Raises the errors of :func:`summary_of`.
    """
    of_entry, of_generated, of_held_out = (summary_of(errors) for errors in (entry, generated, held_out))
    found = round(of_entry.verbatim * of_entry.count)
    interval = scipy.stats.binomtest(found, of_entry.count).proportion_ci(method="exact")
    return GeneratorMatch(
        entry=of_entry,
        generated=of_generated,
        held_out=of_held_out,
        low=float(interval.low),
        high=float(interval.high),
        p_value=float(_p_values(of_entry, of_generated)[found]),
        detectable=_detectable(of_entry, of_generated, of_held_out),
        features=features,
    )


def _out_of_reach(p_value: float, share: float) -> bool:
    return p_value < SIGNIFICANCE_LEVEL and share < MIN_SHARE_FOUND


def _p_values(entry: ErrorSummary, generated: ErrorSummary) -> Vector:
    """Fisher's p for each possible number of found images of the entry, (n + 1,)."""
    of_own = round(generated.verbatim * generated.count)
    found = np.arange(entry.count + 1)
    return np.asarray(
        scipy.stats.hypergeom.cdf(found, entry.count + generated.count, found + of_own, entry.count), np.float64
    )


def _detectable(entry: ErrorSummary, generated: ErrorSummary, held_out: ErrorSummary) -> DetectableShares:
    found = np.arange(entry.count + 1)
    p_values = _p_values(entry, generated)
    limit = max((int(count) for count in found if _out_of_reach(p_values[count], count / entry.count)), default=-1)
    foreign = np.arange(1, 101) / 100
    probability = scipy.stats.binom.cdf(
        limit, entry.count, (1.0 - foreign) * generated.verbatim + foreign * held_out.verbatim
    )

    def smallest(wanted: float) -> float | None:
        enough = foreign[probability >= wanted]
        return float(enough[0]) if len(enough) else None

    return DetectableShares(smallest(0.8), smallest(0.95))
