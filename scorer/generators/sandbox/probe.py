"""The probe of the sandbox: which measures this system lets a process take.

A confined process can never leave its confinement. So the question is put to a process of its own, which is this module
run as a program.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from scorer.errors import Unavailable
from scorer.generators.limits import GeneratorLimits
from scorer.generators.sandbox.confinement import confine

PROBE_SECONDS = 60


def available_measures() -> dict[str, bool]:
    """Which measures would be in force, as :func:`~scorer.generators.sandbox.confinement.confine` returns them;
    ``Unavailable`` (``no-sandbox``) where a generator would not be opened."""
    with TemporaryDirectory(prefix="kennel-generator-") as folder:
        probe = subprocess.run(  # noqa: S603 - this module
            [sys.executable, "-m", __name__, folder],
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    if probe.returncode != 0:
        lines = (probe.stderr or probe.stdout).strip().splitlines()
        raise Unavailable("no-sandbox", lines[-1] if lines else f"The probe ended with status {probe.returncode}.")
    measures: dict[str, bool] = json.loads(probe.stdout)
    return measures


if __name__ == "__main__":
    try:
        in_force = confine(Path(sys.argv[1]), GeneratorLimits())
    except Unavailable as error:
        sys.exit(error.message)
    print(json.dumps(in_force))  # noqa: T201 - the answer
