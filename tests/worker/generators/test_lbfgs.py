"""The batched L-BFGS compared with torch's, one problem at a time, and its line search with the definition."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from scorer.generators.recovery.lbfgs import CURVATURE_CONDITION, SUFFICIENT_DECREASE, LbfgsOptions, Objective, minimise
from tests.examples import examples

AUTHORS = LbfgsOptions(iterations=50, wolfe=False, history=100)
pytestmark = pytest.mark.usefixtures("one_thread")
Function = Callable[[Tensor, Tensor], Tensor]
"""From points (k, d) of the problems (k,) to values (k,)."""


def build_objective(function: Function) -> Objective:
    def both(points: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            points = points.detach().requires_grad_()
            values = function(points, rows)
            (gradient,) = torch.autograd.grad(values.sum(), points)
        return values.detach(), gradient

    return both


def one_by_one(function: Function, start: Tensor, descent: LbfgsOptions) -> tuple[Tensor, Tensor]:
    """Run torch's optimiser on every problem. Returns the end points (n, d) and the evaluations (n,)."""
    ends, counts = [], []
    for row in range(len(start)):
        point = start[row : row + 1].clone().requires_grad_()
        calls = [0]
        search = "strong_wolfe" if descent.wolfe else None
        optimiser = torch.optim.LBFGS(
            [point], max_iter=descent.iterations, max_eval=10_000, history_size=descent.history, line_search_fn=search
        )

        def closure(point: Tensor = point, row: int = row, calls: list[int] = calls) -> Tensor:
            calls[0] += 1
            value = function(point, torch.tensor([row])).sum()
            (point.grad,) = torch.autograd.grad(value, point)
            return value.detach()

        run: Any = optimiser.step  # has no types
        run(closure)
        ends.append(point.detach())
        counts.append(calls[0])
    return torch.cat(ends), torch.tensor(counts)


def small_generator(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    made = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 192), nn.Tanh())
    return made.double().requires_grad_(False)


def recovery_problem(count: int, noise: float) -> tuple[Function, Tensor]:
    """A problem that recovers points from a small network's output, and start points (count, 8)."""
    generator = small_generator()
    random = torch.Generator().manual_seed(1)
    hidden, start = (torch.randn(count, 8, generator=random, dtype=torch.float64) for _ in range(2))
    targets = generator(hidden) + noise * torch.randn(count, 192, generator=random, dtype=torch.float64)
    return lambda points, rows: (generator(points) - targets[rows]).square().mean(1), start


def test_the_authors_steps_equal_torchs() -> None:
    """Without line search and with 50 evaluations, every problem takes torch's unbatched path up to rounding."""
    function, start = recovery_problem(8, 0.2)
    short = LbfgsOptions(iterations=12, wolfe=False, history=100)
    minimum = minimise(build_objective(function), start, short)
    expected, _ = one_by_one(function, start, short)
    assert torch.allclose(minimum.point, expected, atol=1e-9)
    assert minimum.curve.shape == (13, 8)
    assert torch.equal(minimum.curve[0], function(start, torch.arange(8)))
    assert torch.equal(minimum.curve[-1], minimum.value)
    long = minimise(build_objective(function), start, AUTHORS)
    count = one_by_one(function, start, AUTHORS)[1]
    assert (count <= 50).all()
    assert (long.evaluations <= 51).all()  # including the end point


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_the_line_search_ends_where_torchs_does_with_no_more_work(noise: float) -> None:
    function, start = recovery_problem(16, noise)
    minimum = minimise(build_objective(function), start, LbfgsOptions())
    point, count = one_by_one(function, start, LbfgsOptions(history=100))
    expected = function(point, torch.arange(16))
    close = (minimum.value - expected).abs() < 1e-4 * expected + 1e-8
    assert close.float().mean() >= 0.9  # two searches can end in different valleys
    assert minimum.value.median() <= expected.median() * 1.001 + 1e-9
    assert minimum.evaluations.sum() <= 1.1 * count.sum()


def test_the_search_finds_minima_that_the_authors_steps_miss() -> None:
    function, start = recovery_problem(16, 0.0)
    searched = minimise(build_objective(function), start, LbfgsOptions())
    fixed = minimise(build_objective(function), start, AUTHORS)
    assert (searched.value < 1e-6).float().mean() >= 0.9
    assert (fixed.value < 1e-6).float().mean() <= 0.6


