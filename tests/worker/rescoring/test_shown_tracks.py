"""Shown tracks from their addition to their removal, with the worker's code."""

import csv
import io
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from api.rendering import formatting
from scorer.db.tables import AuditEntry, Job, Measurement, ShownMeasurement, ShownTrack, Submission
from scorer.lifecycle import Queue, Status
from tests.api.conftest import Service, read_problem
from tests.api.tuning.tuning_acts import add_shown_track, added_shown_track, measure
from tests.factories import make_zip, noise_images
from tests.worker.substitute_extractor import substitute_extractor
from worker.dispatch import run_next
from worker.scoring import shown_tracks as worker_module

__all__ = ["substitute_extractor"]  # pytest finds fixtures by their names in the module

OTHER = "efficientnet_lite0"


def shown(service: Service, slug: str, who: str | None = "organizer") -> list[dict[str, Any]]:
    """The shown tracks that a person sees."""
    answer = service.call(who, "GET", f"/competitions/{slug}/shown-tracks")
    assert answer.status_code == 200, answer.text
    return list(answer.json()["shown_tracks"])


def values(service: Service, name: str) -> dict[str, float | None]:
    """By entry id: the values on a shown track."""
    with service.context.sessions() as session:
        rows = session.query(Submission.id, ShownMeasurement.value, ShownMeasurement.provenance)
        return {
            id_: value
            for id_, value, provenance in rows.join(ShownMeasurement, ShownMeasurement.submission_ref == Submission.ref)
            if provenance["metric"] == name
        }


def boards(service: Service, slug: str) -> Mapping[str, Any]:
    """Both boards without shown tracks."""
    seen = {track: board(service, slug, "organizer", track=track) for track in ("public", "private")}
    for page in seen.values():
        del page["shown_tracks"]
        for row in page["entries"]:
            del row["shown"]
    return seen


def board(service: Service, slug: str, who: str | None = None, **params: str) -> dict[str, Any]:
    answer = service.call(who, "GET", f"/competitions/{slug}/leaderboard", params=params)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_all_entries_are_measured_when_no_other_job_waits(service: Service) -> None:
    slug = service.competition()
    first = service.scored("ada", slug, noise_images(11))["id"]
    before = boards(service, slug)
    view = added_shown_track(service, slug, "lite", extractor=OTHER, visibility="everybody")
    assert (view["extractor"], view["better"], view["progress"]["state"]) == (f"{OTHER}@1", "lower", "preparing")
    measure(service)
    (view,) = shown(service, slug)
    assert (view["progress"]["state"], view["progress"]["measured"], view["progress"]["missing"]) == ("measured", 1, 0)
    assert boards(service, slug) == before, "the ranking has not changed"
    later = service.submit("bob", slug, make_zip(noise_images(12))).json()["id"]
    assert run_next(service.context, Queue.CHECK)
    for queue in (Queue.SCORE, Queue.SCORE):
        assert run_next(service.context, queue)
    with service.context.sessions() as session:
        job = session.query(Job).filter_by(queue="rescore", state="waiting").one()
        assert (job.priority, job.track_id, job.submission.id if job.submission else None) == (2, None, later)
        measured = session.query(Measurement).count()
    measure(service)
    assert values(service, "fid").keys() == {first, later}
    assert all(value is not None and value > 0 for value in values(service, "fid").values())
    with service.context.sessions() as session:
        assert session.query(Measurement).count() == measured, "no ranked measurement was added"
        row = session.query(ShownMeasurement).order_by(ShownMeasurement.id).first()
        assert row is not None
        assert row.provenance["extractor"].startswith(OTHER)
        assert row.provenance["weights_sha256"]


