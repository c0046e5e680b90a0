"""``kennel generator``. The worker's audit of the upload needs torch."""

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="The worker's packages are not installed.")

from kennel_client.cli.exit_codes import ExitCode
from tests import sandbox_in_process
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service
from tests.factories import noise_images
from tests.linear_generators import generator_with_operator

__all__ = ["terminal"]
pytestmark = pytest.mark.usefixtures("one_day")


def test_a_generator_is_uploaded_and_its_result_is_shown(
    terminal: CliTerminal, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = service.scored("ada", service.competition(), noise_images(9))["id"]
    assert terminal.run("generator", entry).status == ExitCode.REFUSED, "the entry has no generator"
    file = tmp_path / "generator.onnx"
    file.write_bytes(b"PK\3\4")
    assert terminal.run("generator", entry, file).status == ExitCode.USAGE, "--latent is missing"
    refused = terminal.run("generator", entry, file, "--latent", "12")
    assert (refused.status, "This file is a zip" in refused.err) == (ExitCode.FAULTY, True)
    file.write_bytes(generator_with_operator("Erf2"))
    uploaded = terminal.run("generator", entry, file, "--latent", "12", "--json")
    assert (uploaded.status, uploaded.document["state"], uploaded.document["latent"]) == (ExitCode.DONE, "waiting", 12)
    sandbox_in_process.use(monkeypatch)
    service.run_jobs()
    result = terminal.run("generator", entry)
    assert result.status == ExitCode.FAULTY
    assert "refused" in result.out
    assert "Erf2" in result.out
