"""``kennel start`` and ``check --strict``: from a competition to a scored entry of the baseline."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.start import KIT, path_in
from kennel_client.errors import Unreadable
from tests.api.cli_runner import CliTerminal, terminal, working_worker
from tests.api.conftest import Service
from tests.factories import make_zip, noise_images

__all__ = ["terminal"]


def offer(service: Service, slug: str, name: str, content: bytes = b"") -> None:
    """Offer a file, or the training images if ``content`` is empty."""
    source = {} if content else {"source": "train"}
    path = f"/competitions/{slug}/data/{name}"
    assert service.call("organizer", "PUT", path, content=content, params=source).status_code == 200


def baseline(kit: Path, *arguments: str) -> str:
    """Run the kit's script as a participant does, without Kennel on the path. Return its output."""
    command = [sys.executable, "-P", str(kit / "baseline.py"), *arguments]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("one_day")
def test_a_starter_kit_leads_to_a_scored_entry(terminal: CliTerminal, service: Service, tmp_path: Path) -> None:
    slug = service.competition(slug="dogs", title="{Dogs}", rules="Be fair.")
    offer(service, slug, "train.zip")
    offer(service, slug, "notes.txt", b"Read me.")
    kit = tmp_path / "kit"
    refused = terminal.run("start", slug, kit)
    assert (refused.status, "kennel rules" in refused.err) == (ExitCode.REFUSED, True)
    assert not (kit / "README.md").exists()
    assert list((kit / "data").iterdir()) == []
    assert terminal.run("rules", slug, "--accept").status == ExitCode.DONE
    done = terminal.run("start", slug, kit, "--json")
    assert done.status == ExitCode.DONE, done.err
    assert done.document == {"competition": slug, "folder": str(kit), "data": ["notes.txt", "train.zip"]}
    assert sorted(file.name for file in (kit / "data").iterdir()) == ["notes.txt", "train.zip"]
    assert (kit / "data" / "notes.txt").read_bytes() == b"Read me."
    readme = (kit / "README.md").read_text()
    assert readme.startswith("# {Dogs}\n")
    assert "--extractor tiny --tau 0." in readme
    again = terminal.run("start", slug, kit)
    assert (again.status, "already" in again.err) == (ExitCode.USAGE, True)

    assert "8 images" in baseline(kit)
    entry, train = kit / "submission.zip", kit / "data" / "train.zip"
    checked = terminal.run("check", entry, "--competition", slug, "--strict", "--train", train)
    assert checked.status == ExitCode.DONE, checked.out + checked.err
    with working_worker(service):
        submitted = terminal.run("submit", slug, entry, "--watch", "--json")
    assert submitted.document["status"] == "scored"


@pytest.mark.torch
def test_the_gan_generates_images_of_the_right_size(tmp_path: Path) -> None:
    (tmp_path / "competition.json").write_text(json.dumps({"entries": "images", "image_count": 3, "image_size": 24}))
    (tmp_path / "baseline.py").write_text((KIT / "baseline.py").read_text())
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.zip").write_bytes(make_zip(noise_images(1, 12, 40)))
    baseline(tmp_path, "--model", "gan", "--seconds", "1", "--count", "70")
    folder = tmp_path / "images"
    subprocess.run([sys.executable, "-m", "zipfile", "-e", tmp_path / "submission.zip", folder], check=True)
    images = np.stack([np.asarray(Image.open(path)) for path in sorted(folder.iterdir())])
    assert images.shape == (70, 24, 24, 3)
    assert len(np.unique(images, axis=0)) == 70


def test_a_strict_check_lists_objections(terminal: CliTerminal, tmp_path: Path) -> None:
    train, entry = tmp_path / "train.zip", tmp_path / "entry.zip"
    images = noise_images(1)
    train.write_bytes(make_zip(images))
    mine = noise_images(2)
    mine[1], mine[2], mine[3], mine[4] = mine[0], mine[5][:, ::-1], images[5], images[6][:, ::-1]
    entry.write_bytes(make_zip(mine))
    arguments = ("check", entry, "--count", 8, "--size", 16)
    lenient = terminal.run(*arguments, "--train", train)
    assert (lenient.status, lenient.out.splitlines()[1:]) == (
        ExitCode.DONE,
        [
            "1 of 8 images repeat another image, pixel by pixel.",
            "2 of 8 images are mirror images of another image.",
            "1 of 8 images are training images, pixel by pixel.",
            "1 of 8 images are mirrored training images.",
        ],
    )
    strict = terminal.run(*arguments, "--strict", "--json")
    assert strict.status == ExitCode.FAULTY
    names = [(objection["name"], objection["images"]) for objection in strict.document["objections"]]
    assert names == [("repeated-images", 1), ("mirrored-images", 2)]
    entry.write_bytes(make_zip(noise_images(2)))
    assert terminal.run(*arguments, "--strict", "--train", train).status == ExitCode.DONE
    damaged = terminal.run(*arguments, "--train", Path(__file__))
    assert (damaged.status, "test_starter_kit.py" in damaged.err) == (ExitCode.USAGE, True)


def test_a_strict_check_needs_pillow(terminal: CliTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = tmp_path / "entry.zip"
    entry.write_bytes(make_zip(noise_images(2)))
    arguments = ("check", entry, "--count", 8, "--size", 16)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert terminal.run(*arguments).status == ExitCode.DONE
    refused = terminal.run(*arguments, "--strict")
    assert (refused.status, "pip install pillow" in refused.err) == (ExitCode.USAGE, True)


@pytest.mark.parametrize("name", ["../kit.py", "/etc/hosts", "..", ""])
def test_data_files_stay_in_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unreadable):
        path_in(tmp_path, name)


@pytest.mark.usefixtures("one_day")
@pytest.mark.parametrize("model", ["mixture", "gan"])
def test_a_starter_kit_leads_to_a_scored_generator(
    model: str, terminal: CliTerminal, service: Service, tmp_path: Path
) -> None:
    slug = service.competition(entries="generator", draws={"public": 1, "private": 1})
    offer(service, slug, "train.zip")
    kit = tmp_path / "kit"
    assert terminal.run("start", slug, kit).status == ExitCode.DONE
    assert (kit / "requirements.txt").read_text().endswith("\nonnx\n")
    baseline(kit, "--model", model, "--seconds", "1")
    with working_worker(service):
        submitted = terminal.run("submit", slug, kit / "generator.onnx", "--watch", "--json")
    assert submitted.document["status"] == "scored", submitted.document["reason"]
