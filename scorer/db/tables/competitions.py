"""Competitions, their tracks, reference sets, data files and allowlists."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account
from scorer.db.tables.base import APPEND_ONLY, Table, identity


class Competition(Table):
    """A competition; its phase is derived from these times and from ``publications``."""

    __tablename__ = "competitions"
    __table_args__ = (
        CheckConstraint("image_count > 1 AND image_size > 0", name="images"),
        CheckConstraint("closes_at > opens_at", name="times"),
    )

    id: Mapped[int] = identity()
    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    description: Mapped[str]
    rules: Mapped[str]
    image_count: Mapped[int]
    image_size: Mapped[int]
    opens_at: Mapped[datetime | None]
    team_merge_deadline: Mapped[datetime | None]
    closes_at: Mapped[datetime | None]
    upload_grace_seconds: Mapped[int]
    review_days: Mapped[int]
    daily_limit: Mapped[int | None]
    pending_limit: Mapped[int]
    rejected_limit: Mapped[int]
    max_team_size: Mapped[int]
    final_picks: Mapped[int]
    late_submissions: Mapped[bool] = mapped_column(default=False)
    invitation_only: Mapped[bool]
    prizes: Mapped[list[dict[str, Any]]]
    medals: Mapped[dict[str, Any]]
    score_decimals: Mapped[int]
    created_by: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]


class Publication(Table):
    """The act of showing the private board, or of taking that back; the newest row counts."""

    __tablename__ = "publications"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), index=True)
    published: Mapped[bool]
    reason: Mapped[str]
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]

    author: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class RulesAcceptance(Table):
    """A person's word that they keep to the rules as they read them: the text with this SHA-256."""

    __tablename__ = "rules_acceptances"
    __table_args__ = (UniqueConstraint("competition_id", "account_id", "rules_sha256"), {"info": APPEND_ONLY})

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    rules_sha256: Mapped[str]
    created_at: Mapped[datetime]


class ReferenceSet(Table):
    """A zip of reference images, addressed by the SHA-256 of its bytes and shared by competitions."""

    __tablename__ = "reference_sets"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    sha256: Mapped[str] = mapped_column(unique=True)
    bytes: Mapped[int] = mapped_column(BigInteger)
    blob_key: Mapped[str]
    created_by: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]


class CompetitionReference(Table):
    """Which images play which role in a competition; fixed once the first entry has been taken."""

    __tablename__ = "competition_references"
    __table_args__ = (CheckConstraint("role IN ('train', 'held_out', 'private_extra')", name="role"),)

    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), primary_key=True)
    role: Mapped[str] = mapped_column(primary_key=True)
    reference_set_id: Mapped[int] = mapped_column(ForeignKey(ReferenceSet.id))
    attached_by: Mapped[int] = mapped_column(ForeignKey(Account.id))
    attached_at: Mapped[datetime]

    reference_set: Mapped[ReferenceSet] = relationship(lazy="joined", innerjoin=True)


class Preparation(Table):
    """Features, normalised features and statistics of reference sets in one extractor's space.

    ``key`` is the content address of all that goes in, so that equal work is done once.
    """

    __tablename__ = "preparations"

    id: Mapped[int] = identity()
    key: Mapped[str] = mapped_column(unique=True)
    extractor: Mapped[str]
    image_size: Mapped[int]
    signed: Mapped[bool]
    reference_set_ids: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    held_out_set_id: Mapped[int | None] = mapped_column(ForeignKey(ReferenceSet.id))
    count: Mapped[int | None]
    dimension: Mapped[int | None]
    heldout_distance: Mapped[float | None]
    provenance: Mapped[dict[str, Any] | None]
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class Track(Table):
    """One way of scoring a competition: extractor and reference set, public or private.

    Another extractor is another track, with measurements and thresholds of its own: the private track that it takes
    the place of becomes a ``former`` one and keeps all of its own.
    """

    __tablename__ = "tracks"
    __table_args__ = (
        Index("uq_tracks_kind", "competition_id", "kind", unique=True, postgresql_where=text("kind <> 'former'")),
        CheckConstraint("kind IN ('public', 'private', 'former')", name="kind"),
        CheckConstraint("(kind = 'former') = (replaced_at IS NOT NULL)", name="former"),
        CheckConstraint("epsilon > 0", name="epsilon"),
    )

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    kind: Mapped[str]
    extractor: Mapped[str]
    signed: Mapped[bool]
    epsilon: Mapped[float]
    preparation_id: Mapped[int | None] = mapped_column(ForeignKey(Preparation.id))
    replaced_at: Mapped[datetime | None]
    """When a private track became a former one."""

    competition: Mapped[Competition] = relationship(lazy="joined", innerjoin=True)
    preparation: Mapped[Preparation | None] = relationship(lazy="joined")


class DataFile(Table):
    """A file offered to participants, or no longer (``offered``); the newest row of a name counts."""

    __tablename__ = "data_files"
    __table_args__ = (
        Index("ix_data_files_newest", "competition_id", "name", text("id DESC")),
        CheckConstraint("bytes > 0", name="bytes"),
        CheckConstraint("crc32 BETWEEN 0 AND 4294967295", name="crc32"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    name: Mapped[str]
    offered: Mapped[bool]
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str] = mapped_column(index=True)
    crc32: Mapped[int] = mapped_column(BigInteger)
    """What a zip says of its members: known beforehand, so all files can be sent as one zip that is nowhere stored."""
    blob_key: Mapped[str]
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]

    author: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class Guest(Table):
    """A person is invited into a competition, or no longer (``invited``), by account or by mail address: then it is
    whoever has confirmed that address. The newest row of an account or address counts."""

    __tablename__ = "guests"
    __table_args__ = (
        Index("ix_guests_newest_account", "competition_id", "account_id", text("id DESC")),
        Index("ix_guests_newest_email", "competition_id", "email", text("id DESC")),
        CheckConstraint("num_nonnulls(account_id, email) = 1", name="who"),
        CheckConstraint("email = lower(email)", name="email"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    account_id: Mapped[int | None] = mapped_column(ForeignKey(Account.id))
    email: Mapped[str | None]
    invited: Mapped[bool]
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]

    account: Mapped[Account | None] = relationship(foreign_keys=account_id, lazy="joined")
    author: Mapped[Account] = relationship(foreign_keys=author_id, lazy="joined", innerjoin=True)

    @property
    def who(self) -> str:
        """The handle or the address."""
        return self.account.handle if self.account is not None else self.email or ""
