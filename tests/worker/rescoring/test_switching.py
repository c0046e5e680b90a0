"""Switches of rescoring campaigns: refusals, the threshold after an undo, and notices of new penalties."""

from datetime import UTC, datetime, timedelta

import pytest

from scorer.db import competitions
from scorer.db.tables import Job, Publication
from scorer.jobs import leases
from scorer.lifecycle import Queue
from tests.api.conftest import Service, read_problem
from tests.factories import make_zip, noise_images
from tests.worker.rescoring.campaigns import (
    cached,
    decide,
    fetch_preview,
    in_force,
    list_ranks,
    new_version,
    places,
    rescoring,
    service,
    slug,
    started,
    switch,
    undo,
    waiting,
)
from tests.worker.substitute_extractor import OTHER, substitute_extractor
from worker.dispatch import run_next
from worker.scoring import score

__all__ = ["cached", "service", "slug", "substitute_extractor"]  # pytest finds fixtures by their names in the module


def fetch_tau(service: Service, slug: str) -> float:
    tau: float = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard?track=private").json()["tau"]
    return tau


def choose(service: Service, slug: str, tau: float) -> None:
    body = {"method": "manual", "tau": tau, "reason": "Checked on the images."}
    answer = service.call("organizer", "POST", f"/competitions/{slug}/tracks/private/thresholds", json=body)
    assert answer.status_code == 201, answer.text


