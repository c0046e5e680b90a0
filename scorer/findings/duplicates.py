"""Findings of duplicates: pixel copies, exact and near duplicates, thumbnails."""

from scorer.archive import ExactDuplicates, TrainingImageCopies
from scorer.findings.copying import IMAGES
from scorer.findings.finding import LOWER, SHARE, SIGNIFICANCE_LEVEL, Finding
from scorer.findings.formatting import format_p_value, format_percent
from scorer.findings.signs import MIN_SHARE
from scorer.metrics.copying.internal_duplicates import InternalDuplicates
from scorer.metrics.copying.near_duplicates import NearDuplicates

THUMBNAIL_COPIES = "thumbnail_copies"


def thumbnail_copies_finding(found: NearDuplicates) -> Finding:
    """Images that are training images once both are made very small."""
    near = found.closeness
    if not near.is_informative:
        told = "Some held-out photographs have the thumbnail of a training image, so thumbnails can't tell copies."
        return Finding(THUMBNAIL_COPIES, None, SHARE, LOWER, told)
    told = (
        f"Made very small, {near.below:,} of {near.generated:,} images ({format_percent(near.share)})"
        " are closer to a training"
        f" image than {format_percent(1.0 - near.rank / near.held_out)} of the photographs"
    )
    mirrored = f", {found.mirrored:,} of them mirrored" if found.mirrored else ""
    chance = f"; chance alone makes {format_percent(near.expected)}"
    verdict = ": nothing out of the ordinary."
    if near.p_value < SIGNIFICANCE_LEVEL:
        few = near.share < MIN_SHARE
        verdict = f" ({format_p_value(near.p_value)}): {'more than chance, but few.' if few else _copied_phrase()}"
    return Finding(
        THUMBNAIL_COPIES,
        near.share,
        SHARE,
        LOWER,
        told + mirrored + chance + verdict,
        near.standard_error,
        near.p_value,
    )


def _copied_phrase() -> str:
    return "training images that were blurred, recoloured or put through a network look so."


def near_duplicates_finding(found: NearDuplicates) -> Finding:
    """Near duplicates of training images."""
    near = found.closeness
    name = "near_copies"
    if not near.is_informative:
        told = "Some held-out photographs are training images themselves, so near copies can't be told from chance."
        return Finding(name, None, SHARE, LOWER, told)
    told = f"{near.below:,} of {near.generated:,} images nearly are one of {found.originals:,} training images"
    if not near.below:
        told = f"None of the {near.generated:,} images nearly is a training image"
    mirrored = f", {found.mirrored:,} of them mirrored" if found.mirrored else ""
    often = f"; one of these {found.most_copied[1]:,} times" if found.most_copied and found.most_copied[1] > 1 else ""
    chance = f"; chance alone makes {format_percent(near.expected)} ({format_p_value(near.p_value)})."
    return Finding(name, near.share, SHARE, LOWER, told + mirrored + often + chance, near.standard_error, near.p_value)


def internal_duplicates_finding(found: InternalDuplicates) -> Finding:
    """Near duplicates within the entry."""
    count = len(found.group)
    told = f"No two of the {count:,} images are nearly the same"
    if found.pairs:
        told = (
            f"{found.images:,} of {count:,} images are nearly the same as another one, in {found.groups:,} groups, the"
            f" largest of {int(found.sizes.max()):,}"
        )
    chance = f"; photographs would make {found.expected_pairs:.2g} such pairs and these make {found.pairs:,}"
    sentence = f"{told}{chance} ({format_p_value(found.p_value)})."
    return Finding("repeats", found.share, SHARE, LOWER, sentence, found.standard_error, found.p_value)


def pixel_copies_finding(found: TrainingImageCopies) -> Finding:
    """Images that are training images, pixel by pixel, or their mirror images."""
    count = len(found.exact_index)
    copied = found.exact + found.mirrored
    told = f"None of the {count:,} images is a training image, pixel by pixel or mirrored."
    if copied:
        mirrored = f", {found.mirrored:,} of them mirrored" if found.mirrored else ""
        told = (
            f"{copied:,} of {count:,} images ({format_percent(found.share)}) are training images,"
            f" pixel by pixel{mirrored}."
        )
    return Finding("pixel_copies", found.share, SHARE, LOWER, told)


def exact_duplicates_findings(found: ExactDuplicates) -> tuple[Finding, ...]:
    """Images that the zip holds more than once."""
    same = f"No two of the {found.count:,} images are the same, pixel by pixel."
    if found.groups:
        same = (
            f"{found.identical:,} of {found.count:,} images have another one with the same pixels, in"
            f" {len(found.groups):,} group{'s' if len(found.groups) > 1 else ''}, the largest of"
            f" {len(found.groups[0]):,}."
        )
    turned = "None of the others is the mirror image of another one."
    if found.mirrored_pairs:
        turned = f"{found.mirrored:,} of the others are another image's mirror image."
    return (
        Finding("identical", float(found.identical), IMAGES, LOWER, same),
        Finding("mirrored_twins", float(found.mirrored), IMAGES, LOWER, turned),
    )
