"""Rescoring campaigns from their start to a switch and undo, with the worker's code."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kennel_client.cli.admin.rescoring import app
from scorer.db import competitions
from scorer.db.blob_references import referenced_keys
from scorer.db.tables import AuditEntry, Evidence, Job, Measurement, Submission, Track
from scorer.lifecycle import Queue, Status
from tests.api.conftest import Service, read_problem
from tests.factories import make_zip, noise_images
from tests.http_server import serve
from tests.worker.rescoring.campaigns import (
    PRIZES,
    assert_refused_while_published,
    decide,
    list_ranks,
    new_version,
    places,
    rescoring,
    started,
    waiting,
)
from tests.worker.substitute_extractor import OTHER, substitute_extractor
from worker.dispatch import run_next

__all__ = ["substitute_extractor"]  # pytest finds fixtures by their names in the module


def moment() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def test_mixed_versions_are_marked_and_a_campaign_has_lowest_priority(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = service.competition()
    for who, seed in (("ada", 11), ("bob", 12)):
        service.scored(who, slug, noise_images(seed))
    private = places(service, slug, "private")
    new_version(monkeypatch, lambda fid: 1e6 - fid)
    campaign = started(service, slug, track="private")
    assert (campaign["state"], campaign["waiting"], campaign["new_references"]) == ("measuring", 2, False)
    assert read_problem(rescoring(service, slug, reason="again", track="private")) == (409, "campaign-open")
    assert read_problem(decide(service, slug, campaign, "switch")) == (409, "wrong-state")
    assert read_problem(decide(service, slug, campaign, "undo")) == (409, "wrong-state")
    service.submit("eve", slug, make_zip(noise_images(13)))
    assert run_next(service.context, Queue.CHECK)
    assert run_next(service.context, Queue.RESCORE)
    newest = service.call("organizer", "GET", f"/competitions/{slug}/submissions").json()["submissions"][0]
    assert newest["status"] == Status.SCORED
    assert decide(service, slug, campaign, "pause").json()["state"] == "paused"
    service.run_jobs(evidence=True)
    assert waiting(service, Queue.RESCORE) == 2
    assert decide(service, slug, campaign, "resume").json()["state"] == "measuring"
    service.run_jobs(evidence=True)
    shown = rescoring(service, slug, f"/{campaign['id']}").json()
    assert (shown["state"], shown["done"], shown["measured"], shown["changed"]) == ("measured", 2, 2, 2)
    assert (shown["scorer_versions"], shown["missing"], shown["distance_difference"]) == (["2"], 0, 0.0)
    # The boards have not changed, and entries scored since are marked.
    assert [place for place in places(service, slug, "private") if place[0] != "eve"] == private
    marked = {team: by for team, _, by in places(service, slug)}
    assert marked == {"ada": None, "bob": None, "eve": "scorer version 2"}
    board = service.call(None, "GET", f"/competitions/{slug}/leaderboard").json()
    assert board["measured_by"] == ["scorer version 1", "scorer version 2"]
    table = service.call(None, "GET", f"/competitions/{slug}/leaderboard?format=csv").text
    assert [line.rpartition(",")[2] for line in table.splitlines()].count("scorer version 2") == 1
    assert "unless a badge shows another version" in service.http.get(f"/competitions/{slug}").text
    assert decide(service, slug, campaign, "switch").status_code == 201
    assert {by for *_, by in places(service, slug, "private")} == {None}, "version 2 measured all of them"


def test_a_switch_matches_its_preview_and_can_be_undone(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition(prizes=PRIZES, medals={"gold": 1, "silver": 1, "bronze": 1})
    for who, seed in (("ada", 11), ("bob", 12), ("eve", 13)):
        service.scored(who, slug, noise_images(seed))
    before = places(service, slug, "private")
    new_version(monkeypatch, lambda fid: 1e6 - fid)  # which reverses the board
    campaign = started(service, slug, track="private")
    service.run_jobs(evidence=True)
    assert places(service, slug, "private") == before
    preview = rescoring(service, slug, f"/{campaign['id']}/preview").json()
    assert (preview["undo"], preview["tau"], [board["track"] for board in preview["boards"]]) == (
        False,
        None,
        ["private"],
    )
    (impact,) = preview["boards"]
    ranked = [place[0] for place in before]
    first, last = ranked[0], ranked[-1]
    assert [(move["team"].lower(), move["before"], move["after"]) for move in impact["prizes"]] == [
        (last, None, "$500"), (first, "$500", None),
    ]  # fmt: skip
    assert [move["after"] for move in impact["medals"]] == ["gold", None]
    unswitched = moment()
    switched = decide(service, slug, campaign, "switch")
    assert (switched.status_code, switched.json()["state"]) == (201, "in force")
    after = places(service, slug, "private")
    assert [team for team, *_ in after] == [team for team, *_ in reversed(before)]
    assert impact["moves"] == 2
    assert {move["team"].lower(): move["after"] for move in impact["first_moves"]}.items() <= list_ranks(after).items()
    in_between = moment()
    assert rescoring(service, slug, f"/{campaign['id']}/preview").json()["undo"] is True
    assert decide(service, slug, campaign, "undo").json()["state"] == "taken back"
    assert places(service, slug, "private") == before
    # Both generations of measurements stay, and past boards are unchanged.
    assert places(service, slug, "private", as_of=unswitched) == before
    assert places(service, slug, "private", as_of=in_between) == after
    with service.context.sessions() as session:
        assert session.query(Measurement).count() == 3 * 3
        acts = [entry.action for entry in session.query(AuditEntry).order_by(AuditEntry.id)]
    assert [action for action in acts if action.startswith("rescoring.")] == [
        "rescoring.started", "rescoring.switch", "rescoring.undo",
    ]  # fmt: skip
    assert_refused_while_published(service, slug, campaign)
    assert places(service, slug, "private") == after
    for reader, status in (("ada", 403), (None, 401)):
        assert service.call(reader, "GET", f"/competitions/{slug}/rescoring").status_code == status


def test_chosen_entries_can_be_rescored_by_command(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition(prizes=PRIZES)
    entries = {who: service.scored(who, slug, noise_images(seed)) for who, seed in (("ada", 11), ("bob", 12))}
    first = places(service, slug)
    new_version(monkeypatch, lambda fid: fid / 2)
    wrong = rescoring(service, slug, reason="x", submissions=["nowhere"])
    assert read_problem(wrong) == (422, "unknown-entries")
    one = rescoring(service, slug, reason="x", submissions=[entries["ada"]["id"]], extractor=OTHER)
    assert read_problem(one) == (422, "all-entries")
    with serve(service.app) as url:
        organizer = {"KENNEL_URL": url, "KENNEL_TOKEN": service.tokens["organizer"]}

        def kennel(*words: str) -> Any:
            done = CliRunner(env=organizer).invoke(app, [*words, "--json"], catch_exceptions=False)
            assert done.exit_code == 0, done.output
            return json.loads(done.stdout)

        cancelled = kennel("start", slug, "public", "--reason", "no", "--submission", entries["bob"]["id"])
        assert kennel("cancel", slug, str(cancelled["id"]), "--reason", "no")["state"] == "cancelled"
        service.run_jobs(evidence=True)
        chosen = kennel("start", slug, "public", "--reason", "yes", "--submission", entries["ada"]["id"])
        service.run_jobs(evidence=True)
        number = str(chosen["id"])
        assert kennel("show", slug, number)["measured"] == 1
        (public, private) = kennel("preview", slug, number)["boards"]
        assert (public["track"], private["track"], private["moves"]) == ("public", "private", 0)
        assert kennel("switch", slug, number, "--reason", "yes")["state"] == "in force"
        assert [(campaign["id"], campaign["state"]) for campaign in kennel("list", slug)] == [
            (chosen["id"], "in force"), (cancelled["id"], "cancelled"),
        ]  # fmt: skip
        by = {team: (fid, by) for team, fid, by in places(service, slug)}
        was = {team: fid for team, fid, _ in first}
        assert by["ada"][0] == pytest.approx(was["ada"] / 2)
        assert by["bob"][0] == was["bob"]
        assert sorted(name or "" for _, name in by.values()) in (["", "scorer version 1"], ["", "scorer version 2"])
        # An undo of the older campaign needs an undo of the newer one first.
        newer = kennel("start", slug, "public", "--reason", "all")
        service.run_jobs(evidence=True)
        assert kennel("switch", slug, str(newer["id"]), "--reason", "all")["state"] == "in force"
        assert {place[2] for place in places(service, slug)} == {None}
        assert read_problem(decide(service, slug, chosen, "undo")) == (409, "newer-campaign")
        assert kennel("undo", slug, str(newer["id"]), "--reason", "all")["state"] == "taken back"
        assert kennel("undo", slug, number, "--reason", "yes")["state"] == "taken back"
        assert places(service, slug) == first


def test_corrected_references_apply_to_the_track_after_the_switch(service: Service, tmp_path: Path) -> None:
    slug = service.competition()
    ada = service.scored("ada", slug, noise_images(11))
    first = places(service, slug)
    (tmp_path / "train.zip").write_bytes(make_zip(noise_images(91, 30)))

    def references() -> tuple[Sequence[int], str]:
        with service.context.sessions() as session:
            track = session.query(Track).filter_by(kind="public").one()
            assert track.preparation is not None
            attached = competitions.load_references(session, track.competition_id)["train"].reference_set
            return track.preparation.reference_set_ids, attached.sha256

    earlier = references()
    refused = service.call(
        "organizer", "PUT", f"/competitions/{slug}/references/train", content=make_zip(noise_images(91, 30))
    )
    assert read_problem(refused) == (409, "references-fixed")
    with serve(service.app) as url:
        organizer = CliRunner(env={"KENNEL_URL": url, "KENNEL_TOKEN": service.tokens["organizer"]})
        words = [slug, "public", "--references", f"train={tmp_path / 'train.zip'}", "--reason", "Wrong.", "--json"]
        done = organizer.invoke(app, ["start", *words], catch_exceptions=False)
    campaign = json.loads(done.stdout)
    assert (campaign["state"], campaign["new_references"], campaign["waiting"]) == ("preparing", True, 0)
    assert references() == earlier
    service.run_jobs(evidence=True)
    # The campaign also measures entries that are scored before the switch.
    service.scored("bob", slug, noise_images(12))
    service.run_jobs(evidence=True)
    campaign = rescoring(service, slug, f"/{campaign['id']}").json()
    assert (campaign["state"], campaign["measured"], campaign["missing"]) == ("measured", 2, 0)
    before = places(service, slug)
    assert [place for place in before if place[0] == "ada"] == first
    assert decide(service, slug, campaign, "switch", tau=0.125).json()["state"] == "in force"
    assert references() != earlier
    with service.context.sessions() as session:  # the sweep keeps both, for undo and another switch
        keys = {f"reference-images/{sha256}/features.npz" for _, sha256 in (earlier, references())}
        assert referenced_keys(session, "reference-images", keys) == keys
    switched = places(service, slug)
    assert {place[2] for place in switched} == {None}
    assert {place[1] for place in switched}.isdisjoint(place[1] for place in before)
    assert waiting(service, Queue.EVIDENCE) == 2
    service.run_jobs(evidence=True)
    with service.context.sessions() as session:
        ref = session.query(Submission).filter_by(id=ada["id"]).one().ref
        made = session.query(Evidence).filter_by(submission_ref=ref).join(Track).filter(Track.kind == "public")
        assert len({campaign.preparation_id for campaign in made}) == 2
    board = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard").json()
    assert board["tau"] == 0.125
    # Later entries are measured with the new references. After an undo they wait for a score with the earlier ones.
    service.scored("eve", slug, noise_images(13))
    assert {place[2] for place in places(service, slug)} == {None}
    assert decide(service, slug, campaign, "undo").json()["state"] == "taken back"
    assert (references(), places(service, slug)) == (earlier, before)
    service.run_jobs()
    assert [place for place in places(service, slug) if place[0] != "eve"] == before
    assert {place[0] for place in places(service, slug)} == {"ada", "bob", "eve"}
    assert {place[2] for place in places(service, slug)} == {None}


def test_another_extractor_measures_all_entries_or_none(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(11))
    service.scored("bob", slug, noise_images(12))
    first = places(service, slug, "private")
    campaign = started(service, slug, track="private", extractor=OTHER)
    assert run_next(service.context, Queue.PREPARE)
    with service.context.sessions.begin() as session:
        job = session.query(Job).filter_by(queue="rescore").first()
        assert job is not None
        job.state, job.error = "failed", "It broke."
    shown = rescoring(service, slug, f"/{campaign['id']}").json()
    assert (shown["waiting"], shown["failed"], shown["error"], shown["missing"]) == (1, 1, "It broke.", 2)
    service.run_jobs(evidence=True)
    assert rescoring(service, slug, f"/{campaign['id']}").json()["state"] == "measured"
    assert read_problem(decide(service, slug, campaign, "switch")) == (409, "not-measured")
    assert decide(service, slug, campaign, "resume").json()["waiting"] == 1
    service.run_jobs()
    preview = rescoring(service, slug, f"/{campaign['id']}/preview").json()
    assert decide(service, slug, campaign, "switch").json()["extractor"] == OTHER
    board = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard?track=private").json()
    assert board["tau"] == preview["tau"]
    assert places(service, slug, "private") != first
    decide(service, slug, campaign, "undo")
    assert places(service, slug, "private") == first
