"""Shown tracks: additional metrics of entries that do not rank them.

- A shown track is a metric (:mod:`scorer.metrics.metric_catalogue`) with its constants, in an extractor's feature
  space, against the references of the public or the private track. It has a name.
- Organizers add and remove shown tracks at any time; the audit log records both. A shown track never changes: other
  constants make another shown track.
- Its ``visibility`` is ``everybody``, or ``organizers`` until the final board is published. A shown track that reveals
  the private track's references or extractor is only for organizers and reviewers until then.
- Its jobs come last in the queue ``rescore``: they run when nothing else waits, and yield to public scores. They are
  retried like all jobs and change no entry's state. :func:`measure_missing` repeats failed jobs.
- New entries are measured when they are scored, earlier entries once the references are prepared.
- Its measurements have their own table, out of reach of standings, thresholds and rulings.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts.roles import is_organizer
from scorer.acting import Acting
from scorer.competitions import preparations
from scorer.competitions.competition_state import CompetitionState, find_track
from scorer.db import competitions
from scorer.db.jobs import job_queue
from scorer.db.jobs.job_queue import Progress, newest_job
from scorer.db.leaderboard import shown_tracks
from scorer.db.leaderboard.shown_tracks import ShownValue
from scorer.db.tables import Account, Competition, ShownMeasurement, ShownTrack, Submission, Track
from scorer.errors import Conflict, Invalid, NotFound
from scorer.jobs import leases
from scorer.lifecycle import JobState, Phase, Queue, TrackKind
from scorer.metrics.metric_catalogue import complete_constants, find_metric


@dataclass(frozen=True)
class ShownNumber:
    shown: ShownTrack
    measured: ShownValue


def reveals_private(tracks: Mapping[TrackKind, Track], reference: str, extractor: str) -> bool:
    """Whether a number with this reference and extractor reveals something about the private track."""
    own = extractor == tracks["private"].extractor
    return reference == "private" or (own and extractor != tracks["public"].extractor)


def is_hidden(shown: ShownTrack, tracks: Mapping[TrackKind, Track], *, final: bool) -> bool:
    """Whether a shown track is hidden from participants. ``final``: the final board is public."""
    if final:
        return False
    return shown.visibility == "organizers" or reveals_private(tracks, shown.reference, shown.extractor)


def visible_shown_tracks(session: Session, state: CompetitionState, account: Account | None) -> list[ShownTrack]:
    """Return the shown tracks that this person may see, oldest first. Organizers see all of them."""
    everything = state.phase is Phase.FINAL or is_organizer(account, state.competition.id)
    tracks = shown_tracks.load_shown_tracks(session, state.competition.id)
    return [shown for shown in tracks if everything or not is_hidden(shown, state.tracks, final=False)]


def named(tracks: Sequence[ShownTrack], name: str) -> ShownTrack:
    """``NotFound`` if there is none."""
    for shown in tracks:
        if shown.name == name:
            return shown
    raise NotFound("no-shown-track", f"There is no shown track {name!r} in this competition.")


def numbers_by_ref(
    session: Session, entries: Sequence[Submission], account: Account | None, *, for_review: bool
) -> dict[int, list[ShownNumber]]:
    """Return the measurements of entries on the shown tracks that this person may see, by ref, oldest track first.

    ``entries`` are of one competition. Organizers see all shown tracks, and so do reviewers with ``for_review``.
    """
    refs = [entry.ref for entry in entries]
    if not refs:
        return {}
    competition_id = entries[0].competition_id
    existing = shown_tracks.load_shown_tracks(session, competition_id)
    values = shown_tracks.load_shown_values(session, existing, refs)
    if not values:
        return {ref: [] for ref in refs}
    everything = for_review or is_organizer(account, competition_id) or competitions.is_final(session, competition_id)
    tracks = competitions.load_tracks(session, competition_id)
    visible = [shown for shown in existing if everything or not is_hidden(shown, tracks, final=False)]
    return {
        ref: [ShownNumber(shown, of_one[shown.name]) for shown in visible if shown.name in of_one]
        for ref in refs
        for of_one in [values.get(ref, {})]
    }


Visibility = Literal["everybody", "organizers"]
ShownState = Literal["unprepared", "preparing", "failed", "measuring", "measured"]
"""``unprepared``: new references were attached and will be prepared with those of the ranked track. ``failed``: the
preparation has failed. ``measured``: no job waits or runs."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
MAX_SHOWN_TRACKS = 20


