"""What the tests for copying found: each number with its unit, its direction and a sentence for a person."""

from scorer import copying_words as words
from scorer.archive import ExactDuplicates, TrainingImageCopies
from scorer.findings import CERTAIN, HIGHER, LOWER, SHARE, Finding
from scorer.metrics.copying.data_copying import DataCopying, copied_cells
from scorer.metrics.copying.ndb import NDB_LEVEL
from scorer.metrics.copying.partial_copying import PartialCopying
from scorer.numerals import percent

DEVIATIONS, REGIONS, IMAGES, COSINE = "standard deviations", "regions", "images", "cosine distance"
BALANCED = "0 is best; far below is copying"
FIVE_PERCENT = f"{percent(NDB_LEVEL)} of the regions is best"


def of_data_copying(found: DataCopying) -> tuple[Finding, ...]:
    """Z_U over all images, C_T over the regions, and which of these are copied."""
    overall = found.overall
    count = float(len(copied_cells(found, CERTAIN))) if found.used else None
    return (
        Finding("z_u", overall.z, DEVIATIONS, BALANCED, words.of_all_images(overall), p_value=overall.p_smaller),
        Finding("c_t", found.c_t, DEVIATIONS, BALANCED, words.of_regions(found), found.c_t_error, found.c_t_p_copying),
        Finding("copied_cells", count, REGIONS, LOWER, words.of_copied_regions(found)),
    )


def of_representation(found: DataCopying) -> tuple[Finding, ...]:
    """NDB-over and NDB-under."""
    direction, told = FIVE_PERCENT, words.of_representation(found)
    return (
        Finding("ndb_over", float(found.ndb_over), REGIONS, direction, told),
        Finding("ndb_under", float(found.ndb_under), REGIONS, direction, told),
    )


def of_closeness(found: PartialCopying) -> tuple[Finding, ...]:
    """The share of the images that are closer to a training image than photographs are, and how close they are."""
    told = words.of_single_images(found)
    share = Finding("partly_copied", found.share, SHARE, LOWER, told, found.standard_error, found.p_value)
    if not found.tells:
        share = Finding("partly_copied", None, SHARE, LOWER, told)
    return share, *(
        Finding(quantile_name(level), own, COSINE, HIGHER, words.of_quantile(level, own, fresh))
        for level, own, fresh in found.quantiles
    )


def quantile_name(level: float) -> str:
    """What a quantile of the images' distances is called: ``distance_05`` for that of 5 %."""
    return f"distance_{round(100 * level):02}"


def of_pixel_copies(found: TrainingImageCopies) -> Finding:
    """Images that are training images, pixel by pixel, or their mirror images."""
    count = len(found.exact_index)
    copied = found.exact + found.mirrored
    told = f"None of the {count:,} images is a training image, pixel by pixel or mirrored."
    if copied:
        mirrored = f", {found.mirrored:,} of them mirrored" if found.mirrored else ""
        told = f"{copied:,} of {count:,} images ({percent(found.share)}) are training images, pixel by pixel{mirrored}."
    return Finding("pixel_copies", found.share, SHARE, LOWER, told)


def of_twins(found: ExactDuplicates) -> tuple[Finding, ...]:
    """Images that the zip holds more than once."""
    same = f"No two of the {found.count:,} images are the same, pixel by pixel."
    if found.groups:
        same = (
            f"{found.identical:,} of {found.count:,} images have another one with the same pixels, in"
            f" {len(found.groups):,} group{'s' if len(found.groups) > 1 else ''}, the largest of"
            f" {len(found.groups[0]):,}."
        )
    turned = "None of the others is the mirror image of another one."
    if found.flipped:
        turned = f"{found.mirrored:,} of the others are another image's mirror image."
    return (
        Finding("identical", float(found.identical), IMAGES, LOWER, same),
        Finding("mirrored_twins", float(found.mirrored), IMAGES, LOWER, turned),
    )


def of_distance(mean: float, error: float | None) -> Finding:
    """The memorization distance that the entry is judged by, with its standard error."""
    doubt = "" if error is None else f" ± {error:.2g} (over the choice of images)"
    told = f"On average an image is {mean:.4f}{doubt} from the nearest image of the reference, as 1 less the cosine."
    return Finding("memorization_distance", mean, COSINE, HIGHER, told, error)
