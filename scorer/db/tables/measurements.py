"""Measurements: FID and memorization distance of submissions. Append-only.

Also the change feed of boards, which tells caches of boards that they are outdated.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Competition, Track
from scorer.db.tables.jobs import Job
from scorer.db.tables.rescoring import RescoringCampaign
from scorer.db.tables.submissions import Submission


class Measurement(Table):
    """FID and memorization distance of a submission on a track. Never changed; a rescoring campaign adds rows.

    Measurements count if they belong to no campaign or to a campaign in force. The newest of these is the submission's.
    """

    __tablename__ = "measurements"
    __table_args__ = (
        Index("ix_measurements_newest", "track_id", "submission_ref", text("id DESC")),
        CheckConstraint("fid >= 0 AND fid < 'Infinity'", name="fid"),
        CheckConstraint("memorization_distance >= 0 AND memorization_distance <= 2", name="distance"),
        CheckConstraint("(job_id IS NULL) = (artifact_key IS NULL)", name="measured"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    job_id: Mapped[int | None] = mapped_column(ForeignKey(Job.id), unique=True)
    """A job measures at most once, even if it runs several times. None for imported numbers, which were not measured
    here."""
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), index=True)
    track_id: Mapped[int] = mapped_column(ForeignKey(Track.id))
    campaign_id: Mapped[int | None] = mapped_column(ForeignKey(RescoringCampaign.id), index=True)
    """The campaign that it was measured for, or that gave the track the references it was measured against. None:
    measured against the track's first references."""
    scorer_version: Mapped[str]
    fid: Mapped[float]
    memorization_distance: Mapped[float]
    distance_se: Mapped[float | None]
    """Standard error of the memorization distance: sd of the per-image distances / sqrt(n)."""
    fid_spread: Mapped[float | None]
    """Standard deviation of ``fid`` over the draws; None for a zip and for a single draw."""
    draws: Mapped[list[dict[str, Any]] | None] = mapped_column(JSONB(none_as_null=True))
    """``fid`` and ``memorization_distance`` of each draw, by number; None for a zip."""
    closest_pairs: Mapped[list[dict[str, Any]]]
    histogram: Mapped[dict[str, Any]]
    artifact_key: Mapped[str | None] = mapped_column(index=True)
    """Blob with each image's nearest distance and index; None for an imported measurement."""
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class BoardChange(Table):
    """A change of something that a board depends on. Written by triggers, in the transaction of the change.

    Readers find new rows by ``xid``, the transaction's id, because a row can be committed after one with a higher id
    (:mod:`scorer.db.leaderboard.changes`). There is no counter to lock, so writers never wait for each other.
    """

    __tablename__ = "board_changes"
    __table_args__ = (
        Index("ix_board_changes_news", "competition_id", "xid"),
        CheckConstraint(
            "kind IN ('entries', 'threshold', 'ruling', 'label', 'picks', 'merge', 'team', 'publication',"
            " 'competition', 'track', 'shown', 'hidden-shown')",
            name="kind",
        ),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    xid: Mapped[int] = mapped_column(BigInteger, server_default=text("(pg_current_xact_id()::text)::bigint"))
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    track_id: Mapped[int | None] = mapped_column(ForeignKey(Track.id))
    """The track with the changed board; None for both."""
    kind: Mapped[str]
    submission_refs: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))
    """For the kind ``entries``: the entries that were measured or changed. None if there are too many to list."""
