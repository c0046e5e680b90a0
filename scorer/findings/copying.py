"""Findings of the data-copying tests: Z_U, C_T, copied cells, NDB, partial copying."""

from scorer.findings.finding import HIGHER, LOWER, SHARE, SIGNIFICANCE_LEVEL, Finding
from scorer.findings.formatting import format_p_value as _p
from scorer.findings.formatting import format_percent
from scorer.findings.formatting import format_percent as _percent
from scorer.findings.signs import MAX_U_SHARE, MIN_SHARE
from scorer.metrics.copying.data_copying import CellCopying, DataCopying, copied_cells
from scorer.metrics.copying.ndb import NDB_LEVEL
from scorer.metrics.copying.partial_copying import PartialCopying, is_partly_copied
from scorer.metrics.statistics.mann_whitney import MannWhitney


def overall_sentence(found: MannWhitney) -> str:
    """The test over all images together."""
    if found.deviation == 0.0:
        return "All distances to the training images are equal, so nothing can be said of copying."
    closer = (
        f"In {_percent(1.0 - found.share)} of all comparisons a generated image is closer to the training images than a"
        f" fresh photograph is; 50 % is expected of an honest entry"
    )
    if found.p_smaller < SIGNIFICANCE_LEVEL and found.share > MAX_U_SHARE:
        return f"{closer} (Z = {found.z:.1f}, {_p(found.p_smaller)}): a slight excess, though hardly by chance."
    if found.p_smaller < SIGNIFICANCE_LEVEL:
        return f"{closer} (Z = {found.z:.1f}, {_p(found.p_smaller)}): it keeps too close to them, which is copying."
    if found.p_larger < SIGNIFICANCE_LEVEL:
        return (
            f"{closer} (Z = {found.z:+.1f}, {_p(found.p_larger)}): it keeps away from them, so this shows no copying."
        )
    return f"{closer} (Z = {found.z:+.1f}): the difference may be chance."


def c_t_sentence(found: DataCopying) -> str:
    """C_T, the average over the regions of the training images."""
    value, error = found.c_t, found.c_t_error
    if value is None or error is None:
        return (
            "No region of the training images holds enough images of this entry for a comparison, so there is no C_T."
        )
    where = f"Averaged over {_some_of(len(found.used), len(found.cells), 'region')}, C_T = {value:+.2f}"
    doubt = f"(chance alone: within {2 * error:.2f} of 0, approximately)"
    if value < -2 * error:
        return f"{where} {doubt}: within their regions, images are closer to the training images than photographs are."
    if value > 2 * error:
        return (
            f"{where} {doubt}: within their regions, images keep away from the training images: no copying on average."
        )
    return f"{where} {doubt}: neither copying nor its opposite shows on average."


def copied_cells_sentence(found: DataCopying) -> str:
    """Which regions are copied, by number."""
    copied, looked_at = copied_cells(found, SIGNIFICANCE_LEVEL), len(found.used)
    if not looked_at:
        return "No region holds enough images to be looked at alone."
    if not copied:
        return f"None of the {looked_at} regions looked at is copied." if looked_at > 1 else "The region is not copied."
    numbers = ", ".join(str(each.cell + 1) for each in copied)
    told = f"region {numbers} is" if len(copied) == 1 else f"regions {numbers} are"
    return f"Of {looked_at} regions looked at, {told} copied. {cell_sentence(copied[0])}"


def cell_sentence(cell: CellCopying) -> str:
    """One region alone."""
    name = f"Region {cell.cell + 1}"
    if cell.rank_sum is None:
        return f"{name} has {cell.generated:,} generated and {cell.held_out:,} fresh images: too few to compare."
    compared = f"{cell.generated:,} generated images with {cell.held_out:,} photographs"
    closer = _percent(1.0 - cell.rank_sum.share)
    return f"{name}: comparing {compared}, the generated one is the closer in {closer} (Z = {cell.rank_sum.z:+.1f})."


