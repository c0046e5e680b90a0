"""An index of the entries whose public score is pending, for the checklist before publication."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

PENDING = "status IN ('received', 'checking', 'queued', 'scoring')"


def upgrade() -> None:
    """Apply."""
    op.create_index(
        "ix_submissions_pending",
        "submissions",
        ["competition_id", "ref"],
        unique=False,
        postgresql_where=sa.text(PENDING),
    )


def downgrade() -> None:
    """Take back."""
    op.drop_index("ix_submissions_pending", table_name="submissions", postgresql_where=sa.text(PENDING))
