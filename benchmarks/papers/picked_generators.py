"""What picking gains on the private track of a zip competition and of a generator competition.

A team picks images at home with the training images and the public track's extractor. In a generator competition, it
submits networks that contain what it has picked, or many networks and keeps the best. The service's own code
reads the networks, draws and scores their images, without the sandbox.

Both tracks use the extractor ``tiny``, so that no gain is lost between two extractors. The private reference set has
further images.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from benchmarks.harness.report import Findings, MarkdownTable, Target
from benchmarks.harness.results import BenchmarkResult
from benchmarks.papers.picked_images import DemoTrack, picked
from benchmarks.papers.picked_images import Size as Selection
from benchmarks.papers.recovery_networks import export_onnx
from deploy.demo.generators import fit_pixel_space
from deploy.demo.photographs import bundled_photographs
from deploy.demo.plan import SEED
from scorer.errors import Invalid
from scorer.extractors import Features
from scorer.generators import seeds
from scorer.generators.drawing import BATCH, Pixels
from scorer.generators.latents import Latent
from scorer.generators.limits import DEFAULT_LIMITS
from scorer.generators.onnx.canonical import network_sha256
from scorer.generators.onnx.entry import EntryGenerator, draw_images, read_entry
from scorer.generators.onnx_files import DeclaredLatent
from scorer.metrics.copying.same_generator import are_nearly_same
from scorer.metrics.copying.support_size import estimate_support

IMAGE_SIZE, RANK, PRIVATE_DRAWS, TEAM = 32, 100, 3, 1
ZIP_POOL, TABLE_POOL, TABLE = 4, 8, 2
"""The images from which a zip's and a table's are picked, and those of the table, as multiples of an entry's."""
MANY = 30
"""A draw with this many times an entry's images shows whether a gain is luck or another distribution."""
JITTERS, WEAK = (0.1, 0.3, 0.5), 0.03
"""Standard deviations by which tables move their latents, and the largest part of a whitening that the service
tolerates."""


class Size(NamedTuple):
    repetitions: int = 20
    images: int = 200
    swaps: int = 8_000
    variants: int = 50


FULL, QUICK = Size(), Size(2, 64, 20, 3)

ENTRIES = {
    "zip": "zip, not picked",
    "zip-picked": f"zip, {FULL.images} of {ZIP_POOL * FULL.images} images",
    "honest": "honest generator",
    "last-bit": f"best of {FULL.variants} last-bit variants",
    "honest/last-bit": "two picks: honest, best last-bit variant",
    "reordered": "another dimension, coordinates reordered",
    "honest/reordered": "two picks: honest, reordered",
    "whitened": "whitened batch",
    "whitened-weakly": f"batch whitened by {100 * WEAK:g} %",
    "table-of-zip": f"table of the picked zip's {FULL.images} images, jitter {JITTERS[0]}",
    **{
        f"table-{jitter}": f"table of {TABLE * FULL.images} of {TABLE_POOL * FULL.images:,} images, jitter {jitter}"
        for jitter in JITTERS
    },
    "refitted": "normal distribution with the table's mean and covariance",
}
"""Names of the entries. Two picks are two entries, and count as the one with the better private score."""
ACCEPTED = "last-bit", "honest/last-bit", "reordered", "honest/reordered", "whitened-weakly"
"""Entries that the service accepts, and that change the generator's distribution hardly or not at all."""
FLAGGED = "table-of-zip", *(f"table-{jitter}" for jitter in JITTERS if jitter <= 0.3)

Scores = dict[str, Any]
"""``public`` and ``private`` FID, ``distance`` (private memorization distance over tau); of generators also the private
FID of ``many`` images, and what the service says."""


class Normal(nn.Module):
    """The honest generator: a normal distribution in the first principal components of the training images."""

    def __init__(self, train: Pixels) -> None:
        super().__init__()
        space = fit_pixel_space(train, RANK, np.random.default_rng(SEED))
        self.layer = nn.Linear(*space.axes.shape)
        self.layer.weight.data = torch.from_numpy(space.axes.T * space.deviations / 255.0)
        self.layer.bias.data = torch.from_numpy(space.mean / 255.0)

    def forward(self, latents: Tensor) -> Tensor:
        values: Tensor = self.layer(latents).clamp(0.0, 1.0)
        return values.reshape(-1, IMAGE_SIZE, IMAGE_SIZE, 3).permute(0, 3, 1, 2)


