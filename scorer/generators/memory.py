"""The inverse Hessians of L-BFGS, one for each row, from the last steps of that row (Nocedal 1980)."""

import torch
from torch import Tensor

LEAST_CURVATURE = 1e-10
"""A step whose curvature y's is not above this is not remembered, as in torch.optim.LBFGS."""


class Memory:
    """The last ``length`` steps s and changes of gradient y of every one of ``rows`` rows, (rows, d) each."""

    def __init__(self, rows: int, length: int, like: Tensor) -> None:
        shape = (length, rows, like.shape[1])
        self.length = length
        self._steps, self._changes = like.new_zeros(shape), like.new_zeros(shape)
        self._inverse = like.new_zeros((length, rows))  # 1 / y's; 0 where nothing is remembered
        self._scale = like.new_ones(rows)  # y's / y'y of the newest
        self._count = torch.zeros(rows, dtype=torch.long, device=like.device)

    def learn(self, rows: Tensor, step: Tensor, change: Tensor) -> None:
        """Remember the steps (k, d) of these rows (k,), in place of their oldest where the memory is full."""
        curvature = (step * change).sum(1)
        told = curvature > LEAST_CURVATURE
        rows, step, change, curvature = rows[told], step[told], change[told], curvature[told]
        place = self._count[rows] % self.length
        self._steps[place, rows], self._changes[place, rows] = step, change
        self._inverse[place, rows] = 1.0 / curvature
        self._scale[rows] = curvature / (change * change).sum(1)
        self._count[rows] += 1

    def forget(self, rows: Tensor) -> None:
        """Begin again with the steepest descent."""
        self._inverse[:, rows] = 0.0
        self._scale[rows] = 1.0
        self._count[rows] = 0

    def knows(self, rows: Tensor) -> Tensor:
        """Which of these rows remember anything, (k,)."""
        return self._count[rows] > 0

    def times(self, rows: Tensor, gradient: Tensor) -> Tensor:
        """The inverse Hessian of each row (k,) times its gradient (k, d), by the two loops."""
        longest = min(int(self._count[rows].max()), self.length)
        back = [(self._count[rows] - 1 - age) % self.length for age in range(longest)]
        product, weights = gradient, []
        for place in back:
            weight = self._inverse[place, rows] * (self._steps[place, rows] * product).sum(1)
            product = product - weight[:, None] * self._changes[place, rows]
            weights.append(weight)
        product = product * self._scale[rows][:, None]
        for place, weight in zip(reversed(back), reversed(weights), strict=True):
            other = self._inverse[place, rows] * (self._changes[place, rows] * product).sum(1)
            product = product + (weight - other)[:, None] * self._steps[place, rows]
        return product
