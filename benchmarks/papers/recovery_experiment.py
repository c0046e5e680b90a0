"""Table 1 of Webster et al. 2019, on the demo's photographs.

The experiment trains generators that memorise (GLO on few images) or do not (GLO on many, a DCGAN). It exports them as
ONNX files and audits them in the sandbox, as in a competition.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from benchmarks.harness.results import HERE
from benchmarks.papers.recovery_networks import Pixels, export_onnx, gan, glo
from benchmarks.papers.recovery_table import parts
from benchmarks.zoo.trainings.training import single_threaded
from deploy.demo.photographs import bundled_photographs
from scorer import extractors
from scorer.extractors import ExtractorOptions
from scorer.generators.latents import Latent
from scorer.generators.onnx.generator import read_generator
from scorer.generators.recovery.lbfgs import LbfgsOptions, minimise
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.recovery.report import Audit
from scorer.generators.recovery.search import to_pixels, to_targets
from scorer.generators.sandbox.runner import audit_in_sandbox
from scorer.metrics.copying.latent_recovery import error_histogram
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from scorer.metrics.statistics.subsampling import equal_subsamples

log = logging.getLogger(__name__)
__all__ = ["parts"]
FIGURES = HERE / "figures"


@dataclass(frozen=True)
class Model:
    """A generator: its training function, number of images and steps."""

    name: str
    fit: Callable[..., nn.Sequential]
    images: int
    steps: int


@dataclass(frozen=True)
class Setting:
    models: Sequence[Model]
    size: int = 16
    latent: Latent = field(default_factory=lambda: Latent(64))
    width: int = 32
    held_out: int = 800
    max_tiles: int = 600
    """Most tiles of one photograph in one of the demo's parts."""
    plan: AuditPlan = field(
        default_factory=lambda: AuditPlan(train=200, held_out=200, generated=40, distorted=24, stability=20)
    )
    restarts: AuditPlan = field(
        default_factory=lambda: AuditPlan(train=40, held_out=40, generated=40, distorted=0, method="authors", starts=10)
    )
    """The plan of the audits that count success by the number of starts, with the authors' steps (table 2)."""
    sampled: int = 150
    """Images for FID, of each kind."""
    extractor: str = "efficientnet_lite0"
    searched: int = 64
    """Targets of the comparison of searches."""


FULL = Setting(
    models=(
        Model("GLO-64", glo, 64, 1500),
        Model("GLO-512", glo, 512, 2000),
        Model("GLO-8192", glo, 8192, 2000),
        Model("DCGAN-8192", gan, 8192, 2000),
    )
)
QUICK = Setting(
    models=(Model("DCGAN-100", gan, 100, 20),),
    latent=Latent(8),
    width=8,
    held_out=60,
    max_tiles=20,
    plan=AuditPlan(
        train=12, held_out=12, generated=8, distorted=8, starts=1, candidates=16, iterations=15, stability=3
    ),
    restarts=AuditPlan(train=8, held_out=8, generated=8, distorted=0, method="authors", starts=2),
    sampled=40,
    extractor="tiny",
    searched=4,
)


def tiles(setting: Setting) -> tuple[Pixels, Pixels]:
    """(held-out, other): tiles of all photographs, split at random.

    The demo's held-out part is not enough, because most of its photographs are in no other part. Even an honest
    generator recovers tiles of its own photographs better, and the test assumes one distribution for both sets.
    """
    caps = dict.fromkeys(("train", "held_out", "private_extra"), setting.max_tiles)
    parts = bundled_photographs(size=setting.size, max_tiles=caps)  # type: ignore[arg-type]  # the keys are the names of the parts
    images = np.concatenate([parts.train.images, parts.held_out.images, parts.private_extra.images])
    images = images[np.random.default_rng(0).permutation(len(images))]
    return images[: setting.held_out], images[setting.held_out :]


