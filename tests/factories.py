"""Factories for accounts, competitions, submissions and other rows. They use the service's functions if possible."""

import io
import itertools
import json
import zipfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from statistics import stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sqlalchemy.orm import Session

from scorer.accounts import accounts
from scorer.acting import Acting
from scorer.archive import write_images
from scorer.competitions import competition_state, setup
from scorer.competitions.competition_state import CompetitionState
from scorer.competitions.spec import CompetitionSpec, TrackSpec
from scorer.db.submissions import events, submissions
from scorer.db.tables import (
    Account,
    CompetitionRole,
    Evidence,
    GeneratorFile,
    Job,
    Label,
    Measurement,
    Membership,
    Preparation,
    Recovery,
    SharedImages,
    Submission,
    Team,
    Threshold,
)
from scorer.lifecycle import UNFINISHED, TrackKind
from scorer.teams import teams
from tests.people import DRAW_KEY

_count = itertools.count(1)


def make_account(session: Session, now: datetime, role: str = "participant", handle: str | None = None) -> Account:
    handle = handle or f"person-{next(_count)}"
    return accounts.create_account(session, handle=handle, name="", role=role, now=now)


def make_spec(now: datetime, **changes: Any) -> CompetitionSpec:
    """A small open competition on the ``tiny`` extractor."""
    fields: dict[str, Any] = {
        "slug": f"competition-{next(_count)}",
        "title": "A competition",
        "image_count": 8,
        "image_size": 16,
        "opens_at": now - timedelta(days=10),
        "closes_at": now + timedelta(days=10),
        "daily_limit": None,
        "pending_limit": 100,
        "public": TrackSpec(extractor="tiny"),
        "private": TrackSpec(extractor="tiny"),
    }
    return CompetitionSpec(**(fields | changes))


def make_competition(session: Session, now: datetime, **changes: Any) -> CompetitionState:
    """A new competition. The ``organizer`` of :mod:`tests.people` is also one of its organizers."""
    author = make_account(session, now, "organizer")
    wanted = make_spec(now, **changes)
    competition = setup.create(Acting(session, author, now), wanted, draw_key=DRAW_KEY)
    for organizer in session.query(Account).filter_by(handle="organizer"):
        give_role(session, competition.id, organizer, "organizer", now)
    return competition_state.load_state(session, wanted.slug, now)


def give_role(session: Session, competition_id: int, account: Account, role: str, now: datetime) -> CompetitionRole:
    """Give a competition role, as if it had been offered and accepted."""
    held = CompetitionRole(
        competition_id=competition_id, account_id=account.id, role=role, offered_at=now, accepted_at=now
    )
    session.add(held)
    session.flush()
    session.expire(account, ["competition_roles"])
    return held


def make_team(session: Session, state: CompetitionState, now: datetime) -> Team:
    """A team with one member."""
    return teams.find_or_create_team(Acting(session, make_account(session, now), now), state.competition.id)


def make_submission(
    session: Session,
    state: CompetitionState,
    team: Team,
    *,
    now: datetime,
    status: str,
    copied_share: float | None = None,
) -> Submission:
    """A submission with this status. Its zip does not exist."""
    number = next(_count)
    submission = Submission(
        id=f"s{number}",
        competition_id=state.competition.id,
        team_id=team.id,
        account_id=state.competition.created_by,
        file_name="submission.zip",
        bytes=1,
        sha256=f"{number:064x}",
        note="",
        blob_key=f"submissions/{number}.zip",
        status=status,
        accepted_at=now,
        copied_share=copied_share,
    )
    session.add(submission)
    session.flush()
    events.add_event(session, submission.ref, status, now=now)
    return submission


def make_scored(
    session: Session,
    state: CompetitionState,
    team: Team,
    *,
    fid: float,
    distance: float,
    now: datetime,
    kind: TrackKind = "public",
    copied_share: float = 0.0,
) -> Submission:
    """A submission with a measurement on one track, as if a worker had made it."""
    submission = make_submission(session, state, team, now=now, status="scored", copied_share=copied_share)
    add_measurement(session, state, submission, fid=fid, distance=distance, now=now, kind=kind)
    return submission


