"""The check that a C++ compiler works for torch.compile, made by compiling a small kernel."""

import os
import subprocess
import sysconfig
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from scorer.errors import Unavailable

# torch.compile's own kernels need C++17, OpenMP and Python's headers.
_TRIAL = """
#include <Python.h>
#include <omp.h>
#include <optional>
int threads() { std::optional<int> n = omp_get_max_threads(); return *n; }
"""


@cache
def compiler_fault() -> str | None:
    """The fault, in a few words, that keeps a C++ kernel from being built; None if it works. Takes half a second."""
    compiler = os.environ.get("CXX", "g++")
    flags = ["-std=c++17", "-fPIC", "-fopenmp", "-shared", f"-I{sysconfig.get_path('include')}"]
    with TemporaryDirectory() as folder:
        source = Path(folder) / "trial.cpp"
        source.write_text(_TRIAL)
        try:
            # The operator's own compiler on a constant text: no input comes from a participant.
            subprocess.run(  # noqa: S603
                [compiler, *flags, str(source), "-o", f"{folder}/trial.so"], check=True, capture_output=True, timeout=60
            )
        except FileNotFoundError:
            return f"there is no {compiler}"
        except subprocess.CalledProcessError as error:
            lines = error.stderr.decode(errors="replace").strip().splitlines()
            return next((line for line in lines if "error" in line), f"{compiler} failed")
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    return None


def require_compiler() -> None:
    """Raise ``Unavailable`` (``no-compiler``) if there is no working C++ compiler."""
    fault = compiler_fault()
    if fault is not None:
        raise Unavailable(
            "no-compiler",
            f"The mode 'compiled' needs a working C++ compiler with Python's headers ({fault}): "
            "install them, or choose the mode 'eager'.",
        )