def representation_sentence(found: DataCopying) -> str:
    """NDB-over and NDB-under."""
    chance = NDB_LEVEL * len(found.cells)
    return (
        f"Of {len(found.cells)} regions {found.ndb_over} hold more of its images than photographs would, and"
        f" {found.ndb_under} fewer; chance alone makes about {chance:.1f} of either."
    )


def partial_copying_sentence(found: PartialCopying) -> str:
    """How many images are closer than photographs are: a zip that is copied in part."""
    if not found.is_informative:
        return "Some held-out photographs are training images themselves, so single images can't be told from copies."
    told = (
        f"{found.below:,} of {found.generated:,} images ({_percent(found.share)}) are closer to a training image than"
        f" {_percent(1.0 - found.rank / found.held_out)} of the photographs; chance alone makes"
        f" {_percent(found.expected)}"
    )
    if is_partly_copied(found, least=MIN_SHARE, level=SIGNIFICANCE_LEVEL):
        return f"{told} ({_p(found.p_value)}): these look like copies, whatever the average says."
    if found.p_value < SIGNIFICANCE_LEVEL:
        return f"{told} ({_p(found.p_value)}): more than chance, but few."
    return f"{told}: nothing out of the ordinary."


def quantile_sentence(level: float, own: float, fresh: float) -> str:
    """How close a share of the images comes to the training images, and the same share of photographs."""
    return (
        f"The closest {_percent(level)} of its images are {own:.4f} or less from a training image, as 1 less the"
        f" cosine; of the photographs, {fresh:.4f} or less."
    )


def _some_of(some: int, whole: int, what: str) -> str:
    return f"the {whole} {what}s" if some == whole != 1 else f"{some} of {whole} {what}{'s' if whole != 1 else ''}"


DEVIATIONS, REGIONS, IMAGES, COSINE = "standard deviations", "regions", "images", "cosine distance"
BALANCED = "0 is best; far below is copying"
FIVE_PERCENT = f"{format_percent(NDB_LEVEL)} of the regions is best"


def data_copying_findings(found: DataCopying) -> tuple[Finding, ...]:
    """Z_U over all images, C_T over the regions, and which of these are copied."""
    overall = found.overall
    count = float(len(copied_cells(found, SIGNIFICANCE_LEVEL))) if found.used else None
    return (
        Finding("z_u", overall.z, DEVIATIONS, BALANCED, overall_sentence(overall), p_value=overall.p_smaller),
        Finding("c_t", found.c_t, DEVIATIONS, BALANCED, c_t_sentence(found), found.c_t_error, found.c_t_p_copying),
        Finding("copied_cells", count, REGIONS, LOWER, copied_cells_sentence(found)),
    )


def cell_count_findings(found: DataCopying) -> tuple[Finding, ...]:
    """NDB-over and NDB-under."""
    direction, told = FIVE_PERCENT, representation_sentence(found)
    return (
        Finding("ndb_over", float(found.ndb_over), REGIONS, direction, told),
        Finding("ndb_under", float(found.ndb_under), REGIONS, direction, told),
    )


def partial_copying_findings(found: PartialCopying) -> tuple[Finding, ...]:
    """The share of the images that are closer to a training image than photographs are, and how close they are."""
    told = partial_copying_sentence(found)
    share = Finding("partly_copied", found.share, SHARE, LOWER, told, found.standard_error, found.p_value)
    if not found.is_informative:
        share = Finding("partly_copied", None, SHARE, LOWER, told)
    return share, *(
        Finding(quantile_name(level), own, COSINE, HIGHER, quantile_sentence(level, own, fresh))
        for level, own, fresh in found.quantiles
    )


def quantile_name(level: float) -> str:
    """What a quantile of the images' distances is called: ``distance_05`` for that of 5 %."""
    return f"distance_{round(100 * level):02}"


def memorization_distance_finding(mean: float, error: float | None) -> Finding:
    """The memorization distance that the entry is judged by, with its standard error."""
    doubt = "" if error is None else f" ± {error:.2g} (over the choice of images)"
    told = f"On average an image is {mean:.4f}{doubt} from the nearest image of the reference, as 1 less the cosine."
    return Finding("memorization_distance", mean, COSINE, HIGHER, told, error)
