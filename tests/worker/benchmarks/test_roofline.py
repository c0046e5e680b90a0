"""The counted work of networks, against their papers and libraries, and what GPU.md says of it."""

import pytest

from benchmarks.gpu_check.work import Device, count_cost
from benchmarks.harness.results import HERE, RESULTS

H100 = Device("NVIDIA H100 SXM", flops=67e12, bandwidth=3.35e12)
PAGE = (HERE / "GPU.md").read_text()


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
    row = (
        f"| `{name}` | {work.flops / 1e9:.1f} | {work.weights / 1e6:.0f} | {work.traffic / 1e6:.0f} |"
        f" {work.min_traffic / 1e6:.0f} | {H100.flops / work.flops:,.0f} | {H100.bandwidth / work.traffic:,.0f} |"
        f" {H100.bandwidth / work.min_traffic:,.0f} |"
    )
    assert row in PAGE


def test_the_page_has_the_newest_check() -> None:
    newest = sorted((RESULTS / "gpu_checks").glob("*.md"))[-1].read_text()
    assert newest.removeprefix("# GPU check: passed\n").strip() in PAGE
