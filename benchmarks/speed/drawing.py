"""Benchmark of drawing a generator's images: in Kennel's sandbox, and with onnxruntime alone."""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.harness.isolation import THREADS, Run, Runner, Task, interleaved
from benchmarks.harness.report import Findings, MarkdownTable, Target, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median
from deploy.demo.photographs import bundled_photographs
from kennel_client.starter_kit import baseline
from scorer.generators import seeds
from scorer.generators.drawing import BATCH
from scorer.generators.latents import Latent
from scorer.generators.onnx_files import DeclaredLatent
from scorer.generators.sandbox.runner import check_in_sandbox, draw_in_sandbox

KENNEL, WHOLE, PEER = "Kennel", "Kennel, with the start of the sandbox", "onnxruntime"
CONTENDERS = {KENNEL: "benchmarks.speed.drawing:draw", PEER: "benchmarks.speed.drawing:draw_with_onnxruntime"}
MIN_PACE = 0.5
SEED, DIGEST = 2026, bytes(32)


class Size(NamedTuple):
    rounds: int = 3
    images: int = 10_000
    training_seconds: float = 20.0
    generators: tuple[str, ...] = ("mixture", "gan")


FULL, QUICK = Size(), Size(1, 100, 1.0, ("mixture",))


def measure(size: Size, folder: Path, run: Runner) -> list[BenchmarkCase]:
    cases = []
    for name in size.generators:
        file = str(folder / f"{name}.onnx")
        run(Task("benchmarks.speed.drawing:export", {"file": file, "name": name, "training": size.training_seconds}))
        arguments = {"file": file, "images": size.images}
        runs = interleaved(CONTENDERS, arguments, size.rounds, run=run)
        cases.append(BenchmarkCase(name, {"images": size.images}, runs))
    return cases


def findings(result: BenchmarkResult) -> Findings:
    tables, targets = [], []
    for case in result.cases:
        images = case.settings["images"]
        drawn, peer = case.runs[KENNEL], case.runs[PEER]
        runs = {KENNEL: drawn, WHOLE: [{"seconds": run["whole_seconds"]} for run in drawn], PEER: peer}
        pace = {name: images / compute_median(runs[name]) for name in runs}
        rows = [(name, seconds(runs[name]), f"{pace[name]:,.0f}", f"{pace[name] / pace[PEER]:.2f}") for name in runs]
        tables.append(
            MarkdownTable(f"{images:,} images of the kit's `{case.name}`", ("", "s", "images/s", "ratio"), rows)
        )
        name = f"images per second of the kit's `{case.name}`, ratio to onnxruntime"
        targets.append(Target(name, pace[KENNEL] / pace[PEER], MIN_PACE, at_least=True))
    return Findings(tables, targets)


def export(file: str, name: str, training: float) -> Run:
    """Fit a generator of the starter kit to the demo's photographs, and write its ONNX file."""
    train = np.divide(bundled_photographs(SEED).train.images, 255, dtype=np.float32)
    {"mixture": baseline.mixture, "gan": baseline.gan}[name](train, np.random.default_rng(SEED), training).export(
        Path(file)
    )
    return {}


def draw(file: str, images: int) -> Run:
    """Draw as a worker does: ``seconds`` in the sandbox, ``whole_seconds`` with its start."""
    content, size = Path(file).read_bytes(), 64
    checked = check_in_sandbox(
        content, DeclaredLatent(), DeclaredLatent(), size=size, fixed_digest=DIGEST, accept_weaker=True
    )
    begun = time.perf_counter()
    out = Path(file).with_suffix(".npy")
    drawn = draw_in_sandbox(
        content, checked.latent, DIGEST, count=images, size=size, values=checked.values, out=out, accept_weaker=True
    )
    return {"seconds": drawn.provenance["seconds"], "whole_seconds": time.perf_counter() - begun}


def draw_with_onnxruntime(file: str, images: int) -> Run:
    """Run the network on the same latents, in batches of the same size (``seconds``)."""
    import onnxruntime  # noqa: PLC0415 - Kennel's runs have no use for it

    begun = time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    (taken,), (made,) = session.get_inputs(), session.get_outputs()
    metadata = session.get_modelmeta().custom_metadata_map
    classes = int(metadata.get("kennel.classes", 0)) or None
    latent = Latent(taken.shape[1] - (classes or 0), "normal", classes)
    for start in range(0, images, BATCH):
        latents = seeds.latents(DIGEST, latent, start=start, stop=min(start + BATCH, images))
        (values,) = session.run([made.name], {taken.name: latents})
        (values.transpose(0, 2, 3, 1) * 255.0).round().astype(np.uint8)
    return {"seconds": time.perf_counter() - begun}