def rosenbrock(points: Tensor, rows: Tensor) -> Tensor:
    return 100 * (points[:, 1:] - points[:, :-1] ** 2).square().sum(1) + (1 - points[:, :-1]).square().sum(1)


def test_the_minimum_of_a_curved_valley_is_found() -> None:
    start = torch.tensor([[-1.2, 1.0], [3.0, -4.0], [0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    minimum = minimise(build_objective(rosenbrock), start, LbfgsOptions(200, good_enough=1e-14))
    assert torch.allclose(minimum.point, torch.ones(4, 2, dtype=torch.float64), atol=1e-5)
    assert minimum.evaluations[3] == 1  # it starts at the minimum


def only(function: Function, row: int) -> Function:
    """The problem of one row, as problem 0."""
    return lambda points, rows: function(points, rows + row)


def test_problems_do_not_depend_on_each_other() -> None:
    function, start = recovery_problem(9, 0.2)
    together = minimise(build_objective(function), start, LbfgsOptions(30))
    for row in range(9):
        alone = minimise(build_objective(only(function, row)), start[row : row + 1], LbfgsOptions(30))
        assert torch.allclose(together.point[row], alone.point[0], atol=1e-7)
        assert together.evaluations[row] == alone.evaluations[0]


@given(
    seed=st.integers(0, 2**31 - 1),
    scale=st.floats(1e-3, 1e3),
    dimension=st.integers(1, 12),
    history=st.integers(1, 20),
)
@settings(max_examples=examples(12), deadline=None)
def test_the_minima_of_quadratic_bowls_are_found(seed: int, scale: float, dimension: int, history: int) -> None:
    random = torch.Generator().manual_seed(seed)
    root = torch.randn(dimension, dimension, generator=random, dtype=torch.float64)
    bowl = scale * (root @ root.T + torch.eye(dimension, dtype=torch.float64))
    lowest, start = (torch.randn(5, dimension, generator=random, dtype=torch.float64) for _ in range(2))

    def function(points: Tensor, rows: Tensor) -> Tensor:
        off = points - lowest[rows]
        return ((off @ bowl) * off).sum(1)

    before = function(start, torch.arange(5))
    minimum = minimise(build_objective(function), start, LbfgsOptions(120, history=history, good_enough=0.0))
    assert (minimum.value <= 1e-4 * before).all()


@given(seed=st.integers(0, 2**31 - 1))
@settings(max_examples=examples(12), deadline=None)
def test_every_accepted_step_fulfils_strong_wolfe(seed: int) -> None:
    """For a wavy function of one dimension, the conditions hold between start and end after one iteration."""
    random = torch.Generator().manual_seed(seed)
    start = 4 * torch.randn(16, 1, generator=random, dtype=torch.float64)

    def wavy(points: Tensor, rows: Tensor) -> Tensor:
        return (points.square() + 3 * torch.sin(3 * points) + 5).squeeze(1)

    both = build_objective(wavy)
    value, gradient = both(start, torch.arange(16))
    minimum = minimise(both, start, LbfgsOptions(1))
    after, slope = both(minimum.point, torch.arange(16))
    step = (minimum.point - start).squeeze(1)
    moved = step.abs() > 0
    first, last = gradient.squeeze(1) * step.sign(), slope.squeeze(1) * step.sign()
    assert moved.float().mean() > 0.9
    assert (after <= value + SUFFICIENT_DECREASE * step.abs() * first + 1e-12)[moved].all()
    assert (last.abs() <= CURVATURE_CONDITION * first.abs() + 1e-12)[moved].all()


def test_nan_ends_a_problem_or_shortens_its_step() -> None:
    def wall(points: Tensor, rows: Tensor) -> Tensor:
        """The logarithm is not a number below 0, which the first step reaches."""
        return (points - points.log()).squeeze(1)

    start = torch.tensor([[0.01], [20.0], [-1.0]], dtype=torch.float64)
    minimum = minimise(build_objective(wall), start, LbfgsOptions(60, good_enough=-1.0))
    assert torch.allclose(minimum.point[:2], torch.ones(2, 1, dtype=torch.float64), atol=1e-2)
    assert minimum.point[2] == start[2]


def test_progress_rises_to_the_end() -> None:
    function, start = recovery_problem(5, 0.2)
    shares: list[float] = []
    minimise(build_objective(function), start, LbfgsOptions(20), progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