def measure_row(model: Model, setting: Setting, images: tuple[Pixels, Pixels]) -> tuple[dict[str, Any], Audit]:
    """Train, export and audit a generator: one row of the table as JSON, and the audit."""
    held_out, others = images
    train = others[: model.images]
    start = perf_counter()
    fitted = model.fit(train, setting.latent, width=setting.width, steps=model.steps, batch=64, seed=0)
    content = export_onnx(fitted, setting.latent)
    trained = perf_counter()
    log.info("%s: %d images, %d bytes, %.0f s", model.name, len(train), len(content), trained - start)
    audit = audit_in_sandbox(content, setting.latent, train, held_out=held_out, plan=setting.plan)
    audit_seconds = perf_counter() - trained
    restarts = audit_in_sandbox(content, setting.latent, train, held_out=held_out, plan=setting.restarts).report()[
        "starts"
    ]
    report = audit.report()
    log.info("%s: %s (%.0f s) %s", model.name, report["verdict"], audit_seconds, report["sentence"])
    parts = ("verdict", "measured", "targets", "stability", "evaluations", "provenance")
    findings = {row["name"]: {"value": row["value"], "p_value": row["p_value"]} for row in report["findings"]}
    return {
        "name": model.name,
        "images": len(train),
        "training_seconds": trained - start,
        "audit_seconds": audit_seconds,
        "file_bytes": len(content),
        "fid": _fid(content, train, held_out, setting=setting),
        "findings": findings,
        "restarts": restarts,
        "histogram": asdict(error_histogram(report["errors"])),
        **{name: report[name] for name in parts},
    }, audit


def _fid(content: bytes, train: Pixels, held_out: Pixels, *, setting: Setting) -> dict[str, float | int | None]:
    """FID to training images and to an equal number of held-out images. Trusted file, so without sandbox."""
    generator = read_generator(content, setting.latent, size=setting.size)
    count = setting.sampled
    with torch.no_grad():
        generated = to_pixels(generator(setting.latent.draw(count, 7)))
    network = extractors.load(setting.extractor, options=ExtractorOptions())
    own = statistics_of(network.features(generated))
    sets = {"training": network.features(train[:count]), "held-out": network.features(held_out[:count])}
    compared = equal_subsamples(sets, np.random.default_rng(0), min_images=2)
    near, far = (frechet_distance(own, statistics_of(features)) for features in compared)
    return {"train": near, "held_out": far, "gap": (far - near) / far, "count": len(compared[0])}


def build_pairs_image(audits: Sequence[Audit]) -> Image.Image:
    """All pairs of target and recovery, audits side by side, enlarged without smoothing."""
    sheets = [np.pad(audit.sheet(), ((0, 0), (0, 12), (0, 0)), constant_values=255) for audit in audits]
    image = Image.fromarray(np.concatenate(sheets, axis=1))
    return image.resize((2 * image.width, 2 * image.height), Image.Resampling.NEAREST)


def measure(setting: Setting, folder: Path, *_: object) -> dict[str, Any]:
    """Train and audit all generators. The figure goes to :data:`FIGURES` for the full setting, else to ``folder``."""
    images = tiles(setting)
    rows, audits = zip(*(measure_row(model, setting, images) for model in setting.models), strict=True)
    figures = FIGURES if setting == FULL else folder
    build_pairs_image([audits[0], audits[-1]]).save(figures / "recovery.png", optimize=True)
    sizes = {"size": setting.size, "latent": asdict(setting.latent), "held_out": setting.held_out}
    return {
        "setting": sizes | {"extractor": setting.extractor, "plan": setting.plan.as_json()},
        "rows": list(rows),
        "search": _search(setting, images),
    }


ITERATIONS, ALONE = 80, 16
HISTORY = LbfgsOptions().history
Loss = Callable[[Tensor, Tensor], Tensor]
"""From latent points (k, d) and their targets' rows (k,) to errors (k,)."""


def _search(setting: Setting, images: tuple[Pixels, Pixels]) -> dict[str, dict[str, float]]:
    """Processor seconds and evaluations per target, and the median error, of three methods with one thread.

    All begin at the same start, on held-out images and a briefly trained generator. The method with a separate
    optimiser per target runs only on the first :data:`ALONE` targets; ``first`` is the median error on these.
    """
    held_out, others = images
    with single_threaded(0):
        generator = glo(others[:64], setting.latent, width=setting.width, steps=150, batch=64, seed=0)
        generator.requires_grad_(requires_grad=False)
        targets = to_targets(held_out[: setting.searched])
        start = setting.latent.draw(len(targets), 3)

        def loss(points: Tensor, rows: Tensor) -> Tensor:
            errors: Tensor = (generator(points) - targets[rows]).square().mean(dim=(1, 2, 3))
            return errors

        return {
            "batched, a line search for every target": _timed(_ours, loss, start),
            "torch.optim.LBFGS for each target": _timed(_one_by_one, loss, start[:ALONE]),
            "torch.optim.LBFGS over the batch": _timed(_jointly, loss, start),
        }


def _timed(search: Callable[[Loss, Tensor], tuple[Tensor, int]], loss: Loss, start: Tensor) -> dict[str, float]:
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
        "first": float(errors[:ALONE].quantile(0.5)),
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
