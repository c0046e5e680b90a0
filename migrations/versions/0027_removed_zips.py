"""Entries whose zip has left the store keep its hash."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("submissions", sa.Column("zip_removed_at", sa.DateTime(timezone=True), nullable=True))
    op.drop_constraint(op.f("ck_submissions_zip"), "submissions", type_="check")
    op.create_check_constraint(
        op.f("ck_submissions_zip"),
        "submissions",
        "CASE WHEN external_id IS NULL THEN sha256 IS NOT NULL AND num_nonnulls(blob_key, zip_removed_at) = 1"
        " ELSE num_nonnulls(blob_key, sha256, zip_removed_at) = 0 END",
    )


def downgrade() -> None:
    """Take back; PostgreSQL refuses as long as there are entries whose zip has left."""
    op.drop_constraint(op.f("ck_submissions_zip"), "submissions", type_="check")
    op.create_check_constraint(
        op.f("ck_submissions_zip"),
        "submissions",
        "num_nulls(blob_key, sha256) = CASE WHEN external_id IS NULL THEN 0 ELSE 2 END",
    )
    op.drop_column("submissions", "zip_removed_at")
