"""Uploads that go on after a cut."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

RECEIVING = sa.text("state = 'receiving'")
LITTER = sa.text("state <> 'receiving' AND parts <> '{}'")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "uploads",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("benchmark", sa.Text(), nullable=True),
        sa.Column("described", sa.Text(), nullable=False),
        sa.Column("length", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("parts", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("writer", sa.Text(), nullable=True),
        sa.Column("begun_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finishing_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("submission_ref", sa.BigInteger(), nullable=True),
        sa.Column("problem", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.CheckConstraint("method IN ('tus', 'put', 'wire')", name=op.f("ck_uploads_method")),
        sa.CheckConstraint("state IN ('receiving', 'done', 'refused', 'ended')", name=op.f("ck_uploads_state")),
        sa.CheckConstraint("received >= 0 AND received <= length", name=op.f("ck_uploads_received")),
        sa.CheckConstraint("(state = 'done') = (submission_ref IS NOT NULL)", name=op.f("ck_uploads_done")),
        sa.CheckConstraint("(state = 'refused') = (problem IS NOT NULL)", name=op.f("ck_uploads_refused")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_uploads_competition_id")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_uploads_account_id")),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_uploads_submission_ref")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_uploads")),
        sa.UniqueConstraint(
            "competition_id",
            "account_id",
            "idempotency_key",
            name=op.f("uq_uploads_competition_id_account_id_idempotency_key"),
        ),
    )
    op.create_index("ix_uploads_open", "uploads", ["account_id", "competition_id"], postgresql_where=RECEIVING)
    op.create_index("ix_uploads_litter", "uploads", ["id"], postgresql_where=LITTER)
    op.create_index("ix_uploads_expiry", "uploads", ["expires_at"], postgresql_where=RECEIVING)
    op.create_index(op.f("ix_uploads_submission_ref"), "uploads", ["submission_ref"], unique=False)


def downgrade() -> None:
    """Take back."""
    op.drop_index(op.f("ix_uploads_submission_ref"), table_name="uploads")
    op.drop_index("ix_uploads_expiry", table_name="uploads", postgresql_where=RECEIVING)
    op.drop_index("ix_uploads_litter", table_name="uploads", postgresql_where=LITTER)
    op.drop_index("ix_uploads_open", table_name="uploads", postgresql_where=RECEIVING)
    op.drop_table("uploads")
