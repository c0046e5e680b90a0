"""Batched L-BFGS with a strong-Wolfe line search for each target."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from scorer.progress import ProgressCallback

MIN_CURVATURE = 1e-10
"""A step with a curvature y's of at most this is not stored, as in torch.optim.LBFGS."""


class LbfgsHistory:
    """The last ``length`` steps s and gradient changes y of each of ``rows`` problems, arrays of (rows, d) each."""

    def __init__(self, rows: int, length: int, like: Tensor) -> None:
        shape = (length, rows, like.shape[1])
        self.length = length
        self._steps, self._changes = like.new_zeros(shape), like.new_zeros(shape)
        self._inverse = like.new_zeros((length, rows))  # 1 / y's; 0 if nothing is stored
        self._scale = like.new_ones(rows)  # y's / y'y of the newest step
        self._count = torch.zeros(rows, dtype=torch.long, device=like.device)

    def add(self, rows: Tensor, step: Tensor, change: Tensor) -> None:
        """Store steps (k, d) and gradient changes of these rows (k,), over the oldest if the history is full."""
        curvature = (step * change).sum(1)
        usable = curvature > MIN_CURVATURE
        rows, step, change, curvature = rows[usable], step[usable], change[usable], curvature[usable]
        place = self._count[rows] % self.length
        self._steps[place, rows], self._changes[place, rows] = step, change
        self._inverse[place, rows] = 1.0 / curvature
        self._scale[rows] = curvature / (change * change).sum(1)
        self._count[rows] += 1

    def reset(self, rows: Tensor) -> None:
        """Empty the history of these rows, so they restart with steepest descent."""
        self._inverse[:, rows] = 0.0
        self._scale[rows] = 1.0
        self._count[rows] = 0

    def has_history(self, rows: Tensor) -> Tensor:
        return self._count[rows] > 0

    def apply_inverse_hessian(self, rows: Tensor, gradient: Tensor) -> Tensor:
        """The approximate inverse Hessian of each row (k,) times its gradient (k, d), from the two-loop recursion."""
        depth = min(int(self._count[rows].max()), self.length)
        back = [(self._count[rows] - 1 - age) % self.length for age in range(depth)]
        product = gradient
        weights = []
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
"""Maps points (k, d) and the indices (k,) of their problems to values (k,) and gradients (k, d)."""

SUFFICIENT_DECREASE, CURVATURE_CONDITION = 1e-4, 0.9  # c1 and c2 of torch's line search
MAX_TRIALS = 12
MIN_GRADIENT, MIN_DECREASE = 1e-7, 1e-9  # torch's tolerances, for the authors' mode
STALLED = 1e-4  # a step that lowers the value by a smaller share, or promises to, is the last


