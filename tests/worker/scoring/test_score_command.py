"""``kennel score``: numbers and evidence from two zips, in bounded memory."""

import io
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from deploy.cli import main, score
from deploy.cli.score import EvidenceOptions, score_files
from kennel_client.errors import Unreadable
from scorer.archive import read_references, write_images
from scorer.errors import Invalid, KennelError, Unavailable
from scorer.extractors import ExtractorOptions, load
from scorer.lifecycle import STAGES as STAGES_IN_WORDS
from scorer.metrics.memorization import memorization_distance
from scorer.metrics.mifid import mifid
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from scorer.metrics.sample_quality.frechet_standard_error import frechet_standard_error
from scorer.metrics.sample_quality.prdc import prdc_with_error
from tests.factories import noise_images

STAGES = ["decoding", "reference-decoding", "reference-features", "features", "neighbours", "frechet"]
WITH_EVIDENCE = [*STAGES, "held-out-decoding", "mirrored", "held-out", "grounds", "evidence"]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    (folder := tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def written(path: Path, images: NDArray[np.uint8], names: list[str] | None = None) -> Path:
    with path.open("wb") as file:
        write_images(images, file, names)
    return path


def coarse(seed: int, count: int) -> NDArray[np.uint8]:
    """Images (count, 64, 64, 3) of 8 x 8 squares, small in a zip and large when decoded."""
    return noise_images(seed, count, 8).repeat(8, axis=1).repeat(8, axis=2)


def scored(submission: Path, reference: Path, **changes: Any) -> dict[str, Any]:
    wanted: dict[str, Any] = {
        "tau": 0.5,
        "epsilon": 1e-15,
        "weights": None,
        "evidence": None,
        "progress": lambda _stage, _share: None,
    }
    return score_files(submission, reference, "tiny", **(wanted | changes))


# Correct numbers


def test_numbers_equal_those_of_images_in_memory(tmp_path: Path) -> None:
    """Memory maps and batches give the same numbers as the definition on decoded arrays."""
    generated, training = noise_images(1, 30), noise_images(2, 50)
    report = scored(written(tmp_path / "g.zip", generated), written(tmp_path / "t.zip", training))
    extractor = load("tiny", options=ExtractorOptions())
    own, other = extractor.features(generated), extractor.features(training)
    distance = memorization_distance(own, other)
    fid = frechet_distance(statistics_of(own), statistics_of(other))
    assert (report["fid"], report["memorization_distance"]) == (fid, distance)
    assert report["mifid"] == mifid(fid, distance, 0.5, 1e-15)
    assert (report["penalised"], report["copy"]) == (True, False)
    assert (report["images"], report["reference_images"]) == (30, 50)
    assert report["provenance"]["pillow"]


def test_published_features_replace_reference_images(tmp_path: Path) -> None:
    """The format is that of the 2019 competition. Mean and covariance must match the features."""
    generated, training = written(tmp_path / "g.zip", noise_images(1, 30)), noise_images(2, 50)
    features = load("tiny", options=ExtractorOptions()).features(training)
    file = tmp_path / "public_feats.npz"
    moments = {"m": features.mean(axis=0), "s": np.cov(features, rowvar=False)}
    np.savez(file, features=features, **moments)
    by_images, by_features = scored(generated, written(tmp_path / "t.zip", training)), scored(generated, file)
    same = ("fid", "memorization_distance", "mifid", "penalised", "copy", "reference_images")
    assert {name: by_features[name] for name in same} == {name: by_images[name] for name in same}
    assert by_features["copied_share"] is None
    assert by_features["closest_pairs"][0]["reference"].startswith("row ")
    with pytest.raises(Invalid, match="need the reference images"):
        scored(generated, file, evidence=EvidenceOptions(None))
    for wrong in (moments | {"m": moments["m"] + 1.0}, moments | {"s": 2.0 * moments["s"]}, {"m": moments["m"]}):
        np.savez(file, features=features, **wrong)
        with pytest.raises(Invalid) as error:
            scored(generated, file)
        assert error.value.slug == "bad-features"
    np.savez(file, features=features[:, :8], m=moments["m"][:8], s=moments["s"][:8, :8])
    with pytest.raises(Invalid, match="features of 8 dimensions; the extractor has 32"):
        scored(generated, file)


def test_a_reference_of_other_sizes_becomes_float32(tmp_path: Path) -> None:
    """One photograph of another size makes all of them float32, also in a file."""
    training = io.BytesIO()
    with zipfile.ZipFile(training, "w") as archive:
        for index, size in enumerate([16, 16, 24, 16, 40]):
            image = io.BytesIO()
            Image.fromarray(noise_images(index, 1, size)[0]).save(image, "PNG")
            archive.writestr(f"{index}.png", image.getvalue())
    (tmp_path / "t.zip").write_bytes(training.getvalue())
    expected = read_references(training, 16)
    assert str(expected.images.dtype) == "float32"
    own, other = (
        load("tiny", options=ExtractorOptions()).features(images) for images in (noise_images(9), expected.images)
    )
    report = scored(written(tmp_path / "g.zip", noise_images(9)), tmp_path / "t.zip")
    assert report["memorization_distance"] == memorization_distance(own, other)


def test_the_closest_pairs_are_named(tmp_path: Path) -> None:
    """Two of nine images come from the reference, one of them slightly changed."""
    generated, training = noise_images(1, 9), noise_images(2, 12)
    generated[4] = training[7]
    generated[2] = training[3]
    generated[2, 0, 0] ^= 64
    names = [f"dogs/{index}.png" for index in range(12)]
    pairs = scored(written(tmp_path / "g.zip", generated), written(tmp_path / "t.zip", training, names))[
        "closest_pairs"
    ]
    order = sorted(names, key=str.encode)
    assert len(pairs) == score.MAX_SHOWN_PAIRS
    assert (pairs[0]["image"], pairs[0]["reference"], pairs[0]["distance"]) == ("00004.png", "dogs/7.png", 0.0)
    assert (pairs[1]["image"], pairs[1]["reference"]) == ("00002.png", "dogs/3.png")
    assert [pair["distance"] for pair in pairs] == sorted(pair["distance"] for pair in pairs)
    assert pairs[1]["distance"] > 0
    assert all(pair["reference"] in order for pair in pairs)


def test_evidence_uses_the_same_features_and_is_reproducible(tmp_path: Path) -> None:
    generated, training, held_out = noise_images(1, 40), noise_images(2, 60), noise_images(3, 50)
    generated[:20] = training[:20]
    zips = written(tmp_path / "g.zip", generated), written(tmp_path / "t.zip", training)
    options = EvidenceOptions(written(tmp_path / "h.zip", held_out))
    report = scored(*zips, evidence=options)["evidence"]
    again = scored(*zips, evidence=options)["evidence"]
    assert [report[part] for part in ("findings", "details", "numbers")] == [
        again[part] for part in ("findings", "details", "numbers")
    ]
    findings = {finding["name"]: finding for finding in report["findings"]}
    extractor = load("tiny", options=ExtractorOptions())
    own, other = extractor.features(generated), extractor.features(training)
    assert findings["fid"]["standard_error"] == frechet_standard_error(own, statistics_of(other))
    both, _ = prdc_with_error(own, other)
    assert (findings["precision"]["value"], findings["coverage"]["value"]) == (both.precision, both.coverage)
    assert findings["partly_copied"]["value"] == report["numbers"]["partly_copied_share"] >= 0.5
    assert report["details"]["partly_copied"][0]["reference"].endswith(".png")
    assert {"near-copies", "partly-copied"} <= set(report["signs"])
    assert scored(*zips)["evidence"] is None
    by_authors = scored(*zips, evidence=EvidenceOptions(options.held_out, authors=True))["evidence"]["findings"]
    different = {finding["name"] for finding in by_authors if finding != findings[finding["name"]]}
    assert "relative_mmd" in different
    assert different <= {"relative_mmd", "z_u", "c_t", "copied_cells"}, (
        "quantities that the authors' code computes differently"
    )


def test_evidence_without_held_out_photographs_states_what_is_missing(tmp_path: Path) -> None:
    zips = written(tmp_path / "g.zip", noise_images(1, 40)), written(tmp_path / "t.zip", noise_images(2, 60))
    report = scored(*zips, evidence=EvidenceOptions(None))["evidence"]
    findings = {finding["name"]: finding for finding in report["findings"]}
    for name in ("z_u", "c_t", "ndb_over", "partly_copied", "near_copies", "repeats", "relative_mmd"):
        assert findings[name]["value"] is None
        assert findings[name]["sentence"] == "There are no held-out images to compare with."
    assert findings["ndb_share"]["sentence"] == "60 different training images are too few for 100 cells."
    assert all(findings[name]["value"] is not None for name in ("identical", "authenticity", "kid", "precision", "fid"))
    assert report["numbers"].keys() == {"identical", "mirrored_twins"}
    assert report["signs"] == []


def test_every_stage_is_reported_from_its_start_to_its_end(tmp_path: Path) -> None:
    generated, training = (
        written(tmp_path / "g.zip", noise_images(1, 20)),
        written(tmp_path / "t.zip", noise_images(2, 20)),
    )
    for evidence, stages in ((None, STAGES), (EvidenceOptions(training), WITH_EVIDENCE)):
        steps: list[tuple[str, float]] = []
        scored(generated, training, evidence=evidence, progress=lambda *step, steps=steps: steps.append(step))
        assert list(dict.fromkeys(stage for stage, _ in steps)) == stages
        assert set(stages) <= STAGES_IN_WORDS.keys()
        for stage in stages:
            shares = [share for name, share in steps if name == stage]
            assert shares == sorted(shares)
            assert shares[-1] == 1.0


# Bounded memory and disk


def peak(tmp_path: Path, count: int) -> int:
    """The peak memory, in bytes, of Python and numpy when ``count`` images are scored with as many references."""
    generated, training = (written(tmp_path / f"{seed}-{count}.zip", coarse(seed, count)) for seed in (1, 2))
    tracemalloc.start()
    try:
        scored(generated, training)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_images(tmp_path: Path) -> None:
    """With six times as many images, memory grows by far less than their pixels."""
    peak(tmp_path, 8)  # creates what is created only once, such as tiny's projection
    few, many = peak(tmp_path, 200), peak(tmp_path, 1200)
    pixels_more = 2 * (1200 - 200) * 64 * 64 * 3
    assert many - few < pixels_more / 4


def test_a_full_disk_is_reported_before_writing(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generated = written(tmp_path / "g.zip", noise_images(1, 20))
    usage = type("Usage", (), {"free": 20 * 16 * 16 * 3 - 1})
    monkeypatch.setattr("worker.runtime.decoded_images.shutil.disk_usage", lambda _: usage)
    with pytest.raises(Unavailable, match="15,360 bytes") as error:
        scored(generated, generated)
    assert error.value.slug == "no-room"
    assert list(temporary.iterdir()) == []


def test_no_files_are_left(tmp_path: Path, temporary: Path) -> None:
    def interrupt(stage: str, _share: float) -> None:
        if stage == "features":
            assert list(temporary.rglob("*.npy"))
            raise KeyboardInterrupt

    generated = written(tmp_path / "g.zip", noise_images(1))
    scored(generated, generated)
    assert list(temporary.iterdir()) == []
    with pytest.raises(KeyboardInterrupt):
        scored(generated, generated, progress=interrupt)
    assert list(temporary.iterdir()) == []


def test_ctrl_c_leaves_no_files(tmp_path: Path, temporary: Path) -> None:
    """The command is interrupted during decoding."""
    generated = written(tmp_path / "g.zip", coarse(1, 3000))
    command = [Path(sys.executable).with_name("kennel"), "score", generated, "--reference", generated]
    environment = os.environ | {"TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [*map(str, command), "--extractor", "tiny"],
        env=environment,
        stderr=subprocess.PIPE,
        # In the background of a shell, tests and their child processes ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    end = time.monotonic() + 60
    while not list(temporary.rglob("*.npy*")):
        assert process.poll() is None, "the command ended before the interruption"
        assert time.monotonic() < end
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert list(temporary.iterdir()) == []


# Refusals


def refusal(submission: Path, reference: Path) -> KennelError:
    with pytest.raises(Invalid) as error:
        scored(submission, reference)
    assert "\n" not in error.value.message
    return error.value


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    good = written(tmp_path / "good.zip", noise_images(1))
    (cut := tmp_path / "cut.zip").write_bytes(good.read_bytes()[:1000])
    missing = tmp_path / "none.zip"
    folder = tmp_path
    for one, other, about in ((cut, good, cut), (good, cut, cut), (good, folder, folder)):
        assert str(about) in refusal(one, other).message
    for one, other in ((missing, good), (good, missing), (good, missing.with_suffix(".npz"))):
        with pytest.raises(Unreadable, match=r"none.* cannot be read: No such file or directory"):
            scored(one, other)


def test_one_image_is_too_few_for_entry_or_reference(tmp_path: Path) -> None:
    one, many = (written(tmp_path / f"{count}.zip", noise_images(count, count)) for count in (1, 3))
    folder = tmp_path / "folder"
    with zipfile.ZipFile(one) as archive:
        archive.extractall(folder)
    features = np.ones((1, 32), np.float32)
    np.savez(tmp_path / "one.npz", features=features, m=features[0], s=np.eye(32))
    only = r"There is only 1 image \(00000.png\); at least 2 are needed to compute FID."
    for submission, reference, message in (
        (one, many, f"{one}: {only}"),
        (many, one, f"{one}: {only}"),
        (many, folder, f"{folder}: {only}"),
        (many, tmp_path / "one.npz", r"one.npz has the features of 1 image; at least 2 are needed."),
    ):
        with pytest.raises(Invalid, match=message) as error:
            scored(submission, reference)
        assert error.value.slug == "too-few-images"


def test_a_broken_image_is_named(tmp_path: Path) -> None:
    """The first image is read for its size, the others completely."""
    good = written(tmp_path / "good.zip", noise_images(1))
    for index in (0, 5):
        content = bytearray(good.read_bytes())
        content[content.index(b"IDAT", content.index(f"{index:05}.png".encode())) + 20] ^= 1
        (broken := tmp_path / "broken.zip").write_bytes(content)
        error = refusal(broken, good)
        assert f"{index:05}.png" in " ".join([error.message, *error.faults])


def test_a_file_that_is_no_png_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "text.zip", "w") as archive:
        archive.writestr("a.png", "hello")
    error = refusal(tmp_path / "text.zip", tmp_path / "text.zip")
    assert error.message.endswith("The first image, a.png, is not a PNG.")


def test_missing_weights_are_reported_first(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as error:
        score_files(
            tmp_path / "none.zip",
            tmp_path / "none.zip",
            "inception_v3",
            tau=None,
            epsilon=1e-15,
            weights=tmp_path,
            evidence=None,
            progress=lambda _stage, _share: None,
        )
    assert error.value.slug == "missing-weights"


# The command


def test_the_command_prints_json_or_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    generated, training = written(tmp_path / "g.zip", noise_images(1)), written(tmp_path / "t.zip", noise_images(2))
    command = ["kennel", "score", str(generated), "--reference", str(training), "--extractor", "tiny"]
    outputs = []
    for options in (["--json"], [], ["--evidence"]):
        monkeypatch.setattr(sys, "argv", [*command, *options])
        with pytest.raises(SystemExit) as end:
            main.main()
        assert end.value.code == 0
        outputs.append(capsys.readouterr().out)
    report = json.loads(outputs[0])
    assert report["mifid"] is None
    assert f"fid                    {report['fid']}\n" in outputs[1]
    first = report["closest_pairs"][0]
    assert f"{first['image']} and {first['reference']}\n" in outputs[1]
    assert outputs[1].count(" and ") == score.MAX_SHOWN_PAIRS
    assert "signs of copying       none\n" in outputs[2]
    assert "identical              No two of the 8 images have the same pixels.\n" in outputs[2]
    assert "two_sample_real        For " in outputs[2]