def test_a_campaign_of_two_scorer_versions_cannot_be_switched_on(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a worker is upgraded during a campaign, its measurements mix two versions."""
    slug = service.competition()
    for who, seed in (("ada", 11), ("bob", 12)):
        service.scored(who, slug, noise_images(seed))
    service.run_jobs(evidence=True)  # a campaign waits for these jobs
    before = places(service, slug, "private")
    new_version(monkeypatch, lambda fid: fid / 2)
    mixed = started(service, slug, track="private")
    assert run_next(service.context, Queue.RESCORE)
    monkeypatch.setattr(score, "SCORER_VERSION", "3")
    assert run_next(service.context, Queue.RESCORE)
    refused = decide(service, slug, mixed, "switch")
    assert read_problem(refused) == (409, "mixed-versions")
    assert "The measurements are from scorer versions 2 and 3." in refused.text
    assert places(service, slug, "private") == before
    assert decide(service, slug, mixed, "cancel").json()["state"] == "cancelled"
    another = started(service, slug, track="private")
    service.run_jobs(evidence=True)
    switch(service, slug, another)
    assert {by for *_, by in places(service, slug, "private")} == {None}


def test_an_undo_restores_tau_unless_another_was_chosen_since(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(11))
    earlier = fetch_tau(service, slug)
    new_version(monkeypatch, lambda fid: fid / 2)
    campaign = started(service, slug, track="private")
    service.run_jobs()
    switch(service, slug, campaign, tau=0.125)
    assert fetch_tau(service, slug) == 0.125
    undo(service, slug, campaign)
    assert fetch_tau(service, slug) == earlier
    switch(service, slug, campaign, tau=0.125)
    choose(service, slug, 0.25)
    undo(service, slug, campaign)
    assert fetch_tau(service, slug) == 0.25, "an organizer chose it after the switch, in the same feature space"


def test_an_undo_of_another_extractor_restores_its_feature_spaces_tau(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(11))
    choose(service, slug, 0.0625)
    campaign = started(service, slug, track="private", extractor=OTHER)
    service.run_jobs()
    switch(service, slug, campaign)
    assert fetch_tau(service, slug) != 0.0625
    choose(service, slug, 0.25)
    undo(service, slug, campaign)
    assert fetch_tau(service, slug) == 0.0625, "distances of two extractors have no common threshold"


def close_and_publish(service: Service, slug: str, days: float) -> None:
    """Close a competition and publish its provisional board, both this many days ago."""
    now = datetime.now(UTC)
    with service.context.sessions.begin() as session:
        competition = competitions.competition_by_slug(session, slug)
        assert competition is not None
        competition.closes_at = now - timedelta(days=days)
        act = Publication(competition_id=competition.id, published=True, final=False, reason="")
        act.author_id, act.created_at = competition.created_by, now - timedelta(days=days)
        session.add(act)


def penalty_notices(service: Service, who: str) -> list[str]:
    listed = service.call(who, "GET", "/notices").json()["notices"]
    bodies = [notice["body"] for notice in listed if "provisional board" in notice["body"]]
    return [body for body in bodies if "now penalises" in body or "is penalised" in body]


def test_newly_penalised_teams_are_notified_of_appeals(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition(appeal_days=7)
    ada = service.scored("ada", slug, noise_images(11))
    bob = service.submit("bob", slug, make_zip(noise_images(12))).json()
    assert run_next(service.context, Queue.CHECK)
    assert run_next(service.context, Queue.SCORE), "the public score"
    new_version(monkeypatch, lambda fid: fid, distance=0.001)
    campaign = started(service, slug, track="private", submissions=[ada["id"]])
    close_and_publish(service, slug, days=8)
    service.run_jobs(evidence=True)
    (words,) = penalty_notices(service, "bob")
    assert f"until {datetime.now(UTC) + timedelta(days=7):%Y-%m-%d}" in words, "its private score is new"
    appeal = {"text": "We trained it ourselves."}
    assert service.call("bob", "POST", f"/submissions/{bob['id']}/rebuttals", json=appeal).status_code == 201
    rebuttals = f"/submissions/{ada['id']}/rebuttals"
    assert read_problem(service.call("ada", "POST", rebuttals, json=appeal)) == (409, "nothing-to-rebut")
    switch(service, slug, campaign)
    (words,) = penalty_notices(service, "ada")
    assert f"until {datetime.now(UTC) + timedelta(days=7):%Y-%m-%d}" in words
    assert len(penalty_notices(service, "bob")) == 1
    assert service.call("ada", "POST", rebuttals, json=appeal).status_code == 201


def test_the_preview_of_an_undo_matches_the_undo(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The preview uses the restored threshold, because another one would penalise other entries."""
    slug = service.competition()
    for who, seed in (("ada", 11), ("bob", 12)):
        service.scored(who, slug, noise_images(seed))
    earlier = fetch_tau(service, slug)
    before = places(service, slug, "private")
    new_version(monkeypatch, lambda fid: 1e6 - fid)
    campaign = started(service, slug, track="private")
    service.run_jobs(evidence=True)
    switch(service, slug, campaign, tau=2.0)
    shown = rescoring(service, slug, f"/{campaign['id']}/preview").json()
    (impact,) = shown["boards"]
    assert (shown["undo"], shown["tau"]) == (True, earlier)
    assert (impact["penalised_before"], impact["penalised_after"]) == (2, 0)
    switched = list_ranks(places(service, slug, "private"))
    undo(service, slug, campaign)
    assert (fetch_tau(service, slug), places(service, slug, "private")) == (earlier, before)
    moved = {team: rank for team, rank in list_ranks(before).items() if rank != switched[team]}
    assert {move["team"].lower(): move["after"] for move in impact["first_moves"]} == moved


def test_a_campaign_without_measurements_cannot_be_switched_on(service: Service, slug: str) -> None:
    before = places(service, slug, "private")
    campaign = started(service, slug, track="private")
    with service.context.sessions.begin() as session:
        session.query(Job).filter_by(queue="rescore").update({"state": "failed", "error": "It broke."})
    assert rescoring(service, slug, f"/{campaign['id']}").json()["state"] == "measured", "no job waits"
    assert read_problem(decide(service, slug, campaign, "switch")) == (409, "nothing-measured")
    assert places(service, slug, "private") == before


def test_a_campaign_cannot_be_switched_on_after_a_reference_change(
    service: Service,
    slug: str,
) -> None:
    earlier = in_force(service, slug, extractor=OTHER)
    later = started(service, slug, track="private")
    service.run_jobs(evidence=True)
    assert fetch_preview(service, slug, later).status_code == 200
    undo(service, slug, earlier)
    before = places(service, slug, "private")
    assert read_problem(fetch_preview(service, slug, later)) == (409, "references-moved")
    assert read_problem(decide(service, slug, later, "switch")) == (409, "references-moved")
    assert places(service, slug, "private") == before


def test_an_older_campaign_cannot_replace_a_newer_one_in_force(service: Service, slug: str) -> None:
    older = in_force(service, slug)
    undo(service, slug, older)
    newer = in_force(service, slug)
    assert read_problem(fetch_preview(service, slug, older)) == (409, "newer-campaign")
    assert read_problem(decide(service, slug, older, "switch")) == (409, "newer-campaign")
    undo(service, slug, newer)
    switch(service, slug, older)


def test_a_replaced_private_tracks_campaign_has_no_preview_or_decision(service: Service, slug: str) -> None:
    current = in_force(service, slug)
    measured = started(service, slug, track="private", extractor=OTHER)
    service.run_jobs()
    for campaign in (current, measured):
        assert fetch_preview(service, slug, campaign).status_code == 200
    body = {"extractor": OTHER, "reason": "It separates better.", "tau": 0.125}
    replaced = service.call("organizer", "PUT", f"/competitions/{slug}/private-extractor", json=body)
    assert replaced.is_success, replaced.text
    for campaign, decision in ((current, "undo"), (measured, "switch")):
        assert read_problem(decide(service, slug, campaign, decision)) == (409, "former-track")
        assert read_problem(fetch_preview(service, slug, campaign)) == (409, "former-track"), (
            "the preview fails like the decision"
        )


def test_a_score_measured_against_old_references_restarts_at_a_switch(
    service: Service,
    slug: str,
) -> None:
    campaign = started(service, slug, track="private", extractor=OTHER)
    service.run_jobs()
    service.submit("bob", slug, make_zip(noise_images(12)))
    assert run_next(service.context, Queue.CHECK)
    assert run_next(service.context, Queue.SCORE), "the public score"
    context = service.context
    with context.sessions.begin() as session:
        claim = leases.claim_job(
            session, Queue.SCORE, holder="h", worker="w", now=context.now(), lease=timedelta(minutes=5)
        )
        assert claim is not None
    switch(service, slug, campaign)
    with context.sessions() as session:
        job = session.get_one(Job, claim.job.id)
        assert (job.state, job.holder) == ("waiting", None), "the worker's result is not accepted"


def test_a_cancelled_campaign_measures_nothing_when_prepared(service: Service, slug: str) -> None:
    campaign = started(service, slug, track="private", extractor=OTHER)
    assert decide(service, slug, campaign, "cancel").json()["state"] == "cancelled"
    assert run_next(service.context, Queue.PREPARE)
    assert waiting(service, Queue.RESCORE) == 0
