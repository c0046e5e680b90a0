"""Data releases: starting one, recording a finished one, and making it public."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts.roles import is_organizer
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db import competitions
from scorer.db.data_release.releases import load_releases
from scorer.db.jobs.job_queue import newest_job
from scorer.db.newest_rows import newest_row
from scorer.db.tables import Account, Job, Release, ReleaseAct
from scorer.errors import Conflict, NotFound
from scorer.jobs import leases
from scorer.leaderboard.rows import load_ranked_board
from scorer.lifecycle import UNFINISHED, JobState, Phase, Queue

ReleaseImages = Literal["none", "ranked", "all"]
MANIFEST, CARD, CROISSANT, BUNDLE = "manifest.json", "README.md", "croissant.json", "tables.zip"
IMAGES_IN, GENERATORS_IN = "images/", "generators/"
KEY_BYTES = 32
PACKING_SECONDS_PER_PIXEL = 3e-7
"""The time to decode an image and encode it again on one core, per pixel: 1.2 ms for 64 x 64 pixels. Measured by
``benchmarks/speed/releases.py``."""


@dataclass(frozen=True)
class ReleaseStatus:
    """A release with its job. ``shown``: whether it becomes public with the final board."""

    release: Release
    job: Job | None
    shown: bool

    @property
    def state(self) -> JobState:
        if self.release.finished_at:
            return JobState.DONE
        return JobState(self.job.state) if self.job else JobState.FAILED

    @property
    def files(self) -> list[dict[str, Any]]:
        """Its files except the zips of images and the generators."""
        return [file for file in self.release.files or () if not file["name"].startswith((IMAGES_IN, GENERATORS_IN))]

    @property
    def images(self) -> list[dict[str, Any]]:
        return [file for file in self.release.files or () if file["name"].startswith(IMAGES_IN)]


class PackingTime(NamedTuple):
    """The number of entries with images in a release, and about how long one core takes to pack these images."""

    entries: int
    seconds: float


def packing_times(session: Session, state: CompetitionState) -> dict[ReleaseImages, PackingTime]:
    """The packing time for each choice of images, for entries with stored zips."""
    boards = {kind: load_ranked_board(session, state, kind) for kind in state.tracks}
    ranked = len(np.unique(np.concatenate([board.judged.columns.ref[board.rows] for board in boards.values()])))
    pixels = state.competition.image_count * state.competition.image_size**2
    choices: dict[ReleaseImages, int] = {"none": 0, "ranked": ranked, "all": len(boards["public"].judged.columns)}
    return {images: PackingTime(n, n * pixels * PACKING_SECONDS_PER_PIXEL) for images, n in choices.items()}


def start_release(
    acting: Acting, state: CompetitionState, images: ReleaseImages, *, new_names: bool, public_id: str, key: bytes
) -> Release:
    """Queue a release. ``Conflict`` while another one is being created.

    It reuses the pseudonyms of the competition's last release, so the same state gives the same bytes. With
    ``new_names``, it gets new ones from ``key`` (random, made by the caller).
    """
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    earlier = list_releases(acting.session, state)
    if any(status.state in UNFINISHED for status in earlier):
        raise Conflict(
            "release-running", "Another release of this competition is being created. Wait until it is finished."
        )
    release = Release(
        id=public_id,
        competition_id=state.competition.id,
        images=images,
        key=key if new_names or not earlier else earlier[0].release.key,
    )
    acting.add(release)
    leases.add_job(acting.session, Queue.RELEASE, release_id=release.id, now=acting.now)
    after = {"images": images, "new_names": new_names or not earlier}
    audit_log.record_action(acting, "release.started", _subject(state, release), after=after)
    return release


def _subject(state: CompetitionState, release: Release) -> str:
    return f"release:{state.competition.slug}/{release.id}"


def list_releases(session: Session, state: CompetitionState) -> list[ReleaseStatus]:
    return [_load_status(session, release) for release in load_releases(session, state.competition.id)]


def _load_status(session: Session, release: Release) -> ReleaseStatus:
    job = newest_job(session, release_id=release.id)
    # Read after the job, because the job's last step finishes the release.
    session.refresh(release)
    act = newest_row(session, ReleaseAct, release_id=release.id)
    return ReleaseStatus(release, job, act is not None and act.shown)


def visible_releases(session: Session, state: CompetitionState, account: Account | None) -> list[ReleaseStatus]:
    """The releases that the account may download: all for organizers, for others the public ones while the final board
    is published."""
    releases = list_releases(session, state)
    if is_organizer(account, state.competition.id):
        return releases
    return [status for status in releases if _is_public(state, status)]


def find_release(
    session: Session, state: CompetitionState, release_id: str, *, account: Account | None
) -> ReleaseStatus:
    """A release that the account may download. ``NotFound`` otherwise, so that ids reveal nothing."""
    release = session.get(Release, release_id)
    if release is not None and release.competition_id == state.competition.id:
        status = _load_status(session, release)
        if is_organizer(account, state.competition.id) or _is_public(state, status):
            return status
    raise NotFound(
        "no-release", f"There is no data release {release_id!r} of {state.competition.slug} that you may download."
    )


def _is_public(state: CompetitionState, status: ReleaseStatus) -> bool:
    return state.phase is Phase.FINAL and status.shown and status.state == JobState.DONE


def find_release_file(status: ReleaseStatus, name: str) -> tuple[str, dict[str, Any]]:
    """The blob key and the manifest entry of a release's file. ``NotFound`` if the release has no file with this
    name."""
    for file in status.release.files or ():
        if file["name"] == name:
            return blob_key(status.release.id, name), file
    raise NotFound("no-file", f"This release has no file {name!r}.")


def blob_key(release_id: str, name: str) -> str:
    return f"releases/{release_id}/{name}"


def record_release(
    session: Session, claim: leases.Claim, files: Sequence[dict[str, Any]], *, sha256: str, now: datetime
) -> bool:
    """Record a finished release; False if the claim no longer holds the job."""
    if not leases.finish_job(session, claim, now):
        return False
    release = session.get_one(Release, claim.job.release_id)
    release.files = list(files)
    release.sha256 = sha256
    release.finished_at = now
    return True


def set_visibility(acting: Acting, state: CompetitionState, release_id: str, *, shown: bool) -> ReleaseAct:
    """Make a release public (while the final board is published), or withdraw it. ``Conflict`` if it is not finished or
    nothing would change."""
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    status = find_release(acting.session, state, release_id, account=acting.actor)
    if status.state != JobState.DONE:
        raise Conflict("not-finished", "The release is not finished yet. Publish it when it is.")
    if shown == status.shown:
        raise Conflict("no-change", f"The release is {'already' if shown else 'not'} published.")
    act = ReleaseAct(release_id=release_id, shown=shown)
    acting.add(act)
    audit_log.record_action(
        acting,
        "release.handed-out" if shown else "release.taken-back",
        _subject(state, status.release),
        before={"shown": status.shown},
        after={"shown": shown, "sha256": status.release.sha256},
    )
    return act
