"""Every supported ONNX operator, on the ONNX project's published cases."""

import importlib
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from onnx.backend.test.case import node as cases

from scorer.errors import Invalid
from scorer.generators.limits import DEFAULT_LIMITS
from scorer.generators.onnx.graph import Node
from scorer.generators.onnx.module import run_node
from scorer.generators.onnx.operators import OPERATORS
from scorer.generators.onnx.operators.linear import matrix_product
from scorer.generators.onnx.parsing import read_node
from scorer.generators.onnx.shape_tracing import _by_shape
from scorer.generators.onnx_files import SUPPORTED_OPERATORS
from scorer.generators.sandbox.child import rehearse
from tests.documents import ROOT

NUMBERS = ("float32", "float64", "int32", "int64", "bool")
ELSEWHERE = {
    "And": "and_",
    "BatchNormalization": "batch_normalization",
    "GreaterOrEqual": "greater_or_equal",
    "InstanceNormalization": "instance_normalization",
    "LessOrEqual": "less_or_equal",
    "Not": "not_",
    "Or": "or_",
    "Range": "rangeop",
}
"""Modules of cases with other names than their operators."""
NOT_READ = {"unsupported-form", "training-mode"}
"""Refused on purpose, with a message."""
BEYOND = {
    "test_averagepool_2d_pads": "torch pads no more than half a kernel",
    "test_averagepool_2d_pads_count_include_pad": "torch pads no more than half a kernel",
    "test_reduce_max_empty_set": "no generator reduces nothing",
    "test_reduce_min_empty_set": "no generator reduces nothing",
    "test_reduce_max_empty_set_bool": "no generator reduces nothing",
}


def published() -> Iterator[Any]:
    """The cases with one supported node."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in OPERATORS:
            importlib.import_module(f"onnx.backend.test.case.node.{ELSEWHERE.get(kind, kind.lower())}")
    for case in cases._NodeTestCases:
        if len(case.model.graph.node) == 1 and case.model.graph.node[0].op_type in OPERATORS:
            yield case


def to_array(value: Any) -> NDArray[Any]:
    """A value of a case: an array, a number or a stored tensor."""
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def to_arrays(case: Any) -> tuple[list[Any], list[Any]] | None:
    """Inputs and outputs, if all their types are supported."""
    inputs, wanted = case.data_sets[0]
    if any(isinstance(value, list) or value is None for value in (*inputs, *wanted)):
        return None
    inputs, wanted = [to_array(value) for value in inputs], [to_array(value) for value in wanted]
    return (inputs, wanted) if {str(array.dtype) for array in (*inputs, *wanted)} <= set(NUMBERS) else None


def node_and_inputs(case: Any, inputs: list[Any]) -> tuple[Node, list[torch.Tensor | None]]:
    """The case's node with only its first output, the only one that generators use, and its inputs as tensors."""
    graph = case.model.graph
    if graph.node[0].op_type in {"LayerNormalization", "Dropout"}:
        del graph.node[0].output[1:]
    node = read_node(0, graph.node[0], case.model.opset_import[0].version)
    named = dict(zip([value.name for value in graph.input], inputs, strict=True))
    return node, [torch.from_numpy(named[name].copy()) if name else None for name in node.inputs]


def test_operators_match_onnx() -> None:
    """Values, types and shapes match, and shapes also if the numbers are unknown."""
    passed: Counter[str] = Counter()
    unread: dict[str, list[str]] = {}
    for case in published():
        arrays = to_arrays(case)
        if arrays is None or case.name in BEYOND:
            continue
        try:
            node, inputs = node_and_inputs(case, arrays[0])
            made = run_node(node, inputs)
        except Invalid as refused:
            unread.setdefault(refused.slug, []).append(case.name)
            continue
        with torch.device("meta"):
            shapes = run_node(node, _by_shape(node, inputs))
        for output, wanted, shape in zip(made, arrays[1], shapes, strict=False):
            np.testing.assert_allclose(output.numpy(), wanted, rtol=1e-3, atol=1e-5, err_msg=case.name)
            assert str(output.numpy().dtype) == str(wanted.dtype), case.name
            assert shape.shape == output.shape, case.name
        passed[node.kind] += 1
    assert set(OPERATORS) - set(passed) == set()
    assert passed.total() > 350
    assert unread.keys() <= NOT_READ, unread


@pytest.mark.parametrize("rows", [1, 64])
def test_a_product_without_gradients_is_the_same(rows: int) -> None:
    random = torch.Generator().manual_seed(rows)
    a, b = torch.randn(30, rows, generator=random).T, torch.randn(30, 50, generator=random)
    with torch.inference_mode():
        made = matrix_product(a, b.T.contiguous().T)
    np.testing.assert_allclose(made.numpy(), (a.double() @ b.double()).numpy(), atol=1e-5)


def test_no_operator_imports_a_module_on_first_use() -> None:
    """A confined draw can read no libraries, and its rehearsal has three operators."""
    code = "from tests.worker.generators.test_onnx_operators import run_all; run_all()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def run_all() -> None:
    """Run all nodes that are read. Not in a test's process, which has traced shapes and so imported a compiler."""
    rehearse("draw", DEFAULT_LIMITS)
    cases = [(case, arrays[0]) for case in published() if (arrays := to_arrays(case)) and case.name not in BEYOND]
    imported = set(sys.modules)
    for case, inputs in cases:
        with suppress(Invalid):
            run_node(*node_and_inputs(case, inputs))
    assert set(sys.modules) == imported, set(sys.modules) - imported


def test_pages_list_the_operators() -> None:
    assert tuple(OPERATORS) == SUPPORTED_OPERATORS
    page = (ROOT / "docs/explanation/sandbox.md").read_text()
    assert f"{len(OPERATORS)} operators" in page
    assert " ".join(OPERATORS) in " ".join(page.split())


@pytest.mark.parametrize("kind", sorted(OPERATORS))
def test_a_node_without_inputs_is_refused_with_a_message(kind: str) -> None:
    """Missing inputs raise only ``Invalid``."""
    with pytest.raises(Invalid, match="Node 1"):
        run_node(Node(0, kind, (), ("made",), {}, 17), [])
