"""Metrics as Prometheus reads them: from several processes, on a full disk, and values that are cached for seconds."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry, values
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.parser import text_string_to_metric_families

from scorer.confinement.import_path import IMPORT_PATH
from scorer.errors import Unavailable
from scorer.jobs.queue_metrics import TimedValue
from scorer.monitoring import FOLDER_VARIABLE, exposition, instruments
from scorer.monitoring.instruments import UPLOADS, MetricsFile

PROCESS = """
import os
from scorer.monitoring import FOLDER_VARIABLE, exposition, instruments
instruments.UPLOADS.inc({uploads})
instruments.SCORING_WORKERS.labels("cpu", "7").set(1)
instruments.LAST_SWEEP.set({uploads})
print(exposition.metrics_text().decode())
"""


def read_samples(text: str) -> dict[str, float]:
    """The samples of an exposition, by name."""
    return {sample.name: sample.value for family in text_string_to_metric_families(text) for sample in family.samples}


def test_the_metrics_server_of_a_worker_requires_the_token() -> None:
    UPLOADS.inc()
    port = exposition.serve_metrics(0, "a token")
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
        assert client.get("/metrics").status_code == 401
        assert client.get("/metrics", headers={"Authorization": "Bearer another"}).status_code == 401
        assert client.get("/", headers={"Authorization": "Bearer a token"}).status_code == 404
        answer = client.get("/metrics", headers={"Authorization": "Bearer a token"})
    assert answer.headers["content-type"] == exposition.CONTENT_TYPE
    assert read_samples(answer.text)["kennel_uploads_total"] >= 1


def test_without_a_token_the_metrics_server_answers_every_client() -> None:
    port = exposition.serve_metrics(0, None)
    assert httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).status_code == 200


def test_counters_of_processes_add_up_and_ended_processes_have_no_gauges(tmp_path: Path) -> None:
    environment = {**os.environ, FOLDER_VARIABLE: str(tmp_path), "PYTHONPATH": IMPORT_PATH}
    texts = [
        subprocess.run(
            [sys.executable, "-c", PROCESS.format(uploads=uploads)],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for uploads in (3, 4)
    ]
    first, second = map(read_samples, texts)
    assert first["kennel_uploads_total"] == 3
    assert second["kennel_uploads_total"] == 7
    assert second["kennel_scoring_workers"] == 1  # the first has ended
    assert second["kennel_last_sweep_timestamp_seconds"] == 4


def test_several_processes_need_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    with pytest.raises(Unavailable, match=FOLDER_VARIABLE):
        exposition.require_metrics_folder()
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    exposition.require_metrics_folder()


@contextmanager
def metrics_file(file: Path) -> Iterator[Any]:
    metrics: Any = MetricsFile(str(file))
    try:
        yield metrics
    finally:
        metrics.close()


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every further reservation of disk space fail."""

    def full(_descriptor: int, _offset: int, _size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)


def test_instruments_count_in_files_with_reserved_space() -> None:
    assert instruments.REGISTRY is not None
    assert vars(values)["MmapedDict"] is MetricsFile


def test_a_file_reserves_its_space_before_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "counter_1.db"
    with metrics_file(file):
        state = file.stat()
        assert state.st_blocks * 512 >= state.st_size > 0


def test_a_process_that_starts_on_a_full_disk_counts_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_disk(monkeypatch)
    with metrics_file(tmp_path / "counter_1.db") as metrics:
        metrics.write_value("key", 2.0, 0.0)
        assert metrics.read_value("key") == (2.0, 0.0)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_grow_is_continued_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "counter_1.db"
    with metrics_file(file) as metrics:
        size = file.stat().st_size
        fill_disk(monkeypatch)
        keys = [f'["metric", "metric", {{"label": "{number:04}"}}, ""]' for number in range(2 * size // 64)]
        for number, key in enumerate(keys):
            metrics.write_value(key, float(number), 0.0)
        assert [metrics.read_value(key)[0] for key in keys] == [float(number) for number in range(len(keys))]
    assert file.stat().st_size == size
    collector: Any = MultiProcessCollector
    assert list(collector(CollectorRegistry(), path=str(tmp_path)).collect()), (
        "other processes read the counts from before"
    )


def test_a_value_is_read_again_once_it_is_too_old() -> None:
    now = 0.0
    readings = count()
    value = TimedValue(lambda: next(readings), 5.0, clock=lambda: now)
    assert [value.get(), value.get()] == [0, 0]
    now = 4.9
    assert value.get() == 0
    now = 5.0
    assert [value.get(), value.get()] == [1, 1]


def test_an_error_is_not_cached() -> None:
    answers = iter([None, 7])

    def read() -> int:
        answer = next(answers)
        if answer is None:
            raise ValueError("away")
        return answer

    value = TimedValue(read, 5.0)
    with pytest.raises(ValueError, match="away"):
        value.get()
    assert value.get() == 7
