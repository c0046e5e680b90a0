"""The operators that are read, each as a function of torch. What is not in here is refused.

They are written for shapes alone as well as for numbers: on torch's meta device the same functions tell the shape of
everything that a network would make, before anything of that size exists.
"""

from scorer.generators.operators.arranging import ARRANGING
from scorer.generators.operators.elementwise import ELEMENTWISE
from scorer.generators.operators.linear import LINEAR, operations_of
from scorer.generators.operators.normalising import NORMALISING
from scorer.generators.operators.resizing import RESIZING
from scorer.generators.operators.signature import Operator

__all__ = ["OPERATORS", "Operator", "operations_of"]

OPERATORS: dict[str, Operator] = dict(sorted((ARRANGING | ELEMENTWISE | LINEAR | NORMALISING | RESIZING).items()))
