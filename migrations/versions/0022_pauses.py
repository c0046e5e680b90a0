"""Pauses of queues, competitions and workers."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "pauses",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("queue", sa.Text(), nullable=True),
        sa.Column("competition_id", sa.BigInteger(), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("num_nonnulls(queue, competition_id, worker) = 1", name=op.f("ck_pauses_subject")),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_pauses_author_id_accounts")),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_pauses_competition_id_competitions")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pauses")),
    )
    op.create_index(
        "ix_pauses_subject", "pauses", ["queue", "competition_id", "worker", sa.literal_column("id DESC")], unique=False
    )


def downgrade() -> None:
    """Take back."""
    op.drop_index("ix_pauses_subject", table_name="pauses")
    op.drop_table("pauses")
