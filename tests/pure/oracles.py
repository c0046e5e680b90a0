"""Oracles: independent, short and slow computations of the product's quantities, without any of its code."""

import csv
import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def nearest_by_definition(
    generated: NDArray[np.floating[Any]], reference: NDArray[np.floating[Any]], *, signed: bool
) -> tuple[Matrix, NDArray[np.intp]]:
    """(distance, index) from the whole n x m matrix in extended precision; of equal distances, the first index."""
    wide_generated, wide_reference = generated.astype(np.longdouble), reference.astype(np.longdouble)
    lengths = np.outer(
        np.sqrt((wide_generated**2).sum(axis=1)),
        np.sqrt((wide_reference**2).sum(axis=1)),
    )
    cosines = (wide_generated @ wide_reference.T) / lengths
    distances = (1 - (cosines if signed else abs(cosines))).astype(np.float64)
    return distances.min(axis=1), distances.argmin(axis=1)


def frechet_by_eigenvalues(
    generated_mean: Matrix, generated_covariance: Matrix, reference_mean: Matrix, reference_covariance: Matrix
) -> float:
    """FID from the eigenvalues of the plain, unsymmetric product of both covariances."""
    eigenvalues = scipy.linalg.eigvals(generated_covariance @ reference_covariance)
    root = np.sqrt(eigenvalues.astype(complex)).real.sum()
    shift = generated_mean - reference_mean
    return float(shift @ shift + np.trace(generated_covariance) + np.trace(reference_covariance) - 2 * root)


def frechet_from_rows(generated: Matrix, reference: Matrix) -> float:
    """FID without any covariance, from the nuclear norm of the product of the centred rows."""
    own, other = generated.astype(np.float64), reference.astype(np.float64)
    own_centred = (own - own.mean(axis=0)) / np.sqrt(len(own) - 1)
    other_centred = (other - other.mean(axis=0)) / np.sqrt(len(other) - 1)
    nuclear = scipy.linalg.svdvals(own_centred @ other_centred.T).sum()
    shift = own.mean(axis=0) - other.mean(axis=0)
    return float(shift @ shift + (own_centred**2).sum() + (other_centred**2).sum() - 2 * nuclear)


def squared_distances(left: NDArray[np.floating[Any]], right: NDArray[np.floating[Any]]) -> NDArray[np.longdouble]:
    """Every squared Euclidean distance as the sum of its squared differences, in extended precision."""
    differences = left[:, None, :].astype(np.longdouble) - right[None, :, :].astype(np.longdouble)
    return np.asarray((differences**2).sum(axis=2))


def overlap_by_definition(
    generated: NDArray[np.floating[Any]], reference: NDArray[np.floating[Any]], k: int, *, strict: bool
) -> dict[str, float]:
    """Precision, recall, density and coverage from whole matrices. With ``strict``, the first two also use < for <=."""

    def squared_radii(features: NDArray[np.floating[Any]]) -> NDArray[np.longdouble]:
        return np.asarray(np.sort(squared_distances(features, features), axis=1)[:, k])  # column 0 is the row itself

    between = squared_distances(reference, generated)
    around_real, around_generated = squared_radii(reference)[:, None], squared_radii(generated)[None, :]
    inside = between < around_real
    return {
        "precision": float((inside if strict else between <= around_real).any(axis=0).mean()),
        "recall": float((between < around_generated if strict else between <= around_generated).any(axis=1).mean()),
        "density": float(inside.sum() / (k * len(generated))),
        "coverage": float(inside.any(axis=1).mean()),
    }


def mmd_by_pairs(generated: Matrix, reference: Matrix) -> float:
    """Unbiased MMD^2 with the cubic kernel, pair by pair, summed without rounding."""

    def kernel(x: Matrix, y: Matrix) -> float:
        return float((math.fsum(x * y) / len(x) + 1.0) ** 3)

    def within(features: Matrix) -> float:
        pairs = [kernel(x, y) for x, y in itertools.permutations(features, 2)]
        return math.fsum(pairs) / len(pairs)

    across = math.fsum(kernel(x, y) for x in generated for y in reference) / (len(generated) * len(reference))
    return within(generated) + within(reference) - 2.0 * across


@dataclass(frozen=True)
class Golden:
    """The features from which other projects' code computed the golden values."""

    training: Matrix
    held_out: Matrix
    generated: Matrix


def golden() -> Golden:
    """Folded normal features, (300, 32), (250, 32) and (200, 32), float64, seed 0."""
    random = np.random.default_rng(0)
    training, held_out = abs(random.standard_normal((300, 32))), abs(random.standard_normal((250, 32)))
    return Golden(training, held_out, abs(random.standard_normal((200, 32))) * 1.05)


