"""Findings of the data-copying tests: Z_U, C_T, copied cells, NDB-over and NDB-under, partial copying."""

from scorer.findings.finding import HIGHER, LOWER, SHARE, SIGNIFICANCE_LEVEL, Finding
from scorer.findings.formatting import format_p_value, format_percent
from scorer.findings.signs import MAX_U_SHARE, MIN_SHARE
from scorer.metrics.copying.data_copying import CellCopying, DataCopying, copied_cells, p_any_copied
from scorer.metrics.copying.membership_inference import MembershipInference
from scorer.metrics.copying.ndb import NDB_LEVEL, p_more
from scorer.metrics.copying.partial_copying import PartialCopying
from scorer.metrics.statistics.mann_whitney import MannWhitney


def overall_sentence(test: MannWhitney) -> str:
    if test.deviation == 0.0:
        return "All distances to the training images are equal, so this test says nothing about copying."
    closer = (
        f"In {format_percent(1.0 - test.share)} of all comparisons, a generated image is closer to the training images"
        " than a held-out image is; for an honest entry, this is about 50 %"
    )
    if test.p_smaller < SIGNIFICANCE_LEVEL:
        chance = f"(Z = {test.z:.1f}, {format_p_value(test.p_smaller)})"
        if test.share > MAX_U_SHARE:
            return f"{closer} {chance}. The excess is small, but unlikely to be chance."
        return f"{closer} {chance}. The entry is too close to the training images: a sign of copying."
    if test.p_larger < SIGNIFICANCE_LEVEL:
        chance = f"(Z = {test.z:+.1f}, {format_p_value(test.p_larger)})"
        return f"{closer} {chance}. The entry is farther from the training images, so this test shows no copying."
    return f"{closer} (Z = {test.z:+.1f}). The difference may be chance."


def c_t_sentence(test: DataCopying) -> str:
    value, error = test.c_t, test.c_t_error
    if value is None or error is None:
        return "No region of the training images has enough images of this entry for a comparison, so C_T has no value."
    where = f"Averaged over {_describe_count(len(test.used), len(test.cells), 'region')}, C_T = {value:+.2f}"
    doubt = f"(by chance alone, it would be within about {2 * error:.2f} of 0)"
    if value < -2 * error:
        return (
            f"{where} {doubt}. Within regions, the entry's images are closer to the training images than held-out"
            " images."
        )
    if value > 2 * error:
        return (
            f"{where} {doubt}. Within regions, the entry's images are farther from the training images than held-out"
            " images: no copying on average."
        )
    return f"{where} {doubt}. On average, this shows neither copying nor the opposite."


def copied_cells_sentence(test: DataCopying) -> str:
    copied = copied_cells(test, SIGNIFICANCE_LEVEL)
    tested = len(test.used)
    if not tested:
        return "No region has enough images for a comparison."
    if not copied:
        return (
            f"None of the {tested} compared regions is copied." if tested > 1 else "The compared region is not copied."
        )
    numbers = ", ".join(str(cell.cell + 1) for cell in copied)
    subject = f"region {numbers} is" if len(copied) == 1 else f"regions {numbers} are"
    compared = "1 region was" if tested == 1 else f"{tested} regions were"
    return f"{compared} compared; {subject} copied. {cell_sentence(copied[0])}"


def cell_sentence(cell: CellCopying) -> str:
    number = cell.cell + 1
    if cell.rank_sum is None:
        return (
            f"Region {number} has {cell.generated:,} generated and {cell.held_out:,} held-out images, which is too"
            " few to compare."
        )
    closer = format_percent(1.0 - cell.rank_sum.share)
    return (
        f"In region {number}, a generated image is closer to the training images than a held-out image in {closer} of"
        f" all comparisons ({cell.generated:,} generated, {cell.held_out:,} held-out images;"
        f" Z = {cell.rank_sum.z:+.1f})."
    )


def representation_sentence(test: DataCopying) -> str:
    chance = NDB_LEVEL * len(test.cells)
    return (
        f"Of {len(test.cells)} regions, {test.ndb_over} have a significantly larger share of the entry's images than of"
        f" held-out images, and {test.ndb_under} a significantly smaller share; about {chance:.1f} of each would be"
        " expected by chance."
    )


def partial_copying_sentence(test: PartialCopying) -> str:
    if not test.is_informative:
        return "Some held-out images are also training images, so this test cannot detect single copies."
    sentence = (
        f"{test.below:,} of {test.generated:,} images ({format_percent(test.share)}) are closer to a training image"
        f" than {format_percent(1.0 - test.rank / test.held_out)} of the held-out images are;"
        f" {format_percent(test.expected)} would be expected by chance"
    )
    cause = "These images look like copies, even if the entry as a whole does not."
    return f"{sentence}{closeness_conclusion(test, cause, is_few=test.share < MIN_SHARE)}"


def closeness_conclusion(closeness: PartialCopying, cause: str, *, is_few: bool) -> str:
    """Say what a share of close images means. ``cause`` is the sentence on what many such images come from."""
    if closeness.p_value >= SIGNIFICANCE_LEVEL:
        return ". The difference may be chance."
    conclusion = "There are more of them than chance explains, but still few." if is_few else cause
    return f" ({format_p_value(closeness.p_value)}). {conclusion}"


