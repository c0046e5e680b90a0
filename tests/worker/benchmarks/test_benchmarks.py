"""The benchmarks: their arithmetic, and that each of them runs, on sizes whose numbers mean nothing."""

import json
import math
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import benchmarks.__main__
from benchmarks.__main__ import SPEED_BENCHMARKS, main, render, run
from benchmarks.gpu import roofline
from benchmarks.harness.changed_files import changed_since
from benchmarks.harness.isolation import ROOT, THREADS, Run, Task, run_apart, run_here
from benchmarks.harness.machine import _commit
from benchmarks.harness.networks import extractor_of, outermost_forwards, plain_network, spec_of, write_weights
from benchmarks.harness.plan import QUICK
from benchmarks.harness.report import (
    MarkdownTable,
    MeasuredSection,
    Section,
    Target,
    page,
    seconds,
    stored_sections,
    times,
)
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, read_result, read_results, write_result
from benchmarks.harness.rounds import Contender, Spread, interleaved, spread_of
from benchmarks.harness.synthetic import features
from benchmarks.scale import capacity_page
from benchmarks.speed import busy_core, evidence, frechet, neighbours, scoring, shared_images
from benchmarks.speed.queue_runs import largest_lead
from benchmarks.speed.scoring_inputs import blended
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


# Medians, ratios, verdicts.


def test_a_spread_is_of_all_runs() -> None:
    assert spread_of(in_seconds(3.0, 1.0, 8.0)) == Spread(3.0, 1.0, 8.0)
    assert spread_of(in_seconds(3.0, 1.0)) == Spread(2.0, 1.0, 3.0)
    with pytest.raises(KeyError):
        spread_of(in_seconds(1.0), "fid")


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

    runs = interleaved([Contender("a", "m:a"), Contender("b", "m:b", max_rounds=1)], {"n": 7}, 3, record)
    assert seen == [("m:a", 7), ("m:b", 7), ("m:a", 7), ("m:a", 7)]
    assert runs == {"a": in_seconds(1.0, 3.0, 4.0), "b": in_seconds(2.0)}


def test_seconds_show_their_spread_where_there_is_one() -> None:
    assert seconds(in_seconds(0.5, 0.25, 0.75)) == "0.500 (0.250 to 0.750)"
    assert seconds(in_seconds(100.0)) == "100.0"


def test_the_page_shows_what_was_missed(tmp_path: Path) -> None:
    targets = [Target("fast", 2.0, 1.8, True, " x"), Target("small", 4.0, 3.0, False, " GB")]
    section = Section("Speed", "How.", [MarkdownTable("Both", ("", "s"), [("us", "1")])], targets)
    (tmp_path / "speed.md").write_text("Because.\n")
    text = page([MeasuredSection(BenchmarkResult("speed", MACHINE, []), section)], tmp_path)
    assert "## Targets: 1 of 2 met" in text
    assert "†" not in text.split("## Speed")[1]
    assert "| Speed | fast | at least 1.8 x | 2 x | met |" in text
    assert "| Speed | small | at most 3 GB | 4 GB | **missed** |" in text
    assert "|  | s |\n| --- | ---: |\n| us | 1 |" in text
    assert text.endswith("numpy 0.\n\nBecause.\n")


def shown(commit: str, changed: list[str] | None, *, runs: int = 3) -> str:
    """The page of one measurement whose rows `us` and `them` are timed, with what has changed since its commit."""
    table = MarkdownTable("Both", ("", "s"), [("us, fast", "1"), ("them", "2")])
    target = Target("fast", 2.0, 1.8, True, " x", Spread(2.0, 1.7, 2.4))
    section = Section("Speed", "How.", [table], [target], timed={"us": ("scorer/us.py",)})
    case = BenchmarkCase("c", {}, {"us": in_seconds(*[1.0] * runs), "them": in_seconds(2.0)})
    result = BenchmarkResult("speed", MACHINE | {"commit": commit}, [case])

    def since(measured: str, paths: Sequence[str]) -> list[str] | None:
        assert (measured, list(paths)) == (commit, ["scorer/us.py"])
        return changed

    return page([MeasuredSection(result, section)], Path(), changed=since)