def test_a_failure_leaves_the_entry_unchanged_and_can_be_repeated(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = service.competition()
    added_shown_track(service, slug, "distance", "memorization_distance")
    with monkeypatch.context() as patch:
        patch.setattr(worker_module, "_finite", lambda _number: 1 / 0)
        entry = service.scored("ada", slug, noise_images(11))
        for _ in range(service.context.settings.max_attempts):
            with service.context.sessions.begin() as session:
                session.query(Job).filter_by(queue="rescore").update({"due_at": datetime(2020, 1, 1, tzinfo=UTC)})
            measure(service)
    (view,) = shown(service, slug)
    assert (view["progress"]["failed"], view["progress"]["missing"], view["progress"]["measured"]) == (1, 1, 0)
    assert "ZeroDivisionError" in view["progress"]["error"]
    assert service.call("ada", "GET", f"/submissions/{entry['id']}").json()["status"] == Status.SCORED
    again = service.call("organizer", "POST", f"/competitions/{slug}/shown-tracks/distance/measurements")
    assert (again.status_code, again.json()) == (202, {"entries": 1})
    measure(service)
    assert values(service, "memorization_distance").keys() == {entry["id"]}
    assert shown(service, slug)[0]["progress"]["missing"] == 0
    # With the same extractor and references, it equals the ranked track's number.
    (row,) = boards(service, slug)["public"]["entries"]
    assert values(service, "memorization_distance")[entry["id"]] == row["memorization_distance"]


def test_participants_see_only_their_shown_tracks(service: Service) -> None:
    slug = service.competition(private={"extractor": OTHER, "epsilon": 1e-15})
    for body in ({"extractor": OTHER}, {"reference": "private"}):
        assert read_problem(add_shown_track(service, slug, "revealed", visibility="everybody", **body)) == (
            422,
            "reveals-private",
        )
    added_shown_track(service, slug, "open_kid", "kid", visibility="everybody")
    added_shown_track(service, slug, "later_kid", "kid")
    added_shown_track(service, slug, "private_kid", "kid", OTHER, reference="private")

    def seen(who: str | None) -> list[str]:
        return [track["name"] for track in shown(service, slug, who)]

    assert seen("organizer") == ["open_kid", "later_kid", "private_kid"]
    assert seen("ada") == seen(None) == ["open_kid"]
    assert shown(service, slug, "ada")[0]["progress"] is None
    service.close(slug, ago=timedelta(days=1))
    service.publish(slug, final=False)
    assert seen("ada") == ["open_kid"], "the provisional board does not show the other tracks"
    service.publish(slug)
    assert seen("ada") == seen(None) == ["open_kid", "later_kid", "private_kid"]
    service.publish(slug, published=False)
    assert seen(None) == ["open_kid"]


def test_invalid_shown_tracks_are_refused_and_removed_ones_disappear(service: Service) -> None:
    slug = service.competition()
    assert read_problem(add_shown_track(service, slug, "Bad name")) == (422, "bad-request")
    assert read_problem(add_shown_track(service, slug, "is", "inception")) == (422, "unknown-metric")
    assert read_problem(add_shown_track(service, slug, "fid", extractor="resnet")) == (422, "unknown-extractor")
    assert read_problem(add_shown_track(service, slug, "mifid", "mifid")) == (422, "bad-constants")
    added_shown_track(service, slug, "mifid", "mifid", constants={"tau": 0.2})
    assert read_problem(add_shown_track(service, slug, "mifid")) == (409, "name-taken")
    path = f"/competitions/{slug}/shown-tracks"
    for who, status in (("ada", 403), (None, 401)):
        assert service.call(who, "POST", path, json={}).status_code == status
        assert service.call(who, "DELETE", f"{path}/mifid").status_code == status
    service.submit("ada", slug, make_zip(noise_images(11)))
    for queue in (Queue.CHECK, Queue.SCORE, Queue.SCORE):
        assert run_next(service.context, queue)
    assert service.call("organizer", "DELETE", f"{path}/mifid").status_code == 204
    measure(service)
    assert values(service, "mifid") == {}, "waiting jobs are cancelled"
    assert shown(service, slug) == []
    assert read_problem(service.call("organizer", "DELETE", f"{path}/mifid")) == (404, "no-shown-track")
    added_shown_track(service, slug, "mifid")
    with service.context.sessions() as session:
        acts = [entry.action for entry in session.query(AuditEntry).order_by(AuditEntry.id)]
    assert [action for action in acts if action.startswith("shown-track.")] == [
        "shown-track.added", "shown-track.removed", "shown-track.added",
    ]  # fmt: skip


def test_new_references_are_prepared_for_shown_tracks(service: Service) -> None:
    slug = service.competition()
    added_shown_track(service, slug, "distance", "memorization_distance")
    images = make_zip(noise_images(5, count=24))
    answer = service.call("organizer", "PUT", f"/competitions/{slug}/references/train", content=images)
    assert answer.status_code == 200, answer.text
    assert shown(service, slug)[0]["progress"]["state"] == "unprepared"
    assert read_problem(add_shown_track(service, slug, "other")) == (409, "not-prepared")
    for kind in ("public", "private"):
        service.call("organizer", "POST", f"/competitions/{slug}/tracks/{kind}/preparation")
    service.run_jobs()
    assert shown(service, slug)[0]["progress"]["state"] == "measured"
    entry = service.scored("ada", slug, noise_images(11))
    measure(service)
    (row,) = boards(service, slug)["public"]["entries"]
    assert values(service, "memorization_distance") == {entry["id"]: row["memorization_distance"]}


def test_a_copy_has_no_mifid(service: Service) -> None:
    slug = service.competition(references={"train": noise_images(5, count=24), "held_out": noise_images(6, count=24)})
    added_shown_track(service, slug, "mifid", "mifid", constants={"tau": 0.2})
    entry = service.scored("ada", slug, noise_images(5, count=24)[:8])
    measure(service)
    assert values(service, "mifid") == {entry["id"]: None}


def test_without_references_the_job_waits(service: Service) -> None:
    slug = service.competition()
    added_shown_track(service, slug, "distance", "memorization_distance")
    service.submit("ada", slug, make_zip(noise_images(11)))
    for queue in (Queue.CHECK, Queue.SCORE, Queue.SCORE):
        assert run_next(service.context, queue)
    with service.context.sessions.begin() as session:
        session.query(ShownTrack).update({"preparation_id": None})
    measure(service)
    with service.context.sessions() as session:
        job = session.query(Job).filter_by(queue="rescore").one()
        assert (job.state, job.attempts, job.deferrals) == ("waiting", 0, 1)
        assert "not prepared" in (job.error or "")


def etag(service: Service, slug: str, who: str | None = None) -> str:
    return str(service.call(who, "GET", f"/competitions/{slug}/leaderboard").headers["ETag"])


def test_the_board_has_only_numbers_that_the_viewer_may_see(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(11))["id"]
    before, begun = etag(service, slug), datetime.now(UTC)
    assert board(service, slug)["shown_tracks"] == []
    added_shown_track(service, slug, "seen", "memorization_distance", visibility="everybody")
    added_tag = etag(service, slug)
    assert added_tag != before, "a new column changes the board"
    assert board(service, slug)["entries"][0]["shown"] == {}
    organizers_tag = etag(service, slug, "organizer")
    added_shown_track(service, slug, "unseen", "memorization_distance")
    assert etag(service, slug, "organizer") != organizers_tag
    assert etag(service, slug) == added_tag, "other viewers can't notice a number that only organizers see"
    measure(service)
    (row,) = board(service, slug)["entries"]
    value = {"value": row["memorization_distance"], "standard_error": row["shown"]["seen"]["standard_error"]}
    assert value["standard_error"] > 0
    assert row["shown"] == {"seen": value}
    (track,) = board(service, slug)["shown_tracks"]
    assert (track["name"], track["metric"], track["progress"]) == ("seen", "memorization_distance", None)
    organizers = board(service, slug, "organizer")
    assert organizers["entries"][0]["shown"] == {"seen": value, "unseen": value}
    assert [track["name"] for track in organizers["shown_tracks"]] == ["seen", "unseen"]
    assert organizers["entries"][0]["submission_id"] == entry
    assert board(service, slug, as_of=begun.isoformat())["entries"][0]["shown"] == {}, "not measured by then"
    measured_tag = etag(service, slug)
    service.call("organizer", "DELETE", f"/competitions/{slug}/shown-tracks/seen")
    assert etag(service, slug) != measured_tag
    assert board(service, slug)["entries"][0]["shown"] == {}


def test_the_csv_has_all_columns_and_the_page_has_chosen_columns(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(11))
    added_shown_track(service, slug, "seen", "memorization_distance", visibility="everybody")
    added_shown_track(service, slug, "unseen", "kid")
    service.scored("bob", slug, noise_images(12))
    measure(service)
    shown_value = board(service, slug)["entries"][0]["shown"]["seen"]

    def fetch_csv(who: str | None) -> list[dict[str, str]]:
        answer = service.call(who, "GET", f"/competitions/{slug}/leaderboard", params={"format": "csv"})
        return list(csv.DictReader(io.StringIO(answer.text)))

    first, second = fetch_csv(None)
    assert float(first["shown_seen"]) == shown_value["value"]
    assert float(first["shown_seen_se"]) == shown_value["standard_error"]
    assert float(second["shown_seen"]) > 0
    assert "shown_unseen" not in first
    assert float(fetch_csv("organizer")[0]["shown_unseen"]) > 0

    def page(who: str | None, query: str = "") -> str:
        headers = {"Authorization": f"Bearer {service.tokens[who]}"} if who else {}
        answer = service.http.get(f"/competitions/{slug}{query}", headers=headers)
        assert answer.status_code == 200, answer.text
        return str(answer.text)

    plain = page(None)
    assert 'value="seen"' in plain
    assert 'data-label="seen"' not in plain, "the viewer has not chosen it"
    assert "unseen" not in plain
    chosen = page(None, "?columns=seen&columns=unseen")
    assert chosen.count('data-label="seen"') == 2
    assert formatting.significant(shown_value["value"], 4) in chosen
    assert "unseen" not in chosen.replace("columns=unseen", "")
    both = page("organizer", "?columns=seen&columns=unseen")
    assert both.count('data-label="unseen"') == 2
