"""Every number of a fixed case's evidence. If you change one, raise ``EVIDENCE_VERSION``.

Then run ``python -m tests.worker.evidence.test_evidence_version`` to store the new evidence.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deploy.demo.generators import Pixels
from scorer.archive import find_training_image_copies, hash_pixels, mirror_images
from scorer.extractors import ExtractorOptions, load
from scorer.findings.finding import EVIDENCE_VERSION
from scorer.metrics.copying.perceptual_hashes import perceptual_hashes
from scorer.metrics.memorization import nearest
from scorer.metrics.sample_quality.fid_infinity import fid_infinity
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from tests.worker.evidence.photographs import photographs
from worker.evidence import methods
from worker.evidence.analysis import AnalysedEntry
from worker.evidence.reference import analyse_reference
from worker.evidence.report import compute_evidence
from worker.evidence.thumbnails import load_reference_thumbnails
from worker.scoring.feature_cache import build_cached_features

STORED = Path(__file__).parents[2] / "data" / "evidence_of_a_fixed_case.json"


def compute_fixed_evidence() -> dict[str, Any]:
    """The evidence of an entry with new, copied, mirrored and repeated images. Every number of every test has a
    value."""
    training, held_out = photographs(1, 300), photographs(2, 150)
    own = photographs(3, 90)
    images = np.concatenate([own, training[:20], mirror_images(training[20:30]), own[:8], mirror_images(own[8:12])])
    extractor = load("tiny", options=ExtractorOptions())
    # Rounded to be the same on every processor.
    features, training_features, mirrored_features, held_out_features = (
        np.round(extractor.features(batch) * 256) / np.float32(256)
        for batch in (images, training, mirror_images(training), held_out)
    )
    statistics = statistics_of(training_features)
    closest = nearest(features, training_features)
    cached = build_cached_features(enlarged(images), features)
    entry = AnalysedEntry(
        names=[f"{row:03}.png" for row in range(len(images))],
        extractor="clip",
        features=cached.features,
        thumbnails=cached.thumbnails,
        perceptual_hashes=perceptual_hashes(enlarged(images)),
        hashes=cached.hashes,
        mirrored_hashes=cached.mirrored_hashes,
        copies=find_training_image_copies(
            cached.hashes, hash_pixels(enlarged(training)), hash_pixels(mirror_images(enlarged(training)))
        ),
        logits=features[:, :10],
        fid=frechet_distance(statistics_of(features), statistics),
        distance=closest.mean,
        distance_se=closest.standard_error,
    )
    reference = analyse_reference(
        training_features,
        mirrored_features,
        held_out_features,
        thumbnails=load_reference_thumbnails(lambda: enlarged(training), lambda: enlarged(held_out)),
        signed=False,
        progress=lambda _share: None,
    )
    names = [f"{row:03}.png" for row in range(len(training))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "fid_infinity", partial(fid_infinity, min_size=80))
        report = compute_evidence(
            entry, reference, statistics, reference_names=names, seed=0, progress=lambda _share: None
        )
    whole = {"findings": report.findings, "details": report.details, "numbers": report.numbers}
    return {"version": EVIDENCE_VERSION, **json.loads(json.dumps(whole))}


def enlarged(images: Pixels) -> Pixels:
    """Double the image size, because smaller images have no perceptual hash."""
    return images.repeat(2, axis=1).repeat(2, axis=2)


def differences(found: Any, stored: Any, where: str = "") -> list[str]:
    """The places where two JSON values differ by more than another processor's rounding."""
    if isinstance(found, dict) and isinstance(stored, dict):
        keys = sorted(found.keys() | stored.keys())
        return [
            difference for key in keys for difference in differences(found.get(key), stored.get(key), f"{where}.{key}")
        ]
    if isinstance(found, list) and isinstance(stored, list) and len(found) == len(stored):
        pairs = enumerate(zip(found, stored, strict=True))
        return [difference for number, pair in pairs for difference in differences(*pair, f"{where}[{number}]")]
    if isinstance(found, float) and isinstance(stored, float):
        return [] if found == pytest.approx(stored, rel=1e-5, abs=1e-9) else [f"{where}: {found}, was {stored}"]
    return [] if found == stored else [f"{where}: {found}, was {stored}"]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return compute_fixed_evidence()


def test_changed_evidence_needs_a_new_version(found: dict[str, Any]) -> None:
    stored = json.loads(STORED.read_text())
    assert [finding["name"] for finding in found["findings"] if finding["value"] is None] == []
    assert stored["version"] == EVIDENCE_VERSION, f"store the evidence of the new version: python -m {__name__}"
    changed = differences(found, stored)
    assert not changed, "raise EVIDENCE_VERSION, in scorer/findings/finding.py: " + "; ".join(changed[:5])


def test_every_number_has_an_uncertainty(found: dict[str, Any]) -> None:
    """A standard error with its kind, or a p-value."""
    for finding in found["findings"]:
        assert finding["p_value"] is not None or finding["standard_error"] is not None, finding["name"]
        assert finding["standard_error"] is None or finding["error_kind"] in {"sampling", "null"}


def main() -> None:
    """Store the evidence of a new version."""
    if STORED.exists() and json.loads(STORED.read_text())["version"] == EVIDENCE_VERSION:
        raise SystemExit("raise EVIDENCE_VERSION first, in scorer/findings/finding.py")
    STORED.write_text(json.dumps(compute_fixed_evidence(), indent=1) + "\n")


if __name__ == "__main__":
    main()