@dataclass(frozen=True)
class NewShownTrack:
    name: str
    metric: str
    extractor: str
    reference: TrackKind = "public"
    """The track with the references to measure against."""
    visibility: Visibility = "organizers"
    constants: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ShownTrackProgress:
    """The progress of a shown track."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    state: ShownState
    hidden: bool
    """Whether the shown track is now hidden from participants."""
    measured: int
    waiting: int
    failed: int
    missing: int
    """Scored entries without a measurement, including those with a job."""
    without_zip: int
    """Scored entries without a zip, which can't be measured."""
    error: str | None
    """The error of the last failed job."""


@dataclass(frozen=True)
class NewShownMeasurement:
    """A worker's measurement of an entry on a shown track. ``value``: None if the metric gives no number."""

    scorer_version: str
    value: float | None
    standard_error: float | None
    provenance: dict[str, Any]


def add(acting: Acting, state: CompetitionState, wanted: NewShownTrack, *, weights: Mapping[str, str]) -> ShownTrack:
    """Add a shown track and queue all scored entries for it once its references are prepared.

    ``weights``: as in :func:`scorer.competitions.preparations.find_feature_space`. Errors:

    - ``Invalid`` for a bad name (``bad-name``), metric, constants or extractor, and for a track for everybody that
      reveals the private track (``reveals-private``).
    - ``Conflict`` for a taken name (``name-taken``), too many shown tracks (``too-many-shown-tracks``), unprepared
      references (``not-prepared``) and missing weights (``no-worker-with-weights``).
    """
    competition = state.competition
    competitions.lock_competition(acting.session, competition.slug, share=False)
    if not NAME.fullmatch(wanted.name):
        raise Invalid(
            "bad-name",
            f"{wanted.name!r} is not a valid name. Begin with a lower-case letter, followed by at most 39 lower-case "
            "letters, digits and underscores.",
        )
    constants = complete_constants(find_metric(wanted.metric), wanted.constants)
    space = preparations.find_feature_space(wanted.extractor, weights)
    if wanted.visibility == "everybody" and reveals_private(state.tracks, wanted.reference, space.extractor):
        raise Invalid(
            "reveals-private",
            "This metric would reveal the private track. Set the visibility to organizers until the final board is "
            "published.",
        )
    existing = shown_tracks.load_shown_tracks(acting.session, competition.id)
    if any(shown.name == wanted.name for shown in existing):
        raise Conflict("name-taken", f"There is already a shown track {wanted.name}. Choose another name.")
    if len(existing) >= MAX_SHOWN_TRACKS:
        raise Conflict(
            "too-many-shown-tracks",
            f"This competition has {MAX_SHOWN_TRACKS} shown tracks, which is the limit. Remove one first.",
        )
    track = find_track(state, wanted.reference)
    acting.session.refresh(track)
    if track.preparation_id is None:
        raise Conflict("not-prepared", f"Prepare the references of the {wanted.reference} track first.")
    preparation = preparations.find_or_create_preparation(
        acting.session, state, wanted.reference, space=space, now=acting.now
    )
    preparations.require_weights(acting.session, preparation)
    shown = ShownTrack(
        competition_id=competition.id,
        name=wanted.name,
        metric=wanted.metric,
        constants=constants,
        extractor=space.extractor,
        reference=wanted.reference,
        visibility=wanted.visibility,
        preparation=preparation,
    )
    acting.add(shown)
    _queue_missing(acting.session, shown, acting.now)
    fields = ("metric", "constants", "extractor", "reference", "visibility")
    _record_act(acting, state, shown, act="added", after={name: getattr(shown, name) for name in fields})
    return shown


def remove(acting: Acting, state: CompetitionState, name: str) -> None:
    """Remove a shown track: nobody sees it any more, and its jobs are cancelled. Its measurements are kept."""
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    shown = find_shown_track(acting.session, state, name)
    shown.removed_at = acting.now
    acting.session.flush()
    job_queue.cancel_jobs(acting.session, acting.now, shown_track_id=shown.id)
    _record_act(acting, state, shown, act="removed")


