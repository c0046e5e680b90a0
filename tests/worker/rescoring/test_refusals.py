"""Refusals of rescoring campaigns, which change nothing."""

from typing import Any

import pytest

from scorer.acting import Acting
from scorer.competitions.competition_state import load_state
from scorer.db.tables import Account, Job, Measurement, Track
from scorer.errors import Conflict
from scorer.lifecycle import Queue
from scorer.rescoring import campaigns, switching
from scorer.rescoring.campaigns import CampaignAct, NewCampaign
from tests.api.conftest import Service, read_problem
from tests.factories import make_zip, noise_images
from tests.worker.rescoring.campaigns import (
    cached,
    campaign_acts,
    decide,
    fetch_preview,
    in_force,
    places,
    replace_private_track,
    rescoring,
    service,
    slug,
    started,
    undo,
    waiting,
    with_an_entry,
)
from tests.worker.substitute_extractor import OTHER, substitute_extractor
from worker.dispatch import run_next
from worker.runtime.preemption import Preempted
from worker.scoring import score

__all__ = ["cached", "service", "slug", "substitute_extractor"]  # pytest finds fixtures by their names in the module
UNKNOWN = "0" * 64


def start(service: Service, slug: str, **body: Any) -> Any:
    """The response to a request for a campaign."""
    return rescoring(service, slug, **{"reason": "A corrected scorer.", "track": "private", **body})


def allowed(service: Service, slug: str, campaign: Any) -> list[str]:
    """The decisions that a campaign offers."""
    decisions: list[str] = rescoring(service, slug, f"/{campaign['id']}").json()["allowed"]
    return decisions


def attach(service: Service, slug: str, *roles: str) -> None:
    for seed, role in enumerate(roles, start=70):
        content = make_zip(noise_images(seed, count=24))
        answer = service.call("organizer", "PUT", f"/competitions/{slug}/references/{role}", content=content)
        assert answer.status_code == 200, answer.text


def test_no_campaign_starts_before_the_references_are_prepared(service: Service) -> None:
    slug = service.competition()
    attach(service, slug, "train")
    assert read_problem(start(service, slug)) == (409, "not-prepared")
    assert campaign_acts(service) == []


def test_no_campaign_starts_without_a_measurable_entry(service: Service) -> None:
    slug = service.competition()
    assert read_problem(start(service, slug)) == (422, "no-entries")
    assert rescoring(service, slug).json()["campaigns"] == []


def test_corrected_references_must_be_uploaded_and_of_the_tracks_roles(service: Service, slug: str) -> None:
    unused = start(service, slug, track="public", references={"private_extra": UNKNOWN})
    assert read_problem(unused) == (422, "unused-role")
    assert read_problem(start(service, slug, references={"train": UNKNOWN})) == (422, "unknown-references")
    assert rescoring(service, slug).json()["campaigns"] == []


def test_campaigns_of_other_competitions_are_not_found(service: Service) -> None:
    elsewhere = started(service, with_an_entry(service), track="private")
    slug = service.competition()
    path = f"/{elsewhere['id']}"
    assert read_problem(rescoring(service, slug, path)) == (404, "no-campaign")
    assert read_problem(fetch_preview(service, slug, elsewhere)) == (404, "no-campaign")
    for decision in ("pause", "cancel", "switch"):
        assert read_problem(decide(service, slug, elsewhere, decision)) == (404, "no-campaign")
    assert campaign_acts(service) == ["rescoring.started"]


def test_only_decisions_of_the_state_are_offered_and_possible(service: Service, slug: str) -> None:
    campaign = started(service, slug, track="private")
    acts = ["rescoring.started"]

    def only(*possible: str) -> None:
        """Check that only these decisions are possible and that others change nothing."""
        assert sorted(allowed(service, slug, campaign)) == sorted(possible)
        for decision in {"pause", "resume", "cancel", "switch", "undo"} - {*possible}:
            assert read_problem(decide(service, slug, campaign, decision)) == (409, "wrong-state"), decision
        assert campaign_acts(service) == acts

    def act(decision: str) -> None:
        assert decide(service, slug, campaign, decision).status_code == 201
        acts.append(f"rescoring.{decision}")

    only("pause", "cancel")
    act("pause")
    only("resume", "cancel")
    act("resume")
    service.run_jobs(evidence=True)
    only("cancel", "switch")
    act("switch")
    only("undo")
    act("undo")
    only("switch")


def test_a_cancelled_campaign_cancels_its_jobs(service: Service, slug: str) -> None:
    service.scored("bob", slug, noise_images(12))
    service.run_jobs(evidence=True)
    campaign = started(service, slug, track="private")
    assert run_next(service.context, Queue.RESCORE)
    assert waiting(service, Queue.RESCORE) == 1
    assert decide(service, slug, campaign, "cancel").json()["state"] == "cancelled"
    assert waiting(service, Queue.RESCORE) == 0
    assert allowed(service, slug, campaign) == []
    assert read_problem(fetch_preview(service, slug, campaign)) == (409, "wrong-state")
    for decision in ("pause", "resume", "cancel", "switch", "undo"):
        assert read_problem(decide(service, slug, campaign, decision)) == (409, "wrong-state")


def test_a_decision_that_would_be_refused_is_not_offered(service: Service, slug: str) -> None:
    older = in_force(service, slug)
    undo(service, slug, older)
    assert allowed(service, slug, older) == ["switch"]
    newer = in_force(service, slug)
    assert allowed(service, slug, older) == [], "a newer campaign is in force"
    assert allowed(service, slug, newer) == ["undo"]
    unmeasured = started(service, slug, track="public")
    with service.context.sessions.begin() as session:
        session.query(Job).filter_by(queue="rescore", state="waiting").update({"state": "failed", "error": "It broke."})
    assert allowed(service, slug, unmeasured) == ["resume", "cancel"], "the campaign has measured nothing"


