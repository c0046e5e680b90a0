"""The ONNX operators that Kennel supports, as functions of torch tensors. It refuses any other operator.

On torch's meta device, the same functions give the shapes of everything that a network would compute, before anything
of that size is allocated.
"""

from scorer.generators.onnx.operators.elementwise import ELEMENTWISE
from scorer.generators.onnx.operators.linear import LINEAR, count_operations
from scorer.generators.onnx.operators.normalisation import NORMALISING
from scorer.generators.onnx.operators.operator import Operator
from scorer.generators.onnx.operators.reshaping import ARRANGING
from scorer.generators.onnx.operators.resize import RESIZING

__all__ = ["OPERATORS", "Operator", "count_operations"]

OPERATORS: dict[str, Operator] = dict(sorted((ARRANGING | ELEMENTWISE | LINEAR | NORMALISING | RESIZING).items()))