def measure_missing(acting: Acting, state: CompetitionState, name: str) -> int:
    """Queue the entries without a number and without a job on a shown track; return their count.

    A failed preparation of its references is queued again.
    """
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    shown = find_shown_track(acting.session, state, name)
    count = _queue_missing(acting.session, shown, acting.now)
    _record_act(acting, state, shown, act="measured", after={"entries": count})
    return count


def _queue_missing(session: Session, shown: ShownTrack, now: datetime) -> int:
    if shown.preparation is None:
        return 0
    preparations.require_job(session, shown.preparation, now=now)
    if shown.preparation.finished_at is None:
        return 0
    refs = shown_tracks.missing_entries(session, shown)
    return leases.add_in_turns(session, Queue.RESCORE, refs, now=now, shown_track_id=shown.id)


def queue_prepared(session: Session, preparation_id: int, *, now: datetime) -> None:
    """Queue the scored entries on the shown tracks that have waited for this preparation."""
    for shown in shown_tracks.shown_tracks_with(session, preparation_id):
        # Without the lock, both this and queue_entry could miss an entry that is scored at the same time.
        competition = session.get_one(Competition, shown.competition_id)
        competitions.lock_competition(session, competition.slug, share=False)
        _queue_missing(session, shown, now)


def queue_entry(session: Session, submission: Submission, *, now: datetime) -> None:
    """Queue a newly scored entry on every prepared shown track. The caller has locked the competition."""
    for shown in shown_tracks.load_shown_tracks(session, submission.competition_id):
        if shown.preparation is not None and shown.preparation.finished_at is not None:
            leases.add_job(session, Queue.RESCORE, submission=submission, shown_track_id=shown.id, now=now)


def record(session: Session, claim: leases.Claim, measured: NewShownMeasurement, *, now: datetime) -> bool:
    """Record a measurement once; False, without recording it, if the claim no longer holds the job."""
    if not leases.finish_job(session, claim, now):
        return False
    row = {
        "job_id": claim.job.id,
        "shown_track_id": claim.job.shown_track_id,
        "submission_ref": claim.job.submission_ref,
    }
    session.add(ShownMeasurement(**row, **vars(measured), created_at=now))
    return True


def find_shown_track(session: Session, state: CompetitionState, name: str) -> ShownTrack:
    return named(shown_tracks.load_shown_tracks(session, state.competition.id), name)


def load_progress(session: Session, state: CompetitionState, shown: ShownTrack) -> ShownTrackProgress:
    progress = job_queue.load_progress(session, shown_track_id=shown.id)
    return ShownTrackProgress(
        state=_compute_state(session, shown, progress.waiting),
        hidden=is_hidden(shown, state.tracks, final=state.phase is Phase.FINAL),
        measured=shown_tracks.count_measured(session, shown),
        waiting=progress.waiting,
        failed=progress.failed,
        missing=len(shown_tracks.missing_entries(session, shown)),
        without_zip=shown_tracks.count_without_zip(session, shown),
        error=_find_error(session, shown, progress),
    )


def _compute_state(session: Session, shown: ShownTrack, waiting: int) -> ShownState:
    if shown.preparation is None:
        return "unprepared"
    if shown.preparation.finished_at is None:
        job = newest_job(session, preparation_id=shown.preparation.id)
        return "failed" if job is not None and job.state == JobState.FAILED else "preparing"
    return "measuring" if waiting else "measured"


def _find_error(session: Session, shown: ShownTrack, progress: Progress) -> str | None:
    if progress.failed:
        return progress.error
    job = None if shown.preparation_id is None else newest_job(session, preparation_id=shown.preparation_id)
    return job.error if job is not None and job.state == JobState.FAILED else None


def _record_act(
    acting: Acting, state: CompetitionState, shown: ShownTrack, *, act: str, after: Mapping[str, object] | None = None
) -> None:
    subject = f"shown-track:{state.competition.slug}/{shown.name}"
    audit_log.record_action(acting, f"shown-track.{act}", subject, after=dict(after) if after else None)
