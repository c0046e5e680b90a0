"""Drafts that were deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("competitions", sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Take back. Deleted drafts come back under the slugs that nobody can choose."""
    op.drop_column("competitions", "deleted_at")
