"""Provisional measurements."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "provisional_measurements",
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("track_id", sa.BigInteger(), nullable=False),
        sa.Column("fid", sa.Float(), nullable=False),
        sa.Column("memorization_distance", sa.Float(), nullable=False),
        sa.Column("provenance", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_provisional_measurements_job_id")),
        sa.ForeignKeyConstraint(
            ["submission_ref"], ["submissions.ref"], name=op.f("fk_provisional_measurements_submission_ref")
        ),
        sa.ForeignKeyConstraint(["track_id"], ["tracks.id"], name=op.f("fk_provisional_measurements_track_id")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_provisional_measurements")),
        info={"append_only": True},
    )
    op.create_index(
        op.f("ix_provisional_measurements_submission_ref"), "provisional_measurements", ["submission_ref"], unique=False
    )


def downgrade() -> None:
    """Take back."""
    op.drop_index(op.f("ix_provisional_measurements_submission_ref"), table_name="provisional_measurements")
    op.drop_table("provisional_measurements")
