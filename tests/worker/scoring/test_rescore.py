"""A recorded score computed again from its stored zip is equal, or reported as different with the reason."""

import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sqlalchemy import func, select

from deploy.cli import main
from scorer.db import competitions
from scorer.db.submissions import submissions
from scorer.db.tables import Job, Measurement, Submission
from scorer.errors import Conflict, KennelError, NotFound, Unavailable
from scorer.extractors import ExtractorOptions
from scorer.submissions.files import stored_zip
from tests.api.cached_state import CachedState, cached_fixtures
from tests.api.conftest import Service
from tests.conftest import addresses
from tests.factories import make_zip, noise_images
from worker.runtime.heartbeat import Heartbeat
from worker.scoring.rescore import RepeatedMeasurement, options_from, rescore
from worker.scoring.verify import ComparisonOutcome


def scored_entry(service: Service) -> str:
    """The id of an entry scored on both tracks."""
    return str(service.scored("ada", service.competition(), noise_images(10))["id"])


cached, service = cached_fixtures(scored_entry)


@pytest.fixture
def entry(cached: CachedState[str]) -> str:
    """The id of the scored entry."""
    return cached.result


def verified(service: Service, submission_id: str, *, verify: bool = True) -> list[RepeatedMeasurement]:
    return rescore(service.context, submission_id, verify=verify, progress=lambda _stage, _fraction: None)


def refusal(service: Service, submission_id: str) -> KennelError:
    """The error of an attempt, in one line."""
    with pytest.raises(KennelError) as error:
        verified(service, submission_id)
    assert "\n" not in error.value.message
    return error.value


def load_submission(service: Service, submission_id: str) -> Submission:
    with service.context.sessions() as session:
        submission = submissions.submission_by_id(session, submission_id)
    assert submission is not None
    return submission


def find_artifact(service: Service, submission_id: str) -> str:
    """The key of the public measurement's distances."""
    key = newest(service, submission_id).artifact_key
    assert key is not None
    return key


def newest(service: Service, submission_id: str) -> Measurement:
    """The public measurement that counts."""
    submission = load_submission(service, submission_id)
    with service.context.sessions() as session:
        track = competitions.load_tracks(session, submission.competition_id)["public"]
        measurement = submissions.newest_measurement(session, submission.ref, track.id)
    assert measurement is not None
    return measurement


def list_column_values(row: Job | Measurement) -> dict[str, Any]:
    """All columns except the id."""
    return {column.name: getattr(row, column.name) for column in row.__table__.columns if column.name != "id"}


def falsify(service: Service, submission_id: str, recorded: Mapping[str, Any] | None = None, **changes: Any) -> None:
    """Add a newer public measurement with false values and with ``recorded`` in its provenance."""
    true = newest(service, submission_id)
    with service.context.sessions.begin() as session:
        done = session.get_one(Job, true.job_id)
        job = Job(**list_column_values(done))
        session.add(job)
        session.flush()
        values = list_column_values(true) | {"job_id": job.id, "provenance": true.provenance | dict(recorded or {})}
        session.add(Measurement(**(values | changes)))


# Equal results


def test_both_tracks_are_exactly_equal(service: Service, entry: str) -> None:
    tracks = verified(service, entry)
    assert [track.recorded.track for track in tracks] == ["public", "private"]
    for track in tracks:
        assert track.comparison is not None
        assert (track.comparison.outcome, track.differences) == (ComparisonOutcome.IDENTICAL, ())
        assert track.scores.fid == track.recorded.row.fid
    assert tracks[0].scores.fid != tracks[1].scores.fid


def test_a_provenance_has_everything_that_a_rescore_needs(service: Service, entry: str) -> None:
    provenance = newest(service, entry).provenance
    assert provenance["zip_sha256"] == load_submission(service, entry).sha256
    assert provenance["blas_threads"] >= 1
    for name in ("extractor", "weights_sha256", "device", "batch_size", "precision", "reference", "bottleneck"):
        assert provenance[name], name
    for name in ("python", "numpy", "pillow", "blas"):
        assert provenance[name], name


