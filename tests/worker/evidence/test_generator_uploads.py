"""A generator from its upload to the audit's findings, with the worker's code and a real sandboxed process."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import numpy as np
import pytest
from PIL import Image

from deploy.standalone.ephemeral import Servers
from scorer.db.jobs import job_queue
from scorer.db.tables import AuditEntry, GeneratorFile, Job, Recovery
from scorer.generators.onnx_files import MAX_LATENT_DIMENSION, export_command
from scorer.generators.recovery.plan import plan_from
from scorer.generators.sandbox.runner import audit_in_sandbox
from scorer.lifecycle import STAGES, Queue
from tests import sandbox_in_process
from tests.api.conftest import Service, read_problem, running_service
from tests.conftest import fresh_settings
from tests.factories import make_zip, noise_images
from tests.linear_generators import (
    QUICK_PLAN,
    generator_with_operator,
    honest_generator,
    images_made_by,
    memorising_generator,
)
from worker.dispatch import run_next
from worker.evidence import generator_audit
from worker.runtime import preemption

TRAIN = noise_images(1, 40, 16)
MEMORISING = memorising_generator(TRAIN)
HONEST = honest_generator(3, 16)


@pytest.fixture(scope="module")
def service(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that searches few images, with two reviewers."""
    folder = tmp_path_factory.mktemp("recovering")
    with (
        fresh_settings(servers, folder) as defaults,
        running_service(defaults.model_copy(update={"recovery": QUICK_PLAN})) as running,
    ):
        running.hire("rita")
        yield running


