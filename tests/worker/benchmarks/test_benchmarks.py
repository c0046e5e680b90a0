"""The benchmarks: their arithmetic, and a run of each with sizes too small for meaningful numbers."""

import math
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.__main__ import BENCHMARKS, GROUPS, build_page_path, main, measure, render_parts
from benchmarks.harness.isolation import FORK_SERVER, THREADS, Run, Task, interleaved, run_apart, run_here
from benchmarks.harness.machine import _commit
from benchmarks.harness.networks import (
    find_extractor_spec,
    load_extractor,
    outermost_forwards,
    plain_network,
    write_weights,
)
from benchmarks.harness.report import Findings, MarkdownTable, Target, rendered, results_text, seconds, times
from benchmarks.harness.results import (
    BenchmarkCase,
    BenchmarkResult,
    Spread,
    compute_spread,
    read_results,
    write_result,
)
from benchmarks.harness.synthetic import features
from benchmarks.speed import evidence, frechet, neighbours, scoring
from benchmarks.speed.queue import largest_lead
from benchmarks.speed.scoring_inputs import blended
from scorer.confinement import fork_server
from scorer.extractors.preprocessing import Preprocessing

MACHINE = {
    "processor": "abacus",
    "cores": "2",
    "memory": "1 GiB",
    "system": "none",
    "threads": "2",
    "date": "2026-03-14",
    "versions": "numpy 0",
}


def in_seconds(*values: float, **others: float) -> list[Run]:
    return [{"seconds": value} | others for value in values]


# Medians, ratios, verdicts


def test_a_spread_is_of_all_runs() -> None:
    assert compute_spread(in_seconds(3.0, 1.0, 8.0)) == Spread(3.0, 1.0, 8.0)
    assert compute_spread(in_seconds(3.0, 1.0)) == Spread(2.0, 1.0, 3.0)
    with pytest.raises(KeyError):
        compute_spread(in_seconds(1.0), "fid")


def test_a_ratio_is_of_medians() -> None:
    assert times(in_seconds(6.0, 5.0, 100.0), in_seconds(2.0, 1.0, 90.0)) == 3.0


@pytest.mark.parametrize(
    ("value", "at_least", "met"),
    [(1.8, True, True), (1.79, True, False), (1.8, False, True), (1.81, False, False)]
    + [(math.nan, at_least, False) for at_least in (True, False)],
)
def test_a_target_is_met_at_its_bound(value: float, at_least: bool, met: bool) -> None:
    assert Target("claim", value, 1.8, at_least).met is met


def test_contenders_run_in_turn() -> None:
    seen: list[tuple[str, Any]] = []

    def record(task: Task) -> Run:
        seen.append((task.function, task.arguments["n"]))
        return {"seconds": float(len(seen))}

    runs = interleaved({"a": "m:a", "b": "m:b"}, {"n": 7}, 3, run=record, max_rounds={"b": 1})
    assert seen == [("m:a", 7), ("m:b", 7), ("m:a", 7), ("m:a", 7)]
    assert runs == {"a": in_seconds(1.0, 3.0, 4.0), "b": in_seconds(2.0)}


def test_seconds_show_their_spread_where_there_is_one() -> None:
    assert seconds(in_seconds(0.5, 0.25, 0.75)) == "0.500 (0.250 to 0.750)"
    assert seconds(in_seconds(100.0)) == "100.0"


def test_a_verdict_that_differs_between_rounds_is_undecided() -> None:
    assert Target("fast", 2.0, 1.8, True, " x", Spread(2.0, 1.7, 2.4)).verdict == "**undecided**"
    assert Target("fast", 2.0, 1.8, True, " x", Spread(2.0, 1.9, 2.4)).verdict == "met"


def test_rendering_keeps_the_pages_prose() -> None:
    page = "# One\n<!-- results: all -->\nold\n<!-- end -->\nBecause.\n<!-- results: more -->\n<!-- end -->\n"
    text = rendered(page, {"all": "1", "more": "2"})
    assert text == (
        "# One\n<!-- results: all -->\n\n1\n\n<!-- end -->\nBecause.\n<!-- results: more -->\n\n2\n\n<!-- end -->\n"
    )
    assert rendered(text, {"all": "1", "more": "2"}) == text
    with pytest.raises(LookupError, match="the page has the parts all, more; rendered were all"):
        rendered(page, {"all": "1"})


