"""Images are decoded in processes without files, network and much memory, and a fault affects only its own entry."""

import io
import os
import socket
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from api.main import create_app
from kennel_client.archive.faults import MemberError
from scorer.archive import (
    ImageSpec,
    PixelHashes,
    check_images,
    decoder_pool,
    hash_pixels,
    list_images,
    list_references,
    read_references,
)
from scorer.archive.selected_images import select_images
from scorer.archive.shared_window import SharedWindow, WindowShape, new_memory
from scorer.blobs import Blobs
from scorer.db.tables import ReferenceSet
from scorer.errors import Invalid, NotFound
from scorer.evidence.images import StoredImages
from scorer.lifecycle import Queue
from scorer.settings import Settings
from tests.api.conftest import Service
from tests.factories import make_zip, noise_images
from tests.pure.archive.broken_files import BrokenZipEntry, png, pngs, random_images, raw_zip, zipped
from tests.worker.forked_processes import forked_processes
from tests.worker.scoring.hostile_decoder import COMMAND, WRITTEN, attempt
from worker.dispatch import run_next
from worker.scoring import reference_features

HOSTILE = "tests.worker.scoring.hostile_decoder"
SIZE = 8


def checked(
    file: io.BytesIO, count: int, processes: int, progress: Callable[[int, int], None] | None = None
) -> tuple[NDArray[np.uint8], PixelHashes]:
    spec = ImageSpec(count, SIZE)
    out = np.zeros((count, SIZE, SIZE, 3), np.uint8)
    return out, check_images(file, list_images(file, spec), spec, out=out, processes=processes, progress=progress)


def refused(file: io.BytesIO, count: int, processes: int) -> Invalid:
    with pytest.raises(Invalid) as caught:
        checked(file, count, processes)
    return caught.value


def commanding(command: bytes, seed: int = 99) -> bytes:
    """A valid image with a command for the hostile decoder."""
    return png(random_images(1, SIZE, seed)[0], before=[(b"tEXt", COMMAND + command + b"\0")])


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder_pool, "_MODULE", HOSTILE)


