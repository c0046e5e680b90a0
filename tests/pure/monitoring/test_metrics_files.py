"""Metrics on a full disk: the process continues to count, and readers find no broken file."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, values
from prometheus_client.multiprocess import MultiProcessCollector

from scorer.monitoring import instruments
from scorer.monitoring.instruments import MetricsFile


@contextmanager
def metrics_file(file: Path) -> Iterator[Any]:
    """The metrics of a process in a file, closed at the end."""
    metrics: Any = MetricsFile(str(file))
    try:
        yield metrics
    finally:
        metrics.close()


def fill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no file reserve room any more."""

    def full(_descriptor: int, _offset: int, _size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)


def test_instruments_count_in_files_with_room() -> None:
    assert instruments.REGISTRY is not None
    assert vars(values)["MmapedDict"] is MetricsFile


def test_a_file_has_its_room_before_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "counter_1.db"
    with metrics_file(file):
        state = file.stat()
        assert state.st_blocks * 512 >= state.st_size > 0


def test_a_process_that_starts_on_a_full_disk_counts_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(monkeypatch)
    with metrics_file(tmp_path / "counter_1.db") as metrics:
        metrics.write_value("key", 2.0, 0.0)
        assert metrics.read_value("key") == (2.0, 0.0)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_grow_is_continued_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "counter_1.db"
    with metrics_file(file) as metrics:
        size = file.stat().st_size
        fill(monkeypatch)
        keys = [f'["metric", "metric", {{"label": "{number:04}"}}, ""]' for number in range(2 * size // 64)]
        for number, key in enumerate(keys):
            metrics.write_value(key, float(number), 0.0)
        assert [metrics.read_value(key)[0] for key in keys] == [float(number) for number in range(len(keys))]
    assert file.stat().st_size == size
    collector: Any = MultiProcessCollector
    assert list(collector(CollectorRegistry(), path=str(tmp_path)).collect()), "others read what it counted before"
