"""Submissions, what happened to them, and their resumable uploads."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Identity, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account
from scorer.db.tables.base import APPEND_ONLY, EXPIRING, Table, identity
from scorer.db.tables.competitions import Competition
from scorer.db.tables.teams import Team


class Submission(Table):
    """A zip that was accepted, or a row of an imported table of results (``external_id``), of which there is no zip.
    ``ref`` counts (the kaggle wire wants a number), ``id`` is for addresses."""

    __tablename__ = "submissions"
    __table_args__ = (
        UniqueConstraint("competition_id", "account_id", "idempotency_key"),
        UniqueConstraint("competition_id", "external_id"),
        CheckConstraint("num_nulls(blob_key, sha256) = CASE WHEN external_id IS NULL THEN 0 ELSE 2 END", name="zip"),
        Index("ix_submissions_team", "team_id", "accepted_at"),
        Index("ix_submissions_competition", "competition_id", text("ref DESC")),
        CheckConstraint(
            "status IN ('received', 'checking', 'queued', 'scoring', 'scored', 'rejected', 'failed', 'cancelled')",
            name="status",
        ),
    )

    ref: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id))
    """The team that handed it in. Whose it is now, after merges, says :mod:`scorer.db.teams.merges`."""
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    file_name: Mapped[str]
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str | None] = mapped_column(index=True)
    note: Mapped[str]
    blob_key: Mapped[str | None]
    external_id: Mapped[str | None]
    """What the table calls it that it was imported from; None for an entry that was handed in."""
    idempotency_key: Mapped[str | None]
    status: Mapped[str]
    reason: Mapped[str | None]
    faults: Mapped[list[str] | None]
    accepted_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    exact_copies: Mapped[int | None]
    mirrored_copies: Mapped[int | None]
    copied_share: Mapped[float | None]
    pixels_sha256: Mapped[str | None] = mapped_column(index=True)
    """Of the sorted hashes of the decoded images: equal for the same images under other names."""
    late: Mapped[bool] = mapped_column(default=False)
    """Begun after the close: on a board of its own, without a private track, in no picks."""
    sprite_key: Mapped[str | None]
    """Blob with small versions of some of its images, in one picture, for its team."""

    competition: Mapped[Competition] = relationship(lazy="joined", innerjoin=True)
    team: Mapped[Team] = relationship(lazy="joined", innerjoin=True)
    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)

    @property
    def imported(self) -> bool:
        """Whether there are numbers of it alone: neither zip nor images, and nothing to measure again."""
        return self.external_id is not None


class SubmissionEvent(Table):
    """A submission reached a status. Written by the transaction that moved it, which holds the submission's row: so
    the ids of one submission grow in the order in which its steps were committed."""

    __tablename__ = "submission_events"
    __table_args__ = (Index("ix_submission_events_submission", "submission_ref", "id"), {"info": APPEND_ONLY})

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    status: Mapped[str]
    reason: Mapped[str | None]
    created_at: Mapped[datetime]


class Upload(Table):
    """A zip that arrives piece by piece. ``received`` is the truth about how much of it there is: bytes that lie in
    the blob store and are not counted here do not exist."""

    __tablename__ = "uploads"
    __table_args__ = (
        UniqueConstraint("competition_id", "account_id", "idempotency_key"),
        CheckConstraint("method IN ('tus', 'put', 'wire')", name="method"),
        CheckConstraint("state IN ('receiving', 'done', 'refused', 'ended')", name="state"),
        CheckConstraint("received >= 0 AND received <= length", name="received"),
        CheckConstraint("(state = 'done') = (submission_ref IS NOT NULL)", name="done"),
        CheckConstraint("(state = 'refused') = (problem IS NOT NULL)", name="refused"),
        Index("ix_uploads_open", "account_id", "competition_id", postgresql_where=text("state = 'receiving'")),
        Index("ix_uploads_litter", "id", postgresql_where=text("state <> 'receiving' AND parts <> '{}'")),
        Index("ix_uploads_expiry", "expires_at", postgresql_where=text("state = 'receiving'")),
        {"info": EXPIRING},
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    method: Mapped[str]
    """How bytes come: by ``tus`` (the last byte makes the submission), by a presigned ``put`` to the store, or by the
    ``wire`` of another client; the last two say themselves when to make the submission."""
    file_name: Mapped[str]
    note: Mapped[str]
    benchmark: Mapped[str | None]
    described: Mapped[str]
    """tus's Upload-Metadata as the client gave it."""
    put_digest: Mapped[bytes | None]
    """Of ``wire``: the SHA-256 of what the address for its bytes ends with. Who knows that may send them."""
    length: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str | None]
    """What the client promises (hex)."""
    idempotency_key: Mapped[str | None]
    state: Mapped[str]
    received: Mapped[int] = mapped_column(BigInteger)
    parts: Mapped[list[str]]
    """Blobs that hold the received bytes, in order; of a closed upload, those that are still to be deleted."""
    writer: Mapped[str | None]
    """The random name of the one request that may add bytes: the newest."""
    begun_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    completed_at: Mapped[datetime | None]
    """When the last byte arrived."""
    finishing_until: Mapped[datetime | None]
    """Until then somebody makes the submission; later anybody may begin anew."""
    submission_ref: Mapped[int | None] = mapped_column(ForeignKey(Submission.ref), index=True)
    problem: Mapped[dict[str, Any] | None]
    """Why it was refused: kind, slug, message, faults."""

    competition: Mapped[Competition] = relationship(lazy="joined", innerjoin=True)
    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)
    submission: Mapped[Submission | None] = relationship(lazy="joined")