def test_pixels_and_hashes_equal_those_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two processes, many windows, and more portions than windows."""
    monkeypatch.setattr(decoder_pool, "PIXEL_BYTES", 3 * SIZE * SIZE * 3)
    members = [member for name, data in pngs(40) for member in ((name, data), (f"__MACOSX/{name}", bytes(3000)))]
    file = zipped(members, zipfile.ZIP_STORED)
    steps: list[tuple[int, int]] = []
    out, hashes = checked(file, 40, 2, lambda *step: steps.append(step))
    expected, expected_hashes = checked(file, 40, 0)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(hashes, expected_hashes)
    np.testing.assert_array_equal(hashes, hash_pixels(out))
    assert steps[-1] == (40, 40)
    assert forked_processes() == set(), "the processes end with the upload"


def test_faults_equal_those_of_threads() -> None:
    sound = png(random_images(1)[0])
    entries = [
        BrokenZipEntry(b"0.png", sound),
        BrokenZipEntry(b"1.png", b"hello"),
        BrokenZipEntry(b"2.png", sound[:-5]),
        BrokenZipEntry(b"3.png", png(random_images(1, 4)[0])),
        BrokenZipEntry(b"4.png", sound, method=zipfile.ZIP_DEFLATED, size=len(sound) + 1),
        BrokenZipEntry(b"5.png", sound, local_name=b"x.png"),
        BrokenZipEntry(b"6.png", b""),
        BrokenZipEntry(b"7.png", png(random_images(1)[0], before=[(b"iCCP", b"p")])),
    ]
    by_threads, by_processes = (refused(raw_zip(entries), len(entries), processes) for processes in (0, 1))
    assert len(by_threads.faults) == 7
    assert by_processes.faults == by_threads.faults
    assert by_processes.message == by_threads.message
    assert by_processes.extra == by_threads.extra


def photographs() -> list[tuple[str, bytes]]:
    """A reference set with every format, and images of the right and of other sizes."""
    found = []
    for name, side in (("a.jpg", 40), ("b.webp", 24), ("c.png", SIZE), ("d.png", 3)):
        buffer = io.BytesIO()
        picture = Image.fromarray(random_images(1, side, side)[0])
        picture.save(buffer, {"jpg": "JPEG", "webp": "WEBP", "png": "PNG"}[name.split(".")[1]])
        found.append((name, buffer.getvalue()))
    return found


def test_references_equal_those_of_threads() -> None:
    """Images are resized as floats or unchanged as bytes, and faults are equal."""
    for members in (photographs(), photographs()[2:3]):
        by_threads, by_processes = (read_references(zipped(members), SIZE, processes=processes) for processes in (0, 1))
        assert by_processes.images.dtype == by_threads.images.dtype
        np.testing.assert_array_equal(by_processes.images, by_threads.images)
        np.testing.assert_array_equal(by_processes.hashes, by_threads.hashes)
        np.testing.assert_array_equal(by_processes.mirrored_hashes, by_threads.mirrored_hashes)
    broken = [*photographs(), ("e.jpg", b"\xff\xd8\xff hello"), ("f.png", photographs()[2][1][:60])]
    faults = []
    for processes in (0, 1):
        with pytest.raises(Invalid) as caught:
            read_references(zipped(broken), SIZE, processes=processes)
        faults.append(caught.value.faults)
    assert faults[0] == faults[1]
    assert len(faults[0]) == 2


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (b"crash", "ended the decoding process"),
        (b"lie", "ended the decoding process"),
        (b"claim", "ended the decoding process"),
        (b"talk", "ended the decoding process"),
        (b"colour", "is \\x1b[31mred"),
        (b"hang", "took longer than 5 s to decode"),
        (b"bomb", "needs more memory to decode than an image may use"),
        (b"attempt", "could nothing"),
    ],
)
def test_an_image_that_takes_over_the_decoder_harms_only_its_entry(
    command: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoder_pool, "WINDOW_SECONDS", 0.5)  # slower images are decoded alone
    monkeypatch.setattr(decoder_pool, "IMAGE_SECONDS", 5.0)
    members = [*pngs(12), ("dog.png", commanding(command))]
    error = refused(zipped(members), 13, 1)
    assert error.faults == (f"dog.png {reason}",)
    assert error.message == "1 of 13 images can't be used."
    assert forked_processes() == set()


def test_shown_images_equal_those_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """All images use one window, one after the other."""
    monkeypatch.setattr(decoder_pool, "PIXEL_BYTES", SIZE * SIZE * 3)
    file, spec = zipped(pngs(12)), ImageSpec(12, SIZE)
    listing = list_images(file, spec)
    by_threads, by_process = (
        select_images(file, listing, {11, 2, 40}, size=SIZE, processes=processes) for processes in (0, 1)
    )
    assert sorted(by_process) == sorted(by_threads) == [2, 11]
    file = zipped(photographs())
    listing = list_references(file)
    references = [
        select_images(file, listing, {0, 2, 3}, size=SIZE, processes=processes, of_references=True)
        for processes in (0, 1)
    ]
    for one, other in ((by_threads, by_process), references):
        for place, image in one.items():
            np.testing.assert_array_equal(image, other[place])
            assert other[place].dtype == np.uint8
    assert forked_processes() == set()


@pytest.mark.usefixtures("hostile")
def test_an_image_that_takes_over_the_decoder_is_not_shown() -> None:
    """It may have hidden during the check."""
    members = [*pngs(3), ("dog.png", commanding(b"crash"))]
    file = zipped(members)
    listing = list_images(file, ImageSpec(4, SIZE))
    shown = select_images(file, listing, range(4), size=SIZE, processes=1)
    assert [listing.names[place] for place in sorted(shown)] == [name for name, _ in pngs(3)]


def test_shown_images_are_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = Blobs(tmp_path.as_uri())
    blobs.write("set", zipped(photographs()).getvalue())
    stored = StoredImages(blobs, processes=1)
    references = ReferenceSet(id=1, blob_key="set")
    first = stored.load_reference_images([references], {0, 2}, SIZE, hidden=())
    monkeypatch.setattr(decoder_pool, "_MODULE", "scorer.no_such_module")
    again = stored.load_reference_images([references], {0, 2}, SIZE, hidden=())
    assert [again[place] is image for place, image in first.items()] == [True, True]
    with pytest.raises(RuntimeError, match="did not start"):
        stored.load_reference_images([references], {0, 1}, SIZE, hidden=())
    monkeypatch.setattr("scorer.evidence.images.MAX_KEPT_BYTES", 3 * SIZE * SIZE)
    monkeypatch.setattr(decoder_pool, "_MODULE", "scorer.archive.decoder_process")
    assert sorted(stored.load_reference_images([references], {0, 1}, SIZE, hidden=())) == [0, 1]
    assert len(stored._cache) == 1
    blobs.delete("set")
    with pytest.raises(NotFound):
        stored.load_reference_images([references], {1}, SIZE, hidden=())


def test_the_web_process_uses_decoding_processes() -> None:
    settings = Settings(
        database_url="postgresql://x@127.0.0.1:1/x", redis_url="redis://127.0.0.1:1", blob_url="file:///tmp"
    )
    for processes, expected in ((0, 0), (4, 1), (None, min(1, decoder_pool.choose_process_count(None)))):
        app = create_app(settings.model_copy(update={"decoding_processes": processes}))
        assert app.state.stored_images._processes == expected
        app.state.engine.dispose()
        app.state.readers.close()
        app.state.broker.close()


def test_pixels_of_references_are_in_range() -> None:
    """A compromised decoder may leave anything in its window."""
    left = np.array([np.nan, np.inf, -np.inf, -1, 300, 7], np.float32)
    resized, plain = (decoder_pool._clip_pixels(left, resized=resized) for resized in (True, False))
    assert [pixels.tolist() for pixels in (resized, plain)] == [[0, 255, 0, 0, 255, 7]] * 2
    assert (resized.dtype.name, plain.dtype.name) == ("float32", "uint8")


def test_the_attempts_succeed_without_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in this unlimited process, with fork and connect replaced."""
    monkeypatch.setattr(os, "fork", lambda: 1)
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: None)
    with pytest.raises(MemberError, match="could read write environment socket fork signal"):
        attempt()
    WRITTEN.unlink()