def add_measurement(
    session: Session,
    state: CompetitionState,
    submission: Submission,
    *,
    fid: float,
    distance: float,
    now: datetime,
    kind: TrackKind = "public",
    distance_se: float | None = 0.001,
    draws: Sequence[float] | None = None,
    histogram: Mapping[str, Any] | None = None,
) -> Measurement:
    """``draws``: the FIDs of the entry's draws."""
    track = state.tracks[kind]
    job = _finished_job(session, submission, track.id, queue="score", now=now, priority=int(kind == "private"))
    measurement = Measurement(
        job_id=job.id,
        submission_ref=submission.ref,
        track_id=track.id,
        scorer_version="1",
        fid=fid,
        memorization_distance=distance,
        distance_se=distance_se,
        fid_spread=stdev(draws) if draws and len(draws) > 1 else None,
        draws=[{"fid": drawn, "memorization_distance": distance} for drawn in draws] if draws else None,
        closest_pairs=[],
        histogram=histogram or {},
        artifact_key="",
        provenance={},
        created_at=now,
    )
    session.add(measurement)
    session.flush()
    return measurement


def add_evidence(
    session: Session,
    state: CompetitionState,
    submission: Submission,
    *,
    now: datetime,
    kind: TrackKind = "public",
    **overrides: Any,
) -> Evidence:
    """Add evidence to a measured submission. ``overrides`` are columns; by default nothing is copied.

    A track without a preparation gets one without files.
    """
    track = state.tracks[kind]
    measurement = submissions.newest_measurement(session, submission.ref, track.id)
    assert measurement is not None
    if track.preparation_id is None:
        track.preparation = Preparation(
            key=f"{next(_count):064x}",
            extractor=track.extractor,
            image_size=state.competition.image_size,
            signed=track.signed,
            reference_set_ids=[],
            created_at=now,
            finished_at=now,
        )
        session.flush()
    job = _finished_job(session, submission, track.id, queue="evidence", now=now, priority=1)
    fields: dict[str, Any] = {"seed": 0, "findings": [], "details": {}, "provenance": {}}
    row = Evidence(
        job_id=job.id,
        submission_ref=submission.ref,
        track_id=track.id,
        preparation_id=track.preparation_id,
        measurement_id=measurement.id,
        created_at=now,
        **(fields | {"identical": 0, "mirrored_twins": 0} | overrides),
    )
    session.add(row)
    session.flush()
    return row


def add_recovery(session: Session, submission: Submission, *, now: datetime, **overrides: Any) -> Recovery:
    """Add a generator and its audit to a submission. ``overrides`` are columns of the recovery.

    The report is empty by default. With a ``refusal`` there is none.
    """
    generator = GeneratorFile(
        submission_ref=submission.ref,
        bytes=1000,
        sha256=f"{next(_count):064x}",
        blob_key=f"generators/{next(_count)}.onnx",
        dimension=8,
        distribution="normal",
        seed=0,
        author_id=submission.account_id,
        created_at=now,
    )
    session.add(generator)
    session.flush()
    job = _finished_job(session, submission, None, queue="recover", now=now, priority=1)
    job.generator_id = generator.id
    outcome: dict[str, Any] = {"provenance": {}}
    if "refusal" not in overrides:
        outcome |= {"report": {}, "arrays_key": f"recoveries/{job.id}.npz"}
    row = Recovery(job_id=job.id, generator_id=generator.id, created_at=now, **(outcome | overrides))
    session.add(row)
    session.flush()
    return row


def add_shared_images(
    session: Session, ref: int, other_ref: int, *, share: float, now: datetime, same_latents: float | None = None
) -> SharedImages:
    """Let two entries of 100 images share some of them, or be nearly the same generator. At most ten images are
    equal."""
    images = round(100 * share)
    pair = {"submission_ref": max(ref, other_ref), "other_ref": min(ref, other_ref)}
    competition_id = session.get_one(Submission, ref).competition_id
    columns = {"images": images, "equal": min(images, 10), "share": share, "examples": [[1, 2]], "created_at": now}
    row = SharedImages(**pair, competition_id=competition_id, same_latents=same_latents, **columns)
    session.add(row)
    session.flush()
    return row


def let_time_pass(session: Session, by: timedelta) -> None:
    """Make unfinished jobs due and their leases expire earlier, as if this much time had passed."""
    unfinished = session.query(Job).filter(Job.state.in_(UNFINISHED))
    unfinished.update({Job.due_at: Job.due_at - by, Job.lease_until: Job.lease_until - by})
    session.flush()


