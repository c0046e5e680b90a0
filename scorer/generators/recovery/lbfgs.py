"""Batched L-BFGS with a strong-Wolfe line search for each target."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

MIN_CURVATURE = 1e-10
"""A step whose curvature y's is not above this is not remembered, as in torch.optim.LBFGS."""


class LbfgsHistory:
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
        told = curvature > MIN_CURVATURE
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


Objective = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Points (k, d) of the problems (k,) to their values (k,) and gradients (k, d)."""

SUFFICIENT_DECREASE, CURVATURE_CONDITION = 1e-4, 0.9  # c1 and c2, those of torch's line search
MAX_TRIALS = 12
MIN_GRADIENT, MIN_DECREASE = 1e-7, 1e-9  # torch's tolerances, for the authors' mode
STALLED = 1e-4  # a step that lowers the value by less than this share of it, or promises to, is the last


@dataclass(frozen=True)
class LbfgsOptions:
    """How to descend: ``wolfe`` with a line search, else with step 1 as the authors do; and for how long."""

    iterations: int = 100
    wolfe: bool = True
    history: int = 20
    good_enough: float = 1e-9
    """A value below this ends a problem."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where each problem ended: ``point`` (n, d), ``value`` (n,), and how often each was evaluated, (n,) int64."""

    point: Tensor
    value: Tensor
    evaluations: Tensor


def minimise(
    objective: Objective, start: Tensor, descent: LbfgsOptions, tick: Callable[[float], None] | None = None
) -> Minimum:
    """Descend from ``start`` (n, d). ``tick`` hears the finished share now and then."""
    with torch.no_grad():
        run = _Minimisation(objective, start, descent)
        while len(rows := torch.nonzero(run.going).squeeze(1)):
            run.advance(rows)
            if tick:
                tick(float((run.iterations / descent.iterations).clamp(max=1.0).where(run.going, 1.0).mean()))
        return run.result()


