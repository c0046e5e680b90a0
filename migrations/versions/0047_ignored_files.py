"""Which files of a submission's zip were ignored."""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("submissions", sa.Column("ignored", sa.Text(), nullable=True))


def downgrade() -> None:
    """Take back."""
    op.drop_column("submissions", "ignored")
