"""Entries of a generator competition, from the upload to both boards: what the service draws, measures and shows."""

from typing import Any

import numpy as np
import pytest

from scorer.competitions.draw_secrets import load_secret
from scorer.db.tables import CheckedGenerator, Draw, Job, Measurement, Submission
from scorer.generators import seeds
from scorer.generators.drawing import to_pixels
from scorer.generators.latents import Latent
from scorer.generators.sandbox.runner import DrawnImages, GeneratorCheck, check_in_sandbox, draw_in_sandbox
from scorer.lifecycle import Queue
from scorer.submissions.files import image_zips
from tests import sandbox_in_process
from tests.api.conftest import Service
from tests.api.submissions.drawn_entries import COUNT, DIMENSION, SIZE, TERMS, directions, drawn, generators
from tests.linear_generators import linear_generator
from worker.dispatch import run_next
from worker.runtime import decoded_images
from worker.scoring import generators as worker_generators

pytestmark = pytest.mark.usefixtures("one_day")


def test_the_service_draws_and_scores_a_generator(service: Service) -> None:
    slug = generators(service)
    seen = drawn(service, slug, linear_generator(directions(1)))
    assert (seen["status"], seen["reason"]) == ("scored", None)
    context = service.context
    with context.sessions() as session:
        submission = session.query(Submission).one()
        checked = session.get_one(CheckedGenerator, submission.ref)
        secrets = {
            purpose: load_secret(session, submission.competition_id, purpose, key=context.settings.draw_key)
            for purpose in ("public", "private")
        }
        zips = {kind: image_zips(session, submission, kind) for kind in ("public", "private")}
        measured = {len(row.draws or ()): row for row in session.query(Measurement)}
    latent = Latent(DIMENSION)
    assert {kind: len(stored) for kind, stored in zips.items()} == TERMS
    public: dict[str, Any] = {"network_sha256": checked.network_sha256, "latent": latent, "team_id": submission.team_id}
    for number in range(1, TERMS["public"] + 1):
        digest = seeds.public_digest(secrets["public"], **public, number=number)
        assert_same(context, submission, zips["public"][number - 1], digest)
    for number in range(1, TERMS["private"] + 1):
        assert_same(context, submission, zips["private"][number - 1], seeds.private_digest(secrets["private"], number))
    assert sorted(measured) == sorted(TERMS.values())
    for row in measured.values():
        fids, distances = zip(*((draw["fid"], draw["memorization_distance"]) for draw in row.draws or ()), strict=True)
        assert row.fid == pytest.approx(np.mean(fids))
        assert row.fid_spread == (pytest.approx(np.std(fids, ddof=1)) if len(fids) > 1 else None)
        assert row.memorization_distance == pytest.approx(np.mean(distances))


def assert_same(context: Any, submission: Submission, stored: Any, digest: bytes) -> None:
    """Compare a stored draw with its formula."""
    points = seeds.latents(digest, Latent(DIMENSION), stop=COUNT)
    values = np.tanh(points @ directions(1).reshape(DIMENSION, -1).astype(np.float32))
    expected = to_pixels(values.reshape(COUNT, 3, SIZE, SIZE), "tanh").astype(int)
    images = decoded_images.submission_images(context, submission, lambda _: None, stored=stored)
    assert np.abs(images.astype(int) - expected).max() <= 1


def test_generators_checked_at_the_same_time_count_as_one(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox_in_process.use(monkeypatch)
    slug = generators(service)
    first, second = (
        service.submit("ada", slug, linear_generator(factor * directions(1)), file_name="g.onnx").json()["id"]
        for factor in (1.0, 1.001)
    )

    def check_both(*inputs: Any, **options: Any) -> GeneratorCheck:
        monkeypatch.setattr(worker_generators, "check_in_sandbox", check_in_sandbox)
        assert run_next(service.context, Queue.CHECK)
        return check_in_sandbox(*inputs, **options)

    monkeypatch.setattr(worker_generators, "check_in_sandbox", check_both)
    service.run_jobs()
    seen = [service.call("ada", "GET", f"/submissions/{entry}").json()["generator"] for entry in (first, second)]
    assert [(view["same_as"], view["public_draws"]) for view in seen] == [(second, 2), (None, 2)]


def test_a_worker_that_has_lost_its_job_records_no_draw(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox_in_process.use(monkeypatch)
    service.submit("ada", generators(service), linear_generator(directions(1)), file_name="g.onnx")
    assert run_next(service.context, Queue.CHECK)

    def draw_slowly(*inputs: Any, **options: Any) -> DrawnImages:
        with service.context.sessions.begin() as session:
            session.query(Job).filter_by(queue=Queue.DRAW).one().holder = "another worker"
        return draw_in_sandbox(*inputs, **options)

    monkeypatch.setattr(worker_generators, "draw_in_sandbox", draw_slowly)
    assert run_next(service.context, Queue.DRAW)
    with service.context.sessions() as session:
        assert session.query(Draw).all() == []


def test_organizers_see_that_private_draws_wait(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox_in_process.use(monkeypatch)
    slug = generators(service)
    entry = service.submit("ada", slug, linear_generator(directions(1)), file_name="g.onnx").json()["id"]
    for queue in (Queue.CHECK, Queue.DRAW, Queue.SCORE):
        assert run_next(service.context, queue)
    assert service.call("organizer", "GET", f"/submissions/{entry}").json()["private_state"] == "waiting"
    assert service.call("organizer", "GET", f"/competitions/{slug}/private-extractor").json()["waiting"] == 1
