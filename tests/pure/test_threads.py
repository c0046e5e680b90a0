"""The number of threads of a process, and how worker processes share the cores of a machine."""

import os

import pytest

from deploy.standalone.commands import PROCESSES_PER_GPU, background_threads, scoring_threads
from scorer.extractors import ExtractorOptions
from scorer.process_resources import THREADS_VARIABLE, allowed_threads


@pytest.mark.parametrize(
    ("variable", "threads"),
    [(None, 6), ("", 6), ("3", 3), ("64", 6), (" 2,1", 2), ("0", 6), ("-1", 6), ("many", 6)],
)
def test_the_openmp_variable_limits_threads(
    variable: str | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)))
    assert allowed_threads({} if variable is None else {THREADS_VARIABLE: variable}) == threads


def test_extractors_use_these_threads_unless_the_options_override_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)))
    monkeypatch.setenv(THREADS_VARIABLE, "4")
    assert ExtractorOptions().resolved_threads == 4
    assert ExtractorOptions(threads=5).resolved_threads == 5


@pytest.mark.parametrize(
    ("cores", "gpus", "scoring", "background"),
    [(16, 1, 4, 8), (64, 1, 8, 48), (192, 8, 6, 96), (16, 8, 1, 1), (2, 1, 1, 1), (1, 1, 1, 1)],
)
def test_gpu_and_background_processes_share_the_cores(cores: int, gpus: int, scoring: int, background: int) -> None:
    assert (scoring_threads(cores, gpus), background_threads(cores, gpus)) == (scoring, background)
    processes = gpus * PROCESSES_PER_GPU + 1
    assert scoring * (processes - 1) + background <= max(cores, processes)
