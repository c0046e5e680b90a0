"""The key of one-time codes that a session sets up."""

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("web_sessions", sa.Column("totp_key", sa.Text(), nullable=True))


def downgrade() -> None:
    """Take back."""
    op.drop_column("web_sessions", "totp_key")
