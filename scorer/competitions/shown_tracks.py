"""Shown tracks: numbers of entries that stand beside the ranked ones and rank nothing.

- A shown track is a metric (:mod:`scorer.metrics.metric_catalogue`) with its constants, in an extractor's feature
  space, against the references of the public or of the private track, under a name of its own.
- Organizers add and remove them at any time; both are in the audit log. What one is never changes: a number by other
  terms is another shown track.
- Its ``visibility`` is ``everybody`` at once, or ``organizers`` until the final board is published. Whatever was
  chosen, what would tell of the private track (its references, or its extractor) is for organizers, and for those who
  review an entry, until then.
- Its jobs are the last of the queue ``rescore``: they run when nothing else waits, yield to public scores, are tried
  again as all jobs are, and move no entry's state. A failed one leaves a gap, which :func:`measure_missing` fills.
- Entries are measured when they are scored, and those of before when it is added and its references are prepared.
- Measurements are rows of their own, so that standings, thresholds and rulings cannot read them.
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
from scorer.competitions.competition_state import CompetitionState, track_of
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
    """What was measured of an entry on a shown track."""

    shown: ShownTrack
    measured: ShownValue


def reveals_private(tracks: Mapping[TrackKind, Track], reference: str, extractor: str) -> bool:
    """Whether a number by these terms tells of the private track what the public one does not."""
    own = extractor == tracks["private"].extractor
    return reference == "private" or (own and extractor != tracks["public"].extractor)


def is_hidden(shown: ShownTrack, tracks: Mapping[TrackKind, Track], *, final: bool) -> bool:
    """Whether participants do not see a shown track. ``final``: the final board is public."""
    if final:
        return False
    return shown.visibility == "organizers" or reveals_private(tracks, shown.reference, shown.extractor)


def visible_shown_tracks(session: Session, state: CompetitionState, account: Account | None) -> list[ShownTrack]:
    """The shown tracks that this person may see, oldest first: organizers all, others those that are not hidden."""
    everything = state.phase is Phase.FINAL or is_organizer(account, state.competition.id)
    tracks = shown_tracks.shown_tracks_of(session, state.competition.id)
    return [shown for shown in tracks if everything or not is_hidden(shown, state.tracks, final=False)]


def named(tracks: Sequence[ShownTrack], name: str) -> ShownTrack:
    """That of some shown tracks which has this name; ``NotFound`` if none has."""
    for shown in tracks:
        if shown.name == name:
            return shown
    raise NotFound("no-shown-track", "There is no shown track of this name here.")


def numbers_by_ref(
    session: Session, entries: Sequence[Submission], account: Account | None, *, for_review: bool
) -> dict[int, list[ShownNumber]]:
    """What was measured of entries of one competition, by ref, on the shown tracks that this person may see, oldest
    first; on all of them for organizers and ``for_review``."""
    refs = [entry.ref for entry in entries]
    if not refs:
        return {}
    competition_id = entries[0].competition_id
    existing = shown_tracks.shown_tracks_of(session, competition_id)
    values = shown_tracks.values_of_entries(session, existing, refs)
    if not values:
        return {ref: [] for ref in refs}
    everything = for_review or is_organizer(account, competition_id) or competitions.is_final(session, competition_id)
    tracks = competitions.tracks_of(session, competition_id)
    visible = [shown for shown in existing if everything or not is_hidden(shown, tracks, final=False)]
    return {
        ref: [ShownNumber(shown, of_one[shown.name]) for shown in visible if shown.name in of_one]
        for ref in refs
        for of_one in [values.get(ref, {})]
    }


Visibility = Literal["everybody", "organizers"]
ShownState = Literal["unprepared", "preparing", "failed", "measuring", "measured"]
"""``unprepared``: other references were attached, which are prepared with those of the ranked track; ``failed``: their
preparation has failed; ``measured``: no job waits or runs."""
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
MAX_SHOWN_TRACKS = 20


@dataclass(frozen=True)
class NewShownTrack:
    """The number that a new shown track is."""

    name: str
    metric: str
    extractor: str
    reference: TrackKind = "public"
    """The track whose references it is measured against."""
    visibility: Visibility = "organizers"
    constants: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ShownTrackProgress:
    """How far a shown track is."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    state: ShownState
    hidden: bool
    """Whether participants do not see it now."""
    measured: int
    waiting: int
    failed: int
    missing: int
    """Scored entries without a number, whether or not a job will measure them."""
    without_zip: int
    """Scored entries that cannot be measured."""
    error: str | None
    """Of the job that failed last."""


@dataclass(frozen=True)
class NewShownMeasurement:
    """A worker's measurement of an entry on a shown track; ``value`` None where the metric gives no number."""

    scorer_version: str
    value: float | None
    standard_error: float | None
    provenance: dict[str, Any]