@pytest.fixture
def without_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search harmless generators in this process."""
    sandbox_in_process.use(monkeypatch)


def put(service: Service, who: str | None, entry: Any, content: bytes, **overrides: Any) -> Any:
    params = {"latent": 40, "distribution": "normal"} | overrides
    return service.call(who, "PUT", f"/submissions/{entry['id']}/generator", content=content, params=params)


def seen(service: Service, who: str | None, entry: Any) -> Any:
    return service.call(who, "GET", f"/submissions/{entry['id']}/generator").json()


def reasons(service: Service, slug: str, entry: Any) -> list[str]:
    entries = service.call("rita", "GET", f"/competitions/{slug}/review-queue").json()["entries"]
    (mine,) = [flagged for flagged in entries if flagged["submission_id"] == entry["id"]] or [{"reasons": []}]
    return [reason["name"] for reason in mine["reasons"]]


def test_a_memorising_generator_is_detected(service: Service) -> None:
    slug = service.competition(medals={"gold": 1, "silver": 1, "bronze": 1})
    entry = service.scored("ada", slug, noise_images(11))
    uploaded = put(service, "ada", entry, MEMORISING)
    assert uploaded.status_code == 202, uploaded.text
    assert (uploaded.json()["state"], uploaded.json()["queue_position"]) == ("waiting", 1)
    assert "recovered" not in reasons(service, slug, entry)
    service.run_jobs()

    view = seen(service, "rita", entry)
    assert (view["state"], view["handed_in_by"], view["latent"]) == ("done", "ada", 40)
    result = view["result"]
    assert (result["verdict"], result["recovered_share"]) == ("copies", 1.0)
    assert result["p_value"] < 0.01
    assert result["gap"] > 0.9
    assert result["report"]["targets"] == {"train": 16, "held_out": 12, "generated": 8, "entry": 8}
    match = result["match"]
    assert (match["verdict"], match["found"], match["found_of_own"]) == ("another-generator", 0.0, 1.0)
    assert match["p_value"] < 0.001
    assert "Another generator produced this entry" in match["sentence"]
    assert "recovered" in reasons(service, slug, entry)
    histogram = result["histogram"]
    assert {kind: sum(counts) for kind, counts in histogram["counts"].items()} == result["report"]["targets"]
    assert len(histogram["edges"]) == len(histogram["counts"]["train"]) + 1
    assert set(result["starts"]) == set(result["report"]["targets"])
    assert len(result["starts"]["generated"]["plausible"]) == QUICK_PLAN["starts"]
    assert result["stability"] is None

    # The team sees that the audit is done, and the findings after publication.
    own = seen(service, "ada", entry)
    assert (own["state"], own["result"], own["former"]) == ("done", None, [])
    for who in ("bob", None):
        assert service.call(who, "GET", f"/submissions/{entry['id']}/generator").status_code == (404 if who else 401)
    _assert_visible_pairs(service, entry, result)
    service.close(slug)
    answer = service.call(
        "organizer", "POST", f"/competitions/{slug}/publication",
        json={"published": True, "reason": "Over.", "override": "a test"},
    )  # fmt: skip
    assert answer.is_success, answer.text
    own = seen(service, "ada", entry)["result"]
    assert own["verdict"] == "copies"
    assert set(own["pairs"]) == {"train", "generated", "entry"}
    assert read_problem(put(service, "ada", entry, HONEST)) == (409, "published")


def _assert_visible_pairs(service: Service, entry: Any, result: Any) -> None:
    """Reviewers see training images, only organizers see held-out images."""
    address = f"/submissions/{entry['id']}/generator/pairs"
    assert set(result["pairs"]) == {"train", "generated", "entry"}
    assert set(seen(service, "organizer", entry)["result"]["pairs"]) == {"train", "held_out", "generated", "entry"}
    pairs = result["pairs"]["train"]
    assert pairs["sheet"] == f"/api/v1{address}/train"
    assert all(pair["name"].endswith(".png") and pair["error"] < 0.025 for pair in pairs["pairs"])
    sheet = service.call("rita", "GET", f"{address}/train")
    with Image.open(io.BytesIO(sheet.content)) as picture:
        rows = np.asarray(picture)
    assert rows.shape == (32, 16 * len(pairs["pairs"]), 3)
    first = rows[:16, :16]
    assert any(np.array_equal(first, image) for image in TRAIN), "the upper image is the training image"
    assert np.abs(first.astype(int) - rows[16:, :16]).mean() < 8
    assert (
        service.call("rita", "GET", f"{address}/train", headers={"If-None-Match": sheet.headers["ETag"]}).status_code
        == 304
    )
    assert service.call("rita", "GET", f"{address}/generated").status_code == 200
    assert service.call("organizer", "GET", f"{address}/held_out").status_code == 200
    for who, group in (("rita", "held_out"), ("ada", "train"), ("ada", "held_out"), ("bob", "train")):
        assert service.call(who, "GET", f"{address}/{group}").status_code == 404, (who, group)


def test_the_entrys_generator_is_recognised_by_its_images(service: Service, without_sandbox: None) -> None:
    """Half of the targets are near the entry. Only organizers see held-out targets, near or not."""
    slug = service.competition({"train": TRAIN, "held_out": noise_images(2, 40, 16)})
    entry = service.scored("ada", slug, images_made_by(MEMORISING, 40, 8))
    assert put(service, "ada", entry, MEMORISING).status_code == 202
    service.run_jobs()
    result = seen(service, "organizer", entry)["result"]
    assert result["match"]["verdict"] == "no-difference", result["match"]
    assert (result["match"]["found"], result["match"]["features"]["count"]) == (1.0, 8)
    assert result["match"]["features"]["p_value"] > 0.01
    targets = {"train": 8, "held_out": 8, "near_train": 8, "near_held_out": 8, "generated": 8, "entry": 8}
    assert (result["report"]["targets"], set(result["pairs"])) == (targets, set(targets))
    assert set(result["power"]) == {"random", "near"}
    assert {pair["name"] for pair in result["pairs"]["entry"]["pairs"]} == {f"{row:05}.png" for row in range(8)}
    assert set(seen(service, "rita", entry)["result"]["pairs"]) == set(targets) - {"held_out", "near_held_out"}
    address = f"/submissions/{entry['id']}/generator/pairs"
    for who, group, status in (
        ("organizer", "near_held_out", 200),
        ("rita", "near_held_out", 404),
        ("rita", "near_train", 200),
        ("rita", "entry", 200),
    ):
        assert service.call(who, "GET", f"{address}/{group}").status_code == status, (who, group)


def test_shrunk_photographs_are_searched_for(service: Service, without_sandbox: None) -> None:
    """Resized references are floats. A generator with 8-bit output must not be refused for that."""
    slug = service.competition({"train": noise_images(1, 40, 24), "held_out": noise_images(2, 12, 24)})
    entry = service.scored("ada", slug, noise_images(13))
    assert put(service, "ada", entry, HONEST, latent=12).status_code == 202
    service.run_jobs()
    view = seen(service, "rita", entry)
    assert (view["state"], view["result"]["report"]["targets"]["train"]) == ("done", 16), view


def test_an_honest_generator_shows_no_sign_and_hides_no_earlier_one(service: Service, without_sandbox: None) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(12))
    assert put(service, "organizer", entry, MEMORISING).status_code == 202
    service.run_jobs()
    assert put(service, "ada", entry, HONEST, latent=12, distribution="uniform").status_code == 202
    service.run_jobs()
    view = seen(service, "organizer", entry)
    assert (view["result"]["verdict"], view["distribution"]) == ("no-sign", "uniform")
    assert [(audit["verdict"], audit["handed_in_by"]) for audit in view["former"]] == [("copies", "organizer")]
    assert seen(service, "ada", entry)["former"] == []
    assert "recovered" in reasons(service, slug, entry), "another file hides no earlier sign"
    with service.context.sessions.begin() as session:
        (act,) = session.query(AuditEntry).filter_by(action="generator.handed-in", subject=f"submission:{entry['id']}")
        assert act.actor_id is not None
        recovery = session.query(Recovery).order_by(Recovery.job_id.desc()).first()
        generator = session.query(GeneratorFile).order_by(GeneratorFile.id.desc()).first()
        assert recovery is not None
        assert generator is not None
        assert recovery.report is not None
        assert recovery.report["plan"] == plan_from({**QUICK_PLAN, "seed": generator.seed}).as_json()
        assert recovery.provenance["generator_sha256"] == generator.sha256


def test_an_unreadable_generator_is_refused_with_a_reason(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("bob", slug, noise_images(13))
    assert put(service, "bob", entry, generator_with_operator("Erf2"), latent=12).status_code == 202
    service.run_jobs()
    view = seen(service, "bob", entry)
    assert view["state"] == "refused"
    assert "Erf2" in view["refusal"]
    (notice, *_) = service.call("bob", "GET", "/notices").json()["notices"]
    assert notice["kind"] == "generator"
    assert view["refusal"] in notice["body"]
    assert notice["link"] == f"/submissions/{entry['id']}#generator"
    with service.context.sessions.begin() as session:
        assert session.query(Job.state).filter_by(queue="recover").order_by(Job.id.desc()).limit(1).scalar() == "done"


def test_a_refused_generator_notifies_its_uploader(service: Service, without_sandbox: None) -> None:
    slug = service.competition()
    entry = service.scored("eve", slug, noise_images(21))
    assert put(service, "organizer", entry, HONEST, latent=13).status_code == 202
    service.run_jobs()
    assert seen(service, "eve", entry)["state"] == "refused"
    notices = {who: service.call(who, "GET", "/notices").json()["notices"] for who in ("organizer", "eve")}
    assert notices["organizer"][0]["kind"] == "generator"
    assert "generator" not in {notice["kind"] for notice in notices["eve"]}


def test_invalid_or_untimely_generators_are_refused(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("eve", slug, noise_images(14))
    before = _blobs(service)
    for content in (b"", b"PK\3\4model", b"\x80\x04pickle", b"\x89HDF"):
        refused = put(service, "eve", entry, content, latent=12)
        assert read_problem(refused) == (422, "not-onnx")
        assert export_command(12) in refused.text.replace('\\"', '"'), "the suggested command exports a readable file"
    assert put(service, "eve", entry, HONEST, latent=0).status_code == 422
    assert put(service, "eve", entry, HONEST, latent=MAX_LATENT_DIMENSION + 1).status_code == 422
    assert put(service, "eve", entry, HONEST, distribution="cauchy").status_code == 422
    assert read_problem(put(service, "bob", entry, HONEST)) == (404, "no-submission")
    assert put(service, None, entry, HONEST).status_code == 401
    waiting = service.submit("eve", slug, make_zip(noise_images(15))).json()
    assert read_problem(put(service, "eve", waiting, HONEST)) == (409, "not-scored")
    assert read_problem(service.call("eve", "GET", f"/submissions/{entry['id']}/generator")) == (404, "no-generator")
    assert {key for key in _blobs(service) if key.startswith("generators")} <= before
    service.run_jobs()


def test_equal_files_are_one_generator_and_days_have_a_limit(service: Service, without_sandbox: None) -> None:
    slug = service.competition()
    entry = service.scored("eve", slug, noise_images(16))
    once, again = put(service, "eve", entry, HONEST, latent=12), put(service, "eve", entry, HONEST, latent=12)
    assert once.json() == again.json()
    for seed in range(4):
        assert put(service, "eve", entry, honest_generator(20 + seed, 16), latent=12).status_code == 202
    assert read_problem(put(service, "eve", entry, honest_generator(30, 16), latent=12)) == (429, "generator-limit")
    with service.context.sessions.begin() as session:
        states = [job.state for job in session.query(Job).filter_by(queue="recover", state="waiting")]
        assert states == ["waiting"], "only the newest file is searched"
    assert put(service, "organizer", entry, honest_generator(30, 16), latent=12).status_code == 202
    service.run_jobs()
    assert seen(service, "organizer", entry)["former"] == []


def test_a_search_yields_to_a_public_score_and_is_repeated(
    service: Service, without_sandbox: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(18))
    put(service, "ada", entry, HONEST, latent=12)

    def interrupted(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(generator_audit, "audit_in_sandbox", audit_in_sandbox)
        monkeypatch.setattr(preemption, "PREEMPT_AFTER", preemption.PREEMPT_AFTER * 0)
        service.submit("bob", slug, make_zip(noise_images(19)))
        assert run_next(service.context, Queue.CHECK)
        return audit_in_sandbox(*args, **options)

    monkeypatch.setattr(generator_audit, "audit_in_sandbox", interrupted)
    assert run_next(service.context, Queue.RECOVER)
    with service.context.sessions.begin() as session:
        (job,) = session.query(Job).filter_by(queue="recover", state="waiting")
        assert (job.attempts, job.holder) == (0, None)
        assert job_queue.count_due(session).keys() >= {"recover", "score"}
    assert run_next(service.context, Queue.RECOVER)
    with service.context.sessions.begin() as session:
        assert session.query(Job).filter_by(queue="recover", state="waiting").count() == 1, "the score ran first"
    service.run_jobs()
    assert seen(service, "organizer", entry)["result"]["verdict"] == "no-sign"


def test_service_faults_are_retried_and_refuse_nobody(
    service: Service, without_sandbox: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(20))
    put(service, "ada", entry, HONEST, latent=12)

    def broken(*args: Any, **options: Any) -> Any:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(generator_audit, "audit_in_sandbox", broken)
        assert run_next(service.context, Queue.RECOVER)
        assert seen(service, "ada", entry)["state"] == "waiting"
        with service.context.sessions.begin() as session:
            (job,) = session.query(Job).filter_by(queue="recover", state="waiting")
            job.attempts = service.context.settings.max_attempts - 1
            job.due_at = datetime.now(UTC)
        assert run_next(service.context, Queue.RECOVER)
    assert seen(service, "ada", entry)["state"] == "failed"
    # Uploading the same file again starts a new attempt.
    put(service, "ada", entry, HONEST, latent=12)
    service.run_jobs()
    assert seen(service, "ada", entry)["state"] == "done"


def _blobs(service: Service) -> set[str]:
    return set(chain.from_iterable(service.context.blobs.older_than("generators", datetime.max.replace(tzinfo=UTC))))


def test_the_stages_of_an_audit_are_named() -> None:
    stages = {stage: STAGES[generator_audit.to_job_stage(stage)] for stage in ("train", "warp_train", "stability")}
    assert stages == {
        "train": "looking for training images",
        "warp_train": "looking for distorted images",
        "stability": "looking for the generator's own images from many starts",
    }
