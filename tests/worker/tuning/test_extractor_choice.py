"""Choosing the private extractor: comparison on labelled entries, with a worker's own code."""

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
from tests.factories import noise_images, zip_of
from tests.http_server import serve
from tests.worker.substitute_extractor import OTHER, substitute_extractor
from worker.dispatch import run_next
from worker.runtime import preemption
from worker.scoring.reference_features import load_prepared

__all__ = ["substitute_extractor"]  # a fixture is found by its name here


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


def slug_of(answer: Any) -> str:
    return str(answer.json()["type"]).rpartition(":")[2]


def label_early(service: Service, entry: Any, name: str) -> None:
    answer = service.call("organizer", "PUT", f"/submissions/{entry['id']}/early-label", json={"label": name})
    assert answer.json().items() >= {"label": name, "source": "hand"}.items()


def refuse(service: Service, slug: str) -> None:
    """Comparisons and choices that are refused, and for which roles."""
    assert (compare(service, slug, OTHER).status_code, slug_of(compare(service, slug, OTHER))) == (409, "no-labels")
    assert slug_of(compare(service, slug, "tiny")) == "no-candidates"
    assert slug_of(compare(service, slug, "resnet")) == "unknown-extractor"
    assert slug_of(choose(service, slug)) == "not-prepared"
    assert slug_of(choose(service, slug, "tiny")) == "no-change"
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
    """The other extractor's feature space, once it is compared: of a memoriser, a legitimate entry, and one with
    the early label ``legitimate``."""
    label(service, slug, entries[0], "aug")
    label(service, slug, entries[1], "legitimate")
    label_early(service, entries[2], "legitimate")
    begun = compare(service, slug, OTHER, "tiny", early_labels=True)
    assert begun.status_code == 202, begun.text
    assert [(each["extractor"], each["state"]) for each in begun.json()["extractors"]] == [
        ("tiny@1", "done"), (OTHER, "preparing"),
    ]  # fmt: skip
    assert slug_of(choose(service, slug)) == "not-prepared"
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
    # Again: nothing is measured twice. Without early labels: of fewer entries.
    assert compare(service, slug, OTHER).json()["extractors"][1]["measured"] == 2
    service.run_jobs()
    with service.context.sessions.begin() as session:
        assert session.query(ComparedDistance).count() == 3
    return other


def assert_measured_apart(service: Service) -> None:
    """The former track keeps its measurements; the private one has what comparing has measured."""
    with service.context.sessions.begin() as session:
        tracks = {track.id: track for track in session.query(Track) if track.kind != "public"}
        assert sorted((track.kind, track.extractor) for track in tracks.values()) == [
            ("former", "tiny@1"), ("private", OTHER),
        ]  # fmt: skip
        measured = [
            (tracks[each.track_id].kind, each.provenance["extractor"])
            for each in session.query(Measurement)
            if each.track_id in tracks
        ]
        assert sorted(measured) == [("former", "tiny@1")] * 3 + [("private", OTHER)] * 5
        assert session.query(Job).filter_by(queue="score", state="cancelled").count() == 1
        # What comparing measured is what scoring measured.
        private = next(track.id for track in tracks.values() if track.kind == "private")
        for each in session.query(ComparedDistance):
            scored = submissions.newest_measurement(session, each.submission_ref, private)
            assert scored is not None
            assert scored.memorization_distance == each.memorization_distance
        assert {each.tau for each in session.query(Threshold) if tracks.get(each.track_id)}