@dataclass(frozen=True)
class LbfgsOptions:
    """How to minimise: with a line search (``wolfe``) or with step 1, as the paper's authors do; and for how long."""

    iterations: int = 100
    wolfe: bool = True
    history: int = 20
    good_enough: float = 1e-9
    """A value below this ends a problem."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """The result of each problem: ``point`` (n, d), ``value`` (n,), its number of evaluations, (n,) int64, and its
    ``curve``."""

    point: Tensor
    value: Tensor
    evaluations: Tensor
    curve: Tensor
    """The value before the first and after each iteration, (iterations + 1, n); repeats the last one after the end."""


def minimise(
    objective: Objective, start: Tensor, options: LbfgsOptions, *, progress: ProgressCallback | None = None
) -> Minimum:
    """Minimise n independent problems from ``start`` (n, d). ``progress`` receives the finished share."""
    with torch.no_grad():
        run = _Minimisation(objective, start, options)
        while len(rows := torch.nonzero(run.active).squeeze(1)):
            run.advance(rows)
            if progress:
                progress(float((run.iterations / options.iterations).clamp(max=1.0).where(run.active, 1.0).mean()))
        return run.result()


class _Minimisation:
    """The state of all problems, one row for each. ``rows`` are the indices of the problems that a method acts on."""

    def __init__(self, objective: Objective, start: Tensor, options: LbfgsOptions) -> None:
        count = len(start)
        every = torch.arange(count, device=start.device)
        self._objective = objective
        self._options = options
        self._history = LbfgsHistory(count, options.history, start)
        self._point = start.clone()
        self._value, self._gradient = objective(self._point, every)
        self._direction = torch.zeros_like(start)
        self._slope, self._step = start.new_zeros(count), start.new_zeros(count)
        self._low, self._high = _BracketEnd(start), _BracketEnd(start)
        self._trials = torch.zeros_like(every)
        self.iterations = torch.zeros_like(every)
        self._values = self._value.repeat(options.iterations + 1, 1)
        self._evaluations = torch.ones_like(every)
        self.active = torch.isfinite(self._value)
        self._set_direction(every[self.active])

    def advance(self, rows: Tensor) -> None:
        """Evaluate the trial points of these rows, then accept them or continue the line search."""
        step = self._step[rows]
        value, gradient = self._objective(self._point[rows] + step[:, None] * self._direction[rows], rows)
        self._evaluations[rows] += 1
        self._trials[rows] += 1
        if not self._options.wolfe:
            self._move(rows, value, gradient, step=step)
            return
        slope = (gradient * self._direction[rows]).sum(1)
        steep = self._slope[rows].abs()
        # The comparisons are negated so a value of nan counts as too far.
        too_far = ~(value <= self._value[rows] - SUFFICIENT_DECREASE * step * steep) | ~(
            slope <= CURVATURE_CONDITION * steep
        )
        too_near = ~too_far & (slope < -CURVATURE_CONDITION * steep)
        self._high.put(rows[too_far], step[too_far], value[too_far], slope=slope[too_far], gradient=gradient[too_far])
        self._low.put(
            rows[too_near], step[too_near], value[too_near], slope=slope[too_near], gradient=gradient[too_near]
        )
        accepted = ~(too_far | too_near)
        exhausted = ~accepted & (self._trials[rows] >= MAX_TRIALS)
        self._continue_search(rows[~accepted & ~exhausted])
        self._move(rows[accepted], value[accepted], gradient[accepted], step=step[accepted])
        self._end_search(rows[exhausted])

    def result(self) -> Minimum:
        """The last accepted points. The line search never accepts a worse point; the authors' steps may."""
        places = torch.arange(len(self._values), device=self._point.device)[:, None]
        curve = self._values.gather(0, torch.minimum(places, self.iterations))
        return Minimum(self._point, self._value, self._evaluations, curve)

    def _continue_search(self, rows: Tensor) -> None:
        """The next trial step: four times the lower end while the bracket is open, otherwise the minimum of a cubic."""
        low, high = self._low, self._high
        open_end = torch.isinf(high.step[rows])
        beyond, within = rows[open_end], rows[~open_end]
        self._step[beyond] = 4.0 * low.step[beyond]
        left = low.step[within]
        width = high.step[within] - low.step[within]
        share = _cubic(
            low.value[within], low.slope[within] * width, high.value[within], right_slope=high.slope[within] * width
        )
        self._step[within] = left + width * share

    def _end_search(self, rows: Tensor) -> None:
        """After too many trials: accept the bracket's lower end if it moves, or else reset the history, or else end."""
        low = self._low.step[rows]
        moved = rows[low > 0.0]
        self._move(moved, self._low.value[moved], self._low.gradient[moved], step=low[low > 0.0])
        stuck = rows[low <= 0.0]
        has_history = self._history.has_history(stuck)
        self.active[stuck[~has_history]] = False
        self._history.reset(stuck[has_history])
        self._set_direction(stuck[has_history])

    def _move(self, rows: Tensor, value: Tensor, gradient: Tensor, *, step: Tensor) -> None:
        if not len(rows):
            return
        moved = step[:, None] * self._direction[rows]
        before = self._value[rows]
        self._history.add(rows, moved, gradient - self._gradient[rows])
        self._point[rows] += moved
        self._value[rows], self._gradient[rows] = value, gradient
        self.iterations[rows] += 1
        self._values[self.iterations[rows], rows] = value
        over = (self.iterations[rows] >= self._options.iterations) | ~torch.isfinite(value)
        if self._options.wolfe:
            # At a kink, such as those of ReLUs, every search would use up its trials for almost no gain.
            over |= (value < self._options.good_enough) | (before - value < STALLED * before)
        self.active[rows[over]] = False
        self._set_direction(rows[~over])

    def _set_direction(self, rows: Tensor) -> None:
        """Set a new direction and first step for these rows, or end them if the objective is flat."""
        if not len(rows):
            return
        gradient = self._gradient[rows]
        direction = -self._history.apply_inverse_hessian(rows, gradient)
        slope = (gradient * direction).sum(1)
        if self._options.wolfe:
            flat = ~(slope < -STALLED * self._value[rows])
            first = 1.0 / direction.norm(dim=1)  # latent points have coordinates of about 1: move by about 1
        else:
            flat = (gradient.abs().amax(1) <= MIN_GRADIENT) | (slope > -MIN_DECREASE)
            first = (1.0 / gradient.abs().sum(1)).clamp(max=1.0)
        self._direction[rows], self._slope[rows] = direction, slope
        self._step[rows] = torch.where(self._history.has_history(rows), torch.ones_like(first), first)
        self._trials[rows] = 0
        self._low.put(rows, torch.zeros_like(slope), self._value[rows], slope=slope, gradient=gradient)
        self._high.step[rows] = torch.inf
        self.active[rows[flat]] = False


class _BracketEnd:
    """One end of every row's bracket, with the step, value, slope and gradient there."""

    def __init__(self, like: Tensor) -> None:
        self.step, self.value, self.slope = (like.new_zeros(len(like)) for _ in range(3))
        self.gradient = torch.zeros_like(like)

    def put(self, rows: Tensor, step: Tensor, value: Tensor, *, slope: Tensor, gradient: Tensor) -> None:
        self.step[rows], self.value[rows], self.slope[rows], self.gradient[rows] = step, value, slope, gradient


def _cubic(left: Tensor, left_slope: Tensor, right: Tensor, *, right_slope: Tensor) -> Tensor:
    """The place in 0..1 of the minimum of the cubic with these end values and slopes, clamped to 0.1..0.9; or 0.5."""
    first = left_slope + right_slope - 3.0 * (right - left)
    root = (first * first - left_slope * right_slope).sqrt()
    place = 1.0 - (right_slope + root - first) / (right_slope - left_slope + 2.0 * root)
    return torch.where(torch.isfinite(place), place, 0.5).clamp(0.1, 0.9)
