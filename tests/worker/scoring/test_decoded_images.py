"""Decoded images in the scratch folder, which have a size limit and can be decoded again; and the sprite sheet."""

import io
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scorer.archive.sprite_sheet import build_sprite_sheet, compute_layout
from scorer.db.tables import Submission
from scorer.lifecycle import Queue
from tests.api.conftest import Service
from tests.factories import make_zip, noise_images
from worker.dispatch import run_next
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext

BYTES = 8 * 16 * 16 * 3
"""The size of one entry's decoded images, without the file's header."""


def bounded(service: Service, entries: float) -> WorkerContext:
    """The worker with room for this many entries."""
    settings = service.context.settings.model_copy(update={"max_scratch_bytes": int(entries * BYTES)})
    return replace(service.context, settings=settings)


def checked(service: Service, context: WorkerContext, slug: str, seed: int) -> Path:
    """Check a new entry long ago and return the path of its decoded images."""
    entry = service.submit("ada", slug, make_zip(noise_images(seed))).json()["id"]
    assert run_next(context, Queue.CHECK)
    path = decoded_images.build_pixels_path(context.scratch, entry)
    used_at = time.time() - 2 * decoded_images.IN_USE_SECONDS + seed
    os.utime(path, (used_at, used_at))
    return path


def test_the_least_recently_used_images_are_removed(service: Service) -> None:
    """Without a limit, a worker that only checks entries would fill its disk."""
    slug = service.competition()
    context = bounded(service, 2.5)
    paths = [checked(service, context, slug, seed) for seed in range(10, 14)]
    assert [path.exists() for path in paths] == [False, False, True, True]
    service.context = context
    service.run_jobs()
    statuses = {service.call("ada", "GET", f"/submissions/{path.stem}").json()["status"] for path in paths}
    assert statuses == {"scored"}, "removed images are decoded again"


def test_images_in_use_stay(service: Service) -> None:
    slug = service.competition()
    context = bounded(service, 0.5)
    path = checked(service, context, slug, 10)
    os.utime(path)
    decoded_images.make_room(context, BYTES)
    assert path.exists()
    os.utime(path, (0, 0))
    decoded_images.make_room(context)
    assert not path.exists()


def test_images_removed_by_another_process_are_decoded_again(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file disappears between the worker's look and its read."""
    slug = service.competition()
    path = checked(service, service.context, slug, 10)
    with service.context.sessions() as session:
        submission = session.query(Submission).one()
    load = np.load

    def remove_first(file: Path, **options: object) -> object:
        monkeypatch.setattr(np, "load", load)
        file.unlink()
        return load(file, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(np, "load", remove_first)
    images = decoded_images.submission_images(service.context, submission, lambda _: None)
    assert np.array_equal(images, noise_images(10))
    assert path.exists()


def picture(count: int, size: int, seed: int = 0) -> np.ndarray:
    """The sprite sheet of this many noise images."""
    return np.asarray(
        Image.open(io.BytesIO(build_sprite_sheet([noise_images(1, count, size)], np.random.default_rng(seed))))
    )


@pytest.mark.parametrize(
    ("count", "size", "height", "width"),
    [(10_000, 64, 640, 640), (37, 8, 24, 80), (7, 8, 8, 56), (10, 8, 8, 80), (100, 200, 960, 960)],
)
def test_sheets_have_full_rows_of_ten_and_no_oversized_tiles(count: int, size: int, height: int, width: int) -> None:
    layout = compute_layout(count, size)
    assert (layout.height, layout.width) == (height, width)
    if count < 10_000:
        assert picture(count, size).shape == (height, width, 3)


def test_a_sheet_has_different_images_in_order_and_is_reproducible() -> None:
    images = noise_images(1, 250, 8)
    sheet = picture(250, 8)
    tiles = sheet.reshape(10, 8, 10, 8, 3).transpose(0, 2, 1, 3, 4).reshape(100, 8, 8, 3)
    where = [np.flatnonzero((images == tile).all(axis=(1, 2, 3))).item() for tile in tiles]
    assert where == sorted(set(where))
    assert where[-1] > 200, "not only the first hundred"
    assert np.array_equal(sheet, picture(250, 8))
    assert not np.array_equal(sheet, picture(250, 8, seed=1))