class LastBit(nn.Module):
    """A generator with the smallest change of one weight."""

    def __init__(self, generator: Normal, weight: int) -> None:
        super().__init__()
        self.layer = nn.Linear(generator.layer.in_features, generator.layer.out_features)
        self.layer.load_state_dict(generator.layer.state_dict())
        bias = self.layer.bias.data
        bias[weight] = torch.nextafter(bias[weight], torch.tensor(1.0))

    forward = Normal.forward


class Reordered(nn.Module):
    """Reads the last coordinates of a longer latent, from the last."""

    def forward(self, latents: Tensor) -> Tensor:
        return latents[:, torch.arange(2 * RANK - 1, RANK - 1, -1)]


class Whitened(nn.Module):
    """Moves latents towards mean 0 and variance 1 in each batch, except in a batch of one."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, latents: Tensor) -> Tensor:
        centred = latents - latents.mean(0, keepdim=True)
        deviation = centred.square().mean(0, keepdim=True).sqrt()
        white = torch.where(deviation > 0.0, centred / deviation.clamp(min=1e-6), latents)
        return latents + self.share * (white - latents)


class Table(nn.Module):
    """A table of latents. The first coordinate chooses one, the others move it."""

    def __init__(self, rows: NDArray[np.float32], jitter: float) -> None:
        super().__init__()
        self.rows = nn.Buffer(torch.from_numpy(rows))
        self.jitter = jitter

    def forward(self, latents: Tensor) -> Tensor:
        uniform = 0.5 + 0.5 * torch.erf(latents[:, 0] / 2.0**0.5)
        chosen = (uniform * len(self.rows)).long().clamp(0, len(self.rows) - 1)
        kept: Tensor = (1.0 - self.jitter**2) ** 0.5 * self.rows[chosen]
        return kept + self.jitter * latents[:, 1:]


class Refitted(nn.Module):
    """Latents of the normal distribution with the mean and covariance of picked ones."""

    def __init__(self, rows: NDArray[np.float32]) -> None:
        super().__init__()
        self.layer = nn.Linear(rows.shape[1], rows.shape[1])
        self.layer.weight.data = torch.from_numpy(np.linalg.cholesky(np.cov(rows.T)).astype(np.float32))
        self.layer.bias.data = torch.from_numpy(rows.mean(axis=0))

    def forward(self, latents: Tensor) -> Tensor:
        moved: Tensor = self.layer(latents)
        return moved


class Drawn(NamedTuple):
    pixels: Pixels
    fault: str


class Competition:
    """A generator competition with its own secrets, made from ``number``."""

    def __init__(self, number: int, tracks: Mapping[str, DemoTrack], images: int) -> None:
        self._number, self._tracks, self._images = number, tracks, images

    def _secret(self, purpose: str) -> bytes:
        return hashlib.sha256(f"{purpose} {self._number}".encode()).digest()

    def fixed_images(self, entry: EntryGenerator) -> Pixels:
        digest = seeds.private_digest(self._secret("private"), seeds.FIXED_DRAW)
        return entry.pixels(seeds.latents(digest, entry.latent, stop=seeds.FIXED_LATENTS), "sigmoid")

    def public_draw(self, entry: EntryGenerator) -> Drawn:
        digest = seeds.public_digest(
            self._secret("public"),
            network_sha256=network_sha256(entry.graph),
            latent=entry.latent,
            team_id=TEAM,
            number=1,
        )
        return self._drawn(entry, digest, self._images)

    def _private_draw(self, entry: EntryGenerator, number: int, images: int) -> Drawn:
        return self._drawn(entry, seeds.private_digest(self._secret("private"), number), images)

    def _drawn(self, entry: EntryGenerator, digest: bytes, images: int) -> Drawn:
        """All images of a draw, also of one that the service rejects at its end."""
        blocks: list[Pixels] = []
        try:
            blocks.extend(draw_images(entry, digest, images, values="sigmoid"))
        except Invalid as fault:
            return Drawn(np.concatenate(blocks), fault.slug)
        return Drawn(np.concatenate(blocks), "")

    def fid(self, track: str, pixels: Pixels) -> float:
        return self._tracks[track].scores(self._tracks[track].features(pixels))[0]

    def scores(self, entry: EntryGenerator, *, public: Drawn | None = None) -> Scores:
        """The means over the draws of each track. ``public``: the public draw, if it is known."""
        shown = public or self.public_draw(entry)
        hidden = [self._private_draw(entry, 1 + draw, self._images) for draw in range(PRIVATE_DRAWS)]
        many = self._private_draw(entry, 1 + PRIVATE_DRAWS, MANY * self._images)
        features = [self._tracks["private"].features(draw.pixels) for draw in hidden]
        support = estimate_support(
            [shown.pixels, *(draw.pixels for draw in hidden)],
            [self._tracks["private"].features(shown.pixels), *features],
        )
        return {
            "public": self.fid("public", shown.pixels),
            **mean_scores(self._tracks["private"], features),
            "many": self.fid("private", many.pixels),
            "fault": next((draw.fault for draw in (shown, *hidden) if draw.fault), ""),
            "table": support.is_table,
            "support": support.size,
        }


def mean_scores(track: DemoTrack, draws: Sequence[Features]) -> Scores:
    fids, distances = zip(*map(track.compare, draws), strict=True)
    return {"private": float(np.mean(fids)), "distance": float(np.mean(distances) / track.tau)}


class Attacker:
    """The honest generator, and the entries that a team makes from it for one competition."""

    def __init__(self, generator: Normal, track: DemoTrack, size: Size, *, number: int) -> None:
        self._generator, self._track, self._size = generator, track, size
        self._random = np.random.default_rng([SEED, number])
        self.honest = read(generator, RANK)
        self.latents = self._random.standard_normal((TABLE_POOL * size.images, RANK), np.float32)
        self.images = np.concatenate(
            [
                self.honest.pixels(self.latents[start : start + BATCH], "sigmoid")
                for start in range(0, len(self.latents), BATCH)
            ]
        )
        self._features = track.features(self.images)

    def picked(self, count: int, pool: int) -> NDArray[np.int64]:
        """The rows of ``count`` of the first ``pool`` images."""
        selection = Selection(count, (), self._size.swaps)
        rows: NDArray[np.int64] = picked(self._features[:pool], self._track.reference, selection, random=self._random)
        return rows

    def after(self, first: nn.Module, dimension: int) -> EntryGenerator:
        """The honest generator after another module."""
        return read(nn.Sequential(first, self._generator), dimension)

    def table(self, rows: NDArray[np.int64], jitter: float) -> EntryGenerator:
        return self.after(Table(self.latents[rows], jitter), RANK + 1)

    def best_variant(self, competition: Competition) -> tuple[EntryGenerator, Drawn]:
        """The variant with the best public score, and its public draw."""
        variants = (read(LastBit(self._generator, weight), RANK) for weight in range(self._size.variants))
        drawn = ((variant, competition.public_draw(variant)) for variant in variants)
        return min(drawn, key=lambda one: competition.fid("public", one[1].pixels))


def read(module: nn.Module, dimension: int) -> EntryGenerator:
    content = export_onnx(module, Latent(dimension))
    nothing = DeclaredLatent()
    return read_entry(content, nothing, nothing, size=IMAGE_SIZE, limits=DEFAULT_LIMITS)


def measure(size: Size, *_: object) -> list[dict[str, Scores]]:
    """The scores of each entry, one row per repetition."""
    photographs = bundled_photographs(SEED, size=IMAGE_SIZE)
    train, held_out = photographs.train.images, photographs.held_out.images
    with threadpool_limits(limits=1):  # the matrices are small
        tracks = {
            "public": DemoTrack("tiny", train, held_out=held_out),
            "private": DemoTrack("tiny", train, photographs.private_extra.images, held_out=held_out),
        }
        generator = Normal(train)
        return [repetition(generator, tracks, size, number=number) for number in range(size.repetitions)]


def repetition(generator: Normal, tracks: Mapping[str, DemoTrack], size: Size, *, number: int) -> dict[str, Scores]:
    count = size.images
    attacker = Attacker(generator, tracks["public"], size, number=number)
    competition = Competition(number, tracks, count)
    zip_rows = attacker.picked(count, ZIP_POOL * count)
    table_rows = attacker.picked(TABLE * count, TABLE_POOL * count)

    def zip_scores(rows: Any) -> Scores:
        pixels = attacker.images[rows]
        features = tracks["private"].features(pixels)
        return {"public": competition.fid("public", pixels), **mean_scores(tracks["private"], [features])}

    best, shown = attacker.best_variant(competition)
    reordered = attacker.after(Reordered(), 2 * RANK)
    own = competition.fixed_images(attacker.honest)

    def is_same(entry: EntryGenerator) -> dict[str, bool]:
        return {"same": are_nearly_same(competition.fixed_images(entry), own)}

    return {
        "zip": zip_scores(slice(0, count)),
        "zip-picked": zip_scores(zip_rows),
        "honest": competition.scores(attacker.honest),
        "last-bit": competition.scores(best, public=shown) | is_same(best),
        "reordered": competition.scores(reordered) | is_same(reordered),
        "whitened": competition.scores(attacker.after(Whitened(1.0), RANK)),
        "whitened-weakly": competition.scores(attacker.after(Whitened(WEAK), RANK)),
        "table-of-zip": competition.scores(attacker.table(zip_rows, JITTERS[0])),
        **{f"table-{jitter}": competition.scores(attacker.table(table_rows, jitter)) for jitter in JITTERS},
        "refitted": competition.scores(attacker.after(Refitted(attacker.latents[table_rows]), RANK)),
    }


class Gain(NamedTuple):
    """How much lower the private FID is than that of the honest entry of the same kind, in the mean over repetitions.

    ``share`` of the honest FID with its standard ``error``. ``deviations``: the difference over the standard deviation
    of an honest entry's FID.
    """

    share: float
    error: float
    deviations: float

    def __str__(self) -> str:
        return f"{100 * self.share:+.1f} ± {100 * self.error:.1f} %"


def private_fids(rows: Sequence[Mapping[str, Scores]], entry: str) -> Any:
    """The private FID of each repetition. That of two picks (``a/b``) is the lower one."""
    return np.min([[row[part]["private"] for row in rows] for part in entry.split("/")], axis=0)


def gain_of(rows: Sequence[Mapping[str, Scores]], entry: str) -> Gain:
    honest = private_fids(rows, "zip" if entry.startswith("zip") else "honest")
    lower = honest - private_fids(rows, entry)
    mean = honest.mean()
    error = lower.std(ddof=1) / len(rows) ** 0.5
    return Gain(float(lower.mean() / mean), float(error / mean), float(lower.mean() / honest.std(ddof=1)))


def findings(result: BenchmarkResult) -> Findings:
    rows = result.measured
    lines = []
    for entry, name in ENTRIES.items():
        gain = gain_of(rows, entry)
        last = entry.split("/")[-1]
        lines.append(
            (
                name,
                "" if "/" in entry else f"{np.mean([row[entry]['public'] for row in rows]):.4f}",
                f"{private_fids(rows, entry).mean():.4f}",
                f"{np.mean([row[entry]['many'] for row in rows]):.4f}" if "many" in rows[0].get(entry, ()) else "",
                "" if entry in {"zip", "honest"} else str(gain),
                "" if entry in {"zip", "honest"} else f"{gain.deviations:+.1f}",
                _outcome([row[last] for row in rows]),
            )
        )
    many = f"of {MANY * FULL.images:,} images"
    header = ("entry", "public FID", "private FID", many, "private gain", "in deviations", "outcome")
    targets = [
        Target(
            f"private gain of *{ENTRIES[entry]}*, in standard deviations",
            gain_of(rows, entry).deviations,
            1.0,
            at_least=False,
        )
        for entry in ACCEPTED
    ]
    flagged = min(np.mean([row[entry]["table"] for row in rows]) for entry in FLAGGED)
    targets.append(
        Target("tables with a jitter up to 0.3 flagged, in the worst row", 100 * flagged, 95, at_least=True, unit=" %")
    )
    return Findings([MarkdownTable("", header, lines)], targets)


def _outcome(rows: Sequence[Scores]) -> str:
    """What the service found, and in how many repetitions."""
    faults = sorted({row["fault"] for row in rows if row.get("fault")})
    found = {
        f"rejected ({', '.join(f'`{fault}`' for fault in faults)})": sum(bool(row.get("fault")) for row in rows),
        "flagged as a table": sum(row.get("table", False) for row in rows),
        "penalised": sum(row["distance"] < 1.0 for row in rows),
        "counted as the honest generator": sum(row.get("same", False) for row in rows),
    }
    said = [f"{name} in {times} of {len(rows)}" for name, times in found.items() if times]
    return ", ".join(said) or "accepted"
