"""``python -m benchmarks.papers.recovery_experiment``: Table 1 of Webster et al. 2019, on the demo's photographs.

Trains generators that are known to memorise (GLO on few images) or not (GLO on many, a DCGAN), exports them as ONNX
files, and audits each in the sandbox as a competition would. Writes ``results/recovery_experiment.json``, the page
``RECOVERY.md`` and ``figures/recovery.png``. ``--models FOLDER`` stores the files and reuses those stored there.
"""

import argparse
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import nn

from benchmarks.harness.machine import machine
from benchmarks.papers.recovery_networks import Pixels, gan, glo, onnx_of
from benchmarks.papers.recovery_search import compare_searches
from benchmarks.papers.recovery_table import page_of
from deploy.demo.photographs import bundled_photographs
from scorer import extractors
from scorer.extractors import ExtractorOptions
from scorer.generators.latents import Latent
from scorer.generators.onnx.generator import read_generator
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.recovery.report import Audit
from scorer.generators.recovery.search import pixels_of, targets_of
from scorer.generators.sandbox.runner import audit_in_sandbox
from scorer.metrics.copying.error_histogram import error_histogram
from scorer.metrics.sample_quality.fid_gap import fid_gap

log = logging.getLogger(__name__)
HERE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Model:
    """A generator: its training function, number of images, steps and batch size."""

    name: str
    fit: Callable[..., nn.Sequential]
    images: int
    steps: int
    batch: int = 64


@dataclass(frozen=True)
class Setting:
    """Sizes of the whole experiment."""

    models: Sequence[Model]
    size: int = 16
    latent: Latent = field(default_factory=lambda: Latent(64))
    width: int = 32
    held_out: int = 800
    max_tiles: int = 600
    """Tiles of one photograph in one of the demo's parts."""
    plan: AuditPlan = field(
        default_factory=lambda: AuditPlan(train=200, held_out=200, generated=40, distorted=24, stability=20)
    )
    restarts: AuditPlan = field(
        default_factory=lambda: AuditPlan(train=40, held_out=40, generated=40, distorted=0, method="authors", starts=10)
    )
    """The plan of the audits that count success by number of starts, with the authors' steps (table 2)."""
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


def tiles(setting: Setting) -> tuple[Pixels, Pixels]:
    """(held-out, the rest): tiles of all photographs, split at random.

    The demo's held-out part is not used: most of its photographs are in no other part. An honest generator, too,
    recovers tiles of its own photographs better, and the test assumes that both sets are drawn from one distribution.
    """
    caps = dict.fromkeys(("train", "held_out", "private_extra"), setting.max_tiles)
    parts = bundled_photographs(size=setting.size, max_tiles=caps)  # type: ignore[arg-type]  # the keys are the parts' names
    images = np.concatenate([parts.train.images, parts.held_out.images, parts.private_extra.images])
    images = images[np.random.default_rng(0).permutation(len(images))]
    return images[: setting.held_out], images[setting.held_out :]


def row_of(
    model: Model, setting: Setting, images: tuple[Pixels, Pixels], folder: Path | None
) -> tuple[dict[str, Any], Audit]:
    """Train, export and audit a generator: one row of the table as JSON, and the audit."""
    held_out, others = images
    train = others[: model.images]
    start = perf_counter()
    content = _train_to_onnx(model, train, setting, folder)
    trained = perf_counter()
    log.info("%s: %d images, %d bytes, %.0f s", model.name, len(train), len(content), trained - start)
    audit = audit_in_sandbox(content, setting.latent, train, held_out, plan=setting.plan)
    audit_seconds = perf_counter() - trained
    restarts = audit_in_sandbox(content, setting.latent, train, held_out, plan=setting.restarts).report()["starts"]
    report = audit.report()
    log.info("%s: %s (%.0f s) %s", model.name, report["verdict"], audit_seconds, report["sentence"])
    parts = ("verdict", "sentence", "measured", "targets", "stability", "evaluations", "provenance")
    findings = {each["name"]: {"value": each["value"], "p_value": each["p_value"]} for each in report["findings"]}
    return {
        "name": model.name,
        "images": len(train),
        "training_seconds": trained - start,
        "audit_seconds": audit_seconds,
        "file_bytes": len(content),
        "fid": _fid(content, train, held_out, setting),
        "findings": findings,
        "restarts": restarts,
        "histogram": asdict(error_histogram(report["errors"])),
        **{name: report[name] for name in parts},
    }, audit


