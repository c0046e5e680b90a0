"""The starter kit's baseline on photographs shows no sign of copying."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deploy.cli.score import EvidenceOptions, score_files
from deploy.demo.photographs import bundled_photographs
from kennel_client.cli.start import KIT
from scorer.archive import write_images

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def baseline() -> Any:
    """The kit's script as a module."""
    spec = importlib.util.spec_from_file_location("baseline", str(KIT / "baseline.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(path: Path, images: NDArray[np.uint8]) -> Path:
    with path.open("wb") as file:
        write_images(images, file)
    return path


@pytest.mark.parametrize(
    ("extractor", "photographs", "images"),
    [
        ("tiny", 200, 100),  # as in docs/start/organizer.md
        ("efficientnet_lite0", 200, 100),
        pytest.param("tiny", None, 400, marks=pytest.mark.slow),
    ],
)
def test_the_default_shows_no_sign(
    baseline: Any, extractor: str, photographs: int | None, images: int, tmp_path: Path
) -> None:
    parts = bundled_photographs()
    train, held_out = parts.train.images[:photographs], parts.held_out.images[:photographs]
    references = written(tmp_path / "train.zip", train)
    model = baseline.MODELS[next(iter(baseline.MODELS))]
    made = model(baseline.read_images(references, train.shape[1], len(train)), np.random.default_rng(0), 0.0)
    entry = tmp_path / "entry.zip"
    baseline.write_entry(entry, made.sample, images)
    report = score_files(
        entry,
        references,
        extractor,
        tau=None,
        epsilon=1e-15,
        weights=None,
        evidence=EvidenceOptions(written(tmp_path / "held-out.zip", held_out)),
        progress=lambda _stage, _share: None,
    )
    assert report["evidence"]["signs"] == []
