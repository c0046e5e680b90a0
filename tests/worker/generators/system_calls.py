"""Records the system calls of audits with strace and without the filter.

``python -m tests.worker.generators.system_calls`` prints the calls of the confined process with their counts, and the
calls that are not on the list of :mod:`scorer.confinement.system_calls`. Run it after a change of Python, torch or
numpy, and add the missing calls.
"""

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from scorer.confinement.system_calls import COMPUTING, FILES, THREADS
from scorer.generators.latents import Latent
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.sandbox import runner
from tests.worker.generators.onnx_files import DIMENSION, dcgan, export_generator, linear_model

CONDITIONAL = {"ioctl", "fcntl", "prctl", "tgkill", "prlimit64", "openat", "clone"}
_CALL = re.compile(r"^\d+ +(?:<\.\.\. )?([a-z0-9_]+)[ (]")
_LAST_BEFORE_THE_FILTER = "prctl(PR_SET_PDEATHSIG"
_WITHOUT_FILTER = """
import sys
from pathlib import Path
from scorer.confinement import seccomp
seccomp.allow_listed = lambda **_: True
from scorer.generators.sandbox.child import main
main(Path(sys.argv[1]))
"""


def recorded(content: bytes, plan: AuditPlan, side: int, log: Path) -> Counter[str]:
    """The calls of one audit after its confinement."""
    images = np.random.default_rng(0).integers(0, 256, (24, side, side, 3), np.uint8)

    def traced(command: Sequence[str], folder: Path) -> list[str]:
        return ["strace", "-f", "-o", str(log), command[0], "-P", "-s", "-c", _WITHOUT_FILTER, str(folder)]

    setattr(runner, "wrapped", traced)  # noqa: B010 - the module does not export it
    runner.audit_in_sandbox(content, Latent(DIMENSION), images[:12], held_out=images[12:], plan=plan)
    lines = log.read_text(errors="replace").splitlines()
    start = max(index for index, line in enumerate(lines) if _LAST_BEFORE_THE_FILTER in line)
    found = (_CALL.match(line) for line in lines[start + 1 :])
    return Counter(match[1] for match in found if match is not None)


def main() -> None:
    """Record audits of a small and a convolutional generator, with two search methods."""
    short = AuditPlan(train=8, held_out=8, generated=8, starts=2, iterations=20)
    wolfe = AuditPlan(train=8, held_out=8, generated=8, starts=2, iterations=20, method="wolfe")
    calls: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        log = Path(folder) / "trace"
        for plan in (short, wolfe):
            calls += recorded(linear_model().SerializeToString(), plan, 2, log)
        calls += recorded(export_generator(dcgan()), short, 16, log)
    for name, count in calls.most_common():
        sys.stdout.write(f"{count:8,} {name}\n")
    missing = sorted(calls.keys() - COMPUTING.keys() - FILES.keys() - THREADS.keys() - CONDITIONAL)
    sys.stdout.write(f"not listed: {', '.join(missing) or 'none'}\n")


if __name__ == "__main__":
    main()
