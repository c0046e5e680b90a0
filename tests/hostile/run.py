"""Processes that judge hostile inputs, many to a process; an input that ends one, or keeps it for long, is named."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

from scorer.confinement.import_path import IMPORT_PATH

REPOSITORY = Path(__file__).parents[2]
START_SECONDS, INPUT_SECONDS = 600.0, 60.0
"""Without a line: until libraries are imported and inputs rehearsed on a machine with other work, and for one input."""
INPUTS_OF_A_PROCESS = 1_000
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""A process of several threads cannot be confined, and these libraries start theirs when they are imported."""
CONFINED = '{"missing": []}\n'
"""What a process prints first: no measure of the sandbox is missing."""
Judged = dict[str, Any]
"""What ``tests/hostile/batch.py`` prints of an input."""


def judge_inputs(kind: str, count: int, *, first: int = 0) -> Iterator[Judged]:
    """Judge the inputs of ``count`` seeds. One that ends its process, or keeps it for ``INPUT_SECONDS``, is ``wrong``,
    and another process goes on behind it."""
    end = first + count
    while first < end:
        number = min(INPUTS_OF_A_PROCESS, end - first)
        done = 0
        for judged in _judge_in_one_process(kind, first, number):
            yield judged
            done += 1
        if done < number:
            wrong = "ended its process, or kept it too long"
            yield {"seed": first + done, "kind": kind, "outcome": "crash", "wrong": wrong, "reached": []}
            done += 1
        first += done


def _judge_in_one_process(kind: str, first: int, count: int) -> Iterator[Judged]:
    command = [sys.executable, "-m", "tests.hostile.batch", kind, str(first), str(count)]
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": IMPORT_PATH}
    with subprocess.Popen(
        command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            lines = _lines(process)
            started = next(lines, "")
            if started != CONFINED:
                raise RuntimeError(f"a process that judges hostile inputs is not confined: {started}{''.join(lines)}")
            for line in lines:
                if line.startswith("{"):
                    yield json.loads(line)
                else:
                    sys.stderr.write(line)  # why the process ends
        finally:
            process.kill()


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    seconds = START_SECONDS
    while True:
        timer = Timer(seconds, process.kill)
        timer.start()
        line = process.stdout.readline()
        timer.cancel()
        if not line:
            return
        seconds = INPUT_SECONDS
        yield line
