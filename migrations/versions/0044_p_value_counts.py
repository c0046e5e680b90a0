"""Counts of p-values of evidence, kept by a trigger, for false discovery rates."""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

QUANTITIES = (
    "near_copies_p",
    "thumbnail_p",
    "hash_p",
    "partly_copied_p",
    "relative_p",
    "membership_auc_p",
    "z_u_p",
    "repeats_p",
    "authenticity_p",
)
BINNED = """
    SELECT evidence.track_id, each.quantity, number.bin
    FROM SOURCE AS evidence
    CROSS JOIN LATERAL (VALUES QUANTITIES) AS each (quantity, p)
    CROSS JOIN LATERAL (
        SELECT CASE WHEN each.p <= 1e-12 THEN 0 ELSE least(96, ceil(8 * (12 + log(each.p))))::smallint END AS bin
    ) AS number
    WHERE each.p BETWEEN 0 AND 1
""".replace("QUANTITIES", ", ".join(f"('{name}', evidence.{name})" for name in QUANTITIES))
"""The bins of :mod:`scorer.metrics.statistics.false_discovery`; what is no number is above 1."""
REPLACED = """(
    SELECT DISTINCT ON (added.id) before.* FROM added
    JOIN evidence AS before ON before.track_id = added.track_id
    AND before.submission_ref = added.submission_ref AND before.id < added.id
    ORDER BY added.id, before.id DESC
)"""
NEWEST = """(
    SELECT DISTINCT ON (track_id, submission_ref) * FROM evidence
    ORDER BY track_id, submission_ref, id DESC
)"""
COUNT = """
    CREATE FUNCTION count_p_values() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = public, pg_temp AS $$ BEGIN
        INSERT INTO p_value_changes (track_id, quantity, bin, change)
        SELECT one_more.*, 1 FROM (ADDED) AS one_more UNION ALL SELECT one_less.*, -1 FROM (REPLACED) AS one_less;
        RETURN NULL;
    END $$
""".replace("ADDED", BINNED.replace("SOURCE", "added")).replace("REPLACED", BINNED.replace("SOURCE", REPLACED))
"""With its owner's rights: until the service has its own on the new table, it goes on adding evidence."""
COUNT_EARLIER = """
    INSERT INTO p_value_counts AS counted (track_id, quantity, bin, entries)
    SELECT track_id, quantity, bin, count(*) FROM (EARLIER) AS earlier GROUP BY 1, 2, 3
    ON CONFLICT (track_id, quantity, bin) DO UPDATE SET entries = counted.entries + excluded.entries
""".replace("EARLIER", BINNED.replace("SOURCE", NEWEST))


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "p_value_counts",
        sa.Column("track_id", sa.BigInteger(), nullable=False),
        sa.Column("quantity", sa.Text(), nullable=False),
        sa.Column("bin", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["track_id"], ["tracks.id"], name=op.f("fk_p_value_counts_track_id")),
        sa.PrimaryKeyConstraint("track_id", "quantity", "bin", name=op.f("pk_p_value_counts")),
    )
    op.create_table(
        "p_value_changes",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("track_id", sa.BigInteger(), nullable=False),
        sa.Column("quantity", sa.Text(), nullable=False),
        sa.Column("bin", sa.SmallInteger(), nullable=False),
        sa.Column("change", sa.SmallInteger(), nullable=False),
        sa.ForeignKeyConstraint(["track_id"], ["tracks.id"], name=op.f("fk_p_value_changes_track_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_p_value_changes")),
        info={"expiring": True},
    )
    op.create_index(op.f("ix_p_value_changes_track_id"), "p_value_changes", ["track_id"])
    op.execute(COUNT)
    # Waits for transactions that add evidence, and lets no other add any: each row is counted here or by the trigger.
    op.execute(
        "CREATE TRIGGER count_p_values AFTER INSERT ON evidence REFERENCING NEW TABLE AS added"
        " FOR EACH STATEMENT EXECUTE FUNCTION count_p_values()"
    )
    op.execute(COUNT_EARLIER)


def downgrade() -> None:
    """Take back."""
    op.execute("DROP TRIGGER count_p_values ON evidence")
    op.execute("DROP FUNCTION count_p_values()")
    op.drop_table("p_value_changes")
    op.drop_table("p_value_counts")
