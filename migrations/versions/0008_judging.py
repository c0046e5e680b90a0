"""Judging by people: reviews, rulings, rebuttals and their answers, early guesses at labels."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    _create_coarse_labels()
    _create_reviews()
    _create_rulings()
    _create_rebuttals()
    _create_rebuttal_answers()


def _create_coarse_labels() -> None:
    op.create_table(
        "coarse_labels",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "label IN ('legitimate', 'mgan', 'sup', 'ae', 'aug', 'other')", name=op.f("ck_coarse_labels_label")
        ),
        sa.CheckConstraint("source IN ('hand', 'import')", name=op.f("ck_coarse_labels_source")),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_coarse_labels_author_id")),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_coarse_labels_submission_ref")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_coarse_labels")),
        info={"append_only": True},
    )
    op.create_index(
        "ix_coarse_labels_newest", "coarse_labels", ["submission_ref", sa.literal_column("id DESC")], unique=False
    )


def _create_reviews() -> None:
    op.create_table(
        "reviews",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("reviewer_id", sa.BigInteger(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("intent", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("intent IN ('intended', 'unintended', 'unclear')", name=op.f("ck_reviews_intent")),
        sa.CheckConstraint(
            "label IN ('legitimate', 'mgan', 'sup', 'ae', 'aug', 'other')", name=op.f("ck_reviews_label")
        ),
        sa.ForeignKeyConstraint(["reviewer_id"], ["accounts.id"], name=op.f("fk_reviews_reviewer_id")),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_reviews_submission_ref")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reviews")),
        info={"append_only": True},
    )
    op.create_index(
        "ix_reviews_newest", "reviews", ["submission_ref", "reviewer_id", sa.literal_column("id DESC")], unique=False
    )
    op.create_index(op.f("ix_reviews_reviewer_id"), "reviews", ["reviewer_id"], unique=False)


def _create_rulings() -> None:
    op.create_table(
        "rulings",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("memorising", sa.Boolean(), nullable=True),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('keep', 'disqualify', 'waive')", name=op.f("ck_rulings_kind")),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_rulings_author_id")),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_rulings_submission_ref")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rulings")),
        info={"append_only": True},
    )
    op.create_index("ix_rulings_newest", "rulings", ["submission_ref", sa.literal_column("id DESC")], unique=False)


def _create_rebuttals() -> None:
    op.create_table(
        "rebuttals",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("ruling_id", sa.BigInteger(), nullable=True),
        sa.Column("team_id", sa.BigInteger(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_rebuttals_author_id")),
        sa.ForeignKeyConstraint(["ruling_id"], ["rulings.id"], name=op.f("fk_rebuttals_ruling_id")),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_rebuttals_submission_ref")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_rebuttals_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rebuttals")),
        sa.UniqueConstraint(
            "submission_ref",
            "ruling_id",
            name=op.f("uq_rebuttals_submission_ref_ruling_id"),
            postgresql_nulls_not_distinct=True,
        ),
        info={"append_only": True},
    )


def _create_rebuttal_answers() -> None:
    op.create_table(
        "rebuttal_answers",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("rebuttal_id", sa.BigInteger(), nullable=False),
        sa.Column("granted", sa.Boolean(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("ruling_id", sa.BigInteger(), nullable=True),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_rebuttal_answers_author_id")),
        sa.ForeignKeyConstraint(["rebuttal_id"], ["rebuttals.id"], name=op.f("fk_rebuttal_answers_rebuttal_id")),
        sa.ForeignKeyConstraint(["ruling_id"], ["rulings.id"], name=op.f("fk_rebuttal_answers_ruling_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rebuttal_answers")),
        sa.UniqueConstraint("rebuttal_id", name=op.f("uq_rebuttal_answers_rebuttal_id")),
        info={"append_only": True},
    )


def downgrade() -> None:
    """Take back."""
    op.drop_table("rebuttal_answers")
    op.drop_table("rebuttals")
    op.drop_index("ix_rulings_newest", table_name="rulings")
    op.drop_table("rulings")
    op.drop_index(op.f("ix_reviews_reviewer_id"), table_name="reviews")
    op.drop_index("ix_reviews_newest", table_name="reviews")
    op.drop_table("reviews")
    op.drop_index("ix_coarse_labels_newest", table_name="coarse_labels")
    op.drop_table("coarse_labels")