def test_rows_whose_timed_code_has_changed_are_marked() -> None:
    fresh, old, unknown = shown("abc", []), shown("abc", ["scorer/us.py"]), shown("", None)
    assert "| us, fast | 1 |" in fresh
    assert "| us, fast † | 1 |" in old
    assert "| us, fast † | 1 |" in unknown
    assert "| them (one run) | 2 |" in old
    assert "†: measured before later changes of `scorer/us.py`." in old
    assert "†: the commit that was measured is not known here" in unknown
    assert "**undecided** † |" in old
    assert "**undecided** |" in fresh
    assert "## Targets: 0 of 1 met" in fresh, "a verdict that not every round gives"
    assert "2 x (1.7 to 2.4)" in fresh


def test_the_head_of_a_table_counts_the_runs() -> None:
    assert "| medians of 3 runs | s |" in shown("abc", [])
    assert "| one run | s |" in shown("abc", [], runs=1)


def test_runs_are_counted_in_the_case_that_a_table_is_of() -> None:
    cases = [
        BenchmarkCase("short", {}, {"us": in_seconds(1.0, 1.0, 1.0), "them": in_seconds(2.0, 2.0, 2.0)}),
        BenchmarkCase("long", {}, {"us": in_seconds(1.0, 1.0, 1.0), "them": in_seconds(2.0)}),
        BenchmarkCase("once", {}, {"us": in_seconds(1.0)}),
    ]
    tables = [
        MarkdownTable(name, (name, "s"), [("us", "1"), ("them", "2")], case)
        for name, case in (("short", "short"), ("long", "long"), ("once", "once"), ("all", None))
    ]
    text = page([MeasuredSection(BenchmarkResult("speed", MACHINE, cases), Section("", "", tables, []))], Path())
    short, long, once, of_all = text.split("### ")[1:]
    assert short.startswith("short\n\n| short (medians of 3 runs) | s |")
    assert "| them | 2 |" in short
    assert long.startswith("long\n\n| long (medians of 3 runs) | s |")
    assert "| them (one run) | 2 |" in long
    assert once.startswith("once\n\n| once (one run) | s |")
    assert of_all.startswith("all\n\n| all (medians of 3 runs) | s |")
    assert "| them | 2 |" in of_all


def test_changes_since_a_commit_are_those_of_the_files_timed() -> None:
    assert changed_since("", ["scorer"]) is None
    assert changed_since("no-such-commit", ["scorer"]) is None
    first, head = (git("rev-list", which, "HEAD").split()[0] for which in ("--max-parents=0", "--max-count=1"))
    if first != head:  # a clone without history has one commit
        assert "scorer/errors.py" in (changed_since(first, ["scorer/errors.py", "pyproject.toml"]) or [])
    assert changed_since(f"{head}-dirty", ["LICENSE"]) == []


def test_a_commit_is_dirty_by_code_and_not_by_what_benchmarks_write(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("timed", "module", "folders"),
    [
        (evidence.TIMED, "worker.evidence.report", ("scorer/metrics",)),
        (busy_core.TIMED, "deploy.cli.score", ("scorer/archive", "scorer/extractors", "deploy/cli")),
    ],
)
def test_what_a_timed_module_imports_is_timed(
    timed: Mapping[str, Sequence[str]], module: str, folders: Sequence[str]
) -> None:
    """Of some folders: all that it imports, itself or by others, stands among the paths whose changes are marked."""
    finder = ModuleFinder([str(ROOT), str(ROOT / "client")])
    finder.import_hook(module)
    named = [getattr(each, "__file__", None) for each in finder.modules.values()]
    files = [Path(name).relative_to(ROOT) for name in named if name]
    needed = {file for file in files if file.name != "__init__.py" and any(map(file.is_relative_to, folders))}
    assert needed
    assert not {file for file in needed if not any(map(file.is_relative_to, timed[""]))}


