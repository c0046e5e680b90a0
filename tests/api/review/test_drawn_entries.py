"""Review of generators as entries: their audit, and generators of two teams that are nearly the same."""

import re
from html import unescape
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from scorer.competitions.draw_secrets import load_secret
from scorer.db.tables import AuditEntry, CheckedGenerator, GeneratorFile, Job, Measurement, Submission
from scorer.db.teams.storage import load_competition_usage
from scorer.errors import Invalid
from scorer.generators import seeds
from scorer.generators.latents import Latent
from scorer.generators.sandbox.runner import draw_in_sandbox
from scorer.metrics.copying.thumbnails import Pixels
from scorer.settings import Settings
from tests import sandbox_in_process
from tests.api.conftest import Service, refused
from tests.api.submissions.drawn_entries import SIZE, TERMS, directions, drawn, generators
from tests.factories import noise_images
from tests.linear_generators import QUICK_PLAN, honest_generator, linear_generator
from tests.web.pages import enter, hidden, read, send
from worker.scoring import generators as worker_generators

pytestmark = pytest.mark.usefixtures("one_day")
TRAIN = noise_images(1, 40, SIZE)
LATENT = {"latent": "2", "distribution": "truncated-normal", "classes": "40"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Settings with a search that takes a moment."""
    return settings.model_copy(update={"recovery": QUICK_PLAN | {"candidates": 8}})


@pytest.fixture(autouse=True)
def without_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read harmless generators in this process."""
    sandbox_in_process.use(monkeypatch)


def memorising_generator(images: Pixels = TRAIN) -> bytes:
    """A generator that reproduces one of these images for each class, with a little noise from its latent."""
    noise = np.random.default_rng(3).normal(0.0, 0.02, (2, SIZE, SIZE, 3))
    pixels = np.clip(images.astype(np.float64) / 127.5 - 1.0, -0.98, 0.98)
    return linear_generator(np.concatenate([noise, np.arctanh(pixels)]).transpose(0, 3, 1, 2))


def test_reviewers_audit_an_entry_without_a_second_upload(service: Service) -> None:
    service.hire("rita")
    slug = generators(service, references={"train": TRAIN, "held_out": noise_images(2, 40, SIZE)})
    entry = drawn(service, slug, memorising_generator(), **LATENT)
    path, page = f"/submissions/{entry['id']}/generator", f"/submissions/{entry['id']}/review"
    upload = {"latent": 42, "distribution": "normal"}
    refused(
        service.call("organizer", "PUT", path, content=memorising_generator(), params=upload), 409, "generator-entry"
    )
    refused(service.call("ada", "POST", path), 403, "wrong-role")
    used = stored_bytes(service)

    enter(service, "rita")
    button = hidden(read(service, page), f"{page}/generator#generator")
    assert "waiting" in send(service, f"{page}/generator", button).text
    again = service.call("organizer", "POST", path)
    assert (again.status_code, again.json()["state"], again.json()["latent"], again.json()["classes"]) == (
        202,
        "waiting",
        2,
        40,
    )
    refused(service.call("ada", "GET", path), 404, "no-generator")
    service.run_jobs()

    view = service.call("rita", "GET", path).json()
    assert (view["state"], view["refusal"], view["is_entry"], view["distribution"]) == (
        "done",
        None,
        True,
        "truncated-normal",
    )
    assert (view["result"]["verdict"], view["result"]["recovered_share"]) == ("copies", 1.0)
    assert view["result"]["match"] is None
    names = {pair["name"] for pair in view["result"]["pairs"]["generated"]["pairs"]}
    assert names
    assert names <= {f"{row:05d}.png" for row in range(120)}
    queue = service.call("rita", "GET", f"/competitions/{slug}/review-queue").json()["entries"]
    assert "recovered" in {reason["name"] for reason in queue[0]["reasons"]}
    assert stored_bytes(service) == used
    refused(service.call("ada", "GET", path), 404, "no-generator")
    service.close(slug)
    service.publish(slug)
    own = service.call("ada", "GET", path).json()
    assert (own["result"]["verdict"], own["handed_in_by"]) == ("copies", "ada")
    with service.context.sessions() as session:
        assert session.query(GeneratorFile).count() == 1
        assert session.query(AuditEntry).filter_by(action="generator.audited").count() == 1


def test_a_table_of_images_is_flagged_with_its_size(service: Service) -> None:
    """Its images are not those of the training set, and a little noise makes every drawn one different."""
    service.hire("rita")
    slug = service.competition(entries="generator", draws=TERMS, image_count=120, image_size=SIZE)
    made = {
        "ada": (memorising_generator(noise_images(4, 20, SIZE)), LATENT | {"classes": "20"}),
        "bob": (honest_generator(1, SIZE), {}),
    }
    entries = {who: drawn(service, slug, content, who, **latent)["id"] for who, (content, latent) in made.items()}
    queue = service.call("rita", "GET", f"/competitions/{slug}/review-queue").json()["entries"]
    flags = {
        entry["submission_id"]: reason["words"]
        for entry in queue
        for reason in entry["reasons"]
        if reason["name"] == "small-support"
    }
    assert flags.keys() == {entries["ada"]}
    words = flags[entries["ada"]]
    sizes = [
        [float(number) for number in found]
        for found in re.findall(r"about ([\d.]+) different images \(95 % interval ([\d.]+) to ([\d.]+)\)", words)
    ]
    assert len(sizes) == 2, words
    assert all(15 < low <= size <= high < 27 for size, low, high in sizes)
    path = f"/submissions/{entries['ada']}"
    enter(service, "rita")
    pages = [read(service, page).text for page in (f"{path}/review", f"/competitions/{slug}/review-queue")]
    assert all(words in unescape(page) for page in pages)
    assert "small support" not in read(service, f"/submissions/{entries['bob']}/review").text

    found = {kind: service.call("rita", "GET", f"{path}/evidence/{kind}").json() for kind in ("public", "private")}
    pairs = {
        kind: re.search(r"Of ([\d,]+) compared pairs", view["findings"][-1]["sentence"]) for kind, view in found.items()
    }
    assert {kind: match and match[1] for kind, match in pairs.items()} == {"public": "7,140", "private": "64,620"}
    assert {sign["name"] for sign in found["private"]["signs"]} >= {"small-support"}
    for kind in found:
        refused(service.call("ada", "GET", f"{path}/evidence/{kind}"), 404, "no-evidence")
    enter(service, "ada")
    assert "different images" not in read(service, path).text
    service.close(slug)
    service.publish(slug, final=False)
    assert service.call("ada", "GET", f"{path}/evidence/private").json()["findings"] == found["private"]["findings"]


def stored_bytes(service: Service) -> int:
    with service.context.sessions() as session:
        submission = session.query(Submission).one()
        return load_competition_usage(session, submission.competition_id, service.context.now()).stored


def test_a_refused_audit_says_why(service: Service) -> None:
    slug = generators(service)
    rounding = rounded(honest_generator(4, SIZE))
    entry = drawn(service, slug, rounding)
    assert (entry["status"], entry["reason"]) == ("scored", None)
    assert service.call("organizer", "POST", f"/submissions/{entry['id']}/generator").status_code == 202
    service.run_jobs()
    view = service.call("organizer", "GET", f"/submissions/{entry['id']}/generator").json()
    assert view["state"] == "refused"
    assert "gradient" in view["refusal"]
    assert not [
        notice for who in ("ada", "organizer") for notice in service.notices(who) if notice["kind"] == "generator"
    ]


def rounded(content: bytes) -> bytes:
    """The generator with latents rounded down to whole numbers."""
    model: Any = onnx.load_from_string(content)
    model.graph.node.insert(0, helper.make_node("Floor", ["z"], ["steps"]))
    model.graph.node[1].input[0] = "steps"
    return bytes(model.SerializeToString())


def test_nearly_equal_generators_of_two_teams_are_flagged(service: Service) -> None:
    """Bob submits Ada's generator, a little changed. Eve's has another latent space."""
    service.hire("rita")
    slug = generators(service)
    adas = directions(1)
    bobs = adas + np.random.default_rng(2).normal(0.0, 0.02, adas.shape)
    made = {"ada": linear_generator(adas), "bob": linear_generator(bobs), "eve": honest_generator(9, SIZE)}
    entries = {who: drawn(service, slug, content, who)["id"] for who, content in made.items()}
    seen = {who: service.call("rita", "GET", f"/submissions/{entries[who]}/review").json() for who in entries}
    [pair] = seen["bob"]["sharing"]
    assert (pair["submission_id"], pair["same_latents"]) == (entries["ada"], 1.0)
    assert pair["words"].endswith("At 100 % of equal latents, both generators draw nearly the same image.")
    assert [pair["submission_id"] for pair in seen["ada"]["sharing"]] == [entries["bob"]]
    assert (seen["eve"]["sharing"], seen["eve"]["comparison"]["compared"]) == ([], 2)
    picture = service.call("rita", "GET", f"/submissions/{entries['bob']}/shared-images/{pair['ref']}")
    assert picture.headers["content-type"] == "image/png"
    queue = service.call("rita", "GET", f"/competitions/{slug}/review-queue").json()["entries"]
    flagged = {
        entry["submission_id"] for entry in queue if "shared-images" in {one["name"] for one in entry["reasons"]}
    }
    assert flagged == {entries["ada"], entries["bob"]}


def test_an_entry_can_be_cancelled_while_it_is_drawn(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = generators(service)
    entry = service.submit("ada", slug, honest_generator(1, SIZE), file_name="g.onnx").json()["id"]

    def cancelled(*inputs: Any, **options: Any) -> Any:
        seen = service.call("ada", "GET", f"/submissions/{entry}").json()
        assert seen["status"] == "queued"
        assert service.call("ada", "POST", f"/submissions/{entry}/cancel").json()["status"] == "cancelled"
        return draw_in_sandbox(*inputs, **options)

    monkeypatch.setattr(worker_generators, "draw_in_sandbox", cancelled)
    service.run_jobs(evidence=True)
    seen = service.call("ada", "GET", f"/submissions/{entry}").json()
    assert (seen["status"], seen["measurements"]) == ("cancelled", [])
    with service.context.sessions() as session:
        states = {job.queue: job.state for job in session.query(Job)}
    assert states == {"check": "done", "draw": "cancelled"}
    remaining = service.call("ada", "GET", f"/competitions/{slug}/limits").json()["remaining_today"]
    assert remaining == service.call("bob", "GET", f"/competitions/{slug}/limits").json()["remaining_today"]


def test_a_failed_private_draw_ends_without_a_private_score(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The team learns of it with the provisional board. It is never drawn again."""
    calls = failing_draws(monkeypatch, after=2)
    slug = generators(service)
    seen = drawn(service, slug, honest_generator(1, SIZE))
    assert (seen["status"], seen["generator"]["private_fault"]) == ("scored", None)
    assert len(seen["measurements"]) == len(calls) - 2 == 1
    path = f"/submissions/{seen['id']}"
    assert service.call("organizer", "GET", path).json()["generator"]["private_fault"] == "It fails."
    service.close(slug)
    points = service.call("organizer", "GET", f"/competitions/{slug}/publication").json()["points"]
    assert {point["name"]: point["count"] for point in points}["unscored"] == 1
    service.publish(slug, final=False)
    assert service.call("ada", "GET", path).json()["generator"]["private_fault"] == "It fails."
    service.run_jobs(evidence=True)
    assert len(calls) == 3


def failing_draws(monkeypatch: pytest.MonkeyPatch, *, after: int) -> list[bytes]:
    """Let draws fail after this number. Returns the digests that are drawn."""
    digests: list[bytes] = []

    def draw(content: bytes, latent: Latent, digest: bytes, **options: Any) -> Any:
        digests.append(digest)
        if len(digests) > after:
            raise Invalid("unstable", "It fails.")
        return draw_in_sandbox(content, latent, digest, **options)

    monkeypatch.setattr(worker_generators, "draw_in_sandbox", draw)
    return digests


def test_a_late_entry_has_a_secret_of_its_own_and_no_private_draw(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = failing_draws(monkeypatch, after=9)
    slug = generators(service, late_submissions=True)
    service.close(slug)
    assert drawn(service, slug, honest_generator(1, SIZE))["status"] == "scored"
    with service.context.sessions() as session:
        submission = session.query(Submission).one()
        assert submission.late
        digest = {
            purpose: seeds.public_digest(
                load_secret(session, submission.competition_id, purpose, key=service.context.settings.draw_key),
                network_sha256=session.query(CheckedGenerator).one().network_sha256,
                latent=Latent(12),
                team_id=submission.team_id,
                number=1,
            )
            for purpose in ("public", "late")
        }
    assert digests == [digest["late"]] != [digest["public"]]


def test_rescoring_and_another_extractor_measure_the_stored_draws(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = failing_draws(monkeypatch, after=3)
    slug = generators(service)
    path = f"/submissions/{drawn(service, slug, honest_generator(1, SIZE))['id']}"
    before = service.call("organizer", "GET", path).json()["measurements"]
    for track in ("public", "private"):
        body = {"track": track, "reason": "A corrected scorer."}
        assert service.call("organizer", "POST", f"/competitions/{slug}/rescoring", json=body).is_success
    service.run_jobs(evidence=True)
    with service.context.sessions() as session:
        rows = session.query(Measurement).all()
    fids = {(row.track_id, row.fid) for row in rows}
    assert len(rows) == 2 * len(fids) == 4
    assert {row.campaign_id is None for row in rows} == {True, False}
    assert len(before) == 2
    assert len(digests) == 3


def test_rulings_labels_and_picks_are_those_of_zips(service: Service) -> None:
    """Ada picks both entries; one is labelled and disqualified, so the other ranks her."""
    slug = generators(service, final_picks=2)
    first, second = (drawn(service, slug, honest_generator(seed, SIZE), latent="12")["id"] for seed in (1, 2))
    picks = f"/competitions/{slug}/picks"
    assert service.call("ada", "PUT", picks, json={"submissions": [first, second]}).is_success
    label = f"/competitions/{slug}/submissions/{first}/label"
    assert service.call("organizer", "PUT", label, json={"label": "mgan", "note": ""}).is_success
    ruling = {"kind": "disqualify", "reason": "It memorises."}
    assert service.call("organizer", "POST", f"/submissions/{first}/rulings", json=ruling).is_success
    service.close(slug)
    service.publish(slug)
    ranks = {
        entry: {row["track"]: row["rank"] for row in view["measurements"]}
        for entry in (first, second)
        if (view := service.call("ada", "GET", f"/submissions/{entry}").json())
    }
    assert ranks == {first: {"public": None, "private": None}, second: {"public": 1, "private": 1}}
    data = service.browse("ada", "GET", "/me/data").json()
    assert [entry["latent"] for entry in data["entries"]] == 2 * [
        {"dimension": 12, "distribution": None, "classes": None}
    ]


def test_an_audit_finds_a_generator_with_turned_latents(service: Service) -> None:
    """At equal latents, its images are others."""
    slug = generators(service, references={"train": TRAIN, "held_out": noise_images(2, 40, SIZE)})
    turned = np.linalg.qr(np.random.default_rng(5).normal(size=(6, 6)))[0]
    made = {
        "ada": linear_generator(directions(1)),
        "bob": linear_generator(np.tensordot(turned, directions(1), 1)),
        "eve": linear_generator(directions(2)),
    }
    entries = {who: drawn(service, slug, content, who)["id"] for who, content in made.items()}
    path = f"/submissions/{entries['bob']}"
    assert service.call("organizer", "GET", f"{path}/review").json()["sharing"] == []
    service.call("organizer", "POST", f"{path}/generator")
    service.run_jobs()
    [pair] = service.call("organizer", "GET", f"{path}/review").json()["sharing"]
    assert (pair["submission_id"], pair["recovered"], pair["examples"]) == (entries["ada"], 1.0, [])
    assert pair["words"] == "The audit of one generator found 100 % of the other's images, at other latents."
    refused(service.call("organizer", "GET", f"{path}/shared-images/{pair['ref']}"), 404, "no-pictures")
    enter(service, "organizer")
    assert pair["words"] in read(service, f"{path}/review").text
