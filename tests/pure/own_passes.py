"""Tests of copying in a pass over distances of their own, where evidence takes them from passes that it shares."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.metrics.copying.authenticity import Authenticity, authenticity_from
from scorer.metrics.copying.internal_duplicates import AlikePairs, InternalDuplicates
from scorer.metrics.copying.partial_copying import PartialCopying
from scorer.metrics.cosine import normalise
from scorer.metrics.euclidean import neighbours
from scorer.metrics.paired_cosines import PairedCosines
from scorer.metrics.pairing import Pairing, go_through
from scorer.metrics.sample_quality.prdc import manifold_of

Rows = NDArray[np.floating[Any]]


def authenticity(own: Rows, training: Rows) -> Authenticity:
    """Of rows (n, d) against training rows (m, d)."""
    return authenticity_from(neighbours(own, training), manifold_of(training, 1))


def internal_duplicates(own: Rows, held_out: PartialCopying, training: int) -> InternalDuplicates:
    """Of rows (n, d), with the limit of ``held_out``."""
    rows, pairing = normalise(own, "generated"), Pairing(own)
    alike = AlikePairs(rows, PairedCosines(pairing, rows, rows), held_out, training=training)
    go_through(pairing, [alike])
    return alike.result()
