"""``kennel recover``: images from zips and folders, the report, the picture, and error messages."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from typer.testing import CliRunner, Result

from deploy.cli import main
from deploy.cli.image_files import read_images
from deploy.cli.recovery import files as recover_files
from kennel_client.cli.exit_codes import ExitCode
from scorer.archive import write_images
from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.recovery.report import Audit
from scorer.generators.sandbox.audit_task import run_audit
from scorer.generators.sandbox.exchange import AuditInputs
from tests.factories import noise_images
from tests.worker.generators.onnx_files import image_to_image_model, linear_model

Pixels = NDArray[np.uint8]
RUN = CliRunner()
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def requests(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The requests to the sandbox. A short audit runs in this process instead."""
    calls: list[dict[str, Any]] = []

    def here(content: bytes, latent: Latent | None, train: Pixels, held_out: Pixels, **options: Any) -> Audit:
        calls.append({"train": train, "held_out": held_out, "latent": latent, **options})
        short = replace(options["plan"], generated=8, distorted=0, starts=1, iterations=3)
        networks = {name: options[name] for name in ("encoder", "entry")}
        inputs = AuditInputs(content, train, held_out, **networks)
        return run_audit(inputs, latent, short, limits=GeneratorLimits(), progress=options["progress"])

    monkeypatch.setattr(recover_files, "audit_in_sandbox", here)
    return calls


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A generator, a zip of training images and a folder of held-out images."""
    (tmp_path / "g.onnx").write_bytes(linear_model().SerializeToString())
    with (tmp_path / "train.zip").open("wb") as file:
        write_images(noise_images(0, 9, 2), file)
    (tmp_path / "held-out" / "more").mkdir(parents=True)
    for place, image in enumerate(noise_images(1, 10, 2)):
        Image.fromarray(image).save(tmp_path / "held-out" / ("more" if place % 2 else ".") / f"{place}.png")
    return tmp_path


def recover(files: Path, *more: str, generator: str = "g.onnx", latent: int | None = 8) -> Result:
    arguments = [str(files / generator), "--train", str(files / "train.zip"), "--held-out", str(files / "held-out")]
    space = () if latent is None else ("--latent", str(latent))
    return RUN.invoke(main.app, ["recover", *arguments, *space, "--size", "2", *more])


def test_a_report_is_printed_and_a_picture_written(files: Path, requests: list[dict[str, Any]]) -> None:
    done = recover(files, "--json", "--pairs", str(files / "pairs.png"), "--targets", "8", "--seed", "5")
    assert done.exit_code == ExitCode.DONE, done.output
    report = json.loads(done.stdout)
    assert report["verdict"] in {"copies", "no-sign", "inconclusive"}
    assert report["targets"] == {"train": 8, "held_out": 8, "generated": 8}
    with Image.open(files / "pairs.png") as picture:
        assert picture.mode == "RGB"
    [call] = requests
    assert (call["plan"].train, call["plan"].held_out, call["plan"].seed) == (8, 8, 5)
    assert call["latent"] == Latent(8, "normal")
    np.testing.assert_array_equal(call["train"], noise_images(0, 9, 2))
    assert {image.tobytes() for image in call["held_out"]} == {image.tobytes() for image in noise_images(1, 10, 2)}


def test_a_region_of_the_images_can_be_compared(files: Path, requests: list[dict[str, Any]]) -> None:
    assert recover(files, "--region", "0", "0", "0.5", "1").exit_code == ExitCode.DONE
    assert requests[0]["plan"].region == (0.0, 0.0, 0.5, 1.0)
    refused = recover(files, "--json", "--region", "0.5", "0", "0", "1")
    assert (refused.exit_code, "bad-plan" in refused.output, len(requests)) == (ExitCode.FAULTY, True, 1)


def test_the_authors_method_and_restarts_can_be_chosen(files: Path, requests: list[dict[str, Any]]) -> None:
    for options in ((), ("--method", "authors"), ("--method", "authors", "--starts", "10"), ("--stability", "2")):
        assert recover(files, *options).exit_code == ExitCode.DONE, options
    plans = [(audit["plan"].method, audit["plan"].starts, audit["plan"].stability) for audit in requests]
    assert plans == [("wolfe", 3, 0), ("authors", 1, 0), ("authors", 10, 0), ("wolfe", 3, 2)]


def test_an_entry_is_compared(files: Path, requests: list[dict[str, Any]]) -> None:
    with (files / "entry.zip").open("wb") as file:
        write_images(noise_images(7, 12, 2), file)
    done = recover(files, "--entry", str(files / "entry.zip"), "--extractor", "tiny", "--json")
    assert done.exit_code == ExitCode.DONE, done.output
    match = json.loads(done.stdout)["match"]
    assert (match["count"], match["features"]["count"]) == (12, 12)
    assert requests[0]["entry"].images.shape == (12, 2, 2, 3)
    printed = recover(files, "--entry", str(files / "entry.zip"), "--extractor", "tiny")
    assert printed.stdout.splitlines()[1].startswith(f"{match['verdict']}: ")


def test_without_a_latent_the_network_takes_images(files: Path, requests: list[dict[str, Any]]) -> None:
    (files / "autoencoder.onnx").write_bytes(image_to_image_model().SerializeToString())
    (files / "other.onnx").write_bytes(image_to_image_model().SerializeToString())
    for options in ((), ("--encoder", str(files / "other.onnx"))):
        done = recover(files, "--json", *options, generator="autoencoder.onnx", latent=None)
        assert done.exit_code == ExitCode.DONE, done.output
        assert json.loads(done.stdout)["latent"] is None
    assert [(audit["latent"], audit["encoder"] is None) for audit in requests] == [(None, True), (None, False)]
    refused = recover(files, "--json", "--entry", "e.zip", generator="autoencoder.onnx", latent=None)
    assert (refused.exit_code, "bad-plan" in refused.output, len(requests)) == (ExitCode.FAULTY, True, 2)


def test_the_output_begins_with_the_verdict(files: Path) -> None:
    done = recover(files, "--distribution", "uniform")
    assert done.exit_code == ExitCode.DONE, done.output
    first, *rest = done.stdout.splitlines()
    assert first.split(":")[0] in {"copies", "no-sign", "inconclusive"}
    assert any(line.startswith("recovery_gap") for line in rest)


def test_photographs_of_other_sizes_are_shrunk(files: Path, requests: list[dict[str, Any]]) -> None:
    with (files / "train.zip").open("wb") as file:
        write_images(noise_images(0, 9, 16), file)
    assert recover(files).exit_code == ExitCode.DONE
    assert (requests[0]["train"].shape, requests[0]["train"].dtype) == ((9, 2, 2, 3), np.uint8)


def test_a_refused_file_is_reported_in_json(files: Path) -> None:
    (files / "bad.onnx").write_bytes(b"PK\x03\x04 something else")
    done = recover(files, "--json", generator="bad.onnx")
    assert done.exit_code == ExitCode.FAULTY
    assert json.loads(done.stdout)["problem"]["type"] == "urn:kennel:problem:not-onnx"


def test_missing_files_are_reported(files: Path) -> None:
    assert recover(files, "--json", generator="none.onnx").exit_code == ExitCode.USAGE
    (files / "empty").mkdir()
    with pytest.raises(Invalid, match=r"empty has no PNG"):
        read_images(files / "empty", 2, files, progress=lambda _: None)
    (files / "held-out" / "bad.png").write_bytes(b"no image")
    done = recover(files, "--json")
    assert done.exit_code == ExitCode.FAULTY
    assert str(files / "held-out") in json.loads(done.stdout)["problem"]["title"]
