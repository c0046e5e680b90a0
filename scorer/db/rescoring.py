"""SQL for rescoring campaigns: which measurements count, their conditions, and the campaigns' rows."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Exists, Select, case, exists, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from scorer.db.newest_rows import newest_rows
from scorer.db.tables import Measurement, Preparation, RescoringAct, RescoringCampaign, Submission, Track
from scorer.lifecycle import Status

SWITCHES = ("switch", "undo")


def _newest_acts(kinds: Sequence[str], at: datetime | None = None) -> Any:
    newest = select(RescoringAct.campaign_id, RescoringAct.kind).where(RescoringAct.kind.in_(kinds))
    if at is not None:
        newest = newest.where(RescoringAct.created_at <= at)
    newest = newest.ext(distinct_on(RescoringAct.campaign_id))
    return newest.order_by(RescoringAct.campaign_id, RescoringAct.id.desc()).subquery()


def in_force(at: datetime | None = None) -> Select[Any]:
    """The ids of the campaigns with measurements that count, now or at the moment ``at``."""
    newest = _newest_acts(SWITCHES, at)
    return select(newest.c.campaign_id).where(newest.c.kind == "switch")


def counts(
    campaign_id: Any, at: datetime | None = None, campaigns: Collection[int] | None = None
) -> ColumnElement[bool]:
    """Whether a measurement with this ``campaign_id`` counts, now or at the moment ``at``. ``campaigns``: as if exactly
    these were in force."""
    among = campaign_id.in_(in_force(at) if campaigns is None else campaigns)
    return or_(campaign_id.is_(None), among)


def conditions_hash(track_id: int, measured: Any) -> ColumnElement[int]:
    """A number for the scorer version and references of a measurement on a track; equal for equal conditions."""
    first = (
        select(RescoringCampaign.former_preparation_id)
        .where(RescoringCampaign.track_id == track_id)
        .order_by(RescoringCampaign.id)
        .limit(1)
    )
    of_campaign = select(RescoringCampaign.preparation_id).where(RescoringCampaign.id == measured.campaign_id)
    references = case(
        (measured.campaign_id.is_(None), func.coalesce(first.scalar_subquery(), 0)),
        else_=of_campaign.scalar_subquery(),
    )
    return func.hashtextextended(measured.scorer_version, references)


class MeasurementConditions(NamedTuple):
    scorer_version: str
    references: int
    """The number of their preparation; 0 before a track had any campaign."""
    extractor: str


def load_conditions(
    session: Session, track_id: int, refs: Collection[int], *, at: datetime | None = None
) -> dict[int, MeasurementConditions]:
    """The conditions of entries' newest measurements that count on a track, by ref, at the moment ``at``."""
    first = select(func.min(RescoringCampaign.id)).where(RescoringCampaign.track_id == track_id).scalar_subquery()
    campaign, earliest = aliased(RescoringCampaign), aliased(RescoringCampaign)
    preparation_id = func.coalesce(campaign.preparation_id, earliest.former_preparation_id)
    query = (
        select(Measurement.submission_ref, Measurement.scorer_version, Preparation.id, Preparation.extractor)
        .ext(distinct_on(Measurement.submission_ref))
        .outerjoin(campaign, campaign.id == Measurement.campaign_id)
        .outerjoin(earliest, earliest.id == first)
        .outerjoin(Preparation, Preparation.id == preparation_id)
        .where(Measurement.track_id == track_id, Measurement.submission_ref.in_(refs))
        .where(counts(Measurement.campaign_id, at))
        .order_by(Measurement.submission_ref, Measurement.id.desc())
    )
    if at is not None:
        query = query.where(Measurement.created_at <= at)
    return {row[0]: MeasurementConditions(row[1], row[2] or 0, row[3] or "") for row in session.execute(query)}


