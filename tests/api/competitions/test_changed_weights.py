"""Weights that the operator has changed: references are prepared anew for them, and boards mix no feature spaces."""

from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions import preparations
from scorer.competitions.competition_state import CompetitionState, state_of
from scorer.db.jobs import worker_reports
from scorer.db.tables import Account, Preparation
from scorer.errors import Conflict, Invalid
from scorer.lifecycle import JobState
from scorer.rescoring import campaigns
from scorer.rescoring.campaigns import NewCampaign
from tests.api.conftest import Service
from tests.factories import noise_images

FORMER, NEW = {"inception_v3": "a" * 64}, {"inception_v3": "B" * 64}


def organizer(session: Session) -> Account:
    return session.scalars(select(Account).where(Account.handle == "organizer")).one()


def prepared(service: Service, session: Session, state: CompetitionState, weights: Mapping[str, str]) -> Preparation:
    now = service.context.now()
    return preparations.prepare(Acting(session, organizer(session), now), state, "private", weights=weights)


def finish(service: Service, preparation: Preparation) -> None:
    """As a worker does that has the former weights."""
    preparation.provenance = {"weights_sha256": FORMER["inception_v3"]}
    preparation.finished_at = service.context.now()


def test_the_references_are_prepared_anew_for_changed_weights(service: Service) -> None:
    slug = service.competition()
    with service.context.sessions.begin() as session:
        state = state_of(session, slug, service.context.now())
        track = state.tracks["private"]
        track.extractor = "inception_v3@1"
        session.flush()
        former = prepared(service, session, state, {})
        assert prepared(service, session, state, FORMER) is former, "a worker has yet to load them"
        finish(service, former)
        assert prepared(service, session, state, FORMER) is former, "they are those of then"
        new = prepared(service, session, state, NEW)
        assert (track.preparation, new.finished_at) == (new, None)
        assert new.key != former.key
        job = preparations.job_for(session, track)
        assert job is not None
        assert job.state == JobState.WAITING
        assert prepared(service, session, state, FORMER) is former, "put back"
        space = preparations.space_of("inception_v3", NEW)
        assert preparations.finished_preparation(session, state, "private", space=space) is None


def test_an_extractor_without_weights_is_refused_with_the_command_for_it(
    service: Service,
) -> None:
    slug = service.competition()
    report: dict[str, Any] = {"version": "1", "migration": "1", "extractors": {"tiny@1": "ab"}}
    with service.context.sessions.begin() as session:
        state = state_of(session, slug, service.context.now())
        state.tracks["private"].extractor = "inception_v3@1"
        worker_reports.write_report(session, "checker@here", queues=["check"], **report)
        worker_reports.write_report(session, "scorer@here", queues=["prepare"], **report)
        with pytest.raises(Conflict) as refusal:
            prepared(service, session, state, {})
        assert refusal.value.slug == "no-worker-with-weights"
        assert "`kennel weights install inception_v3 https://" in refusal.value.message
        assert "where scorer@here runs" in refusal.value.message
        installed = {**report, "extractors": {"inception_v3@1": "cd"}}
        worker_reports.write_report(session, "scorer@here", queues=["prepare"], **installed)
        session.expire_all()
        assert prepared(service, session, state, {}).finished_at is None


def test_the_references_are_prepared_anew_for_another_format(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition()
    with service.context.sessions.begin() as session:
        state = state_of(session, slug, service.context.now())
        former = prepared(service, session, state, {})
        assert prepared(service, session, state, {}) is former
        monkeypatch.setattr(preparations, "FORMAT", "2")
        assert prepared(service, session, state, {}).key != former.key


def test_entries_of_other_weights_are_measured_anew_together(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    with service.context.sessions.begin() as session:
        state = state_of(session, slug, service.context.now())
        track = state.tracks["private"]
        track.extractor = "inception_v3@1"
        preparations.unset_preparation(session, track, now=service.context.now())
        former = prepared(service, session, state, FORMER)
        finish(service, former)
        with pytest.raises(Conflict) as refusal:
            prepared(service, session, state, NEW)
        assert refusal.value.slug == "references-fixed"
        assert track.preparation is former

        author, now = organizer(session), service.context.now()
        alone = NewCampaign("private", "They were exchanged.", submissions=[entry["id"]])
        with pytest.raises(Invalid) as mixed:
            campaigns.start(Acting(session, author, now), state, alone, weights=NEW)
        assert mixed.value.slug == "all-entries"
        every = NewCampaign("private", "They were exchanged.")
        campaign = campaigns.start(Acting(session, author, now), state, every, weights=NEW)
        assert (campaign.former_preparation, campaign.preparation.finished_at) == (former, None)
        campaign.preparation.provenance = {"weights_sha256": NEW["inception_v3"].lower()}
        assert campaign.changes_space
        campaign.preparation.provenance = former.provenance
        assert not campaign.changes_space
