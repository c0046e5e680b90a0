"""Latent recovery by search: the latent points with images nearest to targets (Webster et al. 2019, section 2.1).

    z* = argmin over z of mean((G(z) - y)^2)            pixels in [-1, 1], over a region only if one is given

Images are float32 (n, 3, s, s) in [-1, 1]. A generator's larger images are average-pooled to the targets' size.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.recovery.lbfgs import LbfgsOptions, Minimum, minimise
from scorer.generators.recovery.plan import AuditPlan
from scorer.metrics.copying.latent_recovery import VERBATIM
from scorer.metrics.copying.recovery_power import SearchStability
from scorer.metrics.features import Vector
from scorer.progress import ProgressCallback

GeneratorFunction = Callable[[Tensor], Tensor]
"""Maps latent points (n, d) to images (n, 3, s, s) or (n, 1, s, s) in [-1, 1], each row independently of the others."""
Pixels = NDArray[np.uint8]

AUTHORS = LbfgsOptions(iterations=50, wolfe=False, history=100)
MAX_ERROR = 4.0
"""The largest error between images in [-1, 1], which is also that of a search that diverges."""
CLASS_CANDIDATES = 4
"""Candidates for a start per class, because a search keeps the class of its start."""
MAX_ROW_DIFFERENCE = 1e-3  # between an image generated alone and in a batch


@dataclass(frozen=True, eq=False)
class RecoveredImages:
    """The best recovery of every target: ``error`` (n,) float64, ``image`` (n, 3, s, s)."""

    error: Vector
    image: Tensor
    evaluations: int
    """The number of images that the generator made with their gradients, for all targets."""
    by_start: Vector
    """The best errors so far after each start, (starts, n)."""


def to_targets(images: Pixels) -> Tensor:
    """Images (n, s, s, 3) uint8 as targets; :class:`Invalid` (``bad-images``) for another shape or type."""
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] != 3 or images.shape[1] != images.shape[2]:
        raise Invalid(
            "bad-images", f"The targets are {images.dtype} {images.shape}; they must be square colour images in uint8."
        )
    return torch.from_numpy(images.astype(np.float32)).permute(0, 3, 1, 2).contiguous() / 127.5 - 1.0


def to_pixels(images: Tensor) -> Pixels:
    """Images in [-1, 1] as (n, s, s, 3) uint8, rounded and clamped."""
    levels = ((images + 1.0) * 127.5).round().clamp(0.0, 255.0).to(torch.uint8)
    return np.ascontiguousarray(levels.permute(0, 2, 3, 1).numpy())


def images_at(generator: GeneratorFunction, points: Tensor, size: int) -> Tensor:
    """The images (n, 3, size, size) of latent points; :class:`Invalid` (``bad-generator``) for other shapes."""
    images = generator(points)
    if images.ndim != 4 or len(images) != len(points) or images.shape[1] not in {1, 3} or min(images.shape[2:]) < size:
        raise Invalid(
            "bad-generator",
            f"For {len(points)} latent points, the generator returns an array of shape {tuple(images.shape)}. It must"
            f" return ({len(points)}, 3, {size}, {size}), or larger images.",
        )
    return adaptive_avg_pool2d(images, size).expand(-1, 3, -1, -1)


def require_images(generator: GeneratorFunction, latent: Latent, size: int, *, seed: int) -> None:
    """Refuse a generator that cannot be searched because of its images (:class:`Invalid`).

    ``bad-generator``: a wrong shape, or values that are not finite or outside [-1, 1]. ``rows-depend``: an image
    depends on the others in its batch (batch normalisation in training mode).
    """
    points = latent.draw(16, seed)
    with torch.no_grad():
        together = images_at(generator, points, size)
        alone = images_at(generator, points[:1], size)
    if not torch.isfinite(together).all():
        raise Invalid("bad-generator", "The generator's output contains numbers that are not finite.")
    if float(together.abs().max()) > 1.0 + MAX_ROW_DIFFERENCE:
        raise Invalid(
            "bad-generator",
            f"The generator's values reach {float(together.abs().max()):.3g}; they must be from -1 to 1. End it with"
            " tanh.",
        )
    if float((together[:1] - alone).abs().max()) > MAX_ROW_DIFFERENCE:
        raise Invalid(
            "rows-depend",
            "An image depends on the other images in its batch. Export the generator in evaluation mode"
            " (`model.eval()`), so batch normalisation uses its running statistics.",
        )


def build_mask(plan: AuditPlan, size: int) -> Tensor:
    """Weights (1, 1, size, size) with mean 1: equal in the plan's region, 0 outside."""
    if plan.region is None:
        return torch.ones((1, 1, size, size))
    top, left, bottom, right = (round(share * size) for share in plan.region)
    mask = torch.zeros((1, 1, size, size))
    mask[:, :, top:bottom, left:right] = 1.0
    if not mask.any():
        raise Invalid("bad-plan", f"The region {plan.region} contains no pixel of images of {size} x {size} pixels.")
    return mask / mask.mean()


