"""The probe of the sandbox: which measures a process can take on this system.

A confined process can never leave its confinement. So the probe runs in a separate process: this module, run as a
program.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from scorer.confinement.bubblewrap import wrapped
from scorer.confinement.process import Measures, confine
from scorer.errors import Unavailable
from scorer.generators.limits import GeneratorLimits

PROBE_SECONDS = 60


def available_measures() -> Measures:
    """The measures that would be in force, as :func:`~scorer.confinement.process.confine` returns them. Raises
    ``Unavailable`` (``no-sandbox``) if no process can be confined."""
    with TemporaryDirectory(prefix="kennel-generator-") as folder:
        probe = subprocess.run(  # noqa: S603 - this module
            wrapped([sys.executable, "-m", __name__, folder], Path(folder)),
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    if probe.returncode != 0:
        lines = (probe.stderr or probe.stdout).strip().splitlines()
        raise Unavailable("no-sandbox", lines[-1] if lines else f"The probe ended with status {probe.returncode}.")
    measures: Measures = json.loads(probe.stdout)
    return measures


if __name__ == "__main__":
    print(json.dumps(confine(Path(sys.argv[1]), open_files=GeneratorLimits().open_files)))  # noqa: T201 - the result