def has_switched_since(connection: Any, track_id: int, at: datetime) -> bool:
    later = track_switches_query([track_id]).where(RescoringAct.created_at > at)
    return connection.scalar(later.limit(1)) is not None


def track_switches_query(track_ids: Collection[int]) -> Select[datetime]:
    """When campaigns of tracks were switched on or off."""
    query = select(RescoringAct.created_at).join(RescoringCampaign, RescoringCampaign.id == RescoringAct.campaign_id)
    return query.where(RescoringCampaign.track_id.in_(track_ids), RescoringAct.kind.in_(SWITCHES))


def newest_switch(session: Session, track_id: int) -> datetime | None:
    """When a campaign of a track was last switched on or off; None if none ever was."""
    switches = track_switches_query([track_id])
    return session.scalar(switches.order_by(RescoringAct.created_at.desc()).limit(1))


def newest_change(session: Session, track_id: int) -> datetime | None:
    """When the counting measurements of a track's entries in time last changed, through a new one or a switch; None if
    there are none."""
    measured = (
        select(func.max(Measurement.created_at))
        .join(Submission, Submission.ref == Measurement.submission_ref)
        .where(Measurement.track_id == track_id, ~Submission.late, counts(Measurement.campaign_id))
    )
    moments = (session.scalar(measured), newest_switch(session, track_id))
    return max((at for at in moments if at is not None), default=None)


def paused_campaigns(session: Session) -> frozenset[int]:
    return frozenset(session.scalars(_paused()))


@lru_cache  # every claim needs it; building it takes longer than running it
def _paused() -> Select[Any]:
    newest = _newest_acts(("pause", "resume"))
    return select(newest.c.campaign_id).where(newest.c.kind == "pause")


def load_campaigns(session: Session, competition_id: int) -> Sequence[RescoringCampaign]:
    query = select(RescoringCampaign).join(Track, Track.id == RescoringCampaign.track_id)
    query = query.where(Track.competition_id == competition_id).order_by(RescoringCampaign.id.desc())
    return session.scalars(query).all()


def open_campaigns(session: Session, **subject: int) -> Sequence[RescoringCampaign]:
    """The campaigns with these values of columns that are neither switched on nor cancelled, newest first."""
    ended = exists().where(
        RescoringAct.campaign_id == RescoringCampaign.id, RescoringAct.kind.in_((*SWITCHES, "cancel"))
    )
    return newest_rows(session, RescoringCampaign, ~ended, **subject)


def load_acts(session: Session, campaign_id: int) -> Sequence[RescoringAct]:
    return newest_rows(session, RescoringAct, campaign_id=campaign_id)


def in_force_on(session: Session, track_id: int) -> Sequence[RescoringCampaign]:
    return newest_rows(session, RescoringCampaign, RescoringCampaign.id.in_(in_force()), track_id=track_id)


def in_force_in(session: Session, competition_id: int) -> frozenset[int]:
    of_competition = select(RescoringCampaign.id).join(Track, Track.id == RescoringCampaign.track_id)
    wanted = of_competition.where(Track.competition_id == competition_id, RescoringCampaign.id.in_(in_force()))
    return frozenset(session.scalars(wanted))


def find_reference_campaign(session: Session, track_id: int, key: str | None) -> int | None:
    """The campaign in force that gave a track the references with this key; None if they are the track's first
    references."""
    changing = (campaign for campaign in in_force_on(session, track_id) if not campaign.keeps_references)
    return next((campaign.id for campaign in changing if campaign.preparation.key == key), None)


class MeasuredDifference(NamedTuple):
    measured: int
    changed: int
    """Entries with a different FID or memorization distance."""
    fid_difference: float | None
    """The largest difference in FID, like ``distance_difference``; None without any measurement."""
    distance_difference: float | None
    scorer_versions: Sequence[str]


