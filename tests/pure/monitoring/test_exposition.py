"""Metrics as Prometheus reads them, and those of several processes added up."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from scorer.confinement.import_path import IMPORT_PATH
from scorer.errors import Unavailable
from scorer.monitoring import FOLDER_VARIABLE, exposition
from scorer.monitoring.instruments import UPLOADS

PROCESS = """
import os
from scorer.monitoring import FOLDER_VARIABLE, exposition, instruments
instruments.UPLOADS.inc({uploads})
instruments.SCORING_WORKERS.labels("cpu", "7").set(1)
instruments.LAST_SWEEP.set({uploads})
print(exposition.metrics_text().decode())
"""


def values_of(text: str) -> dict[str, float]:
    """The samples of an exposition, by name."""
    return {sample.name: sample.value for family in text_string_to_metric_families(text) for sample in family.samples}


def test_the_server_of_a_worker_answers_who_bears_the_token() -> None:
    UPLOADS.inc()
    port = exposition.serve_metrics(0, "a token")
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
        assert client.get("/metrics").status_code == 401
        assert client.get("/metrics", headers={"Authorization": "Bearer another"}).status_code == 401
        assert client.get("/", headers={"Authorization": "Bearer a token"}).status_code == 404
        answer = client.get("/metrics", headers={"Authorization": "Bearer a token"})
    assert answer.headers["content-type"] == exposition.CONTENT_TYPE
    assert values_of(answer.text)["kennel_uploads_total"] >= 1


def test_without_a_token_everybody_who_reaches_the_port_is_answered() -> None:
    port = exposition.serve_metrics(0, None)
    assert httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False).status_code == 200


def test_processes_that_share_a_folder_add_up_and_the_dead_have_no_gauges(tmp_path: Path) -> None:
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
    first, second = map(values_of, texts)
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