def test_paths_whose_changes_are_marked_are_there() -> None:
    sections = (busy_core, evidence, frechet, neighbours, scoring, shared_images)
    paths = [path for each in sections for some in each.TIMED.values() for path in some]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def git(*arguments: str) -> str:
    command = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if command.returncode != 0:
        pytest.skip("no git repository")
    return command.stdout


def test_results_are_stored_apart(tmp_path: Path) -> None:
    first = BenchmarkResult(
        "a", MACHINE, [BenchmarkCase("d", {"n": 3}, {"z": in_seconds(1.0, fid=0.1), "a": in_seconds(2.0)})]
    )
    write_result(first, tmp_path)
    write_result(BenchmarkResult("b", MACHINE, []), tmp_path)
    assert read_result("a", tmp_path) == first
    assert list(first.cases[0].runs) == ["z", "a"]
    assert read_result("c", tmp_path) is None


def measured_by(processor: str, date: str, seconds: float) -> BenchmarkResult:
    machine = MACHINE | {"processor": processor, "date": date, "commit": f"of {processor}"}
    return BenchmarkResult("speed", machine, [BenchmarkCase("c", {}, {"us": in_seconds(seconds)})])


def test_a_run_leaves_the_results_of_other_processors(tmp_path: Path) -> None:
    write_result(measured_by("AMD (7)", "2026-03-01", 1.0), tmp_path)
    write_result(measured_by("Intel (6)", "2026-03-02", 2.0), tmp_path)
    write_result(measured_by("AMD (7)", "2026-03-03", 3.0), tmp_path)
    kept = read_results("speed", tmp_path)
    assert kept == [measured_by("AMD (7)", "2026-03-03", 3.0), measured_by("Intel (6)", "2026-03-02", 2.0)]
    assert read_result("speed", tmp_path) == kept[0]
    assert sorted(path.parent.name for path in tmp_path.rglob("speed.json")) == ["amd-7", "intel-6"]


def test_results_of_the_former_place_are_read_and_moved(tmp_path: Path) -> None:
    former = measured_by("Intel (6)", "2026-03-02", 2.0)
    (tmp_path / "speed.json").write_text(json.dumps(asdict(former)))
    assert read_results("speed", tmp_path) == [former]
    write_result(measured_by("AMD (7)", "2026-03-03", 3.0), tmp_path)
    assert read_results("speed", tmp_path) == [measured_by("AMD (7)", "2026-03-03", 3.0), former]
    assert not (tmp_path / "speed.json").exists()
    (tmp_path / "speed.json").write_text(json.dumps(asdict(former)))
    assert len(read_results("speed", tmp_path)) == 2, "one of each processor"
    write_result(measured_by("Intel (6)", "2026-03-04", 4.0), tmp_path)
    assert not (tmp_path / "speed.json").exists()
    assert len(read_results("speed", tmp_path)) == 2


def test_the_page_has_the_targets_of_every_processor(tmp_path: Path) -> None:
    def section(result: BenchmarkResult) -> Section:
        runs = result.cases[0].runs["us"]
        row = ("us", seconds(runs))
        target = Target("fast", runs[0]["seconds"], 2.0, False, " s")
        return Section("Speed", "How.", [MarkdownTable("Both", ("", "s"), [row])], [target], timed={"us": ("a.py",)})

    for each in (measured_by("AMD (7)", "2026-03-03", 1.5), measured_by("Intel (6)", "2026-03-02", 3.5)):
        write_result(each, tmp_path)
    sections = stored_sections({"speed": section, "unmeasured": section}, tmp_path)
    text = page(sections, tmp_path, changed=lambda commit, _: [] if commit == "of AMD (7)" else ["a.py"])
    assert "## Targets: 1 of 1 met" in text, "of the newest alone"
    assert "| us | 1.50 |" in text
    elsewhere = text.split("### On Intel (6)")[1]
    assert "| fast | at most 2 s | 3.5 s | **missed** † |" in elsewhere
    assert "Measured 2026-03-02 at commit of Intel (6)" in elsewhere
    assert "before later changes of `a.py`" in elsewhere


