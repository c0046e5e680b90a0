"""Competitions, their tracks, reference sets, data files and allowlists."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, LargeBinary, Text, UniqueConstraint, func, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account, WithAuthor
from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.lifecycle import TRACK_KINDS, EntryKind, TrackKind


class Competition(Table):
    """A competition. Its phase follows from its times and from ``publications``."""

    __tablename__ = "competitions"
    __table_args__ = (
        CheckConstraint("image_count > 1 AND image_size > 0", name="images"),
        CheckConstraint("closes_at > opens_at", name="times"),
        CheckConstraint("entries IN ('images', 'generator')", name="entries"),
    )

    id: Mapped[int] = identity()
    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    description: Mapped[str]
    rules: Mapped[str]
    entries: Mapped[EntryKind] = mapped_column(Text, server_default=text("'images'"))
    draws: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    """The values of :class:`scorer.competitions.spec.DrawSpec`."""
    image_count: Mapped[int]
    image_size: Mapped[int]
    opens_at: Mapped[datetime | None]
    team_merge_deadline: Mapped[datetime | None]
    closes_at: Mapped[datetime | None]
    upload_grace_seconds: Mapped[int]
    review_days: Mapped[int]
    appeal_days: Mapped[int] = mapped_column(server_default=text("7"))
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
    deleted_at: Mapped[datetime | None]
    """When the draft was deleted. Queries no longer find the competition, but rows that refer to it stay."""

    def count_draws(self, kind: str) -> int:
        """How many draws each entry has on a track: 1 if entries are zips."""
        return int(self.draws[kind]) if self.entries == "generator" else 1


class DrawSecret(Table):
    """A secret that a competition's draws follow from: for public draws, for private draws, or for late entries."""

    __tablename__ = "draw_secrets"
    __table_args__ = (
        CheckConstraint("purpose IN ('public', 'private', 'late')", name="purpose"),
        {"info": APPEND_ONLY},
    )

    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), primary_key=True)
    purpose: Mapped[str] = mapped_column(primary_key=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    """The encrypted 32 bytes (:mod:`scorer.competitions.draw_secrets`)."""
    sha256: Mapped[str]
    """The published commitment: the SHA-256 of the 32 bytes (hex)."""


class Publication(WithAuthor, Table):
    """A publication of the private board, or its withdrawal. The newest row counts."""

    __tablename__ = "publications"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), index=True)
    published: Mapped[bool]
    final: Mapped[bool] = mapped_column(server_default=text("true"))
    """Whether the published board is the final one. A provisional board can still change."""
    reason: Mapped[str]
    as_of: Mapped[datetime] = mapped_column(server_default=func.now())
    """The moment that the published final board is read as of. Anything newer is not on it."""


class CompetitionRole(Table):
    """A person's role in a competition. It is offered, held from its acceptance, and ends."""

    __tablename__ = "competition_roles"
    __table_args__ = (
        CheckConstraint("role IN ('organizer', 'reviewer')", name="role"),
        Index(
            "uq_competition_roles_person",
            "competition_id",
            "account_id",
            unique=True,
            postgresql_where=text("ended_at IS NULL"),
        ),
    )

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    role: Mapped[str]
    author_id: Mapped[int | None] = mapped_column(ForeignKey(Account.id))
    """Who offered it. None for a former admin, who organized every competition."""
    offered_at: Mapped[datetime]
    accepted_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]

    account: Mapped[Account] = relationship(lazy="joined", innerjoin=True, foreign_keys=[account_id])
    author: Mapped[Account | None] = relationship(lazy="joined", foreign_keys=[author_id])

    @property
    def held(self) -> bool:
        return self.accepted_at is not None and self.ended_at is None


class Announcement(WithAuthor, Table):
    __tablename__ = "announcements"
    __table_args__ = (Index("ix_announcements_newest", "competition_id", text("id DESC")), {"info": APPEND_ONLY})

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    title: Mapped[str]
    text: Mapped[str]


class RulesAcceptance(Table):
    """A person's acceptance of a competition's rules, identified by the SHA-256 of the text."""

    __tablename__ = "rules_acceptances"
    __table_args__ = (UniqueConstraint("competition_id", "account_id", "rules_sha256"), {"info": APPEND_ONLY})

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    rules_sha256: Mapped[str]
    created_at: Mapped[datetime]


class ReferenceSet(Table):
    """A zip of reference images, or a file of their features, identified by its SHA-256. Competitions can share it."""

    __tablename__ = "reference_sets"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    sha256: Mapped[str] = mapped_column(unique=True)
    bytes: Mapped[int] = mapped_column(BigInteger)
    blob_key: Mapped[str]
    created_by: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]

    @property
    def holds_features(self) -> bool:
        return self.blob_key.endswith(".npz")


class CompetitionReference(Table):
    """The role of a reference set in a competition, fixed from the first submission on."""

    __tablename__ = "competition_references"
    __table_args__ = (
        CheckConstraint(
            "role IN ('train', 'held_out', 'private_extra', 'public_features', 'private_features')", name="role"
        ),
    )

    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), primary_key=True)
    role: Mapped[str] = mapped_column(primary_key=True)
    reference_set_id: Mapped[int] = mapped_column(ForeignKey(ReferenceSet.id))
    extractor: Mapped[str | None]
    """For features, the extractor that made them. They are not used in the feature space of another extractor."""
    attached_by: Mapped[int] = mapped_column(ForeignKey(Account.id))
    attached_at: Mapped[datetime]

    reference_set: Mapped[ReferenceSet] = relationship(lazy="joined", innerjoin=True)


class Preparation(Table):
    """Features, normalised features and statistics of reference sets in one extractor's feature space.

    ``key`` is a hash of all inputs, so each preparation is computed only once.
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
    held_out_distance: Mapped[float | None]
    provenance: Mapped[dict[str, Any] | None]
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class Track(Table):
    """One of the two boards of a competition, public or private: an extractor, and references to measure against.

    Another extractor means another track with its own measurements and thresholds. The replaced private track becomes a
    ``former`` one, which keeps its measurements and thresholds.
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

    competition: Mapped[Competition] = relationship(lazy="joined", innerjoin=True)
    preparation: Mapped[Preparation | None] = relationship(lazy="joined")

    @property
    def board_kind(self) -> TrackKind:
        """The kind of board, public or private. ``ValueError`` for a former track, which has no board."""
        for kind in TRACK_KINDS:
            if self.kind == kind:
                return kind
        raise ValueError(f"A {self.kind} track has no board.")

    @property
    def images_of(self) -> TrackKind:
        """The kind of draws that it measures. Only private tracks are replaced, so a former track was private."""
        return "public" if self.kind == "public" else "private"


class DataFile(WithAuthor, Table):
    """A data file offered to participants, or its withdrawal (``offered`` false). The newest row of a name counts."""

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
    """CRC-32 of its bytes, as zips contain it. It allows streaming all files as one zip that is not stored anywhere."""
    blob_key: Mapped[str]


class AllowlistEntry(Table):
    """An entry of a competition's allowlist, for an account or a confirmed email address, or its removal (not
    ``invited``). The newest row of an account or address counts."""

    __tablename__ = "allowlist_entries"
    __table_args__ = (
        Index("ix_allowlist_entries_newest_account", "competition_id", "account_id", text("id DESC")),
        Index("ix_allowlist_entries_newest_email", "competition_id", "email", text("id DESC")),
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
        return self.account.handle if self.account is not None else self.email or ""
