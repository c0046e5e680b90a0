"""Copying tests with their own pass over the distances. Evidence uses shared passes instead."""

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
    """``own`` is (n, d), ``training`` (m, d)."""
    return authenticity_from(neighbours(own, training), manifold_of(training, 1))


def internal_duplicates(own: Rows, held_out: PartialCopying, training: int) -> InternalDuplicates:
    """``own`` is (n, d). The limit is that of ``held_out``; ``training`` is the number of training images."""
    rows, pairing = normalise(own, "generated"), Pairing(own)
    alike = AlikePairs(rows, PairedCosines(pairing, rows, rows), held_out, training=training)
    go_through(pairing, [alike])
    return alike.result()
