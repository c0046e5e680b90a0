"""Changed weights: references are prepared again, and a board never mixes feature spaces."""

from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions import preparations
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.db.jobs import worker_reports
from scorer.db.tables import Account, Preparation
from scorer.errors import Conflict, Invalid
from scorer.lifecycle import JobState
from scorer.rescoring import campaigns
from scorer.rescoring.campaigns import NewCampaign
from tests.api.conftest import Service
from tests.factories import noise_images

OLD, NEW = {"inception_v3": "a" * 64}, {"inception_v3": "B" * 64}


def organizer(session: Session) -> Account:
    return session.scalars(select(Account).where(Account.handle == "organizer")).one()


def prepared(service: Service, session: Session, state: CompetitionState, weights: Mapping[str, str]) -> Preparation:
    now = service.context.now()
    return preparations.prepare(Acting(session, organizer(session), now), state, "private", weights=weights)


def finish(service: Service, preparation: Preparation) -> None:
    """Finish a preparation like a worker that has the old weights."""
    preparation.provenance = {"weights_sha256": OLD["inception_v3"]}
    preparation.finished_at = service.context.now()


def test_changed_weights_need_new_references(service: Service) -> None:
    slug = service.competition()
    with service.context.sessions.begin() as session:
        state = load_state(session, slug, service.context.now())
        track = state.tracks["private"]
        track.extractor = "inception_v3@1"
        session.flush()
        old = prepared(service, session, state, {})
        assert prepared(service, session, state, OLD) is old, "no worker has loaded the weights yet"
        finish(service, old)
        assert prepared(service, session, state, OLD) is old, "it was made with these weights"
        new = prepared(service, session, state, NEW)
        assert (track.preparation, new.finished_at) == (new, None)
        assert new.key != old.key
        job = preparations.job_for(session, track)
        assert job is not None
        assert job.state == JobState.WAITING
        assert prepared(service, session, state, OLD) is old, "the old weights are back"
        space = preparations.find_feature_space("inception_v3", NEW)
        assert preparations.finished_preparation(session, state, "private", space=space) is None


def test_the_refusal_without_weights_names_the_command_to_install_them(
    service: Service,
) -> None:
    slug = service.competition()
    report: dict[str, Any] = {"version": "1", "migration": "1", "extractors": {"tiny@1": "ab"}}
    with service.context.sessions.begin() as session:
        state = load_state(session, slug, service.context.now())
        state.tracks["private"].extractor = "inception_v3@1"
        worker_reports.write_report(session, "checker@here", queues=["check"], **report)
        worker_reports.write_report(session, "scorer@here", queues=["prepare"], **report)
        with pytest.raises(Conflict) as refusal:
            prepared(service, session, state, {})
        assert refusal.value.slug == "no-worker-with-weights"
        assert "`kennel weights install inception_v3 https://" in refusal.value.message
        assert "on the machine of scorer@here" in refusal.value.message
        installed = {**report, "extractors": {"inception_v3@1": "cd"}}
        worker_reports.write_report(session, "scorer@here", queues=["prepare"], **installed)
        session.expire_all()
        assert prepared(service, session, state, {}).finished_at is None


def test_another_format_needs_new_references(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition()
    with service.context.sessions.begin() as session:
        state = load_state(session, slug, service.context.now())
        old = prepared(service, session, state, {})
        assert prepared(service, session, state, {}) is old
        monkeypatch.setattr(preparations, "FORMAT", "2")
        assert prepared(service, session, state, {}).key != old.key


def test_entries_with_old_weights_are_rescored_together(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    with service.context.sessions.begin() as session:
        state = load_state(session, slug, service.context.now())
        track = state.tracks["private"]
        track.extractor = "inception_v3@1"
        preparations.unset_preparation(session, track, now=service.context.now())
        old = prepared(service, session, state, OLD)
        finish(service, old)
        with pytest.raises(Conflict) as refusal:
            prepared(service, session, state, NEW)
        assert refusal.value.slug == "references-fixed"
        assert track.preparation is old

        author, now = organizer(session), service.context.now()
        alone = NewCampaign("private", "The weights were replaced.", submissions=[entry["id"]])
        with pytest.raises(Invalid) as mixed:
            campaigns.start(Acting(session, author, now), state, alone, weights=NEW)
        assert mixed.value.slug == "all-entries"
        every = NewCampaign("private", "The weights were replaced.")
        campaign = campaigns.start(Acting(session, author, now), state, every, weights=NEW)
        assert (campaign.former_preparation, campaign.preparation.finished_at) == (old, None)
        campaign.preparation.provenance = {"weights_sha256": NEW["inception_v3"].lower()}
        assert campaign.changes_space
        campaign.preparation.provenance = old.provenance
        assert not campaign.changes_space
