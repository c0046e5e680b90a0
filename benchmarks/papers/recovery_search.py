"""What a line search for every target is worth: our batched L-BFGS beside torch's, alone and over the whole batch."""

from collections.abc import Callable
from time import process_time
from typing import Any

import torch
from torch import Tensor, nn

from scorer.generators.recovery.lbfgs import LbfgsOptions, minimise

ITERATIONS, HISTORY = 80, LbfgsOptions().history
Loss = Callable[[Tensor, Tensor], Tensor]
"""Latent points (k, d) of the targets (k,) to their errors (k,)."""


def compare_searches(
    generator: nn.Module, targets: Tensor, start: Tensor, alone: int = 16
) -> dict[str, dict[str, float]]:
    """Processor seconds and evaluations per target, and the median error, of three ways from the same start (n, d).

    One optimiser for each target is tried on the first ``alone`` targets; ``first`` is the median of the others there.
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
    way: Callable[[Loss, Tensor], tuple[Tensor, int]], loss: Loss, start: Tensor, alone: int
) -> dict[str, float]:
    begun = process_time()
    point, evaluations = way(loss, start)
    took = process_time() - begun
    with torch.no_grad():
        errors = loss(point, torch.arange(len(start)))
    return {
        "targets": len(start),
        "seconds": took / len(start),
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

    found = minimise(objective, start, LbfgsOptions(ITERATIONS))
    return found.point, int(found.evaluations.sum())


def _one_by_one(loss: Loss, start: Tensor) -> tuple[Tensor, int]:
    ends = [_with_torch(loss, start[row : row + 1], torch.tensor([row])) for row in range(len(start))]
    return torch.cat([point for point, _ in ends]), sum(calls for _, calls in ends)


def _jointly(loss: Loss, start: Tensor) -> tuple[Tensor, int]:
    point, calls = _with_torch(loss, start, torch.arange(len(start)))
    return point, calls * len(start)


def _with_torch(loss: Loss, start: Tensor, rows: Tensor) -> tuple[Tensor, int]:
    point, calls = start.clone().requires_grad_(), 0
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
