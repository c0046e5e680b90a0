"""What the tests for copying found, each in a sentence for a person, with the numbers in it."""

from scorer.findings import CERTAIN
from scorer.metrics.copying.data_copying import CellCopying, DataCopying, copied_cells
from scorer.metrics.copying.ndb import NDB_LEVEL
from scorer.metrics.copying.partial_copying import PartialCopying, is_partly_copied
from scorer.metrics.statistics.mann_whitney import MannWhitney
from scorer.numerals import p_value as _p
from scorer.numerals import percent as _percent
from scorer.signs import LEAST, SLIGHT


def of_all_images(found: MannWhitney) -> str:
    """The test over all images together."""
    if found.deviation == 0.0:
        return "All distances to the training images are equal, so nothing can be said of copying."
    closer = (
        f"In {_percent(1.0 - found.share)} of all comparisons a generated image is closer to the training images than a"
        f" fresh photograph is; 50 % is expected of an honest entry"
    )
    if found.p_smaller < CERTAIN and found.share > SLIGHT:
        return f"{closer} (Z = {found.z:.1f}, {_p(found.p_smaller)}): a slight excess, though hardly by chance."
    if found.p_smaller < CERTAIN:
        return f"{closer} (Z = {found.z:.1f}, {_p(found.p_smaller)}): it keeps too close to them, which is copying."
    if found.p_larger < CERTAIN:
        return (
            f"{closer} (Z = {found.z:+.1f}, {_p(found.p_larger)}): it keeps away from them, so this shows no copying."
        )
    return f"{closer} (Z = {found.z:+.1f}): the difference may be chance."


def of_regions(found: DataCopying) -> str:
    """C_T, the average over the regions of the training images."""
    value, error = found.c_t, found.c_t_error
    if value is None or error is None:
        return (
            "No region of the training images holds enough images of this entry for a comparison, so there is no C_T."
        )
    where = f"Averaged over {_of(len(found.used), len(found.cells), 'region')}, C_T = {value:+.2f}"
    doubt = f"(chance alone: within {2 * error:.2f} of 0, approximately)"
    if value < -2 * error:
        return f"{where} {doubt}: within their regions, images are closer to the training images than photographs are."
    if value > 2 * error:
        return (
            f"{where} {doubt}: within their regions, images keep away from the training images: no copying on average."
        )
    return f"{where} {doubt}: neither copying nor its opposite shows on average."


def of_copied_regions(found: DataCopying) -> str:
    """Which regions are copied, by number."""
    copied, looked_at = copied_cells(found, CERTAIN), len(found.used)
    if not looked_at:
        return "No region holds enough images to be looked at alone."
    if not copied:
        return f"None of the {looked_at} regions looked at is copied." if looked_at > 1 else "The region is not copied."
    numbers = ", ".join(str(each.cell + 1) for each in copied)
    told = f"region {numbers} is" if len(copied) == 1 else f"regions {numbers} are"
    return f"Of {looked_at} regions looked at, {told} copied. {of_region(copied[0])}"


def of_region(cell: CellCopying) -> str:
    """One region alone."""
    name = f"Region {cell.cell + 1}"
    if cell.rank_sum is None:
        return f"{name} has {cell.generated:,} generated and {cell.held_out:,} fresh images: too few to compare."
    compared = f"{cell.generated:,} generated images with {cell.held_out:,} photographs"
    closer = _percent(1.0 - cell.rank_sum.share)
    return f"{name}: comparing {compared}, the generated one is the closer in {closer} (Z = {cell.rank_sum.z:+.1f})."


def of_representation(found: DataCopying) -> str:
    """NDB-over and NDB-under."""
    chance = NDB_LEVEL * len(found.cells)
    return (
        f"Of {len(found.cells)} regions {found.ndb_over} hold more of its images than photographs would, and"
        f" {found.ndb_under} fewer; chance alone makes about {chance:.1f} of either."
    )


def of_single_images(found: PartialCopying) -> str:
    """How many images are closer than photographs are: a zip that is copied in part."""
    if not found.tells:
        return "Some held-out photographs are training images themselves, so single images can't be told from copies."
    told = (
        f"{found.below:,} of {found.generated:,} images ({_percent(found.share)}) are closer to a training image than"
        f" {_percent(1.0 - found.rank / found.held_out)} of the photographs; chance alone makes"
        f" {_percent(found.expected)}"
    )
    if is_partly_copied(found, least=LEAST, level=CERTAIN):
        return f"{told} ({_p(found.p_value)}): these look like copies, whatever the average says."
    if found.p_value < CERTAIN:
        return f"{told} ({_p(found.p_value)}): more than chance, but few."
    return f"{told}: nothing out of the ordinary."


def of_quantile(level: float, own: float, fresh: float) -> str:
    """How close a share of the images comes to the training images, and the same share of photographs."""
    return (
        f"The closest {_percent(level)} of its images are {own:.4f} or less from a training image, as 1 less the"
        f" cosine; of the photographs, {fresh:.4f} or less."
    )


def _of(some: int, whole: int, what: str) -> str:
    return f"the {whole} {what}s" if some == whole != 1 else f"{some} of {whole} {what}{'s' if whole != 1 else ''}"
