"""Findings of duplicates: training-image copies, near duplicates, and duplicates within an entry."""

from collections import Counter
from dataclasses import replace
from math import sqrt

import numpy as np

from scorer.archive.pixel_hashes import ExactDuplicates, TrainingImageCopies
from scorer.findings.copying import IMAGES, closeness_conclusion, closeness_finding
from scorer.findings.finding import LOWER, SHARE, Finding
from scorer.findings.formatting import format_p_value, format_percent
from scorer.findings.signs import MIN_SHARE
from scorer.metrics.copying.internal_duplicates import InternalDuplicates, grouped_share_error
from scorer.metrics.copying.near_duplicates import NearDuplicates


def _mirrored(count: int) -> str:
    return f", {count:,} of them mirrored" if count else ""


def thumbnail_copies_finding(duplicates: NearDuplicates) -> Finding:
    """The share of images that are near duplicates of training images by their thumbnails."""
    closeness = duplicates.closeness
    conclusion = closeness_conclusion(
        closeness,
        "training images that were blurred, recoloured or put through a network look so.",
        is_few=closeness.share < MIN_SHARE,
    )
    return closeness_finding(
        "thumbnail_copies",
        closeness,
        f"Made very small, {closeness.below:,} of {closeness.generated:,} images ({format_percent(closeness.share)})"
        f" are closer to a training image than {format_percent(1.0 - closeness.rank / closeness.held_out)} of the"
        f" photographs{_mirrored(duplicates.mirrored)}; chance alone makes"
        f" {format_percent(closeness.expected)}{conclusion}",
        uninformative="Some held-out photographs have the thumbnail of a training image, so thumbnails can't tell"
        " copies.",
    )


def hash_copies_finding(duplicates: NearDuplicates) -> Finding:
    """The share of images that are near duplicates of training images by their perceptual hashes."""
    closeness = duplicates.closeness
    conclusion = closeness_conclusion(
        closeness, "that image shows through, altered or under another one.", is_few=closeness.share < MIN_SHARE
    )
    finding = closeness_finding(
        "hash_copies",
        closeness,
        f"By their perceptual hashes {closeness.below:,} of {closeness.generated:,} images"
        f" ({format_percent(closeness.share)}) stand out as near to one training image, as"
        f" {format_percent(closeness.expected)} do by chance{_mirrored(duplicates.mirrored)}{conclusion}",
        uninformative="Some held-out photographs have the perceptual hash of a training image, so hashes can't tell"
        " copies.",
    )
    return replace(finding, standard_error=None, error_kind=None)


def relative_copies_finding(duplicates: NearDuplicates) -> Finding:
    """The share of images that are near to one training image, relative to others, as held-out images are not."""
    closeness = duplicates.closeness
    conclusion = closeness_conclusion(
        closeness,
        "altered copies among other images look so.",
        is_few=closeness.share - closeness.expected < MIN_SHARE * (1.0 - closeness.expected),
    )
    return closeness_finding(
        "relative_copies",
        closeness,
        f"{closeness.below:,} of {closeness.generated:,} images ({format_percent(closeness.share)}) are nearer to one"
        f" training image, relative to others, than {format_percent(1.0 - closeness.rank / closeness.held_out)} of the"
        f" photographs; chance alone makes {format_percent(closeness.expected)}{conclusion}",
        uninformative="Some held-out photographs are training images themselves, so relative distances can't tell"
        " copies.",
    )


def near_duplicates_finding(duplicates: NearDuplicates) -> Finding:
    """The share of images that are near duplicates of training images by their features."""
    closeness = duplicates.closeness
    outcome = (
        f"{closeness.below:,} of {closeness.generated:,} images nearly are one of {duplicates.originals:,} training"
        " images"
    )
    if not closeness.below:
        outcome = f"None of the {closeness.generated:,} images nearly is a training image"
    often = (
        f"; one of these {duplicates.most_copied[1]:,} times"
        if duplicates.most_copied and duplicates.most_copied[1] > 1
        else ""
    )
    chance = f"; chance alone makes {format_percent(closeness.expected)} ({format_p_value(closeness.p_value)})."
    return closeness_finding(
        "near_copies",
        closeness,
        f"{outcome}{_mirrored(duplicates.mirrored)}{often}{chance}",
        uninformative="Some held-out photographs are training images themselves, so near copies can't be told from"
        " chance.",
    )


def internal_duplicates_finding(duplicates: InternalDuplicates) -> Finding:
    """The share of images that are near duplicates of another image of the entry."""
    count = len(duplicates.group)
    outcome = f"No two of the {count:,} images are nearly the same"
    if duplicates.pairs:
        outcome = (
            f"{duplicates.images:,} of {count:,} images are nearly the same as another one, in {duplicates.groups:,}"
            f" groups, the largest of {int(duplicates.sizes.max()):,}"
        )
    chance = f"; photographs would make {duplicates.expected_pairs:.2g} such pairs and these make {duplicates.pairs:,}"
    sentence = f"{outcome}{chance} ({format_p_value(duplicates.p_value)})."
    error, p_value = duplicates.standard_error, duplicates.p_value
    return Finding("repeats", duplicates.share, SHARE, LOWER, sentence, error, p_value, "sampling")


def pixel_copies_finding(copies: TrainingImageCopies) -> Finding:
    """The share of images that are training-image copies: equal or mirrored, pixel by pixel."""
    count = len(copies.exact_index)
    copied = copies.exact + copies.mirrored
    sentence = f"None of the {count:,} images is a training image, pixel by pixel or mirrored."
    if copied:
        sentence = (
            f"{copied:,} of {count:,} images ({format_percent(copies.share)}) are training images,"
            f" pixel by pixel{_mirrored(copies.mirrored)}."
        )
    error = sqrt(copies.share * (1.0 - copies.share) / count)
    return Finding("pixel_copies", copies.share, SHARE, LOWER, sentence, error, error_kind="sampling")


def shared_images_sentence(images: int, equal: int, share: float) -> str:
    """How many images two entries share: ``images``, which are this ``share`` of one, of which some are ``equal``."""
    how = "pixel by pixel" if equal == images else f"{equal:,} of them pixel by pixel" if equal else "nearly equal"
    return f"{images:,} images ({format_percent(share)}) are in both, {how}."


def exact_duplicates_findings(duplicates: ExactDuplicates) -> tuple[Finding, ...]:
    """The numbers of images that the zip holds more than once, upright and mirrored."""
    identical_sentence = f"No two of the {duplicates.count:,} images are the same, pixel by pixel."
    if duplicates.groups:
        identical_sentence = (
            f"{duplicates.identical:,} of {duplicates.count:,} images have another one with the same pixels, in"
            f" {len(duplicates.groups):,} group{'s' if len(duplicates.groups) > 1 else ''}, the largest of"
            f" {len(duplicates.groups[0]):,}."
        )
    mirrored_sentence = "None of the others is the mirror image of another one."
    if duplicates.mirrored_pairs:
        mirrored_sentence = f"{duplicates.mirrored:,} of the others are another image's mirror image."
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
    """The standard error of how many of ``count`` images count. ``groups``: sizes of groups, and how many of each
    count; all other images are groups of their own, which do not."""
    if not count:
        return 0.0
    single = count - sum(size for size, _ in groups)
    sizes, counted = np.array(groups + [(1, 0)] * single, np.int64).T
    return count * grouped_share_error(sizes, counted)
