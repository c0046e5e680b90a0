"""The 95 % intervals of the evidence hold as often as they should, or say beside their number that they do not."""

from typing import Any

import pytest

from benchmarks.harness.isolation import ROOT
from benchmarks.harness.results import read_results
from benchmarks.papers.interval_coverage import (
    FULL,
    SIMULATED,
    audit_simulation,
    measure,
    misses,
    null_simulation,
    quantile_simulation,
    sampling_simulation,
)
from scorer.findings.finding import INTERVALS_THAT_MISS, LOWER, SHARE, Finding, with_interval_coverage
from worker.evidence.methods import TEST_METHODS

BY_PVALUE = {"z_u", "copied_cells", "ndb_over", "ndb_under", "hash_copies", "membership_tpr"}
"""What has a p-value and no standard error."""


def stored() -> dict[str, Any]:
    rows: dict[str, Any] = read_results("interval_coverage")[0].measured
    return rows


def test_every_standard_error_of_the_evidence_was_simulated() -> None:
    numbers = {quantity.name for method in TEST_METHODS for quantity in method.quantities}
    assert numbers - BY_PVALUE <= stored().keys()
    assert {row["simulations"] for row in stored().values()} == {FULL}


def test_what_misses_says_so_and_nothing_else_does() -> None:
    assert misses(stored()) == INTERVALS_THAT_MISS
    said = {
        name: with_interval_coverage(Finding(name, 1.0, SHARE, LOWER, "One.", 0.1, error_kind="sampling"))
        for name in stored()
    }
    for name, finding in said.items():
        share = INTERVALS_THAT_MISS.get(name)
        assert finding.interval_coverage == share
        assert (finding.sentence == "One.") == (share is None)
        assert share is None or f"too {'narrow' if share < 0.95 else 'wide'}" in finding.sentence
    assert with_interval_coverage(unsure := Finding(next(iter(INTERVALS_THAT_MISS)), None, SHARE, LOWER, "")) is unsure


def test_the_page_names_what_misses() -> None:
    page = (ROOT / "docs" / "explanation" / "evidence.md").read_text()
    for name, share in INTERVALS_THAT_MISS.items():
        assert f"| `{name}` | {100 * share:.1f} % |" in page


def test_a_simulated_entry_has_every_interval() -> None:
    own, quantiles, by_chance, audit = (
        simulation()(0) for simulation in (sampling_simulation, quantile_simulation, null_simulation, audit_simulation)
    )
    assert {*own, *quantiles, *by_chance, *audit, "fid_infinity"} == stored().keys()
    assert all(each.low < each.high for each in [*by_chance.values(), *quantiles.values(), *audit.values()])


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_thousand_simulations_find_what_is_stored() -> None:
    """On another processor a few entries may fall to the other side."""
    assert len(SIMULATED) == 5
    found = measure(FULL)
    assert found.keys() == stored().keys()
    for name, row in found.items():
        assert row["held"] == pytest.approx(stored()[name]["held"], abs=3), name
