"""Whether torch.compile can build its kernels here, found out by building one."""

import os
import subprocess
import sysconfig
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from scorer.errors import Unavailable

# What torch.compile's own kernels need: C++17, OpenMP and Python's headers.
_TRIAL = """
#include <Python.h>
#include <omp.h>
#include <optional>
int threads() { std::optional<int> n = omp_get_max_threads(); return *n; }
"""


@cache
def compiler_fault() -> str | None:
    """What stops a C++ kernel from being built here, in a few words; None if nothing does. Takes half a second."""
    compiler = os.environ.get("CXX", "g++")
    flags = ["-std=c++17", "-fPIC", "-fopenmp", "-shared", f"-I{sysconfig.get_path('include')}"]
    with TemporaryDirectory() as folder:
        source = Path(folder) / "trial.cpp"
        source.write_text(_TRIAL)
        try:
            # The operator's own compiler on our own text: nothing here comes from a participant.
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
