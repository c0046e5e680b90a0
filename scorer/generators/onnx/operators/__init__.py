"""The operators that are read, each as a function of torch. What is not in here is refused.

They are written for shapes alone as well as for numbers: on torch's meta device the same functions tell the shape of
everything that a network would make, before anything of that size exists.
"""

from scorer.generators.onnx.operators.elementwise import ELEMENTWISE
from scorer.generators.onnx.operators.linear import LINEAR, operations_of
from scorer.generators.onnx.operators.normalisation import NORMALISING
from scorer.generators.onnx.operators.operator import Operator
from scorer.generators.onnx.operators.reshaping import ARRANGING
from scorer.generators.onnx.operators.resize import RESIZING

__all__ = ["OPERATORS", "Operator", "operations_of"]

OPERATORS: dict[str, Operator] = dict(sorted((ARRANGING | ELEMENTWISE | LINEAR | NORMALISING | RESIZING).items()))
