"""Confinement of the process that audits a generator: no file is opened without it."""

from pathlib import Path

from scorer.confinement import process
from scorer.errors import Unavailable
from scorer.generators.limits import GeneratorLimits


def confine(folder: Path, limits: GeneratorLimits) -> dict[str, bool]:
    """Confine this process to ``folder``; which measures are in force (:func:`scorer.confinement.process.confine`).
    ``Unavailable`` (``no-sandbox``) if neither measure against the network is."""
    measures = process.confine(folder, written_bytes=limits.written_bytes, open_files=limits.open_files)
    if not (measures["network_namespace"] or measures["system_call_filter"]):
        raise Unavailable(
            "no-sandbox",
            "This system lets a process neither have a network namespace of its own nor filter its system calls; "
            "a stranger's generator is not opened without either.",
        )
    return measures


def limit_resources(limits: GeneratorLimits) -> None:
    """Limit memory and processor time to ``limits`` beyond what this process has used so far; call it when everything
    is imported."""
    process.limit_memory(limits.memory_bytes)
    process.limit_processor_time(limits.cpu_seconds)
