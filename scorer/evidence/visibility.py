"""Visibility of evidence: who may see which evidence of an entry.

Reviewers and organizers see it at any time, the entry's team once a provisional or final board is published, everybody
else with the final board. Images of the entry are shown only to its team, reviewers and organizers. Images of reference
sets that participants may not have are shown only to organizers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from scorer.accounts.roles import is_reviewer
from scorer.db import competitions
from scorer.db.jobs.job_queue import newest_job
from scorer.db.newest_rows import newest_row
from scorer.db.submissions import submissions
from scorer.db.tables import Account, Evidence, Job, Submission
from scorer.errors import NotFound
from scorer.evidence.examples import (
    NEAR_DUPLICATE_GROUPS,
    SET_PREFIX_LENGTH,
    ExamplePair,
    example_groups,
    has_sign,
)
from scorer.evidence.images import hidden_sets
from scorer.findings.signs import Sign, find_signs
from scorer.findings.summary import Summary, summarise_evidence
from scorer.lifecycle import UNFINISHED, JobState, Queue, TrackKind
from scorer.submissions.access import is_own, unknown_submission


@dataclass(frozen=True)
class VisibleEvidence:
    submission: Submission
    track: TrackKind
    evidence: Evidence | None
    job: Job | None
    """The newest evidence job."""
    outdated: bool
    """Whether there is a newer measurement than that of the evidence."""
    signs: Sequence[Sign]
    groups: Mapping[str, Sequence[ExamplePair]]
    inside: bool
    """Whether this person may review the entry."""

    @property
    def summary(self) -> Summary | None:
        """The evidence in one sentence, with the number of examples in the first group of copies; None without
        evidence."""
        if self.evidence is None:
            return None
        names = {sign.name for sign in self.signs}
        groups = (name for name in NEAR_DUPLICATE_GROUPS if has_sign(name, names))
        shown = next((len(self.groups.get(name, ())) for name in groups), 0)
        images = self.submission.competition.image_count
        return summarise_evidence(
            self.signs, _column_values(self.evidence), self.evidence.findings, images=images, shown=shown
        )

    @property
    def state(self) -> str:
        """``waiting``, ``running``, ``failed``, ``done``, or ``none`` if there is neither a job nor evidence."""
        if self.job is not None and self.job.state in UNFINISHED | {JobState.FAILED}:
            return self.job.state
        return "none" if self.evidence is None else "done"


def require_visible(session: Session, submission_id: str, account: Account | None) -> Submission:
    """An entry with evidence that this person may see. ``NotFound`` otherwise. Reviewers may see it at any time, its
    team once a board is published, everybody else once the final board is."""
    submission = submissions.submission_by_id(session, submission_id)
    if submission is None:
        raise unknown_submission(submission_id)
    if competitions.is_final(session, submission.competition_id) or is_reviewer(account, submission.competition_id):
        return submission
    if account is not None and is_own(session, submission, account):
        if competitions.is_published(session, submission.competition_id):
            return submission
        raise NotFound("no-evidence", "You can see the evidence once a board is published.")
    raise unknown_submission(submission_id)


def visible_evidence(
    session: Session, submission: Submission, kind: TrackKind, *, account: Account | None
) -> VisibleEvidence:
    """The evidence of an entry on its public or private track, for a person who has passed :func:`require_visible`."""
    track = competitions.load_tracks(session, submission.competition_id)[kind]
    # Read before the evidence, so that a job that ends meanwhile has its evidence.
    job = newest_job(session, submission_ref=submission.ref, track_id=track.id, queue=Queue.EVIDENCE)
    evidence = newest_row(session, Evidence, submission_ref=submission.ref, track_id=track.id)
    measurement = submissions.newest_measurement(session, submission.ref, track.id)
    inside = is_reviewer(account, submission.competition_id)
    groups: Mapping[str, Sequence[ExamplePair]] = {}
    if evidence is not None and account is not None and (inside or is_own(session, submission, account)):
        groups = example_groups(evidence.details, _hidden(session, submission, account))
    return VisibleEvidence(
        submission=submission,
        track=kind,
        evidence=evidence,
        job=job,
        outdated=evidence is not None and measurement is not None and evidence.measurement_id != measurement.id,
        signs=() if evidence is None else find_signs(_column_values(evidence), submission.competition.image_count),
        groups=groups,
        inside=inside,
    )


def _column_values(evidence: Evidence) -> dict[str, Any]:
    return {column.key: getattr(evidence, column.key) for column in Evidence.__table__.columns}


def _hidden(session: Session, submission: Submission, account: Account) -> set[str]:
    sets = hidden_sets(session, submission, account)
    return {image_set.sha256[:SET_PREFIX_LENGTH] for image_set in competitions.reference_sets(session, sorted(sets))}
