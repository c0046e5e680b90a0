"""The self-test of a worker: tries everything that all jobs need, and reports faults."""

from uuid import uuid4

import numpy as np

from scorer.db.session import ping
from scorer.extractors import DeviceLost
from worker.runtime import health
from worker.runtime.context import WorkerContext
from worker.runtime.device_probe import device_fault

SELF_TESTS = "self-test"
"""The folder of the blob store that self-tests write to."""
PROBE_BYTES = 1 << 20
PROBE_IMAGES = 4


def self_test(context: WorkerContext) -> str | None:
    """Try everything that all jobs need (database, blob store, scratch folder, loaded extractors); returns the fault,
    or None. A GPU lost to this process raises ``DeviceLost``, which ends the process.
    """
    for check in (_ping_database, _use_blobs, _use_scratch, _use_device, _use_extractors):
        try:
            check(context)
        except DeviceLost:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the worker is not fit for work
            return f"{type(error).__name__}: {error}"
    return None


def _ping_database(context: WorkerContext) -> None:
    ping(context.sessions)


def _use_blobs(context: WorkerContext) -> None:
    key = f"{SELF_TESTS}/{uuid4().hex}"
    context.blobs.write(key, b"self-test")
    try:
        if context.blobs.read(key) != b"self-test":
            raise OSError(f"The blob store returned other bytes for {key} than were written.")
    finally:
        context.blobs.delete(key)


def _use_scratch(context: WorkerContext) -> None:
    context.scratch.mkdir(parents=True, exist_ok=True)
    path = context.scratch / f"self-test-{uuid4().hex}"
    try:
        path.write_bytes(bytes(PROBE_BYTES))
    finally:
        path.unlink(missing_ok=True)


def _use_device(context: WorkerContext) -> None:
    """After a loss: test whether the GPU works for a new process."""
    if health.device_losses.value == 0:
        return
    device = context.settings.device
    fault = device_fault("cuda" if device == "auto" else device)
    if fault is not None:
        raise OSError(fault)


def _use_extractors(context: WorkerContext) -> None:
    for extractor in context.loaded_extractors():
        side = extractor.spec.input_size
        images = np.random.default_rng(0).integers(0, 256, (PROBE_IMAGES, side, side, 3), dtype=np.uint8)
        if not np.isfinite(extractor.features(images)).all():
            raise ArithmeticError(f"The features of {extractor.spec.name} are not finite.")