def test_only_changed_code_makes_a_commit_dirty(tmp_path: Path) -> None:
    for name in ("benchmarks/SCALE.md", "benchmarks/results/one/a.json", "benchmarks/a.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("before")
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    (tmp_path / "benchmarks/SCALE.md").write_text("after")
    (tmp_path / "benchmarks/results/one/a.json").unlink()
    clean = _commit(tmp_path)
    assert re.fullmatch("[0-9a-f]{10}", clean)
    (tmp_path / "benchmarks/a.py").write_text("after")
    assert _commit(tmp_path) == f"{clean}-dirty"


def test_results_are_stored_separately(tmp_path: Path) -> None:
    case = {"name": "d", "settings": {"n": 3}, "runs": {"z": in_seconds(1.0, fid=0.1), "a": in_seconds(2.0)}}
    first = BenchmarkResult("a", "python -m a", MACHINE, [case])
    write_result(first, tmp_path)
    write_result(BenchmarkResult("b", "python -m b", MACHINE, []), tmp_path)
    assert read_results("a", tmp_path) == [first]
    assert list(first.cases[0].runs) == ["z", "a"]
    assert read_results("c", tmp_path) == []


def measured_by(processor: str, date: str, seconds: float) -> BenchmarkResult:
    machine = MACHINE | {"processor": processor, "date": date, "commit": f"of {processor}"}
    case = {"name": "c", "settings": {}, "runs": {"us": in_seconds(seconds)}}
    return BenchmarkResult("speed", "python -m benchmarks speed", machine, [case])


def test_a_result_replaces_that_of_its_processor_family(tmp_path: Path) -> None:
    write_result(measured_by("AMD EPYC (7)", "2026-03-01", 1.0), tmp_path)
    write_result(measured_by("Intel(R) Xeon (6)", "2026-03-02", 2.0), tmp_path)
    newest = measured_by("AMD Ryzen (5)", "2026-03-03", 3.0)
    write_result(newest, tmp_path)
    assert read_results("speed", tmp_path) == [newest, measured_by("Intel(R) Xeon (6)", "2026-03-02", 2.0)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["speed-amd.json", "speed-intel.json"]


def test_a_page_has_the_targets_of_every_processor_family() -> None:
    def findings(result: BenchmarkResult) -> Findings:
        runs = result.cases[0].runs["us"]
        target = Target("fast", runs[0]["seconds"], 2.0, False, " s")
        return Findings([MarkdownTable("Both", ("", "s"), [("us", seconds(runs))])], [target], ["Noted."])

    results = [measured_by("AMD (7)", "2026-03-03", 1.5), measured_by("Intel (6)", "2026-03-02", 3.5)]
    text = results_text([(result, findings(result)) for result in results])
    newest, elsewhere = text.split("### On Intel (6)")
    assert "| fast | at most 2 s | 1.5 s | met |" in newest
    assert "### Both\n\n|  | s |\n| --- | ---: |\n| us | 1.50 |" in newest
    assert "- Noted." in newest
    assert (
        "Measured 2026-03-03 at commit of AMD (7) by `python -m benchmarks speed` with 2 threads on AMD (7)" in newest
    )
    assert "| fast | at most 2 s | 3.5 s | **missed** |" in elsewhere
    assert "Measured 2026-03-02 at commit of Intel (6)" in elsewhere


def test_verdicts_come_from_the_runs() -> None:
    def compute_targets(module: Any, name: str, runs: Mapping[str, list[Run]], **settings: int) -> list[Target]:
        result = BenchmarkResult(name, "", MACHINE, [BenchmarkCase(name, settings, runs)])
        targets: list[Target] = module.findings(result).targets
        return targets

    ours = in_seconds(10.0, forward_seconds=9.0, fid=2.0, distance=0.5, mifid=4.0, decode_seconds=1.0)
    ours[0] |= {"features_seconds": 9.5, "neighbours_seconds": 0.1, "frechet_seconds": 0.1}
    peers = {
        "torchmetrics": in_seconds(30.0, forward_seconds=1.0, mifid=4.0),
        "torch-fidelity": in_seconds(17.0, forward_seconds=1.0, fid=2.2),
        "pytorch-fid": in_seconds(20.0, forward_seconds=1.0, fid=2.0),
        "clean-fid": in_seconds(40.0, forward_seconds=1.0, fid=3.0),
    }
    runs = {"Kennel": ours} | peers
    speed, aside, agreement = compute_targets(scoring, "inception_v3", runs, count=100, reference_count=5)
    assert (speed.value, speed.met) == (1.7, False)
    assert "torch-fidelity" in speed.claim
    assert (round(aside.value, 9), aside.met) == (10.0, False)
    assert (round(agreement.value, 9), agreement.met) == (0.1, False)

    names = ("Kennel", "scipy sqrtm", "numpy eigvals", "torchmetrics", "torch-fidelity")
    taken = zip(names, (1.0, 12.0, 2.4, 5.0, 5.0), strict=True)
    distances = {name: in_seconds(value, distance_seconds=value, fid=1.0) for name, value in taken}
    targets = compute_targets(frechet, "d = 4", distances, count=2, reference=3)
    assert [target.met for target in targets] == [True, False]

    runs = {
        "Kennel": in_seconds(4.0, distance=0.5, peak_bytes=1.2e9),
        "torchmetrics": in_seconds(11.0, distance=0.5),
        "float32 matrix product alone": in_seconds(3.2),
    }
    targets = compute_targets(neighbours, "neighbours", runs, count=1, reference=1, dimension=1)
    assert [(target.value, target.met) for target in targets] == [(0.8, True), (2.75, False), (1.2, True)]


def test_the_references_analysis_is_timed_only_once(tmp_path: Path) -> None:
    def instant(_: Task) -> Run:
        return {"seconds": 1.0}

    [case] = evidence.measure(evidence.QUICK._replace(rounds=3), tmp_path, instant)
    assert len(case.runs[evidence.REFERENCES]) == 1, "its files stay in the folder, and a later run would load them"
    assert {len(runs) for name, runs in case.runs.items() if name != evidence.REFERENCES} == {3}


def test_a_lead_counts_only_over_waiting_teams() -> None:
    def lead(*teams: int, overlap: float = 0.0) -> int:
        return largest_lead([(number, number + 0.5 + overlap, team) for number, team in enumerate(teams)])

    assert lead(1, 2, 3, 1, 2, 3) == 1
    assert lead(1, 1, 1, 2) == 3
    assert lead(1, 1, 1, 2, overlap=9.0) == 0, "all run at the same time"
    assert lead(1, 1, 1, 1, 1, 2, overlap=1.0) == 3
    assert lead(1, 2, 2, 2) == 1, "no team waits after the last entries"
    assert lead(7) == 0


# Inputs of all contenders


def test_synthetic_features_are_suitable_for_comparisons() -> None:
    one, other = features(1100, 64, 0), features(1100, 64, 1)
    assert one.dtype == np.float32
    assert one.min() >= 0
    assert np.array_equal(one, features(1100, 64, 0))
    assert not np.array_equal(one, other)
    assert len(np.unique(one, axis=0)) == 1100
    spectrum = np.linalg.eigvalsh(np.cov(one, rowvar=False))
    assert spectrum[-1] > 10 * spectrum[0] > 0


def test_a_blended_reference_has_full_rank_and_no_copies() -> None:
    source = np.random.default_rng(0).random((5, 40), np.float32)
    rows = blended(source, 1200, np.random.default_rng(1))
    assert rows.shape == (1200, 40)
    assert rows.min() >= 0
    assert len(np.unique(rows, axis=0)) == 1200
    assert np.linalg.matrix_rank(np.cov(rows, rowvar=False)) == 40


def test_peers_run_kennels_network(tmp_path: Path) -> None:
    spec = find_extractor_spec("small")
    write_weights(spec, tmp_path)
    images = np.random.default_rng(0).integers(0, 256, (8, 64, 64, 3), np.uint8)
    with torch.inference_mode():
        expected = plain_network(spec, tmp_path)(Preprocessing(spec, (64, 64))(torch.from_numpy(images))).numpy()
    features = load_extractor(spec, tmp_path).features(images)
    assert np.linalg.norm(features - expected) < 1e-5 * np.linalg.norm(expected)


def test_only_the_outermost_forward_pass_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(100))
    monkeypatch.setattr("benchmarks.harness.networks.time.perf_counter", lambda: float(next(ticks)))
    inner = nn.Sequential(nn.Identity(), nn.Identity())
    with outermost_forwards() as watch:
        for _ in range(3):
            nn.Sequential(inner, nn.Identity())(torch.zeros(1))
    assert watch.seconds == 3.0
    inner(torch.zeros(1))
    assert watch.seconds == 3.0


# Measurements


CHILD = """
import os

def surroundings(rows):
    memory = bytearray(rows)
    return {"threads": float(os.environ["OMP_NUM_THREADS"]), "rows": float(len(memory))}

def failing():
    raise LookupError("no such thing as this")
"""


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that only other processes import."""
    (tmp_path / "child.py").write_text(CHILD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.mark.usefixtures("child")
def test_a_run_in_its_own_process_has_its_own_threads_and_memory() -> None:
    little, much = (run_apart(Task("child:surroundings", {"rows": rows})) for rows in (1, 200 * 2**20))
    assert little["threads"] == much["threads"] == THREADS
    # This process is far larger because of torch, and must not count.
    assert little["peak_bytes"] < 100 * 2**20
    assert 200 * 2**20 <= much["peak_bytes"] < 300 * 2**20


@pytest.mark.usefixtures("child")
def test_a_failed_process_is_reported_with_its_output() -> None:
    with pytest.raises(RuntimeError, match="LookupError: no such thing as this"):
        run_apart(Task("child:failing"))


def test_limited_processes_are_counted_by_their_name() -> None:
    assert fork_server.__name__ == FORK_SERVER


# The warnings come from other libraries.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    # On busy cores, servers under load may not respond within the one second of a quick run.
    [pytest.param(n, marks=[pytest.mark.slow] if n in {"queue", "standings"} else []) for n in GROUPS["speed"]],
)
def test_a_measurement_runs(name: str, tmp_path: Path) -> None:
    for peer in ("cleanfid", "pytorch_fid") if name == "scoring" else ():
        pytest.importorskip(peer, reason="needs the extra `bench`")
    threads = torch.get_num_threads()
    try:
        result = measure(name, "QUICK", tmp_path, run=run_here)
    finally:
        torch.set_num_threads(threads)
    (stored,) = read_results(name, tmp_path)
    assert stored.command == f"python -m benchmarks {name}"
    assert {"date", "commit", "processor"} < stored.machine.keys()
    runs = [run for case in stored.cases for runs in case.runs.values() for run in runs]
    assert all(math.isfinite(value) for run in runs for value in run.values())
    assert all(run["seconds"] > 0 for run in runs)
    found = BENCHMARKS[name].load().findings(result)
    assert str(found.tables[0]) in results_text([(stored, found)])
    exact = [target for target in found.targets if "same number" in target.claim or "decoded" in target.claim]
    assert all(target.met for target in exact)
    assert len(exact) == {"scoring": 1, "tracks": 1}.get(name, 0)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_page_matches_the_stored_results(name: str) -> None:
    page = build_page_path(name).read_text()
    assert page == rendered(page, render_parts(name)), f"python -m benchmarks {name} --render"


def test_every_page_is_listed() -> None:
    folder = build_page_path("frechet").parent
    listed = set(re.findall(r"\]\((\w+\.md)\)", (folder / "README.md").read_text()))
    assert listed == {path.name for path in folder.glob("*.md")} - {"README.md"}


def test_an_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["marathon"])
    assert "invalid choice: 'marathon'" in capsys.readouterr().err
