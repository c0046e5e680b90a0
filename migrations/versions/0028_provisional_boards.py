"""Provisional boards, and appeals against what they show."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply. What was published is final; penalties were appealed on the public track alone."""
    op.add_column("publications", sa.Column("final", sa.Boolean(), server_default=sa.text("true"), nullable=False))
    op.add_column("competitions", sa.Column("appeal_days", sa.Integer(), server_default=sa.text("7"), nullable=False))
    op.add_column("rebuttals", sa.Column("track", sa.Text(), nullable=True))
    op.execute(
        "UPDATE rebuttals SET track = 'public' WHERE ruling_id IS NULL"
        " OR ruling_id IN (SELECT id FROM rulings WHERE kind = 'keep')"
    )
    op.create_check_constraint("track", "rebuttals", "track IN ('public', 'private')")
    op.drop_constraint("uq_rebuttals_submission_ref_ruling_id", "rebuttals", type_="unique")
    op.create_unique_constraint(
        "uq_rebuttals_submission_ref_ruling_id_track",
        "rebuttals",
        ["submission_ref", "ruling_id", "track"],
        postgresql_nulls_not_distinct=True,
    )


def downgrade() -> None:
    """Take back. A second rebuttal of an entry, against its penalty on the private track, goes with its answer."""
    op.execute("DELETE FROM rebuttal_answers WHERE rebuttal_id IN (SELECT id FROM rebuttals WHERE track = 'private')")
    op.execute("DELETE FROM rebuttals WHERE track = 'private'")
    op.drop_constraint("uq_rebuttals_submission_ref_ruling_id_track", "rebuttals", type_="unique")
    op.create_unique_constraint(
        "uq_rebuttals_submission_ref_ruling_id",
        "rebuttals",
        ["submission_ref", "ruling_id"],
        postgresql_nulls_not_distinct=True,
    )
    op.drop_column("rebuttals", "track")
    op.drop_column("competitions", "appeal_days")
    op.execute("DELETE FROM publications WHERE NOT final")
    op.drop_column("publications", "final")
