"""Simulated competitions with known true ranks, to count how often intervals contain them and probabilities come
true."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from scorer.ranking.columns import Flags, Floats, Ints
from scorer.ranking.uncertainty import MeasuredScores, SharedImages, rank_intervals, rank_probabilities

TEAMS = 60
LAST_RANKS = (3, 10, 20)
"""The last ranks of gold, silver and bronze."""
TAU = 0.2


@dataclass(frozen=True)
class Field:
    """The true quantities of a competition's entries, arrays (n,), and the pairs that share images."""

    fid: Floats
    fid_se: Floats
    distance: Floats
    distance_se: Floats
    shared: tuple[SharedImages, ...] = ()


def _field(fid: Floats, fid_se: Floats, random: np.random.Generator) -> Field:
    """A field without an entry near the threshold."""
    return Field(fid, fid_se, random.uniform(0.25, 0.35, TEAMS), np.full(TEAMS, 0.001))


def wide(random: np.random.Generator) -> Field:
    """Scores spread over a factor of ten with errors of 1 %, as in 2019. Neighbours differ by several errors."""
    fid = np.exp(random.normal(3.2, 0.6, TEAMS))
    return _field(fid, 0.01 * fid, random)


def dense(random: np.random.Generator) -> Field:
    """Scores spread as widely as their errors, as after a year in which all teams tuned one method."""
    return _field(random.normal(20.0, 0.2, TEAMS), random.uniform(0.15, 0.25, TEAMS), random)


def leaders(random: np.random.Generator) -> Field:
    """A leading group within a few errors, and the other teams far behind."""
    fid = np.concatenate([random.normal(12.0, 0.3, 15), np.exp(random.normal(3.3, 0.4, TEAMS - 15))])
    return _field(fid, np.full(TEAMS, 0.12), random)


def tied(random: np.random.Generator) -> Field:
    """A leading group spread no wider than its errors, which the spread of all other teams hides."""
    fid = np.concatenate([random.normal(12.0, 0.12, 15), np.exp(random.normal(3.3, 0.4, TEAMS - 15))])
    return _field(fid, np.full(TEAMS, 0.12), random)


def borderline(random: np.random.Generator) -> Field:
    """Every third entry is within two errors of the threshold. FIDs are close, so penalties decide."""
    field_ = wide(random)
    distance = np.where(np.arange(TEAMS) % 3 == 0, random.normal(TAU, 0.002, TEAMS), field_.distance)
    return Field(field_.fid, field_.fid_se, distance, np.full(TEAMS, 0.001))


def sharing(random: np.random.Generator) -> Field:
    """Every second pair of neighbours in the list shares half of its images."""
    dense_field = dense(random)
    pairs = tuple(SharedImages(place, place + 1, 0.5) for place in range(0, TEAMS, 4))
    return Field(dense_field.fid, dense_field.fid_se, dense_field.distance, dense_field.distance_se, pairs)


FIELDS: Mapping[str, Callable[[np.random.Generator], Field]] = {
    kind.__name__: kind for kind in (wide, dense, leaders, tied, borderline, sharing)
}


@dataclass
class Report:
    """The coverage in all simulations of a kind of field."""

    score_covered: list[float] = field(default_factory=list)
    difference_covered: list[float] = field(default_factory=list)
    rank_covered: list[float] = field(default_factory=list)
    first_covered: list[float] = field(default_factory=list)
    """Whether the rank of the entry measured first is in its interval."""
    width: list[float] = field(default_factory=list)
    """The number of ranks in an interval."""
    probabilities: list[Floats] = field(default_factory=list)
    happened: list[Flags] = field(default_factory=list)

    @property
    def calibration(self) -> list[tuple[float, float, int]]:
        """(mean probability, share that happened, count) of each tenth of the predicted probabilities."""
        predicted, happened = np.concatenate(self.probabilities), np.concatenate(self.happened)
        tenths = np.minimum((predicted * 10).astype(int), 9)
        chosen = [(predicted[tenths == tenth], happened[tenths == tenth]) for tenth in range(10)]
        return [(float(a.mean()), float(b.mean()), len(a)) for a, b in chosen if len(a)]

    def lines(self) -> list[str]:
        covered = {
            "score": self.score_covered, "difference": self.difference_covered,
            "rank": self.rank_covered, "rank of the first": self.first_covered,
        }  # fmt: skip
        parts = [f"{name} {np.mean(values):.3f}" for name, values in covered.items()]
        tenths = [f"{predicted:.2f}:{happened:.2f} ({count})" for predicted, happened, count in self.calibration]
        return [f"covered: {', '.join(parts)}; ranks in an interval {np.mean(self.width):.1f}", "  ".join(tenths)]