def _finished_job(
    session: Session, submission: Submission, track_id: int | None, *, queue: str, now: datetime, priority: int
) -> Job:
    """A job on a submission, as if a worker had done it."""
    job = Job(
        queue=queue,
        submission_ref=submission.ref,
        track_id=track_id,
        team_id=submission.team_id,
        state="done",
        priority=priority,
        turn=0,
        due_at=now,
        attempts=1,
        created_at=now,
        finished_at=now,
    )
    session.add(job)
    session.flush()
    return job


def set_tau(session: Session, state: CompetitionState, kind: TrackKind, tau: float, now: datetime) -> None:
    session.add(
        Threshold(track_id=state.tracks[kind].id, tau=tau, method="manual", choice={}, reason="", created_at=now)
    )
    session.flush()


def set_label(session: Session, submission: Submission, label: str, now: datetime) -> None:
    session.add(
        Label(submission_ref=submission.ref, label=label, note="", author_id=submission.account_id, created_at=now)
    )
    session.flush()


def noise_images(seed: int, count: int = 8, size: int = 16) -> NDArray[np.uint8]:
    """Images (count, size, size, 3) of uniform noise."""
    return np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), dtype=np.uint8)


def make_zip(images: NDArray[np.uint8]) -> bytes:
    """A zip of PNGs."""
    buffer = io.BytesIO()
    write_images(images, buffer)
    return buffer.getvalue()


def near_copies(seed: int = 5) -> Any:
    """Eight training images with noise of a few grey levels. They are near copies, not copies."""
    return grainy(noise_images(1, 40, 16)[:8], seed)


def grainy(images: Any, seed: int) -> Any:
    """Add noise of at most 6 grey levels."""
    noise_ = np.random.default_rng(seed).integers(-6, 7, images.shape)
    return np.clip(images + noise_, 0, 255).astype(np.uint8)


def with_a_wrong_image(images: np.ndarray[Any, Any]) -> bytes:
    source = io.BytesIO(make_zip(images))
    target = io.BytesIO()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for number, name in enumerate(sorted(old.namelist())):
            content = old.read(name)
            if number == 3:
                small = io.BytesIO()
                Image.fromarray(images[3][:, :15]).save(small, "PNG")
                content = small.getvalue()
            new.writestr(name, content)
    return target.getvalue()


NOTEBOOK = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def code_zip(content: bytes = b"print('hello')") -> bytes:
    """A zip of one script."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("train.py", content)
    return buffer.getvalue()


def join_team(session: Session, team: Team, now: datetime, email: str | None = None) -> Account:
    """Add a new account to a team."""
    account = make_account(session, now)
    account.email = email
    session.add(
        Membership(
            competition_id=team.competition_id, team_id=team.id, account_id=account.id, joined=True, created_at=now
        )
    )
    session.flush()
    return account


def make_entry(session: Session, state: CompetitionState, now: datetime, *, fid: float, distance: float) -> Submission:
    """An entry of a new team with both scores."""
    entry = make_scored(session, state, make_team(session, state, now), fid=fid, distance=distance, now=now)
    add_measurement(session, state, entry, fid=fid, distance=distance, now=now, kind="private")
    return entry


SIGNS: dict[str, dict[str, Any]] = {
    "near-copies": {"near_copies_share": 0.5, "near_copies_p": 1e-9, "near_copies_mirrored": 0},
    "mirrored-copies": {"near_copies_share": 0.5, "near_copies_p": 1e-9, "near_copies_mirrored": 4},
    "thumbnail-copies": {"thumbnail_share": 0.05, "thumbnail_p": 0.009},
    "partly-copied": {"partly_copied_share": 0.05, "partly_copied_p": 0.009},
    "hash-copies": {"hash_share": 0.05, "hash_p": 0.009},
    "relative-copies": {"relative_share": 0.11, "relative_expected": 0.05, "relative_p": 0.009},
    "membership": {"membership_auc": 0.6, "membership_auc_p": 0.009},
    "data-copying": {"z_u_p": 0.009, "u_share": 0.45},
    "small-support": {"support_size": 100_000.0, "support_p": 9e-5},
    "repeats": {"repeats_pairs": 2, "repeats_p": 0.009},
    "identical-images": {"identical": 1},
    "not-authentic": {"authenticity_p": 0.009, "authenticity_share": 0.75, "authenticity_expected": 0.8},
}
"""By sign: the weakest evidence that shows this sign and no other."""
