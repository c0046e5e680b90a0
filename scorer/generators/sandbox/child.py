"""The process in which a stranger's generator is read and run: ``python -m scorer.generators.sandbox.child FOLDER``.

Confined before anything is imported, rationed before the file is opened. Progress goes to standard output, a line of
JSON each; what came of it into files (:mod:`scorer.generators.sandbox.exchange`).
"""

import json
import sys
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scorer.errors import Invalid, KennelError
from scorer.generators.limits import GeneratorLimits
from scorer.generators.sandbox import exchange
from scorer.generators.sandbox.confinement import confine, limit_resources

_REPORT_EVERY_SECONDS = 0.2


def main(folder: Path) -> None:
    """Run the errand in ``folder``."""
    try:
        limits = GeneratorLimits(**json.loads((folder / exchange.REQUEST).read_text())["limits"])
        walls = confine(folder, limits)
        # What is imported from here on takes addresses that are not the generator's.
        from scorer.generators.sandbox import audit_task  # noqa: PLC0415

        errand = exchange.read_inputs(folder)
        encoder = exchange.read_encoder_input(folder)
        limit_resources(limits)
        audit = audit_task.run_audit(errand, limits, _ProgressWriter(), encoder)
        audit = replace(audit, provenance={**audit.provenance, "sandbox": walls, "versions": _versions()})
        exchange.write_result(folder, audit.report(), audit.arrays())
    except KennelError as error:
        exchange.write_refusal(folder, error)
    except MemoryError:
        exchange.write_refusal(folder, out_of_memory(limits))


def out_of_memory(limits: GeneratorLimits) -> Invalid:
    """What a generator is told that takes more memory than it is granted."""
    return Invalid(
        "out-of-memory", f"The generator takes more than the {limits.memory_bytes >> 20:,} MB of memory it is granted."
    )


class _ProgressWriter:
    """Tells the parent the stage and its share, not more often than anybody can read."""

    def __init__(self) -> None:
        self._stage, self._told = "", 0.0

    def __call__(self, stage: str, share: float) -> None:
        now = time.monotonic()
        if stage == self._stage and share < 1.0 and now - self._told < _REPORT_EVERY_SECONDS:
            return
        self._stage, self._told = stage, now
        sys.stdout.write(json.dumps({"stage": stage, "share": share}) + "\n")
        sys.stdout.flush()


def _versions() -> dict[str, Any]:
    return {name: version(name) for name in ("torch", "onnx", "numpy")} | {"python": sys.version.split()[0]}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
