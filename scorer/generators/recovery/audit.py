"""Generator audits: latent recovery of training, held-out, generated and entry images, by search or with an encoder."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scorer.generators.latents import Latent
from scorer.generators.recovery.by_encoder import EncoderFunction, reconstruct
from scorer.generators.recovery.distortions import DISTORTIONS
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.recovery.report import Audit, TargetPairs, shown_targets
from scorer.generators.recovery.search import (
    GeneratorFunction,
    RecoveredImages,
    Search,
    images_at,
    require_images,
    to_pixels,
    to_targets,
)
from scorer.generators.recovery.targets import EntryTargets, Index, Pixels, draw_targets
from scorer.metrics.copying.latent_recovery import TargetKind, kolmogorov_smirnov
from scorer.metrics.features import Vector
from scorer.progress import ProgressCallback, StageProgress

DISTORTED_KINDS: tuple[TargetKind, ...] = ("train", "generated")
FURTHER_USES = ("near_train", "near_held_out", "entry", "sampled", "stability", "others")
"""Uses of a seed that were added later: the position of a use decides its seed."""


def roughness(images: NDArray[np.uint8]) -> Vector:
    """Mean squared difference of neighbouring pixels, (n,) float64, of images (n, s, s, 3) scaled to [-1, 1]."""
    values = images.astype(np.float32) / np.float32(127.5)
    across, down = np.diff(values, axis=2), np.diff(values, axis=1)
    return np.asarray((across**2).mean(axis=(1, 2, 3)) + (down**2).mean(axis=(1, 2, 3)), np.float64)


def audit_generator(
    generator: GeneratorFunction,
    latent: Latent,
    train: Pixels,
    *,
    held_out: Pixels,
    plan: AuditPlan,
    entry: EntryTargets | None = None,
    progress: StageProgress | None = None,
) -> Audit:
    """Search a generator for training images (n, s, s, 3) and held-out images (m, s, s, 3), uint8, and for the images
    of an entry. With an entry, new images are also drawn to compare their features, unless the generator is the entry.

    ``generator`` maps latent points (k, d) float32 to images (k, 3, s, s), or larger ones, in [-1, 1], each row
    independently of the others. Equal inputs on one machine give equal audits. Raises :class:`Invalid`: ``bad-images``,
    ``too-few-images`` (fewer than 8 of a kind), ``bad-generator``, ``rows-depend``, ``bad-plan``.
    """
    drawn = draw_targets(train, held_out, plan, entry=entry)
    size = train.shape[1]
    seeds = _Seeds(plan.seed)
    require_images(generator, latent, size, seed=seeds("check"))
    search = Search(generator, latent, plan)

    def draw_images(count: int, use: str) -> Tensor:
        with torch.no_grad():
            points = torch.split(latent.draw(count, seeds(use)), plan.batch)
            return torch.cat([images_at(generator, some, size) for some in points])

    targets = {kind: to_targets(images) for kind, (images, _) in drawn.items()}
    if "generated" not in targets:
        targets = {"generated": draw_images(plan.generated, "targets"), **targets}
    recovered = {
        kind: search.recover(images, seeds(kind), _stage_progress(progress, kind)) for kind, images in targets.items()
    }
    distorted = dict(_recover_distorted(search, targets, seeds, progress=progress))
    audit = _build_audit(plan, latent, drawn, targets=targets, recovered=recovered, distorted=distorted)
    if plan.stability:
        chosen = targets["generated"][: plan.stability]
        stability = search.stability(chosen, seeds("stability"), _stage_progress(progress, "stability"))
        audit = replace(audit, stability=stability)
    if entry is None:
        return audit
    if entry.others is not None:
        found = search.recover(to_targets(entry.others), seeds("others"), _stage_progress(progress, "others"))
        audit = replace(audit, errors={**audit.errors, "others": found.error})
    samples = to_pixels(draw_images(plan.sampled, "sampled")) if plan.sampled and not entry.drawn else None
    return replace(audit, samples=samples, near_share=None if entry.near is None else entry.near.held_out_share)


def audit_by_encoder(
    generator: GeneratorFunction,
    encoder: EncoderFunction,
    latent: Latent | None,
    *,
    train: Pixels,
    held_out: Pixels,
    plan: AuditPlan,
    progress: StageProgress | None = None,
) -> Audit:
    """Audit with an encoder instead of a search; see :mod:`scorer.generators.recovery.by_encoder`.

    ``latent`` is only recorded; None for a generator that takes images. Only the plan's batch and its numbers of
    training and held-out targets are used. Raises the errors of :func:`audit_generator`, and ``bad-encoder``.
    """
    drawn = draw_targets(train, held_out, plan, entry=None)
    targets = {kind: to_targets(images) for kind, (images, _) in drawn.items()}
    recovered = {
        kind: reconstruct(generator, encoder, images, batch=plan.batch, progress=_stage_progress(progress, kind))
        for kind, images in targets.items()
    }
    return _build_audit(plan, latent, drawn, targets=targets, recovered=recovered, distorted={})


def _build_audit(
    plan: AuditPlan,
    latent: Latent | None,
    drawn: Mapping[TargetKind, tuple[Pixels, Index]],
    *,
    targets: Mapping[TargetKind, Tensor],
    recovered: Mapping[TargetKind, RecoveredImages],
    distorted: Mapping[str, RecoveredImages],
) -> Audit:
    pairs: dict[str, TargetPairs] = {}
    for kind, result in recovered.items():
        index = drawn[kind][1] if kind in drawn else np.arange(len(result.error), dtype=np.int64)
        rows = shown_targets(result.error)
        chosen = torch.from_numpy(rows)
        images = to_pixels(targets[kind][chosen]), to_pixels(result.image[chosen])
        pairs[kind] = TargetPairs(*images, result.error[rows], index[rows])
    return Audit(
        plan=plan,
        latent=latent,
        errors={kind: result.error for kind, result in recovered.items()},
        distorted={name: result.error for name, result in distorted.items()},
        by_start={kind: result.by_start for kind, result in recovered.items()},
        likeness=kolmogorov_smirnov(roughness(drawn["train"][0]), roughness(drawn["held_out"][0])),
        pairs=pairs,
        evaluations=sum(result.evaluations for result in (*recovered.values(), *distorted.values())),
    )


def _recover_distorted(
    search: Search, targets: Mapping[TargetKind, Tensor], seeds: "_Seeds", *, progress: StageProgress | None
) -> Iterator[tuple[str, RecoveredImages]]:
    """Recover the first training and generated targets, distorted in each way, from the starts of the originals."""
    if not search.plan.distorted:
        return
    for name, distortion in DISTORTIONS.items():
        for kind in DISTORTED_KINDS:
            images = targets[kind][: search.plan.distorted].permute(0, 2, 3, 1).numpy()
            changed = distortion(images, np.random.default_rng(seeds(name)))
            rows = torch.from_numpy(changed).permute(0, 3, 1, 2).contiguous()
            stage = f"{name}_{kind}"
            yield stage, search.recover(rows, seeds(kind), _stage_progress(progress, stage))


class _Seeds:
    """A different seed for every use, derived from the seed of the plan."""

    NAMES = ("check", "targets", "generated", "train", "held_out", *DISTORTIONS, *FURTHER_USES)

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __call__(self, name: str) -> int:
        return int(np.random.SeedSequence([self._seed, self.NAMES.index(name)]).generate_state(1)[0])


def _stage_progress(progress: StageProgress | None, stage: str) -> ProgressCallback | None:
    return None if progress is None else lambda share: progress(stage, share)
