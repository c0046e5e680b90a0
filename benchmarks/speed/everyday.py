"""Benchmark of everyday commands: the tests of an installation, the demo, and single test files."""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness.isolation import ROOT, Run, Runner, Task, timed
from benchmarks.harness.report import Findings, MarkdownTable, Target, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median

PYTEST = ".venv/bin/python -m pytest -q"
TEST, DEMO = "make test", "make demo EXIT=1 PORT=0"
PURE_FILE, API_FILE = f"{PYTEST} tests/pure/metrics/test_mifid.py", f"{PYTEST} tests/api/tuning/test_thresholds.py"
FIRST_SCORE, ALL_SCORES = "first_score", "all_scores"
SCORE = re.compile(r"^ *([0-9]+) s  (?:public|private) ", re.MULTILINE)
"""A line of the demo: a score, and the seconds since the demo began."""
TARGETS = (
    (TEST, "seconds", 300),
    (TEST, "cpu_seconds", 600),
    (DEMO, "seconds", 180),
    (DEMO, FIRST_SCORE, 45),
    (DEMO, ALL_SCORES, 120),
    (PURE_FILE, "seconds", 3),
    (API_FILE, "seconds", 15),
)
WORDS = {"seconds": "", "cpu_seconds": ", processor time", FIRST_SCORE: ", first score", ALL_SCORES: ", all scores"}


class Size(NamedTuple):
    commands: tuple[str, ...]


FULL, QUICK = Size((TEST, DEMO, PURE_FILE, API_FILE)), Size((PURE_FILE,))


def measure(size: Size, _folder: Path, run: Runner) -> list[BenchmarkCase]:
    """Run each command once, as a case. Everything must be installed."""
    task = "benchmarks.speed.everyday:run_command"
    return [BenchmarkCase(words, {}, {words: [run(Task(task, {"words": words}))]}) for words in size.commands]


def run_command(words: str) -> Run:
    """Run a command; for the demo, also return the seconds until its first and its last score."""
    printed = ""

    def run() -> None:
        nonlocal printed
        printed = subprocess.run(words, shell=True, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    spent = timed(run)
    scores = [float(moment) for moment in SCORE.findall(printed)]
    return spent | ({FIRST_SCORE: scores[0], ALL_SCORES: scores[-1]} if scores else {})


def findings(result: BenchmarkResult) -> Findings:
    runs = {case.name: case.runs[case.name] for case in result.cases}
    rows = [(f"`{name}`", seconds(own), seconds(own, "cpu_seconds")) for name, own in runs.items()]
    targets = [
        Target(f"`{name}`{WORDS[key]}", compute_median(runs[name], key), limit, False, " s")
        for name, key, limit in TARGETS
        if name in runs
    ]
    return Findings([MarkdownTable("", ("command", "s", "processor time, s"), rows)], targets)
