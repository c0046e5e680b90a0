"""A rehearsal of an audit with a generator of our own, before the process is confined.

Torch and numpy import many of their modules only when something is first used, and a confined process can read no
libraries. So an audit is run once from its file to its result.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from scorer.generators.limits import GeneratorLimits
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.recovery.targets import EntryTargets
from scorer.generators.sandbox import exchange
from scorer.generators.sandbox.audit_task import run_audit
from scorer.metrics.copying.near_targets import NearTargets

_DIMENSION, _SIDE, _IMAGES = 2, 2, 8
_ROWS = np.arange(_IMAGES)
_PLAN = AuditPlan(
    train=_IMAGES, held_out=_IMAGES, generated=_IMAGES, sampled=_IMAGES, distorted=0, starts=1, iterations=1
)


def rehearse(limits: GeneratorLimits) -> None:
    """Run an audit of a linear generator of 2 x 2 pixels against noise, an entry included, without a second
    thread: a process of several cannot be confined any more."""
    images = np.random.default_rng(0).integers(0, 256, (_IMAGES, _SIDE, _SIDE, 3), np.uint8)
    latent: Mapping[str, Any] = {"dimension": _DIMENSION}
    request = exchange.AuditRequest(latent, _PLAN.as_json(), None, {})
    with TemporaryDirectory() as name:
        folder = Path(name)
        entry = EntryTargets(images, NearTargets(_ROWS, _ROWS, 1.0))
        exchange.write_inputs(folder, _linear_generator(), images, images[::-1], request, entry=entry)
        inputs = (*exchange.read_inputs(folder), exchange.read_request(folder))
        read = exchange.read_entry(folder)
        audit = run_audit(inputs, replace(limits, threads=1), lambda *_: None, entry=read)
        exchange.write_result(folder, audit.report(), audit.arrays())


def _linear_generator() -> bytes:
    """The latent times a matrix, as an image, through tanh."""
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
