"""Guests: who may enter a competition that is by invitation."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "guests",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=True),
        sa.Column("email", sa.Text(), nullable=True),
        sa.Column("invited", sa.Boolean(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("num_nonnulls(account_id, email) = 1", name=op.f("ck_guests_who")),
        sa.CheckConstraint("email = lower(email)", name=op.f("ck_guests_email")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_guests_account_id")),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_guests_author_id")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_guests_competition_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_guests")),
        info={"append_only": True},
    )
    for name, column in (("ix_guests_newest_account", "account_id"), ("ix_guests_newest_email", "email")):
        op.create_index(name, "guests", ["competition_id", column, sa.literal_column("id DESC")], unique=False)


def downgrade() -> None:
    """Take back."""
    op.drop_index("ix_guests_newest_email", table_name="guests")
    op.drop_index("ix_guests_newest_account", table_name="guests")
    op.drop_table("guests")
