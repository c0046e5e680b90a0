"""Choosing the private extractor: comparison on labelled entries, with the worker's code."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from typer.testing import CliRunner

from kennel_client.cli.main import make_admin
from scorer.db import accounts, competitions
from scorer.db.jobs import job_queue
from scorer.db.submissions import submissions
from scorer.db.tables import ComparedDistance, Job, Measurement, Publication, Threshold, Track
from scorer.lifecycle import Queue, Status
from tests.api.conftest import Service
from tests.api.tuning.tuning_acts import label, near
from tests.factories import make_zip, noise_images
from tests.http_server import serve
from tests.worker.substitute_extractor import OTHER, substitute_extractor
from worker.dispatch import run_next
from worker.runtime import preemption
from worker.scoring.reference_features import load_prepared

__all__ = ["substitute_extractor"]  # pytest finds fixtures by their names in the module


def private_extractor(service: Service, slug: str) -> Any:
    answer = service.call("organizer", "GET", f"/competitions/{slug}/private-extractor")
    assert answer.status_code == 200, answer.text
    return answer.json()


def compare(service: Service, slug: str, *extractors: str, early_labels: bool = False) -> Any:
    body = {"extractors": extractors, "early_labels": early_labels}
    return service.call("organizer", "POST", f"/competitions/{slug}/private-extractor/comparisons", json=body)


def choose(service: Service, slug: str, extractor: str = OTHER, **more: Any) -> Any:
    body = {"extractor": extractor, "reason": "it separates better", **more}
    return service.call("organizer", "PUT", f"/competitions/{slug}/private-extractor", json=body)


def read_slug(answer: Any) -> str:
    return str(answer.json()["type"]).rpartition(":")[2]


def label_early(service: Service, entry: Any, name: str) -> None:
    answer = service.call("organizer", "PUT", f"/submissions/{entry['id']}/early-label", json={"label": name})
    assert answer.json().items() >= {"label": name, "source": "hand"}.items()


def refuse(service: Service, slug: str) -> None:
    """Check the comparisons and choices that are refused, and the refused roles."""
    assert (compare(service, slug, OTHER).status_code, read_slug(compare(service, slug, OTHER))) == (409, "no-labels")
    assert read_slug(compare(service, slug, "tiny")) == "no-candidates"
    assert read_slug(compare(service, slug, "resnet")) == "unknown-extractor"
    assert read_slug(choose(service, slug)) == "not-prepared"
    assert read_slug(choose(service, slug, "tiny")) == "no-change"
    for who, status in (("ada", 403), (None, 401)):
        assert service.call(who, "GET", f"/competitions/{slug}/private-extractor").status_code == status
        body = {"extractors": [OTHER]}
        assert (
            service.call(who, "POST", f"/competitions/{slug}/private-extractor/comparisons", json=body).status_code
            == status
        )
        chosen = {"extractor": OTHER, "reason": "x"}
        assert service.call(who, "PUT", f"/competitions/{slug}/private-extractor", json=chosen).status_code == status


def compared(service: Service, slug: str, entries: list[Any]) -> Any:
    """Compare the other extractor on a memorising entry, a legitimate one and one with the early label
    ``legitimate``."""
    label(service, slug, entries[0], "aug")
    label(service, slug, entries[1], "legitimate")
    label_early(service, entries[2], "legitimate")
    begun = compare(service, slug, OTHER, "tiny", early_labels=True)
    assert begun.status_code == 202, begun.text
    assert [(extractor["extractor"], extractor["state"]) for extractor in begun.json()["extractors"]] == [
        ("tiny@1", "done"), (OTHER, "preparing"),
    ]  # fmt: skip
    assert read_slug(choose(service, slug)) == "not-prepared"
    service.run_jobs()
    comparison = private_extractor(service, slug)["comparison"]
    assert (comparison["memorising"], comparison["legitimate"], comparison["early_labels"]) == (1, 2, 1)
    present, other = comparison["extractors"]
    assert (present["present"], present["measured"], other["state"], other["measured"]) == (True, 3, "done", 3)
    assert other["choice"]["auc"] == 1.0
    assert other["choice"]["confusion"]["true_positives"] == 1
    assert other["choice"]["memorization_margin"] > 0
    with service.context.sessions.begin() as session:
        assert session.query(ComparedDistance).count() == 3
    # A second comparison measures nothing twice. Without early labels it has fewer entries.
    assert compare(service, slug, OTHER).json()["extractors"][1]["measured"] == 2
    service.run_jobs()
    with service.context.sessions.begin() as session:
        assert session.query(ComparedDistance).count() == 3
    return other


def assert_measured_apart(service: Service) -> None:
    """The former track keeps its measurements. The private track has those of the comparison."""
    with service.context.sessions.begin() as session:
        tracks = {track.id: track for track in session.query(Track) if track.kind != "public"}
        assert sorted((track.kind, track.extractor) for track in tracks.values()) == [
            ("former", "tiny@1"), ("private", OTHER),
        ]  # fmt: skip
        measured = [
            (tracks[measurement.track_id].kind, measurement.provenance["extractor"])
            for measurement in session.query(Measurement)
            if measurement.track_id in tracks
        ]
        assert sorted(measured) == [("former", "tiny@1")] * 3 + [("private", OTHER)] * 5
        assert session.query(Job).filter_by(queue="score", state="cancelled").count() == 1
        # Comparing and scoring measure the same distances.
        private = next(track.id for track in tracks.values() if track.kind == "private")
        for distance in session.query(ComparedDistance):
            scored = submissions.newest_measurement(session, distance.submission_ref, private)
            assert scored is not None
            assert scored.memorization_distance == distance.memorization_distance
        assert {threshold.tau for threshold in session.query(Threshold) if tracks.get(threshold.track_id)}


def test_a_compared_extractor_can_become_the_private_one(service: Service) -> None:
    slug = service.competition()
    entries = [
        service.scored(who, slug, images)
        for who, images in (("ada", near(0)), ("bob", noise_images(11)), ("eve", noise_images(12)))
    ]
    refuse(service, slug)
    other = compared(service, slug, entries)
    # A waiting private job of the former track is cancelled. One entry is scored in between.
    service.submit("eve", slug, make_zip(noise_images(13)))
    assert run_next(service.context, Queue.CHECK)
    assert run_next(service.context, Queue.SCORE)
    before = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard?track=private").json()
    assert len(before["entries"]) == 3
    moment = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    chosen = choose(service, slug)
    assert chosen.status_code == 200, chosen.text
    assert (chosen.json()["extractor"], chosen.json()["waiting"], chosen.json()["scored"]) == (OTHER, 4, 0)
    after = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard?track=private").json()
    assert after["entries"] == []
    assert service.call("ada", "GET", f"/competitions/{slug}").json()["missing"] is None
    path = f"/competitions/{slug}/tracks/private/thresholds"
    thresholds = service.call("organizer", "GET", path).json()["thresholds"]
    assert [threshold["method"] for threshold in thresholds] == ["held_out"]
    assert thresholds[0]["tau"] == pytest.approx(other["held_out_distance"] / 2)
    bob = service.scored("bob", slug, noise_images(14))
    done = private_extractor(service, slug)
    assert (done["scored"], done["waiting"], done["failed"]) == (5, 0, 0)
    assert_measured_apart(service)
    after = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard?track=private").json()
    assert len(after["entries"]) == 3
    # The former extractor stays in the comparison with its measurements.
    extractors = [
        (extractor["extractor"], extractor["present"], extractor["state"])
        for extractor in done["comparison"]["extractors"]
    ]
    assert extractors == [(OTHER, True, "done"), ("tiny@1", False, "done")]
    label(service, slug, bob, "legitimate")
    extractors = [
        (extractor["extractor"], extractor["state"], extractor["measured"])
        for extractor in private_extractor(service, slug)["comparison"]["extractors"]
    ]
    assert extractors == [(OTHER, "done", 3), ("tiny@1", "incomplete", 2)]
    # The earlier board can still be shown.
    past = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard?track=private&as_of={moment}").json()
    assert (past["entries"], past["tau"]) == (before["entries"], before["tau"])
    (act,) = service.call("admin", "GET", "/admin/audit?action=track.replaced").json()["entries"]
    assert (act["before"]["extractor"], act["after"]["extractor"]) == ("tiny@1", OTHER)
    assert act["after"]["reason"] == "it separates better"
    seen = service.call("organizer", "GET", f"/submissions/{entries[0]['id']}").json()
    assert [measurement["track"] for measurement in seen["measurements"]] == ["public", "private"]
    assert seen["private_state"] == "done"
    # Participants can't see the new extractor.
    for path in (f"/competitions/{slug}", f"/submissions/{entries[0]['id']}", f"/competitions/{slug}/leaderboard"):
        assert "efficientnet" not in service.call("ada", "GET", path).text


def test_public_scores_precede_comparisons(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker scores waiting entries before it compares, and interrupts a comparison for them."""
    slug = service.competition()
    entry = service.scored("ada", slug, near(0))
    label(service, slug, entry, "aug")
    assert compare(service, slug, OTHER).status_code == 202
    assert run_next(service.context, Queue.PREPARE)
    service.submit("bob", slug, make_zip(noise_images(11)))
    assert run_next(service.context, Queue.CHECK)
    assert run_next(service.context, Queue.COMPARE)
    bob = service.call("organizer", "GET", f"/competitions/{slug}/submissions").json()["submissions"][0]
    assert bob["status"] == Status.SCORED
    assert run_next(service.context, Queue.COMPARE)  # bob's private score

    def interrupted(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr("worker.scoring.score.load_prepared", load_prepared)
        monkeypatch.setattr(preemption, "PREEMPT_AFTER", preemption.PREEMPT_AFTER * 0)
        service.submit("eve", slug, make_zip(noise_images(12)))
        assert run_next(service.context, Queue.CHECK)
        return load_prepared(*args, **options)

    monkeypatch.setattr("worker.scoring.score.load_prepared", interrupted)
    assert run_next(service.context, Queue.COMPARE)
    with service.context.sessions.begin() as session:
        (job,) = session.query(Job).filter_by(queue="compare")
        assert (job.state, job.attempts, job.holder) == ("waiting", 0, None)
        assert session.query(ComparedDistance).count() == 0
        due = job_queue.count_due(session)
        assert (due[Queue.COMPARE], due[Queue.SCORE]) == (1, 1)
    service.run_jobs()
    assert private_extractor(service, slug)["comparison"]["extractors"][1]["measured"] == 1


def test_without_held_out_images_an_organizer_must_choose_tau(service: Service) -> None:
    slug = service.competition()
    with service.context.sessions.begin() as session:
        track = next(row for row in session.query(Track).filter_by(kind="private"))
        track.extractor = "inception_v3@1"  # so that tiny, which is prepared, is a new choice
    with service.context.sessions.begin() as session:
        track = next(row for row in session.query(Track).filter_by(kind="private"))
        assert track.preparation is not None
        track.preparation.held_out_distance = None
    assert read_slug(choose(service, slug, "tiny")) == "no-held-out-distance"
    with serve(service.app) as url:

        def kennel(*words: str) -> str:
            organizer = {"KENNEL_URL": url, "KENNEL_TOKEN": service.tokens["organizer"]}
            done = CliRunner(env=organizer).invoke(make_admin({}), words, catch_exceptions=False)
            assert done.exit_code == 0, done.output
            return str(done.stdout)

        output = kennel("extractor", "choose", slug, "tiny", "--reason", "by command", "--tau", "0.125")
        assert output == "The private track uses tiny@1; 0 submissions are waiting to be scored.\n"
        options = ("--method", "manual", "--tau", "0.5", "--reason", "x")
        assert json.loads(kennel("threshold", "retune", slug, "private", *options, "--json"))["previous_tau"] == 0.125
        undone = json.loads(kennel("threshold", "undo", slug, "private", "--reason", "y", "--json"))
        assert (undone["method"], undone["tau"]) == ("undo", 0.125)
        label(service, slug, service.scored("ada", slug, noise_images(11)), "legitimate")
        # A comparison with the former extractor, which is prepared. A worker finishes it in another thread.
        with ThreadPoolExecutor(1) as pool:
            words = pool.submit(kennel, "extractor", "compare", slug, OTHER, "--json")
            while not words.done():
                service.run_jobs()
                time.sleep(0.05)
        document = json.loads(words.result())
        assert [space["measured"] for space in document["extractors"] if not space["present"]][:1] == [1]
    history = service.call("organizer", "GET", f"/competitions/{slug}/tracks/private/thresholds").json()["thresholds"]
    assert [(threshold["tau"], threshold["method"]) for threshold in history] == [
        (0.125, "undo"),
        (0.5, "manual"),
        (0.125, "manual"),
    ]
    with service.context.sessions.begin() as session:
        author = accounts.account_by_handle(session, "organizer")
        competition = competitions.competition_by_slug(session, slug)
        assert author is not None
        assert competition is not None
        session.add(
            Publication(
                competition_id=competition.id,
                published=True,
                reason="",
                author_id=author.id,
                created_at=datetime.now(UTC),
            )
        )
    assert read_slug(choose(service, slug)) == "published"
