"""Sentences about copying: they state direction, strength and certainty, and never more than the numbers show."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.findings import copying as words
from scorer.findings.formatting import format_percent
from scorer.metrics.copying.data_copying import CellCopying, DataCopying, PlacedImages
from scorer.metrics.copying.partial_copying import PartialCopying
from scorer.metrics.statistics.mann_whitney import MannWhitney

NOWHERE = PlacedImages(np.array([], np.int64), np.array([], np.int64), np.array([]))


def ranked(z: float, low: int = 100, high: int = 400) -> MannWhitney:
    deviation = float(np.sqrt(low * high * (low + high + 1) / 12))
    return MannWhitney(low * high / 2 + z * deviation, low, high, deviation)


def entry(*scores: float | None, over: int = 0, under: int = 0) -> DataCopying:
    cells = tuple(
        CellCopying(number, 400, 100, 1 / len(scores), None if z is None else ranked(z), 0.0)
        for number, z in enumerate(scores)
    )
    return DataCopying("global", ranked(0.0), cells, over, under, NOWHERE)


def single(below: int, generated: int = 1000, held_out: int = 500, limit: float = 0.1) -> PartialCopying:
    return PartialCopying((), limit, 5, below, generated, held_out)


@pytest.mark.parametrize(
    ("z", "says"),
    [
        (-12.3, "a sign of copying"),
        (-2.4, "a sign of copying"),
        (-1.7, "may be chance"),
        (-2.2, "may be chance"),
        (2.2, "may be chance"),
        (2.4, "shows no copying"),
    ],
)
def test_all_images(z: float, says: str) -> None:
    sentence = words.overall_sentence(ranked(z))
    assert says in sentence
    assert f"Z = {z:+.1f}" in sentence
    assert sentence.startswith(f"In {100 * (1 - ranked(z).share):.0f} % of all comparisons")


def test_a_small_but_significant_difference_is_described_as_both() -> None:
    assert "The excess is small, but unlikely to be chance." in words.overall_sentence(
        ranked(-3.0, low=1000, high=10_000)
    )


def test_equal_distances_give_no_conclusion() -> None:
    assert "says nothing about copying" in words.overall_sentence(MannWhitney(50.0, 10, 10, 0.0))


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ((-5.0, -6.0), "Averaged over the 2 regions, C_T = -5.50"),
        ((-5.0, None), "Averaged over 1 of 2 regions, C_T = -5.00"),
        ((-5.0, -6.0), "are closer to the training images"),
        ((5.0, 6.0), "no copying on average"),
        ((1.0, -1.0), "neither copying nor the opposite"),
        ((1.3, 1.3), "within about 1.41 of 0"),
        ((None, None), "C_T has no value"),
    ],
)
def test_regions(scores: tuple[float | None, ...], says: str) -> None:
    assert says in words.c_t_sentence(entry(*scores))


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ((0.0, -8.0, 1.0), "3 regions were compared; region 2 is copied. In region 2, a generated image is closer"),
        ((-5.0, -8.0, 1.0), "regions 2, 1 are copied"),
        ((-2.5, -2.0, 1.0), "None of the 3 compared regions is copied."),
        ((-2.0,), "The compared region is not copied."),
        ((None, None), "No region has enough"),
    ],
)
def test_copied_regions(scores: tuple[float | None, ...], says: str) -> None:
    assert says in words.copied_cells_sentence(entry(*scores))


def test_a_region_that_is_too_small() -> None:
    sentence = words.cell_sentence(CellCopying(6, 3, 1_040, 0.2, None, 0.0))
    assert sentence == "Region 7 has 3 generated and 1,040 held-out images, which is too few to compare."


def test_representation() -> None:
    sentence = words.representation_sentence(entry(*[0.0] * 20, over=3, under=1))
    assert sentence.startswith("Of 20 regions, 3 have a significantly larger share")
    assert sentence.endswith("about 1.0 of each would be expected by chance.")


@pytest.mark.parametrize(
    ("below", "says"),
    [
        (500, "500 of 1,000 images (50 %) are closer to a training image than 99 % of the held-out images are"),
        (500, "These images look like copies, even if the entry as a whole does not."),
        (40, "There are more of them than chance explains, but still few."),
        (9, "The difference may be chance."),
        (0, "0 of 1,000 images (0 %)"),
    ],
)
def test_single_images(below: int, says: str) -> None:
    assert says in words.partial_copying_sentence(single(below))


def test_a_limit_of_zero_cannot_detect_single_copies() -> None:
    assert "cannot detect single copies" in words.partial_copying_sentence(single(0, limit=0.0))


def test_a_quantile_is_compared_with_the_held_out_images() -> None:
    sentence = words.quantile_sentence(0.25, 0.01234, 0.2)
    assert sentence.startswith("The closest 25 % of the entry's images have a cosine distance of at most 0.0123 to a")
    assert sentence.endswith("of the held-out images, it is at most 0.2000.")


@given(share=st.floats(0.0, 1.0))
def test_a_percentage_is_rounded_to_0_or_100_only_if_exact(share: float) -> None:
    text = format_percent(share)
    assert (text == "0 %") is (share == 0.0)
    assert (text == "100 %") is (share == 1.0)
    if "almost" not in text:
        value = float(text.removesuffix(" %"))
        assert 0.0 <= value <= 100.0
        assert value == pytest.approx(100 * share, abs=0.5)
