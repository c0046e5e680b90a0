"""The counted work of networks, against their papers and libraries."""

import pytest

from benchmarks.gpu.roofline import H100, NETWORKS, PAGE, count_cost, page


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
    assert PAGE.read_text() == page([count_cost(name) for name in NETWORKS], H100)
