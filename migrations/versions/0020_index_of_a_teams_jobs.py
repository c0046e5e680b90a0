"""An index of a team's jobs, from which the turn of its next one is counted."""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_index("ix_jobs_team", "jobs", ["team_id", "queue", "started_at"], unique=False)


def downgrade() -> None:
    """Take back."""
    op.drop_index("ix_jobs_team", table_name="jobs")
