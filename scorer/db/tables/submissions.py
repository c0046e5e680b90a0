"""Submissions, the events of their states, resumable uploads, and the keys that sign receipts."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Identity,
    Index,
    LargeBinary,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account
from scorer.db.tables.base import APPEND_ONLY, EXPIRING, Table, identity
from scorer.db.tables.competitions import Competition
from scorer.db.tables.teams import Team


class Submission(Table):
    """A submission: an accepted zip or generator, or a row of an imported table of results (``external_id``), which has
    no file.

    ``id`` is the public id in URLs. ``ref`` is an integer, because the kaggle client needs one.
    """

    __tablename__ = "submissions"
    __table_args__ = (
        UniqueConstraint("competition_id", "account_id", "idempotency_key"),
        UniqueConstraint("competition_id", "external_id"),
        CheckConstraint(
            "CASE WHEN external_id IS NULL THEN sha256 IS NOT NULL AND num_nonnulls(blob_key, zip_removed_at) = 1"
            " ELSE num_nonnulls(blob_key, sha256, zip_removed_at) = 0 END",
            name="zip",
        ),
        Index("ix_submissions_team", "team_id", "accepted_at"),
        Index("ix_submissions_competition", "competition_id", text("ref DESC")),
        # This index alone answers how many bytes a competition's zips have.
        Index(
            "ix_submissions_stored",
            "competition_id",
            postgresql_include=["team_id", "bytes"],
            postgresql_where=text("blob_key IS NOT NULL"),
        ),
        Index(
            "ix_submissions_removed",
            "competition_id",
            postgresql_include=["bytes", "zip_removed_at"],
            postgresql_where=text("zip_removed_at IS NOT NULL"),
        ),
        Index(
            "ix_submissions_pending",
            "competition_id",
            "ref",
            postgresql_where=text("status IN ('received', 'checking', 'queued', 'scoring')"),
        ),
        CheckConstraint(
            "status IN ('received', 'checking', 'queued', 'scoring', 'scored', 'rejected', 'failed', 'cancelled')",
            name="status",
        ),
    )

    ref: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id))
    """The team that submitted it. For the team it belongs to after merges, see :mod:`scorer.db.teams.merges`."""
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    file_name: Mapped[str]
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str | None] = mapped_column(index=True)
    note: Mapped[str]
    blob_key: Mapped[str | None] = mapped_column(index=True)
    zip_removed_at: Mapped[datetime | None]
    """When its zip was deleted from the store (``blob_key`` is then None)."""
    external_id: Mapped[str | None]
    """Its id in the table that it was imported from; None for an uploaded submission."""
    idempotency_key: Mapped[str | None]
    latent: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    """For a generator, the declared latent space: ``dimension``, ``distribution`` and ``classes``, each None if not
    declared."""
    status: Mapped[str]
    reason: Mapped[str | None]
    faults: Mapped[list[str] | None]
    ignored: Mapped[str | None]
    """A sentence about files in the zip that are not images of the entry and were ignored; None if there are none."""
    accepted_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    exact_copies: Mapped[int | None]
    mirrored_copies: Mapped[int | None]
    copied_share: Mapped[float | None]
    pixels_sha256: Mapped[str | None] = mapped_column(index=True)
    """SHA-256 of the sorted pixel hashes, equal for the same images under other names."""
    late: Mapped[bool] = mapped_column(default=False)
    """Whether its upload began after the deadline. Late entries have their own board, no private track, and are never
    final picks."""
    sprite_key: Mapped[str | None] = mapped_column(index=True)
    """Blob with its sprite sheet: some of its images, scaled down, in one picture for its team."""

    competition: Mapped[Competition] = relationship(lazy="joined", innerjoin=True)
    team: Mapped[Team] = relationship(lazy="joined", innerjoin=True)
    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)

    @property
    def imported(self) -> bool:
        """Whether it was imported. It then has measurements, but no zip and no images to measure again."""
        return self.external_id is not None


class CheckedGenerator(Table):
    """What the check found out about a generator that it passed."""

    __tablename__ = "checked_generators"
    __table_args__ = ({"info": APPEND_ONLY},)

    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref), primary_key=True)
    network_sha256: Mapped[str] = mapped_column(index=True)
    """SHA-256 of the canonical network (:mod:`scorer.generators.onnx.canonical`), equal for files that differ only in
    names, metadata and padding."""
    dimension: Mapped[int]
    """Coordinates of the latent, without the one-hot class."""
    distribution: Mapped[str]
    classes: Mapped[int | None]
    values: Mapped[str]
    """The range of the image values, ``tanh`` or ``sigmoid``."""
    seconds: Mapped[float]
    """The predicted seconds of all draws."""
    fixed_images_key: Mapped[str]
    """Blob with its images at the competition's 64 fixed latents."""
    same_as_ref: Mapped[int | None] = mapped_column(ForeignKey(Submission.ref), index=True)
    """The team's first entry with nearly the same images; None if this is the first."""
    created_at: Mapped[datetime]


