"""Tasks of the sandbox in this process, which already has torch. Only for trusted generators."""

from pathlib import Path

import pytest
import torch

from scorer.generators.limits import GeneratorLimits
from scorer.generators.sandbox import child, runner
from scorer.generators.sandbox.exchange import (
    Arrays,
    Report,
    Request,
    read_request,
    read_result,
    write_request,
)
from scorer.progress import StageProgress


def run_in_process(folder: Path, request: Request, progress: StageProgress | None) -> tuple[Report, Arrays]:
    write_request(folder, request)
    threads = torch.get_num_threads()
    try:
        child.run_task(
            folder,
            read_request(folder),
            progress or (lambda _stage, _share: None),
            environment=child.describe_environment(),
        )
    finally:
        torch.set_num_threads(threads)
    result = read_result(folder, GeneratorLimits(**request.limits))
    assert result is not None
    return result


def use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "run_in_sandbox", run_in_process)