def test_verdicts_come_from_the_runs() -> None:
    def case(name: str, runs: Mapping[str, list[Run]], **settings: int) -> BenchmarkCase:
        return BenchmarkCase(name, settings, runs)

    ours = in_seconds(10.0, forward_seconds=9.0, fid=2.0, distance=0.5, mifid=4.0, decode_seconds=1.0)
    ours[0] |= {"features_seconds": 9.5, "neighbours_seconds": 0.1, "frechet_seconds": 0.1}
    peers = {
        "torchmetrics": in_seconds(30.0, forward_seconds=1.0, mifid=4.0),
        "torch-fidelity": in_seconds(17.0, forward_seconds=1.0, fid=2.2),
        "pytorch-fid": in_seconds(20.0, forward_seconds=1.0, fid=2.0),
        "clean-fid": in_seconds(40.0, forward_seconds=1.0, fid=3.0),
    }
    inception = case("inception_v3", {"Kennel": ours} | peers, count=100, reference_count=5)
    speed, aside, agreement = scoring.section(BenchmarkResult("scoring", MACHINE, [inception])).targets
    assert (speed.value, speed.met) == (1.7, False)
    assert "torch-fidelity" in speed.claim
    assert (round(aside.value, 9), aside.met) == (10.0, False)
    assert (round(agreement.value, 9), agreement.met) == (0.1, False)

    names = ("Kennel", "scipy sqrtm", "numpy eigvals", "torchmetrics", "torch-fidelity")
    taken = zip(names, (1.0, 12.0, 2.4, 5.0, 5.0), strict=True)
    distances = {name: in_seconds(value, distance_seconds=value, fid=1.0) for name, value in taken}
    targets = frechet.section(
        BenchmarkResult("frechet", MACHINE, [case("d = 4", distances, count=2, reference=3)])
    ).targets
    assert [target.met for target in targets] == [True, False]

    runs = {
        "Kennel": in_seconds(4.0, distance=0.5, peak_bytes=1.2e9),
        "torchmetrics": in_seconds(11.0, distance=0.5),
        "float32 matrix product alone": in_seconds(3.2),
    }
    pairs = case("neighbours", runs, count=1, reference=1, dimension=1)
    targets = neighbours.section(BenchmarkResult("neighbours", MACHINE, [pairs])).targets
    assert [(target.value, target.met) for target in targets] == [(0.8, True), (2.75, False), (1.2, True)]


def test_the_references_analysis_is_timed_where_nothing_of_it_is_stored(tmp_path: Path) -> None:
    def instant(_: Task) -> Run:
        return {"seconds": 1.0}

    [case] = evidence.measure(replace(QUICK, rounds=3), tmp_path, instant)
    assert len(case.runs[evidence.REFERENCES]) == 1, "it stays in the folder, and a later run would load it"
    assert {len(runs) for name, runs in case.runs.items() if name != evidence.REFERENCES} == {3}


def test_a_lead_is_over_teams_that_still_wait() -> None:
    def lead(*teams: int, overlap: float = 0.0) -> int:
        return largest_lead([(number, number + 0.5 + overlap, team) for number, team in enumerate(teams)])

    assert lead(1, 2, 3, 1, 2, 3) == 1
    assert lead(1, 1, 1, 2) == 3
    assert lead(1, 1, 1, 2, overlap=9.0) == 0, "all at the same moment"
    assert lead(1, 1, 1, 1, 1, 2, overlap=1.0) == 3
    assert lead(1, 2, 2, 2) == 1, "nobody waits behind the last ones"
    assert lead(7) == 0


