"""Benchmark of starting ``kennel``: processor time of its help, completion and one request."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness.isolation import Run, Runner, interleaved, timed
from benchmarks.harness.report import Findings, MarkdownTable, Target, seconds, times
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median

KENNEL = [sys.executable, "-c", "from kennel_client.cli.main import main; main()"]
"""What the console script does."""
TYPER = "a Typer app of one command --help"
HELLO = "import typer; app = typer.Typer(); app.command()(lambda: None); app()"
PEERS = ("hf", "kaggle")
"""Commands to measure if they are on ``PATH``."""
COMMANDS = (
    *("--version", "--help", "submit --help", "status --help", "leaderboard --help", "check --help", "start --help"),
    *("admin --help", "admin competition create --help", "admin account token --help"),
    *("up --help", "score --help", "admin installation doctor --help"),
)
COMPLETED = ("kennel sub", "kennel submit --", "kennel admin comp", "kennel up --")
MAX_SECONDS = 0.3


class Size(NamedTuple):
    rounds: int = 9


FULL, QUICK = Size(), Size(1)


def measure(size: Size, _folder: Path, run: Runner) -> list[BenchmarkCase]:
    """Measure each command as a case. The request gets no answer, so it shows what the client takes by itself."""
    commands: dict[str, tuple[list[str], dict[str, str]]] = {
        f"kennel {words}": ([*KENNEL, *words.split()], {}) for words in COMMANDS
    }
    for line in COMPLETED:
        variables = {"_KENNEL_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        commands[f"completion of `{line}`"] = KENNEL, variables
    nobody = {"KENNEL_URL": "http://127.0.0.1:9", "KENNEL_TOKEN": "none"}
    commands["a request: kennel cancel ID"] = [*KENNEL, "cancel", "ID"], nobody
    commands[TYPER] = [sys.executable, "-c", HELLO, "--help"], {}
    commands |= {f"{name} --help": ([path, "--help"], {}) for name in PEERS if (path := shutil.which(name))}
    return [
        BenchmarkCase(
            name,
            {},
            interleaved(
                {"start": "benchmarks.speed.commands:start"},
                {"words": words, "environment": environment},
                size.rounds,
                run=run,
            ),
        )
        for name, (words, environment) in commands.items()
    ]


def findings(result: BenchmarkResult) -> Findings:
    runs = {case.name: case.runs["start"] for case in result.cases}
    rows = [
        (name, seconds(own, "cpu_seconds"), f"{times(own, runs[TYPER], 'cpu_seconds'):.2f}")
        for name, own in runs.items()
    ]
    targets = [
        Target(name, compute_median(own, "cpu_seconds"), MAX_SECONDS, False, " s")
        for name, own in runs.items()
        if name.startswith(("kennel", "completion"))
    ]
    return Findings([MarkdownTable("", ("command", "processor time, s", f"times {TYPER}"), rows)], targets)


def start(words: list[str], environment: dict[str, str]) -> Run:
    nowhere = subprocess.DEVNULL
    return timed(
        lambda: subprocess.run(words, env=os.environ | environment, stdout=nowhere, stderr=nowhere, check=False)
    )
