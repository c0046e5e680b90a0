"""The counted work of networks, against their papers and libraries."""

import pytest

from benchmarks.gpu.check_pages import kept_pages, read_page
from benchmarks.gpu.roofline import H100, NETWORKS, PAGE, count_cost, measured_track, page


@pytest.mark.parametrize(
    ("name", "multiplications", "parameters"),
    # As timm's tables have them: 5.73 and 23.89 billion; 21.8 and 84.7 million without the classifier.
    [("inception_v3", 5.73e9, 21.8e6), ("nasnetalarge", 23.89e9, 84.7e6)],
)
def test_the_work_of_an_image_is_what_is_known_of_it(name: str, multiplications: float, parameters: float) -> None:
    work = count_cost(name)
    assert work.flops == pytest.approx(2 * multiplications, rel=0.01)
    assert work.weights == pytest.approx(4 * parameters, rel=0.01)
    assert 0 < work.min_traffic < work.traffic
    assert work.bound(H100, work.traffic) <= H100.flops / work.flops


def test_the_page_in_the_repository_is_the_one_that_is_counted() -> None:
    assert PAGE.read_text() == page([count_cost(name) for name in NETWORKS], H100, kept_pages())


PAGES = """\
# GPU check: passed

| date | 2026-01-02 03:04 |

Roof, measured here: 50.85 TFLOP/s in float32 without TF32 (a product), 2,880 GB/s (a copy, read and written).

| network | images/s | of the roof | roof, images/s | batch | memory, GiB | images timed |
| --- | --- | --- | --- | --- | --- | --- |
| inception_v3 | 1,861 | 42% | 4,452 | 256 | 11.9 | 10000 |
"""


def test_a_page_that_was_pasted_is_read() -> None:
    page = read_page(PAGES)
    assert (page.rates, page.shares) == ({"inception_v3": 1861.0}, {"inception_v3": 0.42})
    assert (page.flops, page.bandwidth) == (50.85e12, 2.88e12)
    assert page.fact("date") == "2026-01-02 03:04"
    with pytest.raises(LookupError, match="driver"):
        page.fact("driver")
    with pytest.raises(LookupError, match="passed"):
        read_page(PAGES.replace("passed", "FAILED: 1 of 9 checks"))


def test_an_entrys_seconds_are_those_of_the_check() -> None:
    track = measured_track(count_cost("inception_v3"), read_page(PAGES))
    assert track.features == pytest.approx(10_000 / 1861)
    assert 0 < track.products < 0.1
