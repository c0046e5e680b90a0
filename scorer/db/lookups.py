"""Finding things: every plain SELECT of the nouns."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import CursorResult, func, select, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db import events, merges
from scorer.db.tables import (
    Account,
    Competition,
    CompetitionReference,
    Label,
    Measurement,
    Membership,
    Preparation,
    ProvisionalMeasurement,
    Publication,
    ReferenceSet,
    Submission,
    Team,
    Threshold,
    Track,
)
from scorer.lifecycle import PENDING, UNCHARGED, Status, Usage, advance, utc_day


def competition_by_slug(session: Session, slug: str) -> Competition | None:
    """A competition."""
    return session.scalars(select(Competition).where(Competition.slug == slug)).one_or_none()


def all_competitions(session: Session) -> Sequence[Competition]:
    """Every competition, newest first."""
    return session.scalars(select(Competition).order_by(Competition.created_at.desc(), Competition.id.desc())).all()


def is_published(session: Session, competition_id: int) -> bool:
    """Whether the newest act of publication shows the private board."""
    newest = select(Publication.published).where(Publication.competition_id == competition_id)
    return bool(session.scalar(newest.order_by(Publication.id.desc()).limit(1)))


def publications_of(session: Session, competition_id: int) -> Sequence[Publication]:
    """Every act of publication of a competition, newest first."""
    acts = select(Publication).where(Publication.competition_id == competition_id)
    return session.scalars(acts.order_by(Publication.id.desc())).all()


def tracks_of(session: Session, competition_id: int) -> dict[str, Track]:
    """The tracks of a competition by kind, without former ones."""
    tracks = session.scalars(select(Track).where(Track.competition_id == competition_id, Track.kind != "former"))
    return {track.kind: track for track in tracks}


def tracks_at(session: Session, tracks: dict[str, Track], at: datetime) -> dict[str, Track]:
    """The tracks of a competition, which are ``tracks`` now, as they were at a moment."""
    then = (
        select(Track)
        .where(Track.competition_id == tracks["private"].competition_id, Track.replaced_at > at)
        .order_by(Track.replaced_at)
        .limit(1)
    )
    former = session.scalars(then).one_or_none()
    return tracks if former is None else tracks | {"private": former}


def extractors_in_use(session: Session) -> Sequence[str]:
    """The extractors of tracks that are prepared, so that entries may come."""
    query = select(Track.extractor).join(Preparation, Preparation.id == Track.preparation_id)
    in_use = query.where(Preparation.finished_at.is_not(None), Track.kind != "former")
    return session.scalars(in_use.distinct()).all()


def references_of(session: Session, competition_id: int) -> dict[str, CompetitionReference]:
    """The attached reference sets of a competition by role."""
    attached = session.scalars(
        select(CompetitionReference).where(CompetitionReference.competition_id == competition_id)
    )
    return {reference.role: reference for reference in attached}


def reference_set_by_sha256(session: Session, sha256: str) -> ReferenceSet | None:
    """A reference set by the address of its bytes."""
    return session.scalars(select(ReferenceSet).where(ReferenceSet.sha256 == sha256)).one_or_none()


def reference_sets(session: Session, ids: Sequence[int]) -> list[ReferenceSet]:
    """Reference sets in the order of ``ids``."""
    found = {row.id: row for row in session.scalars(select(ReferenceSet).where(ReferenceSet.id.in_(ids)))}
    return [found[each] for each in ids]


def preparation_by_key(session: Session, key: str) -> Preparation | None:
    """A preparation by the address of its inputs."""
    return session.scalars(select(Preparation).where(Preparation.key == key)).one_or_none()


def tracks_with(session: Session, preparation_id: int) -> Sequence[Track]:
    """The tracks that are measured against a preparation."""
    return session.scalars(select(Track).where(Track.preparation_id == preparation_id)).all()


def newest_threshold(session: Session, track_id: int, at: datetime | None = None) -> Threshold | None:
    """The threshold that a track is ranked with (was ranked with at the moment ``at``)."""
    query = select(Threshold).where(Threshold.track_id == track_id)
    if at is not None:
        query = query.where(Threshold.created_at <= at)
    return session.scalars(query.order_by(Threshold.id.desc()).limit(1)).one_or_none()


def published_since(session: Session, competition_id: int) -> datetime | None:
    """Since when the private board is shown to everyone; None if it is not."""
    newest = select(Publication.published, Publication.created_at).where(Publication.competition_id == competition_id)
    row = session.execute(newest.order_by(Publication.id.desc()).limit(1)).one_or_none()
    return row.created_at if row is not None and row.published else None


def lock_track(session: Session, track_id: int) -> None:
    """Let one transaction at a time choose a track's tau."""
    session.execute(select(Track.id).where(Track.id == track_id).with_for_update()).one()


def thresholds_of(session: Session, track_id: int) -> Sequence[Threshold]:
    """The history of a track's tau, newest first."""
    return session.scalars(select(Threshold).where(Threshold.track_id == track_id).order_by(Threshold.id.desc())).all()


def team_of(session: Session, competition_id: int, account_id: int) -> Team | None:
    """The team that a person is in."""
    newest = (
        select(Membership.team_id, Membership.joined)
        .where(Membership.competition_id == competition_id, Membership.account_id == account_id)
        .order_by(Membership.id.desc())
        .limit(1)
        .subquery("newest")
    )
    return session.scalars(select(Team).join(newest, newest.c.team_id == Team.id).where(newest.c.joined)).one_or_none()


def benchmark_by_name(session: Session, competition_id: int, names: Sequence[str]) -> Team | None:
    """A benchmark of a competition under one of ``names``."""
    query = select(Team).where(Team.competition_id == competition_id, Team.benchmark, Team.name.in_(names))
    return session.scalars(query.limit(1)).one_or_none()


