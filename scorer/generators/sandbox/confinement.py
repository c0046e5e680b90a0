"""Confinement of the process that audits a generator: no file is opened without it."""

from pathlib import Path

from scorer.confinement import process
from scorer.errors import Unavailable
from scorer.generators.limits import GeneratorLimits
from scorer.generators.sandbox.exchange import RESULTS

MAX_THREADS = 32
"""More than torch starts for an audit."""
NOT_FOR_NETWORK = ("network_namespace", "system_call_filter")


def confine(folder: Path, limits: GeneratorLimits, *, accept_weaker: bool = False) -> process.Measures:
    """Confine this process to ``folder``, and its memory and processor time to ``limits`` beyond what it has used so
    far; which measures are in force (:func:`scorer.confinement.process.confine`).

    ``Unavailable`` (``no-sandbox``) if a required measure is not. ``accept_weaker`` does without, as long as something
    keeps it from the network.
    """
    process.limit_memory(limits.memory_bytes)
    process.limit_processor_time(limits.cpu_seconds)
    measures = process.confine(
        folder,
        written=RESULTS,
        written_bytes=limits.written_bytes,
        open_files=limits.open_files,
        threads=MAX_THREADS,
    )
    missing = process.missing_measures(measures)
    if missing and not (accept_weaker and any(measures[name] for name in NOT_FOR_NETWORK)):
        raise Unavailable(
            "no-sandbox",
            f"A stranger's generator is not opened on this system, which lacks {'; '.join(missing)}. An operator can "
            "accept what there is with KENNEL_ACCEPT_WEAKER_SANDBOX.",
        )
    return measures
