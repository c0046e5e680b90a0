"""An index of the scoring jobs of a track, from which their states are counted."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_index(
        "ix_jobs_scores",
        "jobs",
        ["track_id", "submission_ref", sa.literal_column("id DESC")],
        unique=False,
        postgresql_include=["state"],
        postgresql_where=sa.text("queue = 'score'"),
    )


def downgrade() -> None:
    """Take back."""
    op.drop_index("ix_jobs_scores", table_name="jobs", postgresql_include=["state"])
