"""When a sweep last looked at the leases."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "last_sweep",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("swept_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("extended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("id = 1", name=op.f("ck_last_sweep_single")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_last_sweep")),
    )


def downgrade() -> None:
    """Take back."""
    op.drop_table("last_sweep")
