"""The bytes of an upload that count in the quotas, and until when."""

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("uploads", sa.Column("reserved", sa.BigInteger(), nullable=True))
    op.add_column("uploads", sa.Column("reserved_until", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Take back."""
    op.drop_column("uploads", "reserved_until")
    op.drop_column("uploads", "reserved")