# Inputs of all contenders.


def test_synthetic_features_are_fit_to_compare() -> None:
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


def test_peers_run_the_network_that_we_run(tmp_path: Path) -> None:
    spec = spec_of("small")
    write_weights(spec, tmp_path)
    images = np.random.default_rng(0).integers(0, 256, (8, 64, 64, 3), np.uint8)
    with torch.inference_mode():
        expected = plain_network(spec, tmp_path)(Preprocessing(spec, (64, 64))(torch.from_numpy(images))).numpy()
    features = extractor_of(spec, tmp_path).features(images)
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


# Each measurement runs.


CHILD = """
import os

def surroundings(rows):
    held = bytearray(rows)
    return {"threads": float(os.environ["OMP_NUM_THREADS"]), "rows": float(len(held))}

def failing():
    raise LookupError("no such thing as this")
"""


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that only another process imports."""
    (tmp_path / "child.py").write_text(CHILD)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.mark.usefixtures("child")
def test_a_run_apart_has_its_own_threads_and_memory() -> None:
    little, much = (run_apart(Task("child:surroundings", {"rows": rows})) for rows in (1, 200 * 2**20))
    assert little["threads"] == much["threads"] == THREADS
    # This process, with torch in it, is far larger: none of that may show.
    assert little["peak_bytes"] < 100 * 2**20
    assert 200 * 2**20 <= much["peak_bytes"] < 300 * 2**20


@pytest.mark.usefixtures("child")
def test_a_failed_process_is_reported_with_its_output() -> None:
    with pytest.raises(RuntimeError, match="LookupError: no such thing as this"):
        run_apart(Task("child:failing"))


LONG = {"queue", "standings"}
"""Servers under load, which on busy cores may not answer in the second
that they have when quick."""


# Other libraries' warnings are theirs.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in SPEED_BENCHMARKS]
)
def test_a_measurement_runs(name: str, tmp_path: Path) -> None:
    for peer in ("cleanfid", "pytorch_fid") if name == "scoring" else ():
        pytest.importorskip(peer, reason="needs the extra `bench`")
    threads = torch.get_num_threads()
    try:
        run([name], QUICK, tmp_path, run_here)
    finally:
        torch.set_num_threads(threads)
    result = read_result(name, tmp_path / "results")
    assert result is not None
    runs = [each for case in result.cases for runs in case.runs.values() for each in runs]
    assert all(math.isfinite(value) for each in runs for value in each.values())
    assert all(each["seconds"] > 0 for each in runs)
    text = render(tmp_path)
    assert SPEED_BENCHMARKS[name].section(result).title in text
    exact = [target for target in SPEED_BENCHMARKS[name].section(result).targets if "same number" in target.claim]
    exact += [target for target in SPEED_BENCHMARKS[name].section(result).targets if "decoded" in target.claim]
    assert all(target.met for target in exact)
    assert len(exact) == {"scoring": 1, "tracks": 1}.get(name, 0)


def test_all_pages_are_written_that_the_measurements_have_a_part_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("results", "explanations"):
        (tmp_path / name).symlink_to(benchmarks.__main__.HERE / name)
    monkeypatch.setattr(benchmarks.__main__, "HERE", tmp_path)
    others = {module: module.PAGE for module in (roofline, capacity_page)}
    for module, page_there in others.items():
        monkeypatch.setattr(module, "PAGE", tmp_path / page_there.name)
    main(["--render"])
    assert "# What Kennel's speed was measured to be" in (tmp_path / "RESULTS.md").read_text()
    for module, page_there in others.items():
        assert module.PAGE.read_text() == page_there.read_text()


def test_an_unknown_measurement_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["marathon"])
    assert "there is no measurement marathon; there are scoring" in capsys.readouterr().err
