"""Uploads under way: what was promised, how much has arrived, and what became of it."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.base import PASSING, Table
from scorer.db.tables.competition import Competition
from scorer.db.tables.entries import Submission
from scorer.db.tables.people import Account


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
        {"info": PASSING},
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
