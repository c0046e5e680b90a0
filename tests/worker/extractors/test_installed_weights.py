"""``kennel weights install``: a published file with a confirmed hash becomes an extractor's weights."""

import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import timm
import torch
from fastapi import FastAPI
from safetensors.torch import save_file
from starlette.responses import FileResponse
from torch import Tensor
from typer.testing import CliRunner

from benchmarks.harness.networks import seeded
from deploy.cli import weights as command
from scorer.extractor_catalogue import EXTRACTORS, ExtractorSpec, find_extractor
from scorer.extractors import ExtractorOptions, weights
from scorer.extractors.networks import unfilled_network
from tests.http_server import serve

SPEC = find_extractor("sscd")
LOCAL = [spec for spec in EXTRACTORS.values() if spec.weights_url]
FEWER: dict[str, dict[str, Any]] = {
    "nasnetalarge": {"stem_size": 8, "num_features": 24 * 8},
    **{name: {"depth": 1} for name in ("dinov2", "clip")},
}
"""Options of timm that omit most of a large network."""


@pytest.fixture(scope="module")
def state() -> dict[str, Tensor]:
    return seeded(unfilled_network(SPEC).state_dict())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The weights folder."""
    made = tmp_path / "weights"
    made.mkdir()
    return made


def install(folder: Path, *arguments: object, name: str = SPEC.name) -> tuple[int, str]:
    """Run the command and return its exit status and output."""
    words = ["install", name, *map(str, arguments), "--folder", str(folder)]
    done = CliRunner().invoke(command.app, words)
    return done.exit_code, done.stdout + str(done.exception or "")


def hash_file(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_confirmed_file_is_installed_unchanged_with_its_hash(
    state: dict[str, Tensor], folder: Path, tmp_path: Path
) -> None:
    source = tmp_path / "model.safetensors"
    save_file(state, source)
    sha256 = hash_file(source)
    status, output = install(folder, source)
    assert (status, f"confirm it with --sha256 {sha256}" in output, list(folder.iterdir())) == (1, True, [])
    status, output = install(folder, source, "--sha256", "0" * 64)
    assert (status, f"is {sha256}, not {'0' * 64}" in output, list(folder.iterdir())) == (1, True, [])
    (folder / "inception_v3.pth").touch()
    (folder / "inception_v3.sha256").write_text("ab  inception_v3.pth\n")
    status, output = install(folder, source, "--sha256", sha256.upper())
    assert status == 0, output
    assert f"""KENNEL_WEIGHTS_SHA256='{{"inception_v3": "ab", "sscd": "{sha256}"}}'""" in output
    assert (folder / "sscd.sha256").read_text() == f"{sha256}  sscd.safetensors\n"
    assert sorted(path.name for path in folder.glob("sscd*")) == ["sscd.safetensors", "sscd.sha256"]
    assert weights.required_sha256(SPEC, ExtractorOptions(weights_dir=folder)) == sha256
    assert weights.read_weights(SPEC, ExtractorOptions(weights_dir=folder)).sha256 == sha256
    status, output = install(folder, source, "--sha256", sha256)
    assert (status, "sscd.sha256 already exists" in output) == (1, True)


def test_a_url_is_downloaded_and_a_file_of_other_names_converted(
    state: dict[str, Tensor], folder: Path, tmp_path: Path
) -> None:
    source = tmp_path / "sscd_disc_mixup.torchvision.pt"
    torch.save({f"backbone.{name}": value for name, value in state.items()}, source)
    app = FastAPI()
    app.get("/files/sscd_disc_mixup.torchvision.pt")(lambda: FileResponse(source))
    with serve(app) as url:
        status, output = install(folder, f"{url}/none.pt")
        assert (status, "cannot be downloaded" in output) == (1, True)
        status, output = install(folder, f"{url}/files/{source.name}?download=true", "--sha256", hash_file(source))
    assert status == 0, output
    assert weights.hash_weights(SPEC, ExtractorOptions(weights_dir=folder)) == hash_file(folder / "sscd.safetensors")


@pytest.mark.parametrize("spec", LOCAL, ids=lambda spec: spec.name)
def test_every_published_file_is_installed_if_its_tensors_are_right(
    spec: ExtractorSpec, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Networks with the published names and kinds of layers; large networks have fewer layers. A file with other
    numbers does not have the hash that the publisher states, with any file name."""
    create, fewer = timm.create_model, FEWER.get(spec.name, {})
    monkeypatch.setattr(timm, "create_model", lambda name, **options: create(name, **fewer | options))
    state = {name: value.contiguous() for name, value in seeded(unfilled_network(spec).state_dict()).items()}
    first = next(iter(state))
    published = Path(urlsplit(str(spec.weights_url)).path).name
    suffix = ".safetensors" if spec.stated_sha256 else Path(published).suffix
    for faulty, fault in (
        ({f"x.{first}": state[first]}, f"{first} is missing"),
        ({first: torch.zeros(3, 5)}, f"{first} has the shape (3, 5) instead of"),
    ):
        file = written(faulty, tmp_path / f"faulty{suffix}")
        status, output = install(folder, file, "--sha256", hash_file(file), name=spec.name)
        assert (status, fault in output, list(folder.iterdir())) == (1, True, []), output
    if spec.stated_sha256:
        for name in (published, "renamed.pth", "renamed"):
            file = written(state, tmp_path / name)
            status, output = install(folder, file, "--sha256", hash_file(file), name=spec.name)
            assert (status, f"begins with {spec.stated_sha256}" in output, list(folder.iterdir())) == (1, True, []), (
                output
            )
    file = written(state, tmp_path / f"seeded{suffix}")
    assert f"--sha256 {hash_file(file)}" in install(folder, file, name=spec.name)[1]
    status, output = install(folder, file, "--sha256", hash_file(file), name=spec.name)
    assert status == 0, output
    installed = weights.hash_weights(spec, ExtractorOptions(weights_dir=folder))
    assert (folder / f"{spec.name}.sha256").read_text().split()[0] == installed
    assert f"""KENNEL_WEIGHTS_SHA256='{{"{spec.name}": "{installed}"}}'""" in output


def written(state: dict[str, Tensor], file: Path) -> Path:
    """Write tensors to a file in the format of its suffix."""
    save_file(state, file) if file.suffix == ".safetensors" else torch.save(state, file)
    return file


def test_files_of_other_networks_are_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "model.safetensors"
    save_file({"conv.weight": torch.zeros(2)}, other)
    status, output = install(folder, other, "--sha256", hash_file(other))
    assert (status, "does not contain the network" in output) == (1, True)
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(b"")
    status, output = install(folder, damaged, "--sha256", hash_file(damaged))
    assert (status, "cannot be read as a file of tensors" in output) == (1, True)
    for url in ("http://[::1/weights.pth", "http://127.0.0.1:1/.."):
        status, output = install(folder, url)
        assert (status, f"{url} cannot be downloaded" in output) == (1, True)
    status, output = install(folder, tmp_path / "none.pth")
    assert (status, "There is no file" in output) == (1, True)
    assert list(folder.iterdir()) == []
    done = CliRunner().invoke(command.app, ["install", "efficientnet_lite0", str(other), "--folder", str(folder)])
    assert "its weights come with the Python package" in str(done.exception)