def add(acting: Acting, state: CompetitionState, wanted: NewShownTrack, *, weights: Mapping[str, str]) -> ShownTrack:
    """Add a shown track and queue all scored entries for it, once its references are prepared. ``weights``: as in
    :func:`scorer.competitions.preparations.space_of`.

    ``Invalid`` for a bad name (``bad-name``), metric, constants or extractor, and for one that everybody would see and
    that tells of the private track (``reveals-private``); ``Conflict`` for a name that is taken (``name-taken``), too
    many of them (``too-many-shown-tracks``), references that nobody has prepared (``not-prepared``) and weights that no
    running worker has (``no-worker-with-weights``).
    """
    competition = state.competition
    competitions.lock_competition(acting.session, competition.slug, share=False)
    if not NAME.fullmatch(wanted.name):
        raise Invalid("bad-name", "A name has a small letter, then at most 39 small letters, digits and underscores.")
    constants = complete_constants(find_metric(wanted.metric), wanted.constants)
    space = preparations.space_of(wanted.extractor, weights)
    if wanted.visibility == "everybody" and reveals_private(state.tracks, wanted.reference, space.extractor):
        raise Invalid(
            "reveals-private",
            "This number would tell of the private track: it is for organizers until the final board is published.",
        )
    existing = shown_tracks.shown_tracks_of(acting.session, competition.id)
    if any(each.name == wanted.name for each in existing):
        raise Conflict("name-taken", f"There is a shown track {wanted.name} already.")
    if len(existing) >= MAX_SHOWN_TRACKS:
        raise Conflict("too-many-shown-tracks", f"A competition has at most {MAX_SHOWN_TRACKS} shown tracks.")
    track = track_of(state, wanted.reference)
    acting.session.refresh(track)
    if track.preparation_id is None:
        raise Conflict("not-prepared", f"Prepare the references of the {wanted.reference} track first.")
    preparation = preparations.preparation_of(acting.session, state, wanted.reference, space=space, now=acting.now)
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
    """Remove a shown track: nobody sees it any more, and nothing more is measured; what was measured is kept."""
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    shown = find_shown_track(acting.session, state, name)
    shown.removed_at = acting.now
    acting.session.flush()
    job_queue.cancel_jobs(acting.session, acting.now, shown_track_id=shown.id)
    _record_act(acting, state, shown, act="removed")


def measure_missing(acting: Acting, state: CompetitionState, name: str) -> int:
    """Queue the entries that have no number on a shown track and no job for it, because theirs has failed; returns how
    many. A failed preparation of its references begins anew."""
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
    """Queue the scored entries on the shown tracks that waited for a preparation, which is now finished."""
    for shown in shown_tracks.shown_tracks_with(session, preparation_id):
        # No entry may be scored meanwhile that neither this nor queue_entry would see.
        competition = session.get_one(Competition, shown.competition_id)
        competitions.lock_competition(session, competition.slug, share=False)
        _queue_missing(session, shown, now)


def queue_entry(session: Session, submission: Submission, *, now: datetime) -> None:
    """Queue an entry that has just been scored on every shown track that is prepared. The caller has locked the
    competition."""
    for shown in shown_tracks.shown_tracks_of(session, submission.competition_id):
        if shown.preparation is not None and shown.preparation.finished_at is not None:
            leases.add_job(session, Queue.RESCORE, submission=submission, shown_track_id=shown.id, now=now)


def record(session: Session, claim: leases.Claim, measured: NewShownMeasurement, *, now: datetime) -> bool:
    """Record a measurement on a shown track, once. False, and nothing is recorded, if the claim no longer holds the
    job."""
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
    """A shown track of a competition by its name; ``NotFound`` if it has none with this name."""
    return named(shown_tracks.shown_tracks_of(session, state.competition.id), name)


def progress_of(session: Session, state: CompetitionState, shown: ShownTrack) -> ShownTrackProgress:
    """How far a shown track is."""
    progress = job_queue.progress_of(session, shown_track_id=shown.id)
    return ShownTrackProgress(
        state=_state_of(session, shown, progress.waiting),
        hidden=is_hidden(shown, state.tracks, final=state.phase is Phase.FINAL),
        measured=shown_tracks.count_measured(session, shown),
        waiting=progress.waiting,
        failed=progress.failed,
        missing=len(shown_tracks.missing_entries(session, shown)),
        without_zip=shown_tracks.count_without_zip(session, shown),
        error=_error_of(session, shown, progress),
    )


def _state_of(session: Session, shown: ShownTrack, waiting: int) -> ShownState:
    if shown.preparation is None:
        return "unprepared"
    if shown.preparation.finished_at is None:
        job = newest_job(session, preparation_id=shown.preparation.id)
        return "failed" if job is not None and job.state == JobState.FAILED else "preparing"
    return "measuring" if waiting else "measured"


def _error_of(session: Session, shown: ShownTrack, progress: Progress) -> str | None:
    if progress.failed:
        return progress.error
    job = None if shown.preparation_id is None else newest_job(session, preparation_id=shown.preparation_id)
    return job.error if job is not None and job.state == JobState.FAILED else None


def _record_act(
    acting: Acting, state: CompetitionState, shown: ShownTrack, *, act: str, after: Mapping[str, object] | None = None
) -> None:
    subject = f"shown-track:{state.competition.slug}/{shown.name}"
    audit_log.record_action(acting, f"shown-track.{act}", subject, after=dict(after) if after else None)