def test_a_rescore_records_nothing_and_leaves_no_files(
    service: Service, entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def state() -> list[int]:
        with service.context.sessions() as session:
            return [session.scalar(select(func.count()).select_from(table)) or 0 for table in (Measurement, Job)]

    (folder := tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    before = state()
    blobs = sorted((tmp_path / "blobs").rglob("*"))
    (public, _) = verified(service, entry, verify=False)
    assert public.comparison is None
    assert (state(), sorted((tmp_path / "blobs").rglob("*"))) == (before, blobs)
    assert list(folder.iterdir()) == []


def test_every_stage_of_a_score_is_reported(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[str, float]] = []
    call = Heartbeat.__call__

    def listening(self: Heartbeat, stage: str, fraction: float) -> None:
        steps.append((stage, fraction))
        call(self, stage, fraction)

    slug = service.competition()
    monkeypatch.setattr(Heartbeat, "__call__", listening)
    service.scored("ada", slug, noise_images(10))
    stages = [stage for stage, _ in steps]
    once = ["decoding", "features", "neighbours", "frechet", "evidence"]
    assert list(dict.fromkeys(stages)) == ["checking", *once]
    assert stages.count("evidence") == 4, "start and end, twice"
    assert [fraction for stage, fraction in steps if stage == "evidence"] == [0.0, 1.0] * 2


# Different results


@pytest.mark.parametrize("name", ["fid", "memorization_distance"])
def test_a_false_number_is_found(service: Service, entry: str, name: str) -> None:
    true = getattr(newest(service, entry), name)
    falsify(service, entry, **{name: true * 1.00001})
    public, private = verified(service, entry)
    assert public.comparison is not None
    assert private.comparison is not None
    assert (public.comparison.outcome, private.comparison.outcome) == (
        ComparisonOutcome.DIFFERENT,
        ComparisonOutcome.IDENTICAL,
    )
    assert public.comparison.relative == pytest.approx(1e-5, rel=1e-3)
    assert public.comparison.images == 0


def test_a_difference_in_the_last_bit_is_reported(service: Service, entry: str) -> None:
    falsify(service, entry, fid=float(np.nextafter(newest(service, entry).fid, np.inf)))
    comparison = verified(service, entry)[0].comparison
    assert comparison is not None
    assert (comparison.outcome, comparison.equal) == (ComparisonOutcome.CLOSE, True)


def test_a_false_neighbour_is_found(service: Service, entry: str) -> None:
    key = find_artifact(service, entry)
    with np.load(io.BytesIO(service.context.blobs.read(key))) as arrays:
        distance, index = arrays["distance"], arrays["index"]
    index[3] += 1
    buffer = io.BytesIO()
    np.savez(buffer, distance=distance, index=index)
    service.context.blobs.write(key, buffer.getvalue())
    comparison = verified(service, entry)[0].comparison
    assert comparison is not None
    assert (comparison.outcome, comparison.images) == (ComparisonOutcome.DIFFERENT, 1)


@pytest.mark.parametrize("damage", [b"", b"no arrays", b"PK\x05\x06" + bytes(18)])
def test_damaged_distances_are_one_sentence(service: Service, entry: str, damage: bytes) -> None:
    service.context.blobs.write(find_artifact(service, entry), damage)
    assert refusal(service, entry).slug == "unreadable-artifact"


def test_another_zip_is_refused(service: Service, entry: str) -> None:
    submission = load_submission(service, entry)
    service.context.blobs.write(stored_zip(submission).key, make_zip(noise_images(11)))
    error = refusal(service, entry)
    assert isinstance(error, Conflict)
    assert error.slug == "other-zip"
    assert stored_zip(submission).sha256 in error.message
    service.context.blobs.delete(stored_zip(submission).key)
    assert refusal(service, entry).slug == "blob-missing"


# Differences, and scores that can't be repeated here


def test_other_versions_are_notes(service: Service, entry: str) -> None:
    falsify(service, entry, {"numpy": "1.0", "batch_size": 3}, scorer_version="0")
    public = verified(service, entry)[0]
    assert public.comparison is not None
    assert public.comparison.outcome is ComparisonOutcome.IDENTICAL, "tiny does not depend on the batch size"
    numpy, scorer = public.differences
    assert numpy == f"numpy: 1.0 then, {np.__version__} now"
    assert scorer.startswith("scorer version: 0 then")


@pytest.mark.parametrize("threads", [1, 2])
def test_sums_use_the_recorded_number_of_threads(service: Service, entry: str, threads: int) -> None:
    falsify(service, entry, {"blas_threads": threads})
    assert verified(service, entry)[0].differences == ()


@pytest.mark.parametrize(
    ("recorded", "slug"),
    [
        ({"weights_sha256": "0" * 64}, "other-weights"),
        ({"extractor": "tiny@0"}, "unknown-extractor"),
        pytest.param(
            {"extractor": "efficientnet_lite0@1", "device": "cuda"},
            "no-gpu",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU"),
        ),
    ],
)
def test_scores_that_cannot_be_repeated_are_one_sentence(
    service: Service, entry: str, recorded: dict[str, str], slug: str
) -> None:
    falsify(service, entry, recorded)
    error = refusal(service, entry)
    assert isinstance(error, Unavailable)
    assert error.slug == slug
    assert error.message.startswith("The public score can't be repeated on this machine: ")


def test_a_missing_reference_is_one_sentence(service: Service, entry: str) -> None:
    falsify(service, entry, {"reference": "0" * 64})
    assert refusal(service, entry).slug == "no-reference"


def test_an_entry_without_measurements_is_one_sentence(service: Service) -> None:
    slug = service.competition()
    waiting = service.submit("ada", slug, make_zip(noise_images(10))).json()["id"]
    assert refusal(service, waiting).slug == "not-measured"
    assert isinstance(refusal(service, "nobody"), NotFound)


# The options in a provenance


def test_options_come_from_the_provenance() -> None:
    base = ExtractorOptions(weights_dir=Path("weights"), weights_sha256={"inception_v3": "a"}, device="auto")
    recorded = {"device": "cpu", "batch_size": 5, "threads": 3}
    options = options_from(recorded | {"weights_sha256": "b", "precision": "float32", "torch": "2"}, base)
    assert {name: getattr(options, name) for name in recorded} == recorded
    assert (options.weights_dir, options.weights_sha256) == (base.weights_dir, base.weights_sha256)


def test_a_worker_repeats_a_measurement_on_its_own_gpu() -> None:
    base = ExtractorOptions(device="cuda", device_index=3)
    assert options_from({"device": "cuda"}, base) == base
    assert options_from({"device": "cpu"}, base).device == "cpu"


def test_other_provenance_fields_are_ignored() -> None:
    base = ExtractorOptions(threads=2)
    assert options_from({"precision": "float64", "torch": "2"}, base) == base
    assert options_from({}, base) == base


# The command


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    """Run ``kennel`` and return its exit status, output and errors."""
    monkeypatch.setattr(sys, "argv", ["kennel", *map(str, argv)])
    with pytest.raises(SystemExit) as end:
        main.main()
    assert isinstance(end.value.code, int)
    return end.value.code, *capsys.readouterr()


def test_the_command_finds_the_service_from_its_data_folder(
    service: Service,
    entry: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "addresses.json").write_text(json.dumps(addresses(service.context.settings)))
    status, out, _ = run(monkeypatch, capsys, "rescore", entry, "--verify", "--data", tmp_path)
    assert status == 0
    assert out.count("equal, bit for bit") == 2
    assert f"{newest(service, entry).fid!r}   recorded {newest(service, entry).fid!r}" in out
    falsify(service, entry, {"numpy": "1.0"}, fid=1.0)
    status, out, _ = run(monkeypatch, capsys, "rescore", entry, "--verify", "--data", tmp_path)
    assert status == 1
    assert "  not equal\n  note: numpy: 1.0 then" in out
    assert "recorded 1.0\n" in out
    status, out, _ = run(monkeypatch, capsys, "rescore", entry, "--data", tmp_path)
    assert (status, "recorded" in out) == (0, False), "without --verify it only prints the results"


def test_the_command_finds_the_service_from_the_environment(
    service: Service, entry: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in addresses(service.context.settings).items():
        monkeypatch.setenv(name, value)
    status, out, _ = run(monkeypatch, capsys, "rescore", entry, "--verify", "--json")
    report = json.loads(out)
    assert (status, report["submission"], report["equal"]) == (0, entry, True)
    public = report["tracks"][0]
    assert (public["track"], public["extractor"], public["verdict"]) == ("public", "tiny@1", "equal, bit for bit")
    assert (public["fid"], public["relative"], public["images_that_differ"]) == (public["recorded"]["fid"], 0, 0)
    service.context.blobs.write(stored_zip(load_submission(service, entry)).key, b"another")
    status, out, err = run(monkeypatch, capsys, "rescore", entry)
    assert (status, out) == (1, "")
    assert err.startswith(f"The stored file of {entry} is not the uploaded one")


def test_a_service_that_does_not_run_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = {
        "DATABASE_URL": "postgresql://kennel@127.0.0.1:1/kennel",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "BLOB_URL": (tmp_path / "blobs").as_uri(),
    }
    (tmp_path / "addresses.json").write_text(json.dumps(nowhere))
    status, _, err = run(monkeypatch, capsys, "rescore", "an-id", "--data", tmp_path)
    assert status == 1
    assert err.startswith("The database cannot be used: ")
    assert "with --data, check that `kennel up` is running there." in err
    assert err.count("\n") == 1
    status, _, err = run(monkeypatch, capsys, "rescore", "an-id", "--data", tmp_path / "nothing")
    assert status == 1
    assert "has Kennel ever run on this folder?" in err
