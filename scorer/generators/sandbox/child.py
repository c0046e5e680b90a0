"""The sandboxed process that opens an uploaded generator: ``python -m scorer.generators.sandbox.child FOLDER``.

Everything is imported and rehearsed first, because a confined process can only read its folder. The file is opened
last. Progress goes to standard output as lines of JSON, results go to files
(:mod:`scorer.generators.sandbox.exchange`).

The rehearsal is the requested task with Kennel's own generator. Torch and numpy import many of their modules on first
use, and a confined process can read no libraries. So the rehearsal runs the whole task, from file to result.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from onnx import TensorProto, helper, numpy_helper

from scorer.confinement import process
from scorer.errors import Invalid, KennelError, Unavailable
from scorer.generators.limits import GeneratorLimits
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.recovery.targets import EntryTargets
from scorer.generators.sandbox import audit_task, entry_tasks, exchange
from scorer.generators.sandbox.exchange import IMAGES, RESULTS, Arrays, Report, Request, Task
from scorer.metrics.copying.near_targets import NearTargets
from scorer.process_resources import processor_name
from scorer.progress import StageProgress

_TASKS: dict[Task, Callable[[Path, Request, StageProgress], tuple[Report, Arrays]]] = {
    "audit": audit_task.run,
    "check": entry_tasks.run_check,
    "draw": entry_tasks.run_draw,
}


def run_task(folder: Path, request: Request, progress: StageProgress, *, environment: Mapping[str, Any]) -> None:
    """Do what is requested with the generator in ``folder``, and write the result there, with the ``environment`` in
    its provenance. Raises the ``Invalid`` errors of the task, and ``MemoryError`` at the process's memory limit."""
    threads = request.limits["threads"]
    torch.set_num_threads(threads)
    begun = time.monotonic()
    try:
        report, arrays = _TASKS[request.task](folder, request, progress)
    except RuntimeError as error:
        if "allocate memory" in str(error) or "bad_alloc" in str(error):
            raise MemoryError from error
        raise
    report["provenance"] |= {"seconds": time.monotonic() - begun, "threads": threads, **environment}
    exchange.write_result(folder, report, arrays)


_DIMENSION, _SIDE, _IMAGES = 2, 2, 8
_ROWS = np.arange(_IMAGES)
_PLAN = AuditPlan(
    train=_IMAGES, held_out=_IMAGES, generated=_IMAGES, sampled=_IMAGES, distorted=0, starts=1, iterations=1
)
_DRAWN = {"latent": [{}, {}], "digest": "", "size": _SIDE, "count": _IMAGES, "values": "tanh"}
_REHEARSED: dict[Task, Mapping[str, Any]] = {
    "audit": {"latent": {"dimension": _DIMENSION}, "plan": _PLAN.as_json()},
    "check": _DRAWN,
    "draw": _DRAWN,
}


def rehearse(task: Task, limits: GeneratorLimits) -> None:
    """Do a task with a linear generator of 2 x 2 pixels, an audit on noise and with an entry, in a single thread: a
    process with several threads cannot be confined."""
    images = np.random.default_rng(0).integers(0, 256, (_IMAGES, _SIDE, _SIDE, 3), np.uint8)
    with TemporaryDirectory() as name:
        folder = Path(name)
        entry = EntryTargets(images, NearTargets(_ROWS, _ROWS, 1.0))
        exchange.write_inputs(folder, exchange.AuditInputs(_linear_generator(), images, images[::-1], entry=entry))
        exchange.write_request(folder, Request(task, _REHEARSED[task], asdict(replace(limits, threads=1))))
        run_task(folder, exchange.read_request(folder), lambda *_: None, environment={})


def _linear_generator() -> bytes:
    """A generator that multiplies the latent by a matrix and applies tanh."""
    colours = 3 * _SIDE * _SIDE
    stored = [
        numpy_helper.from_array(np.eye(_DIMENSION, colours, dtype=np.float32), "matrix"),
        numpy_helper.from_array(np.array([-1, 3, _SIDE, _SIDE], np.int64), "shape"),
    ]
    nodes = [
        helper.make_node("MatMul", ["z", "matrix"], ["flat"]),
        helper.make_node("Reshape", ["flat", "shape"], ["raw"]),
        helper.make_node("Tanh", ["raw"], ["images"]),
    ]
    taken = [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", _DIMENSION])]
    made = [helper.make_tensor_value_info("images", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "rehearsal", taken, made, initializer=stored)
    content: bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()
    return content


MAX_THREADS = 32
"""More than torch starts."""
NOT_FOR_NETWORK = ("network_namespace", "system_call_filter")


def confine(folder: Path, limits: GeneratorLimits, *, accept_weaker: bool = False) -> process.Measures:
    """Confine this process to ``folder``, and limit its memory and processor time to ``limits`` beyond what it has used
    so far. Returns the measures in force (:func:`scorer.confinement.process.confine`).

    Raises ``Unavailable`` (``no-sandbox``) if a required measure is missing. With ``accept_weaker``, it only raises if
    nothing keeps the process from the network.
    """
    process.limit_memory(limits.memory_bytes)
    process.limit_processor_time(limits.cpu_seconds)
    measures = process.confine(
        folder,
        written=[name for name in (*RESULTS, IMAGES) if (folder / name).exists()],
        written_bytes=limits.written_bytes,
        open_files=limits.open_files,
        threads=MAX_THREADS,
    )
    missing = process.missing_measures(measures)
    if missing and not (accept_weaker and any(measures[name] for name in NOT_FOR_NETWORK)):
        raise Unavailable(
            "no-sandbox",
            f"This system cannot open an uploaded generator safely: it lacks {'; '.join(missing)}. An operator can "
            "accept the available measures with KENNEL_ACCEPT_WEAKER_SANDBOX.",
        )
    return measures


_REPORT_EVERY_SECONDS = 0.2


def main(folder: Path) -> None:
    """Do what the request in ``folder`` says, and write the result or the refusal there."""
    os.chdir(folder)
    own = Path()
    request = exchange.read_request(own)
    limits = GeneratorLimits(**request.limits)
    environment = describe_environment()
    rehearse(request.task, limits)
    try:
        measures = confine(own, limits, accept_weaker=request.accept_weaker)
        run_task(own, request, _ProgressWriter(), environment=environment | {"sandbox": measures})
    except KennelError as error:
        exchange.write_refusal(own, error)
    except MemoryError:
        exchange.write_refusal(own, out_of_memory(limits))


def out_of_memory(limits: GeneratorLimits) -> Invalid:
    return Invalid(
        "out-of-memory", f"The generator needs more memory than the limit of {limits.memory_bytes >> 20:,} MB."
    )


class _ProgressWriter:
    """Writes the stage and its share to standard output, at most every ``_REPORT_EVERY_SECONDS`` in a stage."""

    def __init__(self) -> None:
        self._stage = ""
        self._written_at = 0.0

    def __call__(self, stage: str, share: float) -> None:
        now = time.monotonic()
        if stage == self._stage and share < 1.0 and now - self._written_at < _REPORT_EVERY_SECONDS:
            return
        self._stage = stage
        self._written_at = now
        sys.stdout.write(json.dumps({"stage": stage, "share": share}) + "\n")
        sys.stdout.flush()


def describe_environment() -> dict[str, Any]:
    """What the last bits of images depend on, for the provenance."""
    versions = {name: version(name) for name in ("torch", "onnx", "numpy", "scipy")}
    return {
        "versions": versions | {"python": sys.version.split()[0]},
        "processor": processor_name(),
        "instruction_set": torch.backends.cpu.get_cpu_capability(),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
