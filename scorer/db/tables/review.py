"""Labels, reviews, rulings, rebuttals and their answers, which are append-only; claims."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import Account, Authored, WithAuthor
from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Competition
from scorer.db.tables.submissions import Submission
from scorer.db.tables.teams import Team


class Label(Authored, Table):
    """A decided label; the newest one of a submission counts."""

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
    """A reviewer's label, intent and note on an entry; each reviewer's newest counts. Two that agree decide a label."""

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
    """Whether the copying looks intended; None for a legitimate entry."""
    note: Mapped[str]
    created_at: Mapped[datetime]

    reviewer: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class ReviewClaim(Table):
    """The submission that a reviewer was given last: until it expires, other reviewers are given others first."""

    __tablename__ = "review_claims"

    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), primary_key=True)
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    expires_at: Mapped[datetime]


class Ruling(WithAuthor, Table):
    """An organizer's decision on an entry, shown to its team; the newest counts, so a later one replaces it."""

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
    """Shown to the team."""
    memorising: Mapped[bool | None]
    """Whether an entry labelled ``other`` memorises, for the choice of tau: that label alone does not say."""


class Rebuttal(WithAuthor, Table):
    """A team's one appeal against a disqualification (``ruling_id``), or against the penalty of an entry on a track."""

    __tablename__ = "rebuttals"
    __table_args__ = (
        UniqueConstraint("submission_ref", "ruling_id", "track", postgresql_nulls_not_distinct=True),
        CheckConstraint("track IN ('public', 'private')", name="track"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    ruling_id: Mapped[int | None] = mapped_column(ForeignKey(Ruling.id))
    """The newest ruling when it was written; None where there was none."""
    track: Mapped[str | None]
    """The track of the penalty that it is against; None: it is against a disqualification."""
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id))
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    text: Mapped[str]


class RebuttalAnswer(Authored, Table):
    """The organizers' one answer to a rebuttal; ``ruling_id``: the ruling that followed from it, if any."""

    __tablename__ = "rebuttal_answers"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    rebuttal_id: Mapped[int] = mapped_column(ForeignKey(Rebuttal.id), unique=True)
    granted: Mapped[bool]
    answer: Mapped[str]
    ruling_id: Mapped[int | None] = mapped_column(ForeignKey(Ruling.id))

    author: Mapped[Account] = relationship(lazy="joined")


class EarlyLabel(Authored, Table):
    """An early label of an entry, by hand or imported; the newest counts, and it decides nothing."""

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