def lock_account(session: Session, account_id: int) -> None:
    """Let one transaction at a time decide about a person."""
    session.execute(select(Account.id).where(Account.id == account_id).with_for_update()).one()


def lock_competition(session: Session, slug: str, *, share: bool) -> None:
    """Hold a competition's set-up still (``share``) or change it alone, to the end of the transaction."""
    session.execute(select(Competition.id).where(Competition.slug == slug).with_for_update(read=share))


def usage_of(session: Session, team_id: int, now: datetime, *, late: bool = False) -> Usage:
    """What a team, with all that was merged into it, has used of its limits in the UTC day of ``now``; late entries
    (``late``) have theirs apart."""
    start, end = utc_day(now)
    today = (Submission.accepted_at >= start) & (Submission.accepted_at < end)
    row = session.execute(
        select(
            func.count().filter(today & Submission.status.not_in(UNCHARGED)),
            func.count().filter(Submission.status.in_(PENDING)),
            func.count().filter(today & (Submission.status == Status.REJECTED)),
        ).where(merges.is_of(team_id), Submission.late == late)
    ).one()
    return Usage(charged=row[0], pending=row[1], rejected=row[2])


def count_submissions(session: Session, team_id: int) -> int:
    """How many submissions a team has made, with all that was merged into it, whatever became of them."""
    return int(session.scalar(select(func.count()).where(merges.is_of(team_id))) or 0)


def submission_by_id(session: Session, submission_id: str) -> Submission | None:
    """A submission by its public id."""
    return session.scalars(select(Submission).where(Submission.id == submission_id)).one_or_none()


def submission_by_idempotency_key(
    session: Session, competition_id: int, account_id: int, key: str
) -> Submission | None:
    """The submission that an earlier request with the same key has made."""
    return session.scalars(
        select(Submission).where(
            Submission.competition_id == competition_id,
            Submission.account_id == account_id,
            Submission.idempotency_key == key,
        )
    ).one_or_none()


def submissions_of(
    session: Session, competition_id: int, *, team_id: int | None, before: int | None, limit: int
) -> Sequence[Submission]:
    """Submissions of a competition (of one team, if given), newest first, older than ref ``before``."""
    query = select(Submission).where(Submission.competition_id == competition_id)
    if team_id is not None:
        query = query.where(merges.is_of(team_id))
    if before is not None:
        query = query.where(Submission.ref < before)
    return session.scalars(query.order_by(Submission.ref.desc()).limit(limit)).all()


def has_submissions(session: Session, competition_id: int) -> bool:
    """Whether a competition has taken its first entry."""
    return (
        session.scalar(select(Submission.ref).where(Submission.competition_id == competition_id).limit(1)) is not None
    )


def move_submission(
    session: Session, ref: int, *, from_: Status, to: Status, now: datetime, reason: str | None = None, **values: object
) -> bool:
    """The guarded step of a submission's state, written into its history; False if it was not in ``from_``.
    ``Conflict`` for a forbidden step."""
    advance(from_, to)
    here = (Submission.ref == ref) & (Submission.status == from_)
    result = session.execute(update(Submission).where(here).values(status=to, reason=reason, **values))
    moved = isinstance(result, CursorResult) and result.rowcount == 1
    if moved:
        events.add(session, ref, to, now=now, reason=reason)
    return moved


def newest_measurement(session: Session, submission_ref: int, track_id: int) -> Measurement | None:
    """The measurement of a submission on a track that counts."""
    return session.scalars(
        select(Measurement)
        .where(Measurement.submission_ref == submission_ref, Measurement.track_id == track_id)
        .order_by(Measurement.id.desc())
        .limit(1)
    ).one_or_none()


def newest_provisional(session: Session, submission_ref: int, track_id: int) -> ProvisionalMeasurement | None:
    """The provisional measurement of a submission on a track."""
    return session.scalars(
        select(ProvisionalMeasurement)
        .where(
            ProvisionalMeasurement.submission_ref == submission_ref,
            ProvisionalMeasurement.track_id == track_id,
        )
        .order_by(ProvisionalMeasurement.job_id.desc())
        .limit(1)
    ).one_or_none()


def provisional_of_jobs(session: Session, job_ids: Collection[int]) -> Sequence[ProvisionalMeasurement]:
    """What these jobs have measured provisionally."""
    return session.scalars(select(ProvisionalMeasurement).where(ProvisionalMeasurement.job_id.in_(job_ids))).all()


def decided_label(session: Session, submission_ref: int) -> Label | None:
    """The newest decided label of a submission."""
    query = select(Label).where(Label.submission_ref == submission_ref).order_by(Label.id.desc()).limit(1)
    return session.scalars(query).one_or_none()


def labels_of(session: Session, refs: Collection[int]) -> dict[int, str]:
    """The decided labels of some submissions, by ref."""
    newest = (
        select(Label.submission_ref, Label.label)
        .ext(distinct_on(Label.submission_ref))
        .where(Label.submission_ref.in_(refs))
        .order_by(Label.submission_ref, Label.id.desc())
    )
    return {row.submission_ref: row.label for row in session.execute(newest)}


def decided_labels(session: Session, competition_id: int) -> dict[int, str]:
    """The decided label of every labelled submission of a competition, by ref."""
    newest = (
        select(Label.submission_ref, Label.label)
        .ext(distinct_on(Label.submission_ref))
        .join(Submission, Submission.ref == Label.submission_ref)
        .where(Submission.competition_id == competition_id)
        .order_by(Label.submission_ref, Label.id.desc())
    )
    return {row.submission_ref: row.label for row in session.execute(newest)}
