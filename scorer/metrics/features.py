"""Checks of feature matrices, which every metric makes before it computes anything."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid

Features = NDArray[np.floating[Any]]
Vector = NDArray[np.float64]


class Estimate(NamedTuple):
    """A metric's value and its standard error over the choice of the generated images; None if it has none."""

    value: float
    standard_error: float | None


def require_matrix(features: Features, whose: str, *, min_rows: int = 1) -> None:
    """Refuse anything but a floating-point (n, d) matrix with n >= ``min_rows`` and d >= 1.

    ``whose`` names the matrix in the message ("generated", "reference"). Raises :class:`Invalid`:
    ``bad-features`` for a wrong type, dtype or shape, ``too-few-images`` for too few rows.
    """
    if not isinstance(features, np.ndarray) or features.dtype.kind != "f":
        kind = features.dtype if isinstance(features, np.ndarray) else type(features).__name__
        raise Invalid("bad-features", f"The {whose} features must be an array of floats, not {kind}.")
    if features.ndim != 2 or features.shape[1] == 0:
        raise Invalid(
            "bad-features",
            f"The {whose} features must have one row per image and one column per feature,"
            f" but their shape is {features.shape}.",
        )
    if len(features) < min_rows:
        raise Invalid(
            "too-few-images",
            f"The {whose} features have {len(features)} rows; at least {min_rows} are needed.",
        )


def require_finite(features: Features, whose: str) -> None:
    """Refuse features with rows that contain nan or infinity (:class:`Invalid`, ``degenerate-features``)."""
    finite = np.isfinite(features).all(axis=1)
    if not finite.all():
        raise degenerate(np.flatnonzero(~finite), whose, "not finite")


def require_same_dimension(generated: int, reference: int) -> None:
    """Refuse two feature spaces of different dimensions (:class:`Invalid`, ``dimension-mismatch``)."""
    if generated != reference:
        raise Invalid(
            "dimension-mismatch",
            f"The generated features have {generated} dimensions and the reference has {reference}:"
            " they come from different extractors.",
        )


def degenerate(rows: NDArray[np.intp], whose: str, why: str) -> Invalid:
    """The error that names the images with unusable features.

    ``extra["rows"]`` has every row index, ``faults`` one line for each.
    """
    first = ", ".join(str(row) for row in rows[:10]) + (", ..." if len(rows) > 10 else "")
    return Invalid(
        "degenerate-features",
        f"The {whose} features of {len(rows)} image(s) are {why}: image {first} (counted from 0).",
        faults=[f"image {row}" for row in rows],
        rows=[int(row) for row in rows],
    )
