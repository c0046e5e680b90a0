"""``kennel weights check`` reports on the files in a folder."""

import hashlib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy.cli import weights

CONTENT = b"not a network"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one of the three weight files."""
    (tmp_path / "inception_v3.pth").write_bytes(CONTENT)
    return tmp_path


def check(folder: Path, *names: str) -> tuple[int, str]:
    """Exit status and output."""
    done = CliRunner().invoke(weights.app, ["check", *names, "--folder", str(folder)])
    return done.exit_code, done.stdout


def test_a_new_file_is_hashed_and_the_setting_for_it_is_printed(folder: Path) -> None:
    status, output = check(folder)
    assert status == 0
    assert f"inception_v3: SHA-256 {SHA256}, not required yet" in output
    assert "nasnetalarge: The weights of nasnetalarge are missing" in output
    assert f"""KENNEL_WEIGHTS_SHA256='{{"inception_v3": "{SHA256}"}}'""" in output
    assert [path.name for path in folder.iterdir()] == ["inception_v3.pth"]


def test_a_file_other_than_the_required_one_is_an_error(folder: Path) -> None:
    record = folder / "inception_v3.sha256"
    record.write_text(f"{SHA256}  inception_v3.pth\n")
    assert check(folder)[0] == 0
    assert "as required" in check(folder)[1]
    record.write_text(f"{'0' * 64}  inception_v3.pth\n")
    status, output = check(folder)
    assert status == 1
    assert "is not the required weight file of inception_v3" in output


def test_a_named_file_must_exist(folder: Path) -> None:
    assert check(folder, "inception_v3")[0] == 0
    status, output = check(folder, "inception_v3", "nasnetalarge")
    assert status == 1
    assert "nasnetalarge: The weights of nasnetalarge are missing" in output