def test_another_extractor_needs_a_first_threshold(service: Service) -> None:
    slug = service.competition(references={"train": noise_images(5, count=24)})
    body = {"method": "manual", "tau": 0.125, "reason": "There are no held-out images."}
    for kind in ("public", "private"):
        path = f"/competitions/{slug}/tracks/{kind}/thresholds"
        assert service.call("organizer", "POST", path, json=body).status_code == 201
    service.scored("ada", slug, noise_images(11))
    before = places(service, slug, "private")
    campaign = started(service, slug, track="private", extractor=OTHER)
    service.run_jobs(evidence=True)
    assert read_problem(fetch_preview(service, slug, campaign)) == (422, "no-held-out-distance")
    assert read_problem(decide(service, slug, campaign, "switch")) == (422, "no-held-out-distance")
    assert places(service, slug, "private") == before
    assert "switch" in allowed(service, slug, campaign), "a switch with a threshold is possible"
    assert decide(service, slug, campaign, "switch", tau=0.25).json()["state"] == "in force"


def test_participants_are_notified_of_a_switch_and_its_undo(service: Service, slug: str) -> None:
    service.scored("bob", slug, noise_images(12))
    campaign = in_force(service, slug)
    undo(service, slug, campaign)
    for who, notified in (("ada", True), ("bob", True), ("eve", False)):
        notices = service.call(who, "GET", "/notices").json()["notices"]
        bodies = [notice["body"] for notice in notices if "have changed" in notice["subject"]]
        assert [body.partition(" on the private track")[0] for body in bodies] == [
            "The new measurements of entries no longer count, and the earlier ones count again",
            "Entries have been measured again, and the new measurements now count",
        ][: 2 * notified]
        assert not any("switch!" in body or "undo!" in body for body in bodies), "only organizers see reasons"


def test_a_campaign_yields_to_a_public_score(service: Service, slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    service.run_jobs(evidence=True)
    started(service, slug, track="private")

    def preempted(*_: Any) -> Any:
        def progress(_stage: str, _fraction: float) -> None:
            raise Preempted

        return progress

    with service.context.sessions() as session:
        measured = session.query(Measurement).count()
    monkeypatch.setattr(score, "preemptible", preempted)
    assert run_next(service.context, Queue.RESCORE)
    with service.context.sessions() as session:
        job = session.query(Job).filter_by(queue="rescore").one()
        assert (job.state, job.attempts, session.query(Measurement).count()) == ("waiting", 0, measured)


def test_a_campaign_of_a_replaced_track_is_over(service: Service, slug: str) -> None:
    """It does not continue and offers no decisions, in any state."""
    paused = started(service, slug, track="private", extractor=OTHER)
    assert run_next(service.context, Queue.PREPARE)
    assert decide(service, slug, paused, "pause").status_code == 201
    replace_private_track(service, slug)
    acts = campaign_acts(service)
    assert allowed(service, slug, paused) == []
    for decision in ("resume", "cancel", "switch", "undo", "pause"):
        assert read_problem(decide(service, slug, paused, decision)) == (409, "former-track"), decision
    assert waiting(service, Queue.RESCORE) == 0
    assert campaign_acts(service) == acts
    service.run_jobs()
    assert started(service, slug, track="private")["track"] == "private", "the new private track"


def test_a_campaign_of_a_replaced_track_measures_nothing_when_prepared(service: Service, slug: str) -> None:
    campaign = started(service, slug, track="private", references={"held_out": reference_set(service, slug)})
    assert campaign["state"] == "preparing"
    make_former(service)
    assert run_next(service.context, Queue.PREPARE)
    assert waiting(service, Queue.RESCORE) == 0


def make_former(service: Service) -> None:
    """Mark the private track as replaced."""
    with service.context.sessions.begin() as session:
        track = session.query(Track).filter_by(kind="private").one()
        track.kind, track.replaced_at = "former", service.context.now()


def reference_set(service: Service, slug: str) -> str:
    """Store a reference set without attaching it, and return its SHA-256."""
    path = f"/competitions/{slug}/references/held_out?attach=false"
    answer = service.call("organizer", "PUT", path, content=make_zip(noise_images(91, 12)))
    assert answer.status_code == 200, answer.text
    return str(answer.json()["sha256"])


@pytest.mark.parametrize("decision", ["pause", "cancel", "switch"])
def test_a_track_replaced_just_before_a_decision_refuses_it(service: Service, slug: str, decision: CampaignAct) -> None:
    campaign = started(service, slug, track="private")
    now = service.context.now()
    with service.context.sessions.begin() as session:
        state = load_state(session, slug, now)
        assert state.tracks["private"].kind == "private"
        make_former(service)
        author = session.query(Account).filter_by(handle="organizer").one()
        with pytest.raises(Conflict) as refusal:
            switching.decide(
                Acting(session, author, now), state, campaign["id"], decision=decision, reason="Now.", tau=None
            )
    assert refusal.value.slug == "former-track"
    assert campaign_acts(service) == ["rescoring.started"]


def test_a_track_replaced_just_before_a_campaign_starts_refuses_it(service: Service, slug: str) -> None:
    now = service.context.now()
    with service.context.sessions.begin() as session:
        state = load_state(session, slug, now)
        assert state.tracks["private"].kind == "private"
        make_former(service)
        author = session.query(Account).filter_by(handle="organizer").one()
        wanted = NewCampaign("private", "A corrected scorer.")
        with pytest.raises(Conflict) as refusal:
            campaigns.start(Acting(session, author, now), state, wanted, weights={})
    assert refusal.value.slug == "former-track"
