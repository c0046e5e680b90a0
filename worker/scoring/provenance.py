"""Provenance of a measurement beside the extractor's: versions of the libraries that do the other arithmetic."""

import platform
from importlib import import_module
from typing import Any

import numpy as np
import PIL
import scipy
from threadpoolctl import threadpool_info


def environment() -> dict[str, Any]:
    """Versions of the libraries that decode, multiply and decompose, as a measurement records them; JSON.

    The last bits of a Fréchet distance depend on the BLAS behind numpy and scipy: on its version, on the kernels that
    it chose for this processor, and on how many threads share a sum.
    """
    import_module("scipy.linalg")  # its BLAS takes part, and is loaded on first use
    libraries = [each for each in threadpool_info() if each["user_api"] == "blas"]
    # torch may bring a BLAS of its own, which takes no part in a measurement.
    used = [each for each in libraries if "torch" not in each["filepath"]]
    names = {f"{each['internal_api']} {each['version']} {each.get('architecture', '')}".strip() for each in used}
    return {
        "python": platform.python_version(),
        "pillow": PIL.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": "; ".join(sorted(names)) or None,
        "blas_threads": max((each["num_threads"] for each in used), default=None),
    }