def test_from_a_comparison_to_another_private_network(service: Service) -> None:
    slug = service.competition()
    entries = [
        service.scored(who, slug, images)
        for who, images in (("ada", near(0)), ("bob", noise_images(11)), ("eve", noise_images(12)))
    ]
    refuse(service, slug)
    other = compared(service, slug, entries)
    # A private job that waits on the former track is not done any more; one entry is scored in between.
    service.submit("eve", slug, zip_of(noise_images(13)))
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
    assert [each["method"] for each in thresholds] == ["held_out"]
    assert thresholds[0]["tau"] == pytest.approx(other["held_out_distance"] / 2)
    bob = service.scored("bob", slug, noise_images(14))
    done = private_extractor(service, slug)
    assert (done["scored"], done["waiting"], done["failed"]) == (5, 0, 0)
    assert_measured_apart(service)
    after = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard?track=private").json()
    assert len(after["entries"]) == 3
    # The former network stays in the comparison, by what was measured with it.
    spaces = [(each["extractor"], each["present"], each["state"]) for each in done["comparison"]["extractors"]]
    assert spaces == [(OTHER, True, "done"), ("tiny@1", False, "done")]
    label(service, slug, bob, "legitimate")
    spaces = [
        (each["extractor"], each["state"], each["measured"])
        for each in private_extractor(service, slug)["comparison"]["extractors"]
    ]
    assert spaces == [(OTHER, "done", 3), ("tiny@1", "incomplete", 2)]
    # The board of before can be shown again.
    past = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard?track=private&as_of={moment}").json()
    assert (past["entries"], past["tau"]) == (before["entries"], before["tau"])
    (act,) = service.call("admin", "GET", "/admin/audit?action=track.replaced").json()["entries"]
    assert (act["before"]["extractor"], act["after"]["extractor"]) == ("tiny@1", OTHER)
    assert act["after"]["reason"] == "it separates better"
    seen = service.call("organizer", "GET", f"/submissions/{entries[0]['id']}").json()
    assert [each["track"] for each in seen["measurements"]] == ["public", "private"]
    assert seen["private_state"] == "done"
    # No one else gets a notice of this.
    for path in (f"/competitions/{slug}", f"/submissions/{entries[0]['id']}", f"/competitions/{slug}/leaderboard"):
        assert "efficientnet" not in service.call("ada", "GET", path).text


def test_public_scores_go_first(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker scores waiting entries before it compares, and preempts a comparison for them."""
    slug = service.competition()
    entry = service.scored("ada", slug, near(0))
    label(service, slug, entry, "aug")
    assert compare(service, slug, OTHER).status_code == 202
    assert run_next(service.context, Queue.PREPARE)
    service.submit("bob", slug, zip_of(noise_images(11)))
    assert run_next(service.context, Queue.CHECK)
    assert run_next(service.context, Queue.COMPARE)
    bob = service.call("organizer", "GET", f"/competitions/{slug}/submissions").json()["submissions"][0]
    assert bob["status"] == Status.SCORED
    assert run_next(service.context, Queue.COMPARE)  # his private score

    def interrupted(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr("worker.scoring.score.load_prepared", load_prepared)
        monkeypatch.setattr(preemption, "PREEMPT_AFTER", preemption.PREEMPT_AFTER * 0)
        service.submit("eve", slug, zip_of(noise_images(12)))
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


def test_without_held_out_images_somebody_says_what_tau_is(service: Service) -> None:
    slug = service.competition()
    with service.context.sessions.begin() as session:
        track = next(each for each in session.query(Track).filter_by(kind="private"))
        track.extractor = "inception_v3@1"  # as if it were another one than the prepared tiny
    with service.context.sessions.begin() as session:
        track = next(each for each in session.query(Track).filter_by(kind="private"))
        assert track.preparation is not None
        track.preparation.held_out_distance = None
    assert slug_of(choose(service, slug, "tiny")) == "no-held-out-distance"
    with serve(service.app) as url:

        def kennel(*words: str) -> str:
            organizer = {"KENNEL_URL": url, "KENNEL_TOKEN": service.tokens["organizer"]}
            done = CliRunner(env=organizer).invoke(make_admin({}), words, catch_exceptions=False)
            assert done.exit_code == 0, done.output
            return str(done.stdout)

        output = kennel("extractor", "choose", slug, "tiny", "--reason", "by command", "--tau", "0.125")
        assert output == "The private track has tiny@1; 0 entries are to be scored.\n"
        by_hand = ("--method", "manual", "--tau", "0.5", "--reason", "x")
        assert json.loads(kennel("threshold", "retune", slug, "private", *by_hand, "--json"))["previous_tau"] == 0.125
        undone = json.loads(kennel("threshold", "undo", slug, "private", "--reason", "y", "--json"))
        assert (undone["method"], undone["tau"]) == ("undo", 0.125)
        label(service, slug, service.scored("ada", slug, noise_images(11)), "legitimate")
        # Compared with the former space, whose references are ready: a worker finishes it in another thread.
        with ThreadPoolExecutor(1) as pool:
            words = pool.submit(kennel, "extractor", "compare", slug, OTHER, "--json")
            while not words.done():
                service.run_jobs()
                time.sleep(0.05)
        document = json.loads(words.result())
        assert [space["measured"] for space in document["extractors"] if not space["present"]][:1] == [1]
    history = service.call("organizer", "GET", f"/competitions/{slug}/tracks/private/thresholds").json()["thresholds"]
    assert [(each["tau"], each["method"]) for each in history] == [(0.125, "undo"), (0.5, "manual"), (0.125, "manual")]
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
    assert slug_of(choose(service, slug)) == "published"