def simulate(make: Callable[[np.random.Generator], Field], runs: int, *, seed: int, draws: int = 400) -> Report:
    """Simulate ``runs`` competitions of a kind: draw true values, then measure them with errors."""
    random = np.random.default_rng(seed)
    report = Report()
    for _ in range(runs):
        truth = make(random)
        measured, true = _measured(truth, random)
        lowest, highest = measured.intervals
        report.score_covered.append(_share((lowest <= true.score) & (true.score <= highest)))
        report.difference_covered.append(_differences_covered(measured, true.score))
        order = np.argsort(measured.score)
        true_score = true.score[order]
        measured = _in_order(measured, order)
        first, last = rank_intervals(measured)
        true_rank = np.argsort(np.argsort(true_score)) + 1
        inside = (first <= true_rank) & (true_rank <= last)
        report.rank_covered.append(_share(inside))
        report.first_covered.append(float(inside[0]))
        report.width.append(float((last - first + 1).mean()))
        predicted = rank_probabilities(measured, LAST_RANKS, seed=int(random.integers(1 << 31)), draws=draws)
        report.probabilities.append(predicted.ravel())
        report.happened.append((true_rank[:, None] <= np.array(LAST_RANKS)).ravel())
    return report


def _measured(truth: Field, random: np.random.Generator) -> tuple[MeasuredScores, MeasuredScores]:
    tau = np.full(TEAMS, TAU)
    correlation = np.eye(TEAMS)
    for one, other, share in truth.shared:
        correlation[one, other] = correlation[other, one] = share
    root = np.linalg.cholesky(correlation)
    fid = truth.fid + truth.fid_se * (root @ random.standard_normal(TEAMS))
    distance = truth.distance + truth.distance_se * (root @ random.standard_normal(TEAMS))
    rest = (tau, 1e-15, truth.shared)
    return (
        MeasuredScores(fid, truth.fid_se, distance, truth.distance_se, *rest),
        MeasuredScores(truth.fid, truth.fid_se, truth.distance, truth.distance_se, *rest),
    )


def _in_order(scores: MeasuredScores, order: Ints) -> MeasuredScores:
    place = np.argsort(order)
    shared = [SharedImages(int(place[one]), int(place[other]), share) for one, other, share in scores.shared]
    columns = {name: getattr(scores, name)[order] for name in ("fid", "fid_se", "distance", "distance_se", "tau")}
    return replace(scores, **columns, shared=shared)


def _differences_covered(measured: MeasuredScores, true_score: Floats) -> float:
    """The share of covered differences, of pairs that share images or else of pairs chosen before the measurement."""
    pairs = [(s.one, s.other) for s in measured.shared] or [(place, place + 1) for place in range(0, TEAMS, 2)]
    found = [measured.separation(*pair) for pair in pairs]
    truth = np.array([true_score[worse] - true_score[better] for better, worse in pairs])
    lowest, highest = np.array([(separation.lowest, separation.highest) for separation in found]).T
    return _share((lowest <= truth) & (truth <= highest))


def _share(holds: Flags) -> float:
    return float(holds.mean())
