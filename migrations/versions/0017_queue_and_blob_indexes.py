"""Deferrals of jobs; indexes for a job's turn, and for finding which blobs rows refer to."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

KEYS = (("submissions", "blob_key"), ("submissions", "sprite_key"), ("measurements", "artifact_key"))


def upgrade() -> None:
    """Apply."""
    op.add_column("jobs", sa.Column("deferrals", sa.Integer(), server_default="0", nullable=False))
    op.create_index(
        "ix_jobs_unfinished",
        "jobs",
        ["queue", "priority", "team_id", "turn"],
        unique=False,
        postgresql_where=sa.text("state IN ('waiting', 'running')"),
    )
    for table, column in KEYS:
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column], unique=False)


def downgrade() -> None:
    """Take back."""
    for table, column in reversed(KEYS):
        op.drop_index(op.f(f"ix_{table}_{column}"), table_name=table)
    op.drop_index("ix_jobs_unfinished", table_name="jobs", postgresql_where=sa.text("state IN ('waiting', 'running')"))
    op.drop_column("jobs", "deferrals")