def mifid_by_definition(fid: float, distance: float, tau: float, epsilon: float) -> float:
    """The paper's formula with an ``if``."""
    if distance < tau:
        return fid / (distance + epsilon)
    return fid


def auc_by_pairs(memorising: Matrix, legitimate: Matrix) -> float:
    """AUC: the share of all pairs in which the memorising entry is closer; ties count half."""
    wins = sum(1.0 if low < high else 0.5 if low == high else 0.0 for low in memorising for high in legitimate)
    return wins / (len(memorising) * len(legitimate))


def counts_below(tau: float, memorising: Matrix, legitimate: Matrix) -> tuple[int, int, int]:
    """(caught memorising, missed memorising, penalised legitimate) at a threshold."""
    caught = sum(1 for distance in memorising if distance < tau)
    return caught, len(memorising) - caught, sum(1 for distance in legitimate if distance < tau)


@dataclass(frozen=True)
class CompetitionTable:
    """The released results of the 2019 competition: one array per column, by track."""

    score: dict[str, Matrix]
    fid: dict[str, Matrix]
    distance: dict[str, Matrix]
    labels: NDArray[np.str_]

    @property
    def legitimate(self) -> NDArray[np.bool_]:
        """Entries that the organizers labelled as not memorising."""
        return np.asarray(self.labels == "non-mem")

    @property
    def memorising(self) -> NDArray[np.bool_]:
        """Entries that the organizers labelled as memorising, with any method."""
        return np.asarray((self.labels != "non-mem") & (self.labels != ""))

    @property
    def labelled(self) -> NDArray[np.bool_]:
        return np.asarray(self.labels != "")


TABLE = Path(__file__).parents[1] / "data" / "competition_results.csv"
"""The released table of the 2019 competition (jybai/generative-memorization-benchmark, MIT)."""


def competition_table() -> CompetitionTable:
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))

    def column(name: str) -> Matrix:
        return np.array([float(row[name]) for row in rows])

    tracks = ("public", "private")
    return CompetitionTable(
        score={track: column(f"{track}_score") for track in tracks},
        fid={track: column(f"FID_{track}") for track in tracks},
        distance={track: column(f"distance_{track}") for track in tracks},
        labels=np.array([row["labels"] for row in rows]),
    )


def relabelled(nearest: NDArray[np.int64], real: int, draws: int, random: np.random.Generator) -> Matrix:
    """Shares of correct nearest-neighbour answers under random labels, (draws, 2): on real images, and on all."""
    values = np.empty((draws, 2))
    for draw in range(draws):
        labels = random.permutation(len(nearest)) < real
        correct = labels == labels[nearest]
        values[draw] = correct[labels].mean(), correct.mean()
    return values


def relative_mmd_by_matrices(
    training: Matrix, held_out: Matrix, generated: Matrix, sigma: float
) -> tuple[float, float]:
    """(difference of the two unbiased MMD^2, zeta_1) from whole kernel matrices and their products."""

    def kernel(left: Matrix, right: Matrix) -> Matrix:
        return np.asarray(np.exp(-((left[:, None] - right[None]) ** 2).sum(axis=2) / (2 * sigma**2)))

    n = len(training)
    difference = 0.0
    zeta = 0.0
    across = []
    for sign, other in ((1.0, held_out), (-1.0, generated)):
        inside, between = kernel(other, other), kernel(training, other)
        np.fill_diagonal(inside, 0.0)
        u = inside.sum() / (n * (n - 1))
        v = between.mean()
        difference += sign * (u - 2 * v)
        zeta += (inside @ inside).sum() / n**3 - u**2
        zeta += (between @ between.T).sum() / n**3 + (between.T @ between).sum() / n**3 - 2 * v**2
        zeta -= 2 * ((inside @ between.T).sum() / n**3 - u * v)
        across.append((between, v))
    (one, mean), (two, other_mean) = across
    return float(difference), float(zeta - 2 * ((one.T @ two).sum() / n**3 - mean * other_mean))


def groups_by_search(alike: NDArray[np.bool_]) -> list[int]:
    """The first image of each image's group, found by a walk from image to alike image."""
    groups = [-1] * len(alike)
    for start in range(len(alike)):
        waiting = [start] if groups[start] < 0 else []
        while waiting:
            row = waiting.pop()
            if groups[row] < 0:
                groups[row] = start
                waiting += [int(column) for column in np.flatnonzero(alike[row])]
    return groups