class Draw(Table):
    """Images that the service has drawn from a generator for a track, or the fault that it found while drawing."""

    __tablename__ = "draws"
    __table_args__ = (
        UniqueConstraint("submission_ref", "track_kind", "number"),
        CheckConstraint("track_kind IN ('public', 'private')", name="track_kind"),
        CheckConstraint("num_nonnulls(blob_key, fault, removed_at) = 1", name="images"),
    )

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    track_kind: Mapped[str]
    number: Mapped[int]
    """From 1."""
    blob_key: Mapped[str | None] = mapped_column(index=True)
    """The zip of its images."""
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str | None]
    """SHA-256 of the zip."""
    fault: Mapped[str | None]
    """Why it failed. It counts, and is never drawn again."""
    removed_at: Mapped[datetime | None]
    provenance: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class SubmissionEvent(Table):
    """A change of a submission's status. Written by the transaction that changed it, which holds the lock on the
    submission. So the ids of a submission's events grow in the order of their commits."""

    __tablename__ = "submission_events"
    __table_args__ = (Index("ix_submission_events_submission", "submission_ref", "id"), {"info": APPEND_ONLY})

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    status: Mapped[str]
    reason: Mapped[str | None]
    created_at: Mapped[datetime]


class Upload(Table):
    """A resumable upload of a zip. Only ``received`` says how many bytes have arrived: further bytes in the blob store
    do not count."""

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
    """``tus`` (the last byte creates the submission), ``put`` (presigned, to the blob store), or ``wire`` (the kaggle
    client's upload). After the last two, a separate request creates the submission."""
    file_name: Mapped[str]
    note: Mapped[str]
    benchmark: Mapped[str | None]
    described: Mapped[str]
    """tus's Upload-Metadata as the client sent it."""
    put_digest: Mapped[bytes | None]
    """For a ``wire`` upload, the SHA-256 of the secret in its URL, which authorises sending the bytes."""
    length: Mapped[int] = mapped_column(BigInteger)
    reserved: Mapped[int | None] = mapped_column(BigInteger)
    """How many of its bytes count in the quotas; None: its length."""
    reserved_until: Mapped[datetime | None]
    """How long they count if no byte arrives; None: until the upload is closed."""
    sha256: Mapped[str | None]
    """The SHA-256 that the client has announced (hex)."""
    latent: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    """See :attr:`Submission.latent`."""
    idempotency_key: Mapped[str | None]
    state: Mapped[str]
    received: Mapped[int] = mapped_column(BigInteger)
    parts: Mapped[list[str]]
    """Keys of the blobs with the received bytes, in order. For a closed upload, the blobs still to be deleted."""
    writer: Mapped[str | None]
    """The random name of the newest request, which is the only one that may add bytes."""
    begun_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    completed_at: Mapped[datetime | None]
    finishing_until: Mapped[datetime | None]
    """The time limit of the request that creates the submission. After that, another request may start."""
    submission_ref: Mapped[int | None] = mapped_column(ForeignKey(Submission.ref), index=True)
    problem: Mapped[dict[str, Any] | None]
    """Why it was refused: kind, slug, message and faults of the error."""

    competition: Mapped[Competition] = relationship(lazy="joined", innerjoin=True)
    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True)
    submission: Mapped[Submission | None] = relationship(lazy="joined")


class SigningKey(Table):
    """An Ed25519 key. The newest one signs. The public halves of all keys stay, so that old signatures can be
    checked."""

    __tablename__ = "signing_keys"

    id: Mapped[int] = identity()
    public_key: Mapped[bytes] = mapped_column(LargeBinary)
    private_key: Mapped[bytes | None] = mapped_column(LargeBinary)
    """None once another key has replaced it."""
    created_at: Mapped[datetime]
