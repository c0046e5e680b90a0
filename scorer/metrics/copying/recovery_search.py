"""How far the search of latent recovery can be trusted: success by number of starts, and stability.

success    the share of targets with an error below 0.025 (verbatim) and 0.1 (plausible) after each start
           (Webster et al. 2019, table 2)
stability  the same targets searched from the same starts, every target from every start: the quartiles of all
           errors by iteration (appendix C)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from scorer.metrics.copying.latent_recovery import PLAUSIBLE, VERBATIM
from scorer.metrics.features import Vector


def success_by_start(errors: Vector) -> dict[str, list[float]]:
    """The shares of targets found after 1, 2 ... starts, of the best errors so far (starts, n)."""
    return {
        name: [float(share) for share in (errors < limit).mean(axis=1)]
        for name, limit in (("verbatim", VERBATIM), ("plausible", PLAUSIBLE))
    }


@dataclass(frozen=True, eq=False)
class SearchStability:
    """The errors of every target searched from every start, after each iteration."""

    errors: Vector
    """(starts, iterations + 1, targets)"""

    @property
    def quartiles(self) -> Vector:
        """The 25th, 50th and 75th percentiles over starts and targets by iteration, (3, iterations + 1)."""
        return np.asarray(np.percentile(self.errors, (25, 50, 75), axis=(0, 2)))

    @property
    def found(self) -> Vector:
        """By target the share of starts from which it is found verbatim, (targets,)."""
        return np.asarray((self.errors[:, -1] < VERBATIM).mean(axis=0))

    @property
    def iterations_needed(self) -> int | None:
        """The first iteration after which half of the searches have found their target; None if never."""
        reached = np.flatnonzero(self.quartiles[1] < VERBATIM)
        return int(reached[0]) if len(reached) else None

    def as_json(self) -> dict[str, Any]:
        """Numbers of starts and targets, quartiles by iteration, and the share of starts that find each target."""
        low, median, high = self.quartiles.tolist()
        starts, _, targets = self.errors.shape
        return {
            "starts": starts,
            "targets": targets,
            "low": low,
            "median": median,
            "high": high,
            "found": np.sort(self.found).tolist(),
        }
