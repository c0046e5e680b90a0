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
    """The sentence for Z_U, the test over all images together."""
    if test.deviation == 0.0:
        return "All distances to the training images are equal, so nothing can be said of copying."
    closer = (
        f"In {format_percent(1.0 - test.share)} of all comparisons a generated image is closer to the training images"
        " than a held-out image is; 50 % is expected of an honest entry"
    )
    if test.p_smaller < SIGNIFICANCE_LEVEL:
        chance = f"(Z = {test.z:.1f}, {format_p_value(test.p_smaller)})"
        if test.share > MAX_U_SHARE:
            return f"{closer} {chance}: a slight excess, though hardly by chance."
        return f"{closer} {chance}: it keeps too close to them, which is copying."
    if test.p_larger < SIGNIFICANCE_LEVEL:
        chance = f"(Z = {test.z:+.1f}, {format_p_value(test.p_larger)})"
        return f"{closer} {chance}: it keeps away from them, so this shows no copying."
    return f"{closer} (Z = {test.z:+.1f}): the difference may be chance."


def c_t_sentence(test: DataCopying) -> str:
    """The sentence for C_T, the average over the cells."""
    value, error = test.c_t, test.c_t_error
    if value is None or error is None:
        return (
            "No region of the training images holds enough images of this entry for a comparison, so there is no C_T."
        )
    where = f"Averaged over {_some_of(len(test.used), len(test.cells), 'region')}, C_T = {value:+.2f}"
    doubt = f"(chance alone: within {2 * error:.2f} of 0, approximately)"
    if value < -2 * error:
        return f"{where} {doubt}: within their regions, images are closer to the training images than photographs are."
    if value > 2 * error:
        return (
            f"{where} {doubt}: within their regions, images keep away from the training images: no copying on average."
        )
    return f"{where} {doubt}: neither copying nor its opposite shows on average."


def copied_cells_sentence(test: DataCopying) -> str:
    """The sentence that names the copied cells."""
    copied = copied_cells(test, SIGNIFICANCE_LEVEL)
    tested = len(test.used)
    if not tested:
        return "No region holds enough images to be looked at alone."
    if not copied:
        return f"None of the {tested} regions looked at is copied." if tested > 1 else "The region is not copied."
    numbers = ", ".join(str(cell.cell + 1) for cell in copied)
    subject = f"region {numbers} is" if len(copied) == 1 else f"regions {numbers} are"
    return f"Of {tested} regions looked at, {subject} copied. {cell_sentence(copied[0])}"


def cell_sentence(cell: CellCopying) -> str:
    """The sentence for one cell."""
    name = f"Region {cell.cell + 1}"
    if cell.rank_sum is None:
        return f"{name} has {cell.generated:,} generated and {cell.held_out:,} held-out images: too few to compare."
    compared = f"{cell.generated:,} generated images with {cell.held_out:,} photographs"
    closer = format_percent(1.0 - cell.rank_sum.share)
    return f"{name}: comparing {compared}, the generated one is the closer in {closer} (Z = {cell.rank_sum.z:+.1f})."


def representation_sentence(test: DataCopying) -> str:
    """The sentence for NDB-over and NDB-under."""
    chance = NDB_LEVEL * len(test.cells)
    return (
        f"Of {len(test.cells)} regions {test.ndb_over} hold more of its images than photographs would, and"
        f" {test.ndb_under} fewer; chance alone makes about {chance:.1f} of either."
    )


def partial_copying_sentence(test: PartialCopying) -> str:
    """The sentence on how many images are closer than held-out images are."""
    if not test.is_informative:
        return "Some held-out photographs are training images themselves, so single images can't be told from copies."
    sentence = (
        f"{test.below:,} of {test.generated:,} images ({format_percent(test.share)}) are closer to a training image"
        f" than {format_percent(1.0 - test.rank / test.held_out)} of the photographs; chance alone makes"
        f" {format_percent(test.expected)}"
    )
    cause = "these look like copies, whatever the average says."
    return f"{sentence}{closeness_conclusion(test, cause, is_few=test.share < MIN_SHARE)}"