def _train_to_onnx(model: Model, train: Pixels, setting: Setting, folder: Path | None) -> bytes:
    path = folder / f"{model.name}.onnx" if folder else None
    if path is not None and path.is_file():
        return path.read_bytes()
    fitted = model.fit(train, setting.latent, width=setting.width, steps=model.steps, batch=model.batch, seed=0)
    content = onnx_of(fitted, setting.latent)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return content


def _fid(content: bytes, train: Pixels, held_out: Pixels, setting: Setting) -> dict[str, float | int | None]:
    """FID to training and to equally many held-out images. Without sandbox, since the file is our own."""
    generator = read_generator(content, setting.latent, size=setting.size)
    count = setting.sampled
    with torch.no_grad():
        generated = pixels_of(generator(setting.latent.draw(count, 7)))
    network = extractors.load(setting.extractor, options=ExtractorOptions())
    features = [network.features(images) for images in (generated, train[:count], held_out[:count])]
    fid = fid_gap(*features, random=np.random.default_rng(0))
    return {"train": fid.train, "held_out": fid.held_out, "gap": fid.gap, "count": fid.count}


def _search(setting: Setting, images: tuple[Pixels, Pixels]) -> dict[str, dict[str, float]]:
    """Three search methods compared on held-out images and a briefly trained generator, with one thread."""
    held_out, others = images
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        fitted = glo(others[:64], setting.latent, width=setting.width, steps=150, batch=64, seed=0)
        targets = targets_of(held_out[: setting.searched])
        return compare_searches(fitted.requires_grad_(False), targets, setting.latent.draw(len(targets), 3))
    finally:
        torch.set_num_threads(threads)


def pairs_image_of(audits: Sequence[Audit], scale: int = 2) -> Image.Image:
    """All pairs of target and recovery, one audit beside the other, enlarged without smoothing."""
    sheets = [np.pad(audit.sheet(), ((0, 0), (0, 12), (0, 0)), constant_values=255) for audit in audits]
    image = Image.fromarray(np.concatenate(sheets, axis=1))
    return image.resize((image.width * scale, image.height * scale), Image.Resampling.NEAREST)


def run(setting: Setting, folder: Path, models: Path | None = None) -> str:
    """Run the experiment, write results, page and figure below ``folder``, and return the page."""
    rows = []
    audits = []
    images = tiles(setting)
    for model in setting.models:
        row, audit = row_of(model, setting, images, models)
        rows.append(row)
        audits.append(audit)
    result = {
        "machine": machine(),
        "setting": {"size": setting.size, "latent": asdict(setting.latent), "held_out": setting.held_out}
        | {"extractor": setting.extractor, "plan": setting.plan.as_json()},
        "rows": rows,
        "search": _search(setting, images),
    }
    for name in ("results", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "results" / "recovery_experiment.json").write_text(json.dumps(result, indent=1) + "\n")
    pairs_image_of([audits[0], audits[-1]]).save(folder / "figures" / "recovery.png", optimize=True)
    return render(folder)


def render(folder: Path) -> str:
    """Write the page from the results stored below ``folder``, and return it."""
    text = page_of(json.loads((folder / "results" / "recovery_experiment.json").read_text()))
    (folder / "RECOVERY.md").write_text(text)
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.recovery_experiment", description=__doc__)
    parser.add_argument("--models", type=Path, help="where the trained generators are kept, and taken from")
    parser.add_argument("--render", action="store_true", help="train and audit nothing: write the page anew")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    print(render(HERE) if options.render else run(FULL, HERE, options.models))


if __name__ == "__main__":
    main()
