"""Imported results: entries of which there are numbers, and neither a zip nor a job that measured it."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

NULLABLE = (("submissions", "blob_key"), ("submissions", "sha256"), ("measurements", "artifact_key"))


def upgrade() -> None:
    """Apply."""
    op.add_column("submissions", sa.Column("external_id", sa.Text(), nullable=True))
    op.create_unique_constraint(
        op.f("uq_submissions_competition_id_external_id"), "submissions", ["competition_id", "external_id"]
    )
    for table, column in NULLABLE:
        op.alter_column(table, column, existing_type=sa.Text(), nullable=True)
    op.alter_column("measurements", "job_id", existing_type=sa.BigInteger(), nullable=True)
    op.create_check_constraint(
        op.f("ck_submissions_zip"),
        "submissions",
        "num_nulls(blob_key, sha256) = CASE WHEN external_id IS NULL THEN 0 ELSE 2 END",
    )
    op.create_check_constraint(
        op.f("ck_measurements_measured"), "measurements", "(job_id IS NULL) = (artifact_key IS NULL)"
    )


def downgrade() -> None:
    """Take back; PostgreSQL refuses as long as there are imported entries."""
    op.drop_constraint(op.f("ck_measurements_measured"), "measurements", type_="check")
    op.drop_constraint(op.f("ck_submissions_zip"), "submissions", type_="check")
    op.alter_column("measurements", "job_id", existing_type=sa.BigInteger(), nullable=False)
    for table, column in NULLABLE:
        op.alter_column(table, column, existing_type=sa.Text(), nullable=False)
    op.drop_constraint(op.f("uq_submissions_competition_id_external_id"), "submissions", type_="unique")
    op.drop_column("submissions", "external_id")
