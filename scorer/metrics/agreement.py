"""How far two people who judge the same things agree, chance taken off. Pure."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence


def cohens_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Cohen's kappa of two raters' labels of the same n things (Cohen 1960): ``(p_o - p_e) / (1 - p_e)``.

    ``p_o`` is the share on which they agree, ``p_e = sum over labels of p_1(label) * p_2(label)`` the share on which
    two raters would who gave the same labels as often, but at random. 1 is full agreement, 0 no better than chance,
    negative worse. nan where nothing was rated, or both gave one and the same label to everything: then agreement
    says nothing. ``ValueError`` if one has rated more than the other.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} labels are not of the same things")
    count = len(first)
    ours, theirs = Counter(first), Counter(second)
    # In whole numbers as long as possible: only then is "all the same" exact.
    agreed = sum(one == other for one, other in zip(first, second, strict=True)) * count
    by_chance = sum(ours[label] * theirs[label] for label in ours)
    if by_chance == count * count:
        return math.nan
    return (agreed - by_chance) / (count * count - by_chance)
