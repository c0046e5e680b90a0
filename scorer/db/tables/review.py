"""Labels, reviews, rulings, rebuttals and their answers, which are append-only; also claims."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account, Authored, WithAuthor
from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Competition
from scorer.db.tables.submissions import Submission
from scorer.db.tables.teams import Team


class Label(Authored, Table):
    """A decided label. The newest one of a submission counts."""

    __tablename__ = "labels"
    __table_args__ = (
        Index("ix_labels_newest", "submission_ref", text("id DESC")),
        CheckConstraint("label IN ('legitimate', 'mgan', 'sup', 'ae', 'aug', 'other')", name="label"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    label: Mapped[str]
    note: Mapped[str]


class Review(Table):
    """A reviewer's label, intent and note on an entry. Each reviewer's newest review counts; two that agree decide the
    label."""

    __tablename__ = "reviews"
    __table_args__ = (
        Index("ix_reviews_newest", "submission_ref", "reviewer_id", text("id DESC")),
        CheckConstraint("label IN ('legitimate', 'mgan', 'sup', 'ae', 'aug', 'other')", name="label"),
        CheckConstraint("intent IN ('intended', 'unintended', 'unclear')", name="intent"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    reviewer_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    label: Mapped[str]
    intent: Mapped[str | None]
    """Whether the copying seems intended; None for a legitimate entry."""
    note: Mapped[str]
    created_at: Mapped[datetime]

    reviewer: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class ReviewClaim(Table):
    """The submission that a reviewer was given last. Until the claim expires, other reviewers are given others
    first."""

    __tablename__ = "review_claims"

    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), primary_key=True)
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    expires_at: Mapped[datetime]


class Ruling(WithAuthor, Table):
    """An organizer's decision on an entry, shown to its team. The newest counts, so a later ruling replaces it."""

    __tablename__ = "rulings"
    __table_args__ = (
        Index("ix_rulings_newest", "submission_ref", text("id DESC")),
        CheckConstraint("kind IN ('keep', 'disqualify', 'waive')", name="kind"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    kind: Mapped[str]
    reason: Mapped[str]
    memorising: Mapped[bool | None]
    """Whether an entry labelled ``other`` counts as memorising when tau is chosen. The label itself leaves that
    open."""


class Rebuttal(WithAuthor, Table):
    """A team's one appeal against a disqualification (``ruling_id``), or against an entry's penalty on a track."""

    __tablename__ = "rebuttals"
    __table_args__ = (
        UniqueConstraint("submission_ref", "ruling_id", "track", postgresql_nulls_not_distinct=True),
        CheckConstraint("track IN ('public', 'private')", name="track"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    ruling_id: Mapped[int | None] = mapped_column(ForeignKey(Ruling.id))
    """The newest ruling when the rebuttal was written; None if there was none."""
    track: Mapped[str | None]
    """The track with the disputed penalty; None for an appeal against a disqualification."""
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id))
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    text: Mapped[str]


class RebuttalAnswer(Authored, Table):
    """The organizers' one answer to a rebuttal. ``ruling_id`` is the ruling that followed from it, if any."""

    __tablename__ = "rebuttal_answers"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    rebuttal_id: Mapped[int] = mapped_column(ForeignKey(Rebuttal.id), unique=True)
    granted: Mapped[bool]
    answer: Mapped[str]
    ruling_id: Mapped[int | None] = mapped_column(ForeignKey(Ruling.id))

    author: Mapped[Account] = relationship(lazy="joined")


class EarlyLabel(Authored, Table):
    """An early label of an entry, given by a person or imported. The newest counts; it decides nothing."""

    __tablename__ = "early_labels"
    __table_args__ = (
        Index("ix_early_labels_newest", "submission_ref", text("id DESC")),
        CheckConstraint("label IN ('legitimate', 'mgan', 'sup', 'ae', 'aug', 'other')", name="label"),
        CheckConstraint("source IN ('hand', 'import')", name="source"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    label: Mapped[str]
    source: Mapped[str]