def closeness_finding(name: str, closeness: PartialCopying, sentence: str, *, uninformative: str) -> Finding:
    """The share of images closer than the limit. Where the limit is 0, there is no value and the sentence is
    ``uninformative``."""
    if not closeness.is_informative:
        return Finding(name, None, SHARE, LOWER, uninformative)
    error, p_value = closeness.standard_error, closeness.p_value
    return Finding(name, closeness.share, SHARE, LOWER, sentence, error, p_value, "sampling")


def quantile_sentence(level: float, of_entry: float, of_held_out: float) -> str:
    return (
        f"The closest {format_percent(level)} of the entry's images have a cosine distance of at most {of_entry:.4f} to"
        f" a training image; for the same share of the held-out images, it is at most {of_held_out:.4f}."
    )


def _describe_count(some: int, whole: int, what: str) -> str:
    return f"the {whole} {what}s" if some == whole != 1 else f"{some} of {whole} {what}{'s' if whole != 1 else ''}"


DEVIATIONS, REGIONS, IMAGES, COSINE = "standard deviations", "regions", "images", "cosine distance"
BALANCED = "0 is best; far below indicates copying"
EVEN = "0.5 is best; far above indicates copying"
ONE_PERCENT = "1 % is best; more indicates copying"
FIVE_PERCENT = f"{format_percent(NDB_LEVEL)} of the regions is best"


def data_copying_findings(test: DataCopying) -> tuple[Finding, ...]:
    """Z_U over all images, C_T over the cells, and the number of copied cells."""
    overall = test.overall
    count = float(len(copied_cells(test, SIGNIFICANCE_LEVEL))) if test.used else None
    return (
        Finding("z_u", overall.z, DEVIATIONS, BALANCED, overall_sentence(overall), p_value=overall.p_smaller),
        Finding("c_t", test.c_t, DEVIATIONS, BALANCED, c_t_sentence(test), test.c_t_error, test.c_t_p_copying, "null"),
        Finding("copied_cells", count, REGIONS, LOWER, copied_cells_sentence(test), p_value=p_any_copied(test)),
    )


def cell_count_findings(test: DataCopying) -> tuple[Finding, ...]:
    sentence = representation_sentence(test)
    return tuple(
        Finding(name, float(count), REGIONS, FIVE_PERCENT, sentence, p_value=p_more(count, len(test.cells)))
        for name, count in (("ndb_over", test.ndb_over), ("ndb_under", test.ndb_under))
    )


def partial_copying_findings(test: PartialCopying) -> tuple[Finding, ...]:
    """The share of images closer to a training image than held-out images are, and quantiles of the distances."""
    sentence = partial_copying_sentence(test)
    return closeness_finding("partly_copied", test, sentence, uninformative=sentence), *(
        Finding(
            quantile_name(quantile.level),
            quantile.generated,
            COSINE,
            HIGHER,
            quantile_sentence(quantile.level, quantile.generated, quantile.held_out),
            quantile.standard_error,
            error_kind="sampling",
        )
        for quantile in test.quantiles
    )


def membership_findings(test: MembershipInference) -> tuple[Finding, ...]:
    """How well the entry separates training from held-out images: AUC, and true positives at 1 % false positives."""
    auc_p = test.ranks.p_larger
    sentence = (
        f"In {format_percent(test.auc)} of all comparisons of a training image with a held-out image, the training"
        f" image is nearer to the entry; without memorization, this is about 50 % ({format_p_value(auc_p)})."
    )
    auc = Finding("membership_auc", test.auc, SHARE, EVEN, sentence, test.auc_error, auc_p, "null")
    name, nearest = "membership_tpr", test.nearest
    if not nearest.is_informative:
        sentence = "Some held-out images are in the entry, so this test cannot recognise training images."
        return auc, Finding(name, None, SHARE, ONE_PERCENT, sentence)
    sentence = (
        f"{nearest.below:,} of {nearest.generated:,} training images ({format_percent(nearest.share)}) are nearer to"
        f" the entry than {format_percent(1.0 - nearest.rank / nearest.held_out)} of the held-out images are;"
        f" {format_percent(nearest.expected)} would be expected by chance ({format_p_value(nearest.p_value)})."
    )
    return auc, Finding(name, nearest.share, SHARE, ONE_PERCENT, sentence, p_value=nearest.p_value)


def quantile_name(level: float) -> str:
    """``distance_05`` for the 5 % quantile of the distances."""
    return f"distance_{round(100 * level):02}"


def memorization_distance_finding(mean: float, error: float | None) -> Finding:
    """The memorization distance by which the entry is judged, with its standard error."""
    doubt = "" if error is None else f" ± {error:.2g} (standard error over the choice of images)"
    sentence = (
        f"On average, the cosine distance of an image to the nearest image of the reference set is {mean:.4f}{doubt}."
    )
    return Finding("memorization_distance", mean, COSINE, HIGHER, sentence, error, error_kind="sampling")