class _Minimisation:
    """All problems under way. Whatever has n rows has one for each problem; ``rows`` are those that still go on."""

    def __init__(self, objective: Objective, start: Tensor, descent: LbfgsOptions) -> None:
        count = len(start)
        every = torch.arange(count, device=start.device)
        self._objective, self._descent = objective, descent
        self._memory = LbfgsHistory(count, descent.history, start)
        self._point = start.clone()
        self._value, self._gradient = objective(self._point, every)
        self._direction = torch.zeros_like(start)
        self._slope, self._step = start.new_zeros(count), start.new_zeros(count)
        self._low, self._high = _BracketEnd(start), _BracketEnd(start)
        self._trials = torch.zeros_like(every)
        self.iterations = torch.zeros_like(every)
        self._evaluations = torch.ones_like(every)
        self.going = torch.isfinite(self._value)
        self._aim(every[self.going])

    def advance(self, rows: Tensor) -> None:
        """Evaluate the trial points of these rows, and move or look further."""
        step = self._step[rows]
        value, gradient = self._objective(self._point[rows] + step[:, None] * self._direction[rows], rows)
        self._evaluations[rows] += 1
        self._trials[rows] += 1
        if not self._descent.wolfe:
            self._move(rows, value, gradient, step)
            return
        slope = (gradient * self._direction[rows]).sum(1)
        steep = self._slope[rows].abs()
        # Not "above": what is not a number is too far, too.
        too_far = ~(value <= self._value[rows] - SUFFICIENT_DECREASE * step * steep) | ~(
            slope <= CURVATURE_CONDITION * steep
        )
        too_near = ~too_far & (slope < -CURVATURE_CONDITION * steep)
        self._high.put(rows[too_far], step[too_far], value[too_far], slope[too_far], gradient[too_far])
        self._low.put(rows[too_near], step[too_near], value[too_near], slope[too_near], gradient[too_near])
        found = ~(too_far | too_near)
        lost = ~found & (self._trials[rows] >= MAX_TRIALS)
        self._look_on(rows[~found & ~lost])
        self._move(rows[found], value[found], gradient[found], step[found])
        self._give_up(rows[lost])

    def result(self) -> Minimum:
        """The last accepted points; a descent never accepts a worse one, the authors' steps do."""
        return Minimum(self._point, self._value, self._evaluations)

    def _look_on(self, rows: Tensor) -> None:
        low, high = self._low, self._high
        open_end = torch.isinf(high.step[rows])
        beyond, within = rows[open_end], rows[~open_end]
        self._step[beyond] = 4.0 * low.step[beyond]
        left = low.step[within]
        width = high.step[within] - low.step[within]
        share = _cubic(low.value[within], low.slope[within] * width, high.value[within], high.slope[within] * width)
        self._step[within] = left + width * share

    def _give_up(self, rows: Tensor) -> None:
        """After too many trials: take the lower end if it moves; else forget the Hessian; else it is over."""
        low = self._low.step[rows]
        moved = rows[low > 0.0]
        self._move(moved, self._low.value[moved], self._low.gradient[moved], low[low > 0.0])
        stuck = rows[low <= 0.0]
        known = self._memory.knows(stuck)
        self.going[stuck[~known]] = False
        self._memory.forget(stuck[known])
        self._aim(stuck[known])

    def _move(self, rows: Tensor, value: Tensor, gradient: Tensor, step: Tensor) -> None:
        if not len(rows):
            return
        moved = step[:, None] * self._direction[rows]
        before = self._value[rows]
        self._memory.learn(rows, moved, gradient - self._gradient[rows])
        self._point[rows] += moved
        self._value[rows], self._gradient[rows] = value, gradient
        self.iterations[rows] += 1
        over = (self.iterations[rows] >= self._descent.iterations) | ~torch.isfinite(value)
        if self._descent.wolfe:
            # At a kink, as ReLUs make them, every search would use up its trials for next to nothing.
            over |= (value < self._descent.good_enough) | (before - value < STALLED * before)
        self.going[rows[over]] = False
        self._aim(rows[~over])

    def _aim(self, rows: Tensor) -> None:
        """A new direction and a first step for these rows, or their end where the ground is flat."""
        if not len(rows):
            return
        gradient = self._gradient[rows]
        direction = -self._memory.times(rows, gradient)
        slope = (gradient * direction).sum(1)
        if self._descent.wolfe:
            flat = ~(slope < -STALLED * self._value[rows])
            first = 1.0 / direction.norm(dim=1)  # latent points have coordinates of about 1: move by that
        else:
            flat = (gradient.abs().amax(1) <= MIN_GRADIENT) | (slope > -MIN_DECREASE)
            first = (1.0 / gradient.abs().sum(1)).clamp(max=1.0)
        self._direction[rows], self._slope[rows] = direction, slope
        self._step[rows] = torch.where(self._memory.knows(rows), torch.ones_like(first), first)
        self._trials[rows] = 0
        self._low.put(rows, torch.zeros_like(slope), self._value[rows], slope, gradient)
        self._high.step[rows] = torch.inf
        self.going[rows[flat]] = False


class _BracketEnd:
    """One end of every row's bracket: step, value, slope and gradient there."""

    def __init__(self, like: Tensor) -> None:
        self.step, self.value, self.slope = (like.new_zeros(len(like)) for _ in range(3))
        self.gradient = torch.zeros_like(like)

    def put(self, rows: Tensor, step: Tensor, value: Tensor, slope: Tensor, gradient: Tensor) -> None:
        self.step[rows], self.value[rows], self.slope[rows], self.gradient[rows] = step, value, slope, gradient


def _cubic(left: Tensor, left_slope: Tensor, right: Tensor, right_slope: Tensor) -> Tensor:
    """Where in 0..1 the cubic with these ends has its minimum, kept within 0.1..0.9; 0.5 where it has none."""
    first = left_slope + right_slope - 3.0 * (right - left)
    root = (first * first - left_slope * right_slope).sqrt()
    place = 1.0 - (right_slope + root - first) / (right_slope - left_slope + 2.0 * root)
    return torch.where(torch.isfinite(place), place, 0.5).clamp(0.1, 0.9)
