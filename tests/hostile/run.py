"""Starts processes that judge many hostile inputs each, and names inputs that end or block their process."""

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
"""Maximum wait for the first line on a busy machine, which includes imports and rehearsal, and for each input."""
INPUTS_PER_PROCESS = 1_000
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""A process with several threads cannot be confined, and these libraries start threads at import."""
CONFINED = '{"missing": []}\n'
"""The first line of a process with all measures of the sandbox."""
Judged = dict[str, Any]
"""The output of ``tests/hostile/batch.py`` for one input."""


def judge_inputs(kind: str, count: int, *, first: int = 0) -> Iterator[Judged]:
    """Judge the inputs of ``count`` seeds.

    An input that ends its process or blocks it for ``INPUT_SECONDS`` is ``wrong``. Another process then continues with
    the next input.
    """
    end = first + count
    while first < end:
        number = min(INPUTS_PER_PROCESS, end - first)
        done = 0
        for judged in _judge_in_one_process(kind, first, number):
            yield judged
            done += 1
        if done < number:
            wrong = "ended its process, or blocked it for too long"
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
                    sys.stderr.write(line)  # the reason why the process ends
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
