"""What thumbnails found, in a sentence for a person."""

from scorer.findings import CERTAIN, LOWER, SHARE, Finding
from scorer.metrics.copying.near_duplicates import NearDuplicates
from scorer.numerals import p_value, percent
from scorer.signs import LEAST

NAME = "thumbnail_copies"


def of_thumbnail_copies(found: NearDuplicates) -> Finding:
    """Images that are training images once both are made very small."""
    near = found.closeness
    if not near.tells:
        told = "Some held-out photographs have the thumbnail of a training image, so thumbnails can't tell copies."
        return Finding(NAME, None, SHARE, LOWER, told)
    told = (
        f"Made very small, {near.below:,} of {near.generated:,} images ({percent(near.share)}) are closer to a training"
        f" image than {percent(1.0 - near.rank / near.held_out)} of the photographs"
    )
    mirrored = f", {found.mirrored:,} of them mirrored" if found.mirrored else ""
    chance = f"; chance alone makes {percent(near.expected)}"
    verdict = ": nothing out of the ordinary."
    if near.p_value < CERTAIN:
        few = near.share < LEAST
        verdict = f" ({p_value(near.p_value)}): {'more than chance, but few.' if few else _copied()}"
    return Finding(
        NAME, near.share, SHARE, LOWER, told + mirrored + chance + verdict, near.standard_error, near.p_value
    )


def _copied() -> str:
    return "training images that were blurred, recoloured or put through a network look so."