def closeness_conclusion(closeness: PartialCopying, cause: str, *, is_few: bool) -> str:
    """What a share of close images means: ``cause`` is what many such images come from."""
    if closeness.p_value >= SIGNIFICANCE_LEVEL:
        return ": nothing out of the ordinary."
    return f" ({format_p_value(closeness.p_value)}): {'more than chance, but few.' if is_few else cause}"


def closeness_finding(name: str, closeness: PartialCopying, sentence: str, *, uninformative: str) -> Finding:
    """The share of images closer than the limit; the sentence ``uninformative`` and no value where the limit is 0."""
    if not closeness.is_informative:
        return Finding(name, None, SHARE, LOWER, uninformative)
    error, p_value = closeness.standard_error, closeness.p_value
    return Finding(name, closeness.share, SHARE, LOWER, sentence, error, p_value, "sampling")


def quantile_sentence(level: float, of_entry: float, of_held_out: float) -> str:
    """The sentence for one quantile of the distances, of the entry's images and of held-out images."""
    return (
        f"The closest {format_percent(level)} of its images are {of_entry:.4f} or less from a training image, as 1 less"
        f" the cosine; of the photographs, {of_held_out:.4f} or less."
    )


def _some_of(some: int, whole: int, what: str) -> str:
    return f"the {whole} {what}s" if some == whole != 1 else f"{some} of {whole} {what}{'s' if whole != 1 else ''}"


DEVIATIONS, REGIONS, IMAGES, COSINE = "standard deviations", "regions", "images", "cosine distance"
BALANCED = "0 is best; far below is copying"
EVEN = "0.5 is best; far above is copying"
ONE_PERCENT = "1 % is best; more is copying"
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
    """NDB-over and NDB-under."""
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
            quantile_name(each.level),
            each.generated,
            COSINE,
            HIGHER,
            quantile_sentence(each.level, each.generated, each.held_out),
            each.standard_error,
            error_kind="sampling",
        )
        for each in test.quantiles
    )


def membership_findings(test: MembershipInference) -> tuple[Finding, ...]:
    """How well the entry tells training images from held-out ones: AUC, and true positives at 1 % false ones."""
    auc_p = test.ranks.p_larger
    sentence = (
        f"Of a training image and a held-out photograph the training image is the nearer one to the entry in"
        f" {format_percent(test.auc)} of all comparisons; 50 % is expected of a generator that remembers none"
        f" ({format_p_value(auc_p)})."
    )
    auc = Finding("membership_auc", test.auc, SHARE, EVEN, sentence, test.auc_error, auc_p, "null")
    name, nearest = "membership_tpr", test.nearest
    if not nearest.is_informative:
        sentence = "Some held-out photographs are in the entry themselves, so training images can't be told by it."
        return auc, Finding(name, None, SHARE, ONE_PERCENT, sentence)
    sentence = (
        f"{nearest.below:,} of {nearest.generated:,} training images ({format_percent(nearest.share)}) are nearer to"
        f" the entry than {format_percent(1.0 - nearest.rank / nearest.held_out)} of the photographs; chance alone"
        f" makes {format_percent(nearest.expected)} ({format_p_value(nearest.p_value)})."
    )
    return auc, Finding(name, nearest.share, SHARE, ONE_PERCENT, sentence, p_value=nearest.p_value)


def quantile_name(level: float) -> str:
    """The name of a quantile of the distances: ``distance_05`` for that of 5 %."""
    return f"distance_{round(100 * level):02}"


def memorization_distance_finding(mean: float, error: float | None) -> Finding:
    """The memorization distance by which the entry is judged, with its standard error."""
    doubt = "" if error is None else f" ± {error:.2g} (over the choice of images)"
    sentence = (
        f"On average an image is {mean:.4f}{doubt} from the nearest image of the reference, as 1 less the cosine."
    )
    return Finding("memorization_distance", mean, COSINE, HIGHER, sentence, error, error_kind="sampling")
