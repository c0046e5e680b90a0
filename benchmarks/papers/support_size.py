"""Whether tables of picked images are distinguished from honest generators, and how large they are said to be."""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.harness.report import Findings, MarkdownTable, Target, results_text
from benchmarks.harness.results import BenchmarkResult, read_results
from benchmarks.papers.support_generators import (
    ALTERATIONS,
    LATENT,
    OTHER_ALTERATIONS,
    altered,
    collapsed_latents,
    mixture,
    network_images,
    train_gan,
    train_vae,
)
from deploy.demo.photographs import bundled_photographs
from scorer.metrics.copying.support_size import SupportSize, estimate_support
from scorer.process_resources import usable_cores

Pixels = NDArray[np.uint8]
Row = dict[str, Any]
SEED, DRAWS, MODES = 2026, 4, 50
NETWORKS = 4
MAX_WITH_EACH_ALTERATION = 1_000
"""Larger tables are measured only with all alterations together, because they take long."""
BY_LATENT, BY_ROW, HALF = "by latent", "by row", "by latent, half honest"


class Drawn(NamedTuple):
    """The draws of a generator, and its effective support; None if it is honest."""

    draws: Sequence[Pixels]
    size: float | None


Draw = Callable[[int], Drawn]
"""The draws of a seed."""


class Tables(NamedTuple):
    """Tables of ``images`` images, and how many images are drawn for each of ``seeds`` seeds."""

    images: int
    drawn: int
    seeds: int = 100

    def measure(self, train: Pixels) -> list[Row]:
        pool = mixture(train, self.images + self.drawn, SEED)
        single = (
            []
            if self.images > MAX_WITH_EACH_ALTERATION
            else [(BY_LATENT, name) for name in ALTERATIONS if name != "all"]
        )
        settings = [*single, (BY_LATENT, "all"), (BY_ROW, "all"), (HALF, "all")]
        return [
            {"images": self.images, "addressed": addressed, "altered": name}
            | _over_seeds(partial(table_draws, pool, self, addressed=addressed, alteration=name), self.seeds)
            for addressed, name in settings
        ]


class OtherAlterations(NamedTuple):
    """Tables altered in ways that the comparison does not undo."""

    tables: Tables

    def measure(self, train: Pixels) -> list[Row]:
        pool = mixture(train, self.tables.images + self.tables.drawn, SEED)
        return [
            {"altered": name}
            | _over_seeds(
                partial(table_draws, pool, self.tables, addressed=BY_LATENT, alteration=name), self.tables.seeds
            )
            for name in OTHER_ALTERATIONS
        ]


class Honest(NamedTuple):
    """Honest generators, and a GAN that collapsed to a few latents."""

    drawn: int
    steps: int = 1500
    seeds: int = 100
    networks: int = NETWORKS

    def measure(self, train: Pixels) -> list[Row]:
        with ProcessPoolExecutor(usable_cores(), get_context("spawn"), initializer=_single_threaded) as processes:
            trainings = [
                partial(kind, train, self.steps, seed)
                for kind in (train_gan, train_vae)
                for seed in range(self.networks)
            ]
            networks = list(processes.map(_trained, trainings))
        gans, vaes = networks[: self.networks], networks[self.networks :]
        pool = mixture(train, 4 * self.drawn, SEED)
        generators: Mapping[str, Draw] = {
            "mixture": partial(_mixture_draws, pool, self.drawn),
            "VAE": partial(_network_draws, vaes, self.drawn),
            "GAN": partial(_network_draws, gans, self.drawn),
            "collapsed GAN": partial(_collapsed_draws, gans, self.drawn),
        }
        return [{"generator": name} | _over_seeds(draw, self.seeds) for name, draw in generators.items()]