def errors_between(images: Tensor, targets: Tensor, mask: Tensor) -> Vector:
    """Mean squared errors (n,) float64 between images (n, 3, s, s)."""
    squares = (images.double() - targets.double()).square() * mask
    return np.asarray(squares.mean(dim=(1, 2, 3)).numpy(), np.float64)


@dataclass(frozen=True)
class Search:
    generator: GeneratorFunction
    latent: Latent
    plan: AuditPlan

    def recover(self, targets: Tensor, seed: int, progress: ProgressCallback | None = None) -> RecoveredImages:
        """Recover targets (n, 3, s, s) from the best of the plan's starts. Only targets not yet recovered get more
        than one."""
        parts = []
        done = 0
        for some in torch.split(targets, self.plan.batch):
            parts.append(
                self._recover_batch(some, seed + done, _partial_progress(progress, done, len(some), whole=len(targets)))
            )
            done += len(some)
        return RecoveredImages(
            np.concatenate([part.error for part in parts]),
            torch.cat([part.image for part in parts]),
            sum(part.evaluations for part in parts),
            np.concatenate([part.by_start for part in parts], axis=1),
        )

    def stability(self, targets: Tensor, seed: int, progress: ProgressCallback | None = None) -> SearchStability:
        """Search for each of n targets (n, 3, s, s) from the same n drawn points."""
        mask, points = build_mask(self.plan, targets.shape[2]), self.latent.draw(len(targets), seed)
        curves = []
        for number, point in enumerate(points):
            start = point.expand(len(targets), -1)
            curve = self._minimum(targets, mask, start, progress=None).curve.double().numpy()
            curves.append(np.where(np.isfinite(curve), curve, MAX_ERROR))
            if progress:
                progress((number + 1) / len(points))
        return SearchStability(np.stack(curves))

    def _recover_batch(self, targets: Tensor, seed: int, progress: ProgressCallback | None) -> RecoveredImages:
        """Recover one batch. A target recovered verbatim gets no further start, whatever its kind."""
        mask = build_mask(self.plan, targets.shape[2])
        count = len(targets)
        error = np.full(count, np.inf)
        image = torch.zeros_like(targets)
        evaluations, starts = 0, self.plan.starts
        by_start = np.empty((starts, count))
        for number, random in enumerate(np.random.SeedSequence(seed).generate_state(starts).tolist()):
            left = np.flatnonzero(error >= VERBATIM)
            if not len(left):
                by_start[number:] = error
                break
            rows = torch.from_numpy(left)
            result = self._minimise_batch(
                targets[rows], mask, random, progress=_partial_progress(progress, number, 1, whole=starts)
            )
            better = result.error < error[left]
            error[left[better]] = result.error[better]
            image[rows[better]] = result.image[better]
            evaluations += result.evaluations
            by_start[number] = error
        if progress:
            progress(1.0)
        return RecoveredImages(error, image, evaluations, by_start)

    def _minimise_batch(
        self, targets: Tensor, mask: Tensor, seed: int, *, progress: ProgressCallback | None
    ) -> RecoveredImages:
        minimum = self._minimum(targets, mask, self._start(targets, mask, seed), progress=progress)
        with torch.no_grad():
            image = images_at(self.generator, self.latent.to_latent(minimum.point), targets.shape[2])
        error = errors_between(image, targets, mask)
        error[~np.isfinite(error)] = np.inf
        return RecoveredImages(error, image, int(minimum.evaluations.sum()), error[None])

    def _minimum(self, targets: Tensor, mask: Tensor, start: Tensor, *, progress: ProgressCallback | None) -> Minimum:
        """The minima of the targets' errors, searched from latent points (n, d)."""

        def objective(coordinates: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
            with torch.enable_grad():
                coordinates = coordinates.detach().requires_grad_()
                images = images_at(self.generator, self.latent.to_latent(coordinates), targets.shape[2])
                values = ((images - targets[rows]).square() * mask).mean(dim=(1, 2, 3))
                (gradient,) = torch.autograd.grad(values.sum(), coordinates)
            return values.detach(), gradient

        options = AUTHORS if self.plan.method == "authors" else LbfgsOptions(self.plan.iterations)
        return minimise(objective, self.latent.to_unconstrained(start), options, progress=progress)

    def _start(self, targets: Tensor, mask: Tensor, seed: int) -> Tensor:
        """A start for each target: the nearest of the plan's candidates, or one draw each for a single candidate."""
        if self.plan.candidates == 1 or self.plan.method == "authors":
            return self.latent.draw(len(targets), seed)
        count = max(self.plan.candidates, CLASS_CANDIDATES * (self.latent.classes or 0))
        points = self.latent.draw(count, seed)
        weighted = mask.sqrt()
        with torch.no_grad():
            distances = [
                torch.cdist((targets * weighted).flatten(1), (images * weighted).flatten(1))
                for images in (
                    images_at(self.generator, some, targets.shape[2]) for some in torch.split(points, self.plan.batch)
                )
            ]
        return points[torch.cat(distances, dim=1).argmin(1)]


def _partial_progress(
    progress: ProgressCallback | None, done: int, part: int, *, whole: int
) -> ProgressCallback | None:
    return None if progress is None else lambda share: progress((done + share * part) / whole)
