"""Entries whose zip has left the store keep its hash."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

NAME, TABLE = "ck_submissions_zip", "submissions"
CONDITION = (
    "CASE WHEN external_id IS NULL THEN sha256 IS NOT NULL AND num_nonnulls(blob_key, zip_removed_at) = 1"
    " ELSE num_nonnulls(blob_key, sha256, zip_removed_at) = 0 END"
)
FORMER_CONDITION = "num_nulls(blob_key, sha256) = CASE WHEN external_id IS NULL THEN 0 ELSE 2 END"


def upgrade() -> None:
    """Apply."""
    op.add_column(TABLE, sa.Column("zip_removed_at", sa.DateTime(timezone=True), nullable=True), if_not_exists=True)
    _replace_condition(CONDITION)
    with op.get_context().autocommit_block():  # which lets others write meanwhile
        op.execute(f"ALTER TABLE {TABLE} VALIDATE CONSTRAINT {NAME}")


def _replace_condition(condition: str) -> None:
    op.drop_constraint(op.f(NAME), TABLE, type_="check")
    op.create_check_constraint(op.f(NAME), TABLE, condition, postgresql_not_valid=True)


def downgrade() -> None:
    """Take back; PostgreSQL refuses as long as there are entries whose zip has left."""
    _replace_condition(FORMER_CONDITION)
    op.execute(f"ALTER TABLE {TABLE} VALIDATE CONSTRAINT {NAME}")
    op.drop_column(TABLE, "zip_removed_at")
