"""SQL for standard errors of FIDs, which are part of the evidence, and for entries that share images."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Double, any_, cast, func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db.leaderboard.scores import id_list, newest_measurements
from scorer.db.tables import Evidence, Measurement, SharedImages, Submission

_FID_ERROR = '$[*] ? (@.name == "fid").standard_error'


def load_fid_errors(
    session: Session, track_id: int, refs: Collection[int], *, at: datetime | None = None
) -> dict[int, float]:
    """The standard errors of entries' FIDs on a track (at the moment ``at``), by ref. Missing for entries without
    evidence of the measurement that counts, and for entries with too few images. The evidence has that of one draw,
    which shrinks with the square root of their number."""
    measured = newest_measurements(track_id, at, refs)
    found = cast(func.jsonb_path_query_first(Evidence.findings, _FID_ERROR).op("#>>")("{}"), Double)
    draws = func.coalesce(func.jsonb_array_length(Measurement.draws), 1)
    newest = (
        select(Evidence.submission_ref, (found / func.sqrt(draws)).label("error"))
        .ext(distinct_on(Evidence.submission_ref))
        .join(measured, measured.c.id == Evidence.measurement_id)
        .join(Measurement, Measurement.id == Evidence.measurement_id)
        .order_by(Evidence.submission_ref, Evidence.id.desc())
        .subquery()
    )
    rows = session.execute(select(newest.c.submission_ref, newest.c.error).where(newest.c.error.is_not(None)))
    return {row.submission_ref: row.error for row in rows}


class FidSpread(NamedTuple):
    """The standard deviation of an entry's FID over its draws."""

    deviation: float
    draws: int


def load_fid_spreads(
    session: Session, track_id: int, refs: Collection[int], *, at: datetime | None = None
) -> dict[int, FidSpread]:
    """The spreads of entries' FIDs on a track (at the moment ``at``), by ref. Missing for zips and single draws."""
    measured = newest_measurements(track_id, at, refs)
    query = (
        select(Measurement.submission_ref, Measurement.fid_spread, func.jsonb_array_length(Measurement.draws))
        .join(measured, measured.c.id == Measurement.id)
        .where(Measurement.fid_spread.is_not(None))
    )
    return {ref: FidSpread(deviation, draws) for ref, deviation, draws in session.execute(query)}


def load_pixel_hashes(session: Session, refs: Collection[int]) -> dict[int, str]:
    """The hash of all images of each checked entry, by ref. Equal images have equal hashes."""
    query = select(Submission.ref, Submission.pixels_sha256).where(Submission.ref == any_(id_list(refs)))
    rows = session.execute(query.where(Submission.pixels_sha256.is_not(None)))
    return {row.ref: str(row.pixels_sha256) for row in rows}


def load_shares(session: Session, refs: Collection[int]) -> dict[tuple[int, int], float]:
    """The share of images that two entries have in common, by both refs, the later one first. Missing for pairs that
    share few images, belong to one team, or were not compared."""
    wanted = id_list(refs)
    query = select(SharedImages.submission_ref, SharedImages.other_ref, SharedImages.share)
    rows = session.execute(
        query.where(SharedImages.submission_ref == any_(wanted), SharedImages.other_ref == any_(wanted))
    )
    return {(row.submission_ref, row.other_ref): row.share for row in rows}


def newest_share_id(session: Session) -> int:
    return session.scalar(select(func.max(SharedImages.id))) or 0
