"""The finding of a generator's support size, for entries whose images the service draws."""

from scorer.findings.copying import IMAGES
from scorer.findings.finding import HIGHER, Finding
from scorer.findings.formatting import counted
from scorer.metrics.copying.support_size import SupportSize


def support_finding(support: SupportSize) -> Finding:
    return Finding("support", support.size, IMAGES, HIGHER, support_sentence(support), p_value=support.p_value)


def support_sentence(support: SupportSize) -> str:
    """Say how many pairs of images are equal or nearly equal, and what follows for the generator's support."""
    verb = "is" if support.near_pairs == 1 else "are"
    where = {"pixels": "nearly equal", "features": "nearly equal in feature space", "equal pixels": "equal"}
    pairs = (
        f"Of {counted(support.compared_pairs, 'compared pair')} of images, {support.near_pairs:,} {verb} "
        f"{where[support.space]}"
    )
    equal = ""
    if support.equal_pairs and support.space != "equal pixels":
        equal = f"; {counted(support.equal_pairs, 'pair')} of all have equal pixels"
    if support.is_table:
        conclusion = (
            f"The generator draws about {support.size:,.0f} different images (95 % interval {support.low:,.0f} to"
            f" {support.high:,.0f}). A table of images looks like this, or a generator that has collapsed"
            f"{' or often draws one colour' if support.space == 'equal pixels' else ''}."
        )
    elif support.size is None:
        conclusion = f"The generator has at least about {support.low:,.0f} different images."
    else:
        conclusion = "There is no sign that they come from a table of images."
    return f"{pairs}{equal}. {conclusion}"
