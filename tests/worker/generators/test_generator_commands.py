"""``kennel check`` of a generator and ``kennel draw``."""

import hashlib
import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from deploy.cli import drawing, main
from kennel_client.cli import check as check_command
from kennel_client.cli import connection
from kennel_client.cli.exit_codes import ExitCode, choose_exit_code
from kennel_client.errors import KennelError, Refused
from scorer.competitions.spec import DrawSpec
from scorer.generators.sandbox.runner import GeneratorCheck
from scorer.generators.seeds import FIXED_LATENTS
from tests.worker.generators.entry_files import DIGEST, HONEST, LATENT, SIZE, by_formula

RUN = CliRunner()
CHECKED = GeneratorCheck(
    "ab" * 32, LATENT, "tanh", 0.03, np.zeros((FIXED_LATENTS, SIZE, SIZE, 3), np.uint8), {"threads": 2}
)


class Service:
    """A service with one competition."""

    def __init__(self, **view: Any) -> None:
        self.view = {"entries": "generator", "image_count": 5_000, "image_size": SIZE} | view

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get(self, _: str) -> dict[str, Any]:
        return self.view


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "g.onnx"
    path.write_bytes(HONEST)
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The requests to the sandbox, which answers with a fixed check."""
    requests: list[dict[str, Any]] = []

    def check(_content: bytes, declared: object, default: object, **options: Any) -> GeneratorCheck:
        requests.append({"declared": declared, "default": default, **options})
        return CHECKED

    monkeypatch.setattr(drawing, "check_in_sandbox", check)
    return requests


def run(*words: object) -> tuple[int, str]:
    """The exit status and the output, or the error."""
    result = RUN.invoke(main.app, list(map(str, words)))
    if isinstance(result.exception, Refused | KennelError):
        return choose_exit_code(result.exception), str(result.exception)
    return result.exit_code, result.output


def test_kennel_draw_writes_the_images_of_the_seed(file: Path, tmp_path: Path) -> None:
    """In the real sandbox."""
    code, output = run("draw", file, "--seed", DIGEST.hex(), "--count", 70, "--json")
    assert code == ExitCode.DONE, output
    document = json.loads(output[output.index("{") :])
    assert (document["digest"], document["support"]["equal_pairs"], document["out"]) == (
        DIGEST.hex(),
        0,
        "g.zip",
    )
    assert document["provenance"]["processor"]
    with ZipFile("g.zip") as archive:
        assert archive.namelist() == [f"{index:05}.png" for index in range(70)]
        with archive.open("00069.png") as image:
            np.testing.assert_array_equal(np.asarray(Image.open(image)), by_formula(DIGEST, 70)[69])
    code, output = run("draw", file, "--seed", "1", "--count", 2, "--out", tmp_path / "images")
    assert code == ExitCode.DONE, output
    other = by_formula(hashlib.sha256(b"1").digest(), 2)
    for index in range(2):
        np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "images" / f"0000{index}.png")), other[index])


def test_kennel_draw_counts_equal_and_nearly_equal_images() -> None:
    images = np.random.default_rng(0).integers(0, 250, (100, 16, 16, 3), np.uint8)
    repeated = np.concatenate([images, images[:3], images[3:5] + 5])
    support, sentence = drawing.find_support(repeated)
    assert support is not None
    assert (support["equal_pairs"], support["near_pairs"]) == (3, 5)
    assert "5 are nearly equal; 3 pairs of all have equal pixels" in sentence
    assert drawing.find_support(images[:1]) == (None, "At least 2 images are needed.")


def test_kennel_check_predicts_the_time_of_all_draws(
    file: Path, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output = run("check", file, "--count", 1000, "--latent", 8, "--distribution", "uniform")
    assert code == ExitCode.DONE, output
    assert "4 draws of 1,000 images take about 2 min on this machine (30.0 ms per image). The limit is 30 min." in (
        " ".join(output.split())
    )
    assert (asked[0]["declared"].dimension, asked[0]["declared"].distribution) == (8, "uniform")
    assert asked[0]["size"] is None
    draws = DrawSpec(public=2, private=4, classes=10, minutes=5).model_dump()
    monkeypatch.setattr(connection, "open_client", lambda **_: Service(draws=draws))
    code, output = run("check", file, "--competition", "faces")
    assert (code, "Drawing 30,000 images would take about 15 minutes" in output) == (ExitCode.FAULTY, True)
    assert (asked[1]["size"], asked[1]["default"].classes) == (SIZE, 10)


def test_each_kind_of_competition_takes_its_own_files(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "open_client", lambda **_: Service(entries="images"))
    code, output = run("check", file, "--competition", "dogs")
    assert (code, "kennel draw" in output) == (ExitCode.FAULTY, True)
    code, output = run("check", file, "--strict")
    assert (code, "but this is a generator" in output) == (ExitCode.USAGE, True)


def test_without_the_server_the_command_says_what_to_install(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_command, "GENERATORS", "deploy.cli.not_installed")
    code, output = run("check", file)
    assert (code, "pip install ./client '.[worker]'" in output) == (ExitCode.USAGE, True)