class WholeDraws(NamedTuple):
    """Four draws of the mixture and of tables of its images, as an entry of a competition has them."""

    images: int = 10_000
    drawn: int = 40_000
    seeds: int = 1

    def measure(self, train: Pixels) -> list[Row]:
        pool = mixture(train, self.images + self.drawn, SEED)
        tables = Tables(self.images, self.drawn)
        draws: Mapping[str, Draw] = {
            "mixture": partial(_mixture_draws, pool, self.drawn),
            **{
                f"table of {self.images:,}, {addressed}": partial(
                    table_draws, pool, tables, addressed=addressed, alteration="all"
                )
                for addressed in (BY_LATENT, BY_ROW, HALF)
            },
        }
        rows = []
        for name, draw in draws.items():
            runs = []
            for seed in range(self.seeds):
                drawn = draw(seed)
                start = perf_counter()
                support = estimate_support(drawn.draws)
                runs.append(_outcome(support, drawn.size) | {"seconds": perf_counter() - start})
            rows.append({"generator": name, "outcomes": runs})
        return rows


Size = Tables | OtherAlterations | Honest | WholeDraws
TABLES_256, TABLES_1000, TABLES_4000, TABLES_10000 = (
    Tables(images, drawn) for images, drawn in ((256, 400), (1000, 800), (4000, 1000), (10_000, 1500))
)
OTHER = OtherAlterations(Tables(1000, 800, seeds=20))
HONEST = Honest(1600)
WHOLE = WholeDraws()
QUICK = Tables(60, 120, seeds=2)


def measure(size: Size, *_: object) -> list[Row]:
    return size.measure(bundled_photographs(SEED).train.images)


