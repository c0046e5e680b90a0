"""Findings of duplicates: training-image copies, near duplicates, and duplicates within an entry."""

from collections import Counter
from dataclasses import replace
from math import sqrt

import numpy as np

from scorer.archive.pixel_hashes import ExactDuplicates, TrainingImageCopies
from scorer.findings.copying import IMAGES, closeness_conclusion, closeness_finding
from scorer.findings.finding import LOWER, SHARE, Finding
from scorer.findings.formatting import counted, format_p_value, format_percent
from scorer.findings.signs import MIN_SHARE
from scorer.metrics.copying.internal_duplicates import InternalDuplicates, grouped_share_error
from scorer.metrics.copying.near_duplicates import NearDuplicates


def _mirrored(count: int) -> str:
    return f"; {count:,} of them mirrored" if count else ""


def thumbnail_copies_finding(duplicates: NearDuplicates) -> Finding:
    closeness = duplicates.closeness
    conclusion = closeness_conclusion(
        closeness,
        "Training images that were blurred, recoloured or passed through a network look like this.",
        is_few=closeness.share < MIN_SHARE,
    )
    return closeness_finding(
        "thumbnail_copies",
        closeness,
        f"As thumbnails, {closeness.below:,} of {closeness.generated:,} images"
        f" ({format_percent(closeness.share)}{_mirrored(duplicates.mirrored)}) are closer to a training image than"
        f" {format_percent(1.0 - closeness.rank / closeness.held_out)} of the held-out images are;"
        f" {format_percent(closeness.expected)} would be expected by chance{conclusion}",
        uninformative="Some held-out images have the same thumbnail as a training image, so thumbnails cannot reveal"
        " copies.",
    )


def hash_copies_finding(duplicates: NearDuplicates) -> Finding:
    closeness = duplicates.closeness
    conclusion = closeness_conclusion(
        closeness,
        "Images that show a training image, altered or blended with another image, look like this.",
        is_few=closeness.share < MIN_SHARE,
    )
    finding = closeness_finding(
        "hash_copies",
        closeness,
        f"{closeness.below:,} of {closeness.generated:,} images"
        f" ({format_percent(closeness.share)}{_mirrored(duplicates.mirrored)}) have a perceptual hash unusually close"
        f" to that of one training image; {format_percent(closeness.expected)} would be expected by chance{conclusion}",
        uninformative="Some held-out images have the same perceptual hash as a training image, so hashes cannot reveal"
        " copies.",
    )
    return replace(finding, standard_error=None, error_kind=None)


def relative_copies_finding(duplicates: NearDuplicates) -> Finding:
    """The share of images that are unusually near to one training image, relative to other training images."""
    closeness = duplicates.closeness
    conclusion = closeness_conclusion(
        closeness,
        "An entry with altered copies among other images looks like this.",
        is_few=closeness.share - closeness.expected < MIN_SHARE * (1.0 - closeness.expected),
    )
    return closeness_finding(
        "relative_copies",
        closeness,
        f"{closeness.below:,} of {closeness.generated:,} images ({format_percent(closeness.share)}) are nearer to one"
        f" training image, relative to others, than {format_percent(1.0 - closeness.rank / closeness.held_out)} of the"
        f" held-out images are; {format_percent(closeness.expected)} would be expected by chance{conclusion}",
        uninformative="Some held-out images are also training images, so relative distances cannot reveal copies.",
    )


def near_duplicates_finding(duplicates: NearDuplicates) -> Finding:
    closeness = duplicates.closeness
    outcome = f"None of the {closeness.generated:,} images is a near duplicate of a training image"
    if closeness.below:
        outcome = (
            f"{closeness.below:,} of {closeness.generated:,} images"
            f" ({format_percent(closeness.share)}{_mirrored(duplicates.mirrored)}) are near duplicates of"
            f" {counted(duplicates.originals, 'training image')}"
        )
    often = (
        f", including {duplicates.most_copied[1]:,} of the same one"
        if duplicates.most_copied and duplicates.most_copied[1] > 1
        else ""
    )
    chance = (
        f"; {format_percent(closeness.expected)} would be expected by chance ({format_p_value(closeness.p_value)})."
    )
    return closeness_finding(
        "near_copies",
        closeness,
        f"{outcome}{often}{chance}",
        uninformative="Some held-out images are also training images, so near duplicates cannot be distinguished "
        "from chance.",
    )