def compute_difference(session: Session, campaign: RescoringCampaign) -> MeasuredDifference:
    """Compare a campaign's measurements with the newest earlier ones of the same entries that count without it."""
    own, other = aliased(Measurement), aliased(Measurement)
    before = (
        select(other.fid, other.memorization_distance)
        .where(other.track_id == own.track_id, other.submission_ref == own.submission_ref, other.id < own.id)
        .where(or_(other.campaign_id.is_(None), other.campaign_id.in_(in_force())))
        .where(other.campaign_id.is_distinct_from(campaign.id))
        .order_by(other.id.desc())
        .limit(1)
        .lateral("before")
    )
    fid = func.abs(own.fid - before.c.fid)
    distance = func.abs(own.memorization_distance - before.c.memorization_distance)
    newest = (
        select(own.submission_ref, own.scorer_version, fid.label("fid"), distance.label("distance"))
        .ext(distinct_on(own.submission_ref))
        .join(before, before.c.fid.is_not(None))
        .where(own.campaign_id == campaign.id, own.track_id == campaign.track_id)
        .order_by(own.submission_ref, own.id.desc())
        .subquery()
    )
    versions = func.array_agg(newest.c.scorer_version.distinct())
    row = session.execute(
        select(
            func.count(),
            func.count().filter(or_(newest.c.fid > 0, newest.c.distance > 0)),
            func.max(newest.c.fid),
            func.max(newest.c.distance),
            versions,
        )
    ).one()
    return MeasuredDifference(row[0], row[1], row[2], row[3], sorted(row[4] or ()))


def missing_entries(session: Session, campaign: RescoringCampaign) -> Sequence[int]:
    """The refs of the campaign's entries (scored, measured on its track, with a zip) that it has not measured. If the
    campaign keeps the references, entries first measured since it began are excluded."""
    measured = aliased(Measurement)
    has_own = exists().where(
        measured.submission_ref == Submission.ref,
        measured.track_id == campaign.track_id,
        measured.campaign_id == campaign.id,
    )
    counted = is_counted(campaign.track_id)
    if campaign.keeps_references:
        counted = counted.where(Measurement.created_at <= campaign.created_at)
    query = select(Submission.ref).where(
        Submission.status == Status.SCORED, Submission.blob_key.is_not(None), counted, ~has_own
    )
    if campaign.submission_refs is not None:
        query = query.where(Submission.ref.in_(campaign.submission_refs))
    of_track = select(Track.competition_id).where(Track.id == campaign.track_id)
    query = query.where(Submission.competition_id == of_track.scalar_subquery())
    return session.scalars(query.order_by(Submission.ref)).all()


def unmeasured_entries(session: Session, track: Track) -> Sequence[int]:
    """The refs of a track's entries that have measurements, but none that counts."""
    query = select(Submission.ref).where(
        Submission.competition_id == track.competition_id,
        Submission.status == Status.SCORED,
        exists().where(Measurement.submission_ref == Submission.ref, Measurement.track_id == track.id),
        ~is_counted(track.id),
    )
    return session.scalars(query.order_by(Submission.ref)).all()


def measured_entries(session: Session, campaign: RescoringCampaign) -> Sequence[int]:
    query = select(Measurement.submission_ref).where(Measurement.campaign_id == campaign.id).distinct()
    return session.scalars(query.order_by(Measurement.submission_ref)).all()


def count_without_zip(session: Session, competition_id: int, *conditions: ColumnElement[bool]) -> int:
    """How many matching scored entries cannot be measured again, because they are imported or have lost their zip."""
    query = select(func.count()).where(
        Submission.competition_id == competition_id,
        Submission.status == Status.SCORED,
        Submission.blob_key.is_(None),
        *conditions,
    )
    return int(session.scalar(query) or 0)


def is_counted(track_id: int) -> Exists:
    """Whether a submission has a measurement that counts on a track."""
    return exists().where(
        Measurement.submission_ref == Submission.ref,
        Measurement.track_id == track_id,
        counts(Measurement.campaign_id),
    )
