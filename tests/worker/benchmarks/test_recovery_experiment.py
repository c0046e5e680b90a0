"""The experiment with memorising generators: it runs, and its results show the paper's pattern."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness.results import read_results
from benchmarks.papers.recovery_experiment import FULL, QUICK, measure, tiles
from benchmarks.papers.recovery_table import tables_of

pytestmark = pytest.mark.usefixtures("one_thread")


def test_tiles_are_dealt_once() -> None:
    held_out, others = tiles(QUICK)
    assert len(held_out) == 60
    assert len({each.tobytes() for each in (*held_out, *others)}) == len(held_out) + len(others)


@pytest.mark.slow
def test_it_runs(tmp_path: Path) -> None:
    measured = measure(QUICK, tmp_path)
    tables = tables_of(measured)
    (row,) = measured["rows"]
    assert row["name"] == "DCGAN-100"
    assert row["sentence"] in tables["audits"]
    assert all("DCGAN-100" in tables[part] for part in ("histograms", "restarts", "stability", "fid", "costs"))
    assert (tmp_path / "recovery.png").stat().st_size > 1000


def shows_the_papers_pattern(rows: dict[str, dict[str, Any]]) -> None:
    """Table 1's: few images remembered, many much less, a DCGAN not at all; and distortion raises the errors."""
    few, some, many, honest = (rows[model.name] for model in FULL.models)
    assert few["verdict"] == "copies"
    assert few["measured"]["p_value"] < 0.01
    assert few["measured"]["gap_low"] > 0.1
    assert honest["verdict"] == many["verdict"] == "no-sign"
    assert few["measured"]["gap"] > some["measured"]["gap"]
    assert few["measured"]["gap"] > 2 * max(many["measured"]["gap"], honest["measured"]["gap"])
    for row in rows.values():
        assert row["measured"]["generated_verbatim"] >= 0.9
        # A slight warp is lost in the search's own error where a generator's landscape is rough (GLO-512).
        raised = ("warp", "patches", "noise") if row in (few, honest) else ("patches", "noise")
        clean = row["findings"]["recovery_generated"]["value"]
        rises = [row["findings"][f"recovery_{how}_generated"] for how in raised]
        assert all(rise["value"] > clean and rise["p_value"] < 0.01 for rise in rises)


def test_the_stored_results_show_the_papers_pattern() -> None:
    for result in read_results("recovery_experiment"):
        shows_the_papers_pattern({row["name"]: row for row in result.measured["rows"]})


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_experiment_shows_the_papers_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.papers.recovery_experiment.FIGURES", tmp_path)
    shows_the_papers_pattern({row["name"]: row for row in measure(FULL, tmp_path)["rows"]})
