"""A sample of an entry's images for the audit of its generator, and reference images near them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scorer.extractors import Features
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.recovery.report import Audit
from scorer.generators.recovery.targets import EntryTargets, Pixels, half_count
from scorer.metrics.copying.near_targets import choose_near_targets
from scorer.metrics.cosine import Indices, normalise
from scorer.metrics.memorization import nearest
from scorer.metrics.sample_quality.two_sample import two_sample

Extract = Callable[[Pixels], Features]
"""Images (n, s, s, 3) uint8 to features (n, d)."""


@dataclass(frozen=True, eq=False)
class EntrySample:
    """Images drawn from an entry at random."""

    targets: EntryTargets
    rows: Indices
    """The rows of ``targets.images`` among the entry's images."""
    features: Features | None
    """Features of the images that the plan compares, (k, d); None if it compares none."""
    extract: Extract


def sample_entry(
    images: Pixels, extract: Extract, reference: Callable[[], Sequence[Features]], *, plan: AuditPlan, signed: bool
) -> EntrySample:
    """Draw from an entry's images (n, s, s, 3), and find the nearest reference images in a feature space.

    ``reference`` returns the features of training and held-out images (m, d), (k, d); ``signed`` says whether features
    may be negative. Draws depend only on the plan's seed.
    """
    random = np.random.default_rng([plan.seed, 2])
    order = random.permutation(len(images))
    rows = np.sort(order[: plan.entry])
    if not plan.sampled:
        return EntrySample(EntryTargets(np.asarray(images[rows]), None), rows, None, extract)
    features = extract(np.asarray(images[np.sort(order[: plan.sampled])]))
    own = normalise(features, "entry")
    train, held_out = (nearest(reference_features, own, signed=signed).distance for reference_features in reference())
    near = choose_near_targets(train, held_out, half_count(plan.train), random=random)
    return EntrySample(EntryTargets(np.asarray(images[rows]), near), rows, features, extract)


def compare_features(audit: Audit, sample: EntrySample) -> Audit:
    """The audit with the generator's new images replaced by the result of comparing them with the entry's."""
    if audit.samples is None or sample.features is None:
        return audit
    random = np.random.default_rng([audit.plan.seed, 3])
    test = two_sample(sample.features, sample.extract(audit.samples), random=random)
    return replace(audit, samples=None, features=test)