@pytest.mark.usefixtures("hostile")
def test_an_upload_that_ends_many_processes_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder_pool, "MAX_FAULTS_LISTED", 2)
    members = [(f"{index}.png", commanding(b"crash", index)) for index in range(9)]
    error = refused(zipped(members), 9, 1)
    assert error.faults == tuple(f"{index}.png ended the decoding process" for index in range(2))


def test_a_process_that_does_not_start_is_no_fault_of_the_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder_pool, "_MODULE", "scorer.no_such_module")
    with pytest.raises(RuntimeError, match=r"did not start: .*No module named"):
        checked(zipped(pngs()), 3, 1)
    assert forked_processes() == set()


def test_an_interrupted_job_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception):
        pass

    def stop(done: int, of: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        checked(zipped(pngs()), 3, 1, stop)
    assert forked_processes() == set()


def test_shared_memory_cannot_be_truncated() -> None:
    shape = WindowShape(SIZE, 2, 10)
    descriptor = new_memory(shape)
    window = SharedWindow(shape, descriptor)
    for length in (0, shape.bytes + 1):
        with pytest.raises(PermissionError):
            os.ftruncate(descriptor, length)
    os.close(descriptor)
    window.put([(b"", 0, 0, 0), (b"0123456789", 8, 77, 0xFFFFFFFF)])
    assert window.take(2) == [(b"", 0, 0, 0), (b"0123456789", 8, 77, 0xFFFFFFFF)]
    assert not window.pixels.any()


def test_there_is_one_process_per_core_if_they_can_be_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, expected in ((1, 1), (3, 3), (64, decoder_pool.MAX_PROCESSES)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)))
        assert decoder_pool.choose_process_count(None) == expected
    monkeypatch.setattr(sys, "platform", "darwin")
    assert decoder_pool.choose_process_count(None) == 0


@pytest.mark.usefixtures("hostile")
def test_only_the_entry_that_crashes_the_decoder_is_rejected(service: Service) -> None:
    context = service.context
    context.settings = context.settings.model_copy(update={"decoding_processes": 1})
    slug = service.competition()
    content = io.BytesIO(make_zip(noise_images(3)))
    with zipfile.ZipFile(content) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    size = noise_images(3).shape[1]
    crash = png(random_images(1, size)[0], before=[(b"tEXt", COMMAND + b"crash\0")])
    members[1] = (members[1][0], crash)
    entries: Any = [
        service.submit("ada", slug, zipped(members).getvalue()).json()["id"],
        service.submit("bob", slug, make_zip(noise_images(4))).json()["id"],
    ]
    while run_next(context, Queue.CHECK) or run_next(context, Queue.SCORE):
        pass
    bad, good = (service.call("organizer", "GET", f"/submissions/{entry}").json() for entry in entries)
    assert (bad["status"], good["status"]) == ("rejected", "scored")
    assert bad["faults"] == [f"{members[1][0]} ended the decoding process"]
    assert not context.health.failed_jobs


def test_photographs_are_decoded_by_limited_processes(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []

    def read(*args: Any, processes: int = 0, **options: Any) -> Any:
        counts.append(processes)
        return read_references(*args, **options)

    monkeypatch.setattr(reference_features, "read_references", read)
    service.context.settings = service.context.settings.model_copy(update={"decoding_processes": 1})
    service.competition({"train": noise_images(20)})
    assert set(counts) == {1}


def test_the_setting_decides_the_number_of_processes(service: Service) -> None:
    settings = service.context.settings
    assert decoder_pool.choose_process_count(settings.decoding_processes) == 0
    default = settings.model_copy(update={"decoding_processes": None})
    assert decoder_pool.choose_process_count(default.decoding_processes) == decoder_pool.choose_process_count(None) > 0
