"""Records the system calls of audits, checks and draws with strace and without the filter.

``python -m tests.worker.generators.system_calls`` prints the calls of the confined process with their counts, and the
calls that are not on the list of :mod:`scorer.confinement.system_calls`. Run it after a change of Python, torch or
numpy, and add the missing calls.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from scorer.confinement.system_calls import COMPUTING, FILES, THREADS
from scorer.generators.latents import Latent
from scorer.generators.onnx_files import DeclaredLatent
from scorer.generators.recovery.plan import AuditPlan, Method
from scorer.generators.sandbox import runner, supervision
from tests.worker.generators.onnx_files import DIMENSION, SIDE, dcgan, export_generator, linear_model

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


def recorded(run: Callable[[], object], log: Path) -> Counter[str]:
    """The calls of a sandbox's process after its confinement."""

    def traced(command: Sequence[str], folder: Path) -> list[str]:
        return ["strace", "-f", "-o", str(log), command[0], "-P", "-s", "-c", _WITHOUT_FILTER, str(folder)]

    setattr(supervision, "wrapped", traced)  # noqa: B010 - the module does not export it
    run()
    lines = log.read_text(errors="replace").splitlines()
    start = max(index for index, line in enumerate(lines) if _LAST_BEFORE_THE_FILTER in line)
    found = (_CALL.match(line) for line in lines[start + 1 :])
    return Counter(match[1] for match in found if match is not None)


def audit(content: bytes, side: int, method: Method) -> None:
    images = np.random.default_rng(0).integers(0, 256, (24, side, side, 3), np.uint8)
    plan = AuditPlan(train=8, held_out=8, generated=8, starts=2, iterations=20, method=method)
    runner.audit_in_sandbox(content, Latent(DIMENSION), images[:12], held_out=images[12:], plan=plan)


def check_and_draw(content: bytes, folder: Path) -> list[Callable[[], object]]:
    drawn: dict[str, Any] = {"count": 500, "size": SIDE, "values": "tanh", "out": folder / "images.npy"}
    nothing = DeclaredLatent()
    return [
        partial(runner.check_in_sandbox, content, nothing, nothing, size=SIDE, fixed_digest=bytes(32)),
        partial(runner.draw_in_sandbox, content, Latent(DIMENSION), bytes(32), **drawn),
    ]


def main() -> None:
    """Record audits of a small and a convolutional generator, with two search methods, a check and a draw."""
    small, convolutional = linear_model().SerializeToString(), export_generator(dcgan())
    calls: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        runs: list[Callable[[], object]] = [
            partial(audit, small, 2, "wolfe"),
            partial(audit, small, 2, "authors"),
            partial(audit, convolutional, SIDE, "wolfe"),
            *check_and_draw(convolutional, Path(folder)),
        ]
        for run in runs:
            calls += recorded(run, Path(folder) / "trace")
    for name, count in calls.most_common():
        sys.stdout.write(f"{count:8,} {name}\n")
    missing = sorted(calls.keys() - COMPUTING.keys() - FILES.keys() - THREADS.keys() - CONDITIONAL)
    sys.stdout.write(f"not listed: {', '.join(missing) or 'none'}\n")


if __name__ == "__main__":
    main()
