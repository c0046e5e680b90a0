"""Search methods for latent recovery compared: Kennel's batched L-BFGS, and torch's for each target or the batch."""

from collections.abc import Callable
from time import process_time
from typing import Any

import torch
from torch import Tensor, nn

from scorer.generators.recovery.lbfgs import LbfgsOptions, minimise

ITERATIONS = 80
HISTORY = LbfgsOptions().history
Loss = Callable[[Tensor, Tensor], Tensor]
"""Latent points (k, d) of the targets (k,) to their errors (k,)."""


def compare_searches(
    generator: nn.Module, targets: Tensor, start: Tensor, alone: int = 16
) -> dict[str, dict[str, float]]:
    """CPU seconds and evaluations per target, and the median error, of three methods from the same start (n, d).

    One optimiser for each target runs on the first ``alone`` targets only; ``first`` is the median error on these.
    """

    def loss(points: Tensor, rows: Tensor) -> Tensor:
        errors: Tensor = (generator(points) - targets[rows]).square().mean(dim=(1, 2, 3))
        return errors

    return {
        "batched, a line search for every target": _timed(_ours, loss, start, alone),
        "torch.optim.LBFGS for each target": _timed(_one_by_one, loss, start[:alone], alone),
        "torch.optim.LBFGS over the batch": _timed(_jointly, loss, start, alone),
    }


def _timed(
    search: Callable[[Loss, Tensor], tuple[Tensor, int]], loss: Loss, start: Tensor, alone: int
) -> dict[str, float]:
    start_time = process_time()
    point, evaluations = search(loss, start)
    seconds = process_time() - start_time
    with torch.no_grad():
        errors = loss(point, torch.arange(len(start)))
    return {
        "targets": len(start),
        "seconds": seconds / len(start),
        "evaluations": evaluations / len(start),
        "median": float(errors.quantile(0.5)),
        "first": float(errors[:alone].quantile(0.5)),
    }


def _ours(loss: Loss, start: Tensor) -> tuple[Tensor, int]:
    def objective(points: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            points = points.detach().requires_grad_()
            errors = loss(points, rows)
            (gradient,) = torch.autograd.grad(errors.sum(), points)
        return errors.detach(), gradient

    minimum = minimise(objective, start, LbfgsOptions(ITERATIONS))
    return minimum.point, int(minimum.evaluations.sum())


def _one_by_one(loss: Loss, start: Tensor) -> tuple[Tensor, int]:
    ends = [_with_torch(loss, start[row : row + 1], torch.tensor([row])) for row in range(len(start))]
    return torch.cat([point for point, _ in ends]), sum(calls for _, calls in ends)


def _jointly(loss: Loss, start: Tensor) -> tuple[Tensor, int]:
    point, calls = _with_torch(loss, start, torch.arange(len(start)))
    return point, calls * len(start)


def _with_torch(loss: Loss, start: Tensor, rows: Tensor) -> tuple[Tensor, int]:
    point = start.clone().requires_grad_()
    calls = 0
    optimiser = torch.optim.LBFGS(
        [point], max_iter=ITERATIONS, max_eval=100 * ITERATIONS, history_size=HISTORY, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        nonlocal calls
        calls += 1
        value = loss(point, rows).sum()
        (point.grad,) = torch.autograd.grad(value, point)
        return value.detach()

    step: Any = optimiser.step  # has no types
    step(closure)
    return point.detach(), calls