def table_draws(pool: Pixels, tables: Tables, seed: int, *, addressed: str, alteration: str) -> Drawn:
    """Draws of a table whose images are picked from a generator's ``pool``. The honest half is the rest of the pool.

    A latent chooses an image at random. By row, image i of each of four draws shows image i of the table.
    """
    random = np.random.default_rng((SEED, seed))
    picked = random.permutation(len(pool))
    table, honest = picked[: tables.images], picked[tables.images :]
    alter = {**ALTERATIONS, **OTHER_ALTERATIONS}[alteration]

    def alter_all(numbers: NDArray[np.int64]) -> Pixels:
        parts = np.array_split(numbers, max(1, len(numbers) // 1000))
        return np.concatenate([altered(pool[part], alter, random) for part in parts])

    if addressed == BY_ROW:
        rows = np.arange(tables.drawn // DRAWS) % tables.images
        pairs = sum(math.comb(times, 2) for times in (DRAWS * np.bincount(rows)).tolist())
        count = DRAWS * len(rows)
        return Drawn([alter_all(table[rows]) for _ in range(DRAWS)], count * (count - 1) / 2 / pairs)
    repeated = tables.drawn // 2 if addressed == HALF else tables.drawn
    drawn = alter_all(table[random.integers(tables.images, size=repeated)])
    images = np.concatenate([drawn, pool[honest[: tables.drawn - repeated]]])
    return Drawn([images], tables.images * (tables.drawn / repeated) ** 2)


def _mixture_draws(pool: Pixels, count: int, seed: int) -> Drawn:
    return Drawn([pool[np.random.default_rng((SEED, seed)).permutation(len(pool))[:count]]], None)


def _network_draws(networks: Sequence[torch.nn.Module], count: int, seed: int) -> Drawn:
    latents = np.random.default_rng((SEED, seed)).standard_normal((count, LATENT))
    return Drawn([network_images(networks[seed % len(networks)], latents)], None)


def _collapsed_draws(networks: Sequence[torch.nn.Module], count: int, seed: int) -> Drawn:
    latents, size = collapsed_latents(np.random.default_rng((SEED, seed)), MODES, count)
    return Drawn([network_images(networks[seed % len(networks)], latents)], size)


def _trained(training: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    return training()


def _single_threaded() -> None:
    torch.set_num_threads(1)
    threadpool_limits(1)


_shared: dict[str, Draw] = {}
"""The images of a forked process, which are too many to be sent with every seed."""


def _share(draw: Draw) -> None:
    _single_threaded()
    _shared["draw"] = draw


def _over_seeds(draw: Draw, seeds: int) -> Row:
    with ProcessPoolExecutor(usable_cores(), get_context("fork"), initializer=_share, initargs=(draw,)) as processes:
        return {"outcomes": list(processes.map(_run, range(seeds)))}


def _run(seed: int) -> Row:
    drawn = _shared["draw"](seed)
    return _outcome(estimate_support(drawn.draws), drawn.size)


def _outcome(support: SupportSize, size: float | None) -> Row:
    covers = size is not None and support.low <= size <= (support.high or math.inf)
    return {"flagged": support.is_table, "size": support.size, "true_size": size, "covers": covers}


def parts() -> dict[str, str]:
    """The text of each part of the page."""
    tables = "\n\n".join(_text(f"support_size_{images}", table_findings) for images in (256, 1000, 4000, 10_000))
    return {
        "tables": tables,
        "honest": _text("support_size_honest", honest_findings),
        "whole": _text("support_size_whole", whole_findings),
        "other": _text("support_size_other", other_findings),
    }


def _text(name: str, findings: Callable[[BenchmarkResult], Findings]) -> str:
    results = [(result, findings(result)) for result in read_results(name)]
    return results_text(results) if results else "Not measured yet."


def table_findings(result: BenchmarkResult) -> Findings:
    images = result.measured[0]["images"]
    rows = [(f"{row['addressed']}, {row['altered']}", *_cells(row["outcomes"])) for row in result.measured]
    fewest = min(_share_of(row["outcomes"], "flagged") for row in result.measured)
    return Findings(
        [MarkdownTable(f"Tables of {images:,} images", ("addressed, altered", *_HEADER), rows)],
        [Target(f"tables of {images:,} images flagged, in the worst row", fewest, 95, at_least=True, unit=" %")],
    )


def honest_findings(result: BenchmarkResult) -> Findings:
    rows = [(row["generator"], *_cells(row["outcomes"])) for row in result.measured]
    honest = {row["generator"]: _share_of(row["outcomes"], "flagged") for row in result.measured}
    collapsed = honest.pop("collapsed GAN")
    return Findings(
        [MarkdownTable("", ("generator", *_HEADER), rows)],
        [Target(f"{name} not flagged", 100 - share, 95, at_least=True, unit=" %") for name, share in honest.items()]
        + [Target("collapsed GAN flagged", collapsed, 95, at_least=True, unit=" %")],
    )


def whole_findings(result: BenchmarkResult) -> Findings:
    rows = [
        (row["generator"], *_cells(row["outcomes"]), f"{np.median([run['seconds'] for run in row['outcomes']]):.0f}")
        for row in result.measured
    ]
    return Findings([MarkdownTable("", ("generator", *_HEADER, "seconds"), rows)])


def other_findings(result: BenchmarkResult) -> Findings:
    rows = [(row["altered"], *_cells(row["outcomes"])) for row in result.measured]
    return Findings([MarkdownTable("", ("altered", *_HEADER), rows)])


_HEADER = ("seeds", "flagged", "effective support", "estimate", "in the interval")


def _cells(outcomes: Sequence[Row]) -> list[str]:
    """The number of seeds, the share flagged, the median true and estimated size, how often the interval is right."""
    true = [run["true_size"] for run in outcomes if run["true_size"] is not None]
    sizes = [run["size"] for run in outcomes if run["flagged"]]
    return [
        str(len(outcomes)),
        f"{_share_of(outcomes, 'flagged'):.0f} %",
        f"{np.median(true):,.0f}" if true else "",
        f"{np.median(sizes):,.0f}" if sizes else "",
        f"{_share_of(outcomes, 'covers'):.0f} %" if true else "",
    ]


def _share_of(outcomes: Sequence[Row], name: str) -> float:
    return 100.0 * float(np.mean([run[name] for run in outcomes]))