def internal_duplicates_finding(duplicates: InternalDuplicates) -> Finding:
    count = len(duplicates.group)
    outcome = f"No two of the {count:,} images are near duplicates"
    if duplicates.pairs:
        outcome = (
            f"{duplicates.images:,} of {count:,} images are near duplicates of another image, in"
            f" {counted(duplicates.groups, 'group')}, the largest with {int(duplicates.sizes.max()):,} images"
        )
    chance = (
        f". The entry has {duplicates.pairs:,} such pairs, and the same number of held-out images would have about"
        f" {duplicates.expected_pairs:.2g}"
    )
    sentence = f"{outcome}{chance} ({format_p_value(duplicates.p_value)})."
    error, p_value = duplicates.standard_error, duplicates.p_value
    return Finding("repeats", duplicates.share, SHARE, LOWER, sentence, error, p_value, "sampling")


def pixel_copies_finding(copies: TrainingImageCopies) -> Finding:
    count = len(copies.exact_index)
    copied = copies.exact + copies.mirrored
    sentence = f"None of the {count:,} images equals a training image pixel by pixel, upright or mirrored."
    if copied:
        sentence = (
            f"{copied:,} of {count:,} images ({format_percent(copies.share)}{_mirrored(copies.mirrored)}) equal a"
            " training image pixel by pixel."
        )
    error = sqrt(copies.share * (1.0 - copies.share) / count)
    return Finding("pixel_copies", copies.share, SHARE, LOWER, sentence, error, error_kind="sampling")


def shared_images_sentence(images: int, equal: int, share: float) -> str:
    """Say how many ``images`` two entries share. They are this ``share`` of one entry; ``equal`` of them have equal
    pixels."""
    pixels = "with equal pixels"
    how = pixels if equal == images else f"{equal:,} of them {pixels}" if equal else "with nearly equal pixels"
    return f"The entries have {counted(images, 'image')} ({format_percent(share)}) in common, {how}."


def same_generator_sentence(same_latents: float) -> str:
    """Say at which share of equal latents two generators have nearly the same image."""
    return f"At {format_percent(same_latents)} of equal latents, both generators draw nearly the same image."


def recovered_images_sentence(recovered: float) -> str:
    """Say which share of one generator's images an audit has found among those of another."""
    return f"The audit of one generator found {format_percent(recovered)} of the other's images, at other latents."


def exact_duplicates_findings(duplicates: ExactDuplicates) -> tuple[Finding, ...]:
    """The numbers of images that the zip contains more than once, upright and mirrored."""
    identical_sentence = f"No two of the {duplicates.count:,} images have the same pixels."
    if duplicates.groups:
        identical_sentence = (
            f"{duplicates.identical:,} of {duplicates.count:,} images have the same pixels as another image, in"
            f" {counted(len(duplicates.groups), 'group')}, the largest with {len(duplicates.groups[0]):,} images."
        )
    mirrored_sentence = "None of the other images is the mirror image of another image."
    if duplicates.mirrored_pairs:
        mirrored_sentence = f"{duplicates.mirrored:,} of the other images are the mirror image of another image."
    pairs = Counter(frozenset(pair) for pair in duplicates.mirrored_pairs)
    identical_groups = [(len(group), len(group)) for group in duplicates.groups]
    mirrored_groups = [(2, counted) for counted in pairs.values()]
    errors = [_count_error(groups, duplicates.count) for groups in (identical_groups, mirrored_groups)]
    identical, mirrored = float(duplicates.identical), float(duplicates.mirrored)
    return (
        Finding("identical", identical, IMAGES, LOWER, identical_sentence, errors[0], error_kind="sampling"),
        Finding("mirrored_twins", mirrored, IMAGES, LOWER, mirrored_sentence, errors[1], error_kind="sampling"),
    )


def _count_error(groups: list[tuple[int, int]], count: int) -> float:
    """The standard error of the number of counted images among ``count``. ``groups`` has the size of each group and how
    many of its images count. All other images are groups of one and do not count."""
    if not count:
        return 0.0
    single = count - sum(size for size, _ in groups)
    sizes, counted = np.array(groups + [(1, 0)] * single, np.int64).T
    return count * grouped_share_error(sizes, counted)
