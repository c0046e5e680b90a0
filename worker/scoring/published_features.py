"""Features of reference images instead of the images, in the format of the 2019 competition's authors.

A file ``*_feats.npz`` has the arrays ``features`` (m, d), their mean ``m`` (d,) and their covariance ``s`` (d, d).
"""

import zipfile
from pathlib import Path

import numpy as np

from scorer.errors import Invalid, TooLarge
from scorer.findings.formatting import counted
from scorer.metrics.features import Features, require_finite, require_matrix

_MAX_BYTES = 8 << 30
MIN_IMAGES = 2
_TOLERANCE = 1e-3
"""Tolerance of mean and variance, relative to the features' spread: the file's may have been computed in float32."""


def read_reference_features(path: Path, dimension: int) -> Features:
    """Read the features (m, d) of a file, and check them against the file's mean and variances.

    Raises ``Invalid``: ``bad-features`` if it is not such a file with d = ``dimension``, and as :func:`require_finite`
    does; ``TooLarge`` (``too-many-images``).
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > _MAX_BYTES:
                raise TooLarge("too-many-images", f"{path} has more features than fit into {_MAX_BYTES >> 30} GiB.")
        with np.load(path, allow_pickle=False) as arrays:
            mean, covariance = arrays["m"], arrays["s"]
            features: Features = arrays["features"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise Invalid("bad-features", f"{path} has no arrays m, s and features.") from error
    require_matrix(features, "reference")
    if len(features) < MIN_IMAGES:
        raise Invalid(
            "too-few-images",
            f"{path} has the features of {counted(len(features), 'image')}; at least {MIN_IMAGES} are needed.",
        )
    require_finite(features, "reference")
    if features.shape[1] != dimension or mean.shape != (dimension,) or covariance.shape != (dimension, dimension):
        raise Invalid(
            "bad-features", f"{path} has features of {features.shape[1]} dimensions; the extractor has {dimension}."
        )
    variances = features.var(axis=0, dtype=np.float64, ddof=1)
    spread = np.sqrt(variances.max())
    shift = np.abs(mean - features.mean(axis=0, dtype=np.float64)).max()
    if not shift <= _TOLERANCE * spread or not np.allclose(
        np.diag(covariance), variances, rtol=_TOLERANCE, atol=_TOLERANCE * variances.max()
    ):
        raise Invalid("bad-features", f"The mean and covariance in {path} are not those of its features.")
    return features
