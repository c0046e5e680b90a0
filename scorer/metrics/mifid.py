"""MiFID, the score: Fréchet distance times a penalty for entries too close to the training images.

    MiFID = m_tau * FID,   m_tau = max(1, 1 / (s + epsilon)) if s < tau else 1      (Bai et al. 2021, eqs. 1 and 3)

The maximum is Kennel's. If features can be negative, s reaches 2, and the paper's factor would reward an entry between
1 and tau. If s is below 1, as in the paper's feature spaces, the maximum changes nothing.

This is the only place that has the formula. It uses only ``<``, ``<=``, ``|``, ``*``, ``+``, ``/`` and a conditional
that callers can replace, so it works for Python floats, numpy arrays and SQL expressions. SQL callers pass a
``where(condition, then, otherwise)`` made of ``CASE``. That is why values are typed ``Any``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

EPSILON = 1e-15
"""The epsilon of the 2019 competition. It reproduces every released score; the 1e-14 of some libraries does not."""

COPY_DISTANCE = 1e-6
"""Below this mean distance the images are the training images up to rounding, and no penalty can express that."""

COPIED_SHARE = 0.5
"""An entry is a copy if more than this share of its images are equal to training images pixel by pixel."""

Where = Callable[[Any, Any, Any], Any]


def is_copy(distance: Any, copied_share: Any = 0.0) -> Any:
    """Whether the entry is a copy of the training set rather than a generated entry.

    ``distance``: memorization distance s >= 0. ``copied_share``: the share in [0, 1] of its images that are equal to
    training images pixel by pixel, upright or mirrored. A copy gets no score: its FID is about 0 and its penalty about
    1e15, so their product would depend on rounding.
    """
    return (distance < COPY_DISTANCE) | (copied_share > COPIED_SHARE)


def is_penalised(distance: Any, tau: Any) -> Any:
    """Whether s < tau. An entry exactly at the threshold is not penalised."""
    return distance < tau


def penalty(distance: Any, tau: Any, epsilon: Any = EPSILON, *, where: Where = np.where) -> Any:
    """The factor m_tau >= 1: max(1, 1 / (s + epsilon)) below tau, otherwise 1.

    A distance or tau of nan gives nan, because an unknown distance is not an unpenalised one. ``epsilon`` must be
    positive. Scalars give a Python float, arrays an array, SQL expressions an expression.
    """
    below = where(distance + epsilon < 1.0, 1.0 / (distance + epsilon), 1.0)
    return _plain(where(is_penalised(distance, tau), below, where(tau <= distance, 1.0, np.nan)))


def mifid(
    fid: Any,
    distance: Any,
    tau: Any,
    epsilon: Any = EPSILON,
    *,
    copied_share: Any = 0.0,
    where: Where = np.where,
) -> Any:
    """The memorization-informed Fréchet distance of Bai et al. 2021; smaller is better.

    ``fid`` >= 0, ``distance`` s in [0, 2], ``tau`` the track's threshold on s. A copy (:func:`is_copy`) has no score
    and gives nan; any nan input also gives nan. Scalars give a Python float, arrays an array, SQL expressions an
    expression.
    """
    score = fid * penalty(distance, tau, epsilon, where=where)
    return _plain(where(is_copy(distance, copied_share), np.nan, score))


def _plain(value: Any) -> Any:
    """A Python float for numpy scalars; anything else unchanged."""
    return float(value) if isinstance(value, np.ndarray | np.generic) and value.ndim == 0 else value
