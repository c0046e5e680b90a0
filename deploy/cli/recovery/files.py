"""Latent recovery for a generator in files, in the worker's sandbox, without database, queue or store."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image

from deploy.cli.image_files import read_images
from kennel_client.api import open_file
from scorer.archive.reference_image import round_to_uint8
from scorer.errors import Invalid
from scorer.extractor_catalogue import find_extractor
from scorer.extractors import ExtractorOptions, Features, load
from scorer.generators.latents import Latent
from scorer.generators.onnx_files import MAGIC_BYTES, require_onnx
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.recovery.report import Audit
from scorer.generators.recovery.targets import Pixels
from scorer.generators.sandbox.runner import audit_in_sandbox
from scorer.progress import StageProgress
from worker.evidence.entry_sample import EntrySample, compare_features, sample_entry
from worker.evidence.generator_audit import to_job_stage


@dataclass(frozen=True)
class EntryFiles:
    """The images that the generator supposedly made, and the feature space for comparing them."""

    images: Path
    extractor: str
    weights: Path | None


def recover_files(
    generator: Path,
    train: Path,
    held_out: Path,
    *,
    latent: Latent | None,
    size: int,
    plan: AuditPlan,
    progress: StageProgress,
    encoder: Path | None = None,
    entry: EntryFiles | None = None,
    accept_weaker_sandbox: bool = False,
) -> Audit:
    """Measure whether the generator in an ONNX file reproduces its training images better than held-out ones
    (docs/explanation/metrics.md#latent-recovery-metrics).

    ``train`` and ``held_out`` are zips or folders, resized to ``size`` as in the service. ``encoder``, another ONNX
    file, replaces the search; comparing an ``entry`` needs a search. Without ``latent`` the generator takes images: the
    encoder's output, or else the targets themselves. Raises the same errors as the service, and ``Unreadable``.
    """
    if entry is not None and (encoder is not None or latent is None):
        raise Invalid(
            "bad-plan",
            "A comparison with --entry needs a search, because only a search draws new images from the generator.",
        )
    content = _bytes(generator)
    encoder_content = None if encoder is None else _bytes(encoder)
    require_onnx(
        content[:MAGIC_BYTES], None if latent is None else latent.dimension
    )  # before the images, which take longer
    with TemporaryDirectory(prefix="kennel-recover-") as name:
        read = partial(_pixels, size=size, folder=Path(name))
        sets = [read(path, progress=partial(progress, "reference-decoding")) for path in (train, held_out)]
        sample = None if entry is None else _entry_sample(entry, read, sets, plan=plan, progress=progress)
        audit = audit_in_sandbox(
            content,
            latent,
            sets[0],
            held_out=sets[1],
            plan=plan,
            encoder=encoder_content,
            entry=None if sample is None else sample.targets,
            accept_weaker=accept_weaker_sandbox,
            progress=lambda stage, share: progress(to_job_stage(stage), share),
        )
        return audit if sample is None else compare_features(audit, sample)


def _entry_sample(
    entry: EntryFiles, read: Callable[..., Pixels], sets: Sequence[Pixels], *, plan: AuditPlan, progress: StageProgress
) -> EntrySample:
    extractor = load(
        find_extractor(entry.extractor).identity,
        options=ExtractorOptions(weights_dir=entry.weights),
    )

    def extract(images: Pixels) -> Features:
        return extractor.features(images, progress=partial(progress, "features"))

    images = read(entry.images, progress=partial(progress, "decoding"))
    signed = not extractor.spec.non_negative
    return sample_entry(images, extract, lambda: [extract(image_set) for image_set in sets], plan=plan, signed=signed)


def _bytes(path: Path) -> bytes:
    with open_file(path) as file:
        content: bytes = file.read()
        return content


def _pixels(path: Path, *, size: int, folder: Path, progress: Any) -> Pixels:
    """The images, uint8 (n, size, size, 3)."""
    return round_to_uint8(read_images(path, size, folder, progress=progress).images)


def write_pairs(audit: Audit, path: Path) -> None:
    """Write the pairs of targets and recovered images as one PNG; see :meth:`Audit.sheet`."""
    Image.fromarray(np.ascontiguousarray(audit.sheet())).save(path, "PNG")


def report_lines(report: dict[str, Any]) -> Iterator[str]:
    """A report as lines for a terminal."""
    yield f"{report['verdict']}: {report['sentence']}"
    if report["match"] is not None:
        yield f"{report['match']['verdict']}: {report['match']['sentence']}"
    for finding in report["findings"]:
        value = "none" if finding["value"] is None else f"{finding['value']:.6g}"
        yield f"{finding['name']:<28} {value:<12} {finding['sentence']}"
