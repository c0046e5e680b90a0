"""Generators that are handed in for entries, and what recovering images with them has found."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

QUEUES = ("check", "score", "prepare", "compare", "release", "ratings", "evidence")


def upgrade() -> None:
    """Apply."""
    _create_generators()
    _create_recoveries()
    op.add_column("jobs", sa.Column("generator_id", sa.BigInteger(), nullable=True))
    op.create_index(op.f("ix_jobs_generator_id"), "jobs", ["generator_id"], unique=False)
    op.create_foreign_key(op.f("fk_jobs_generator_id"), "jobs", "generators", ["generator_id"], ["id"])
    _allow((*QUEUES, "recover"))


def _create_generators() -> None:
    op.create_table(
        "generators",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("blob_key", sa.Text(), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("distribution", sa.Text(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("bytes > 0", name=op.f("ck_generators_bytes")),
        sa.CheckConstraint("dimension > 0", name=op.f("ck_generators_dimension")),
        sa.CheckConstraint("distribution IN ('normal', 'uniform')", name=op.f("ck_generators_distribution")),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_generators_author_id")),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_generators_submission_ref")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_generators")),
        info={"append_only": True},
    )
    op.create_index(
        "ix_generators_newest", "generators", ["submission_ref", sa.literal_column("id DESC")], unique=False
    )


def _create_recoveries() -> None:
    op.create_table(
        "recoveries",
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("generator_id", sa.BigInteger(), nullable=False),
        sa.Column("refusal", sa.Text(), nullable=True),
        sa.Column("faults", postgresql.ARRAY(sa.Text()), nullable=True),
        sa.Column("p_value", sa.Float(), nullable=True),
        sa.Column("gap", sa.Float(), nullable=True),
        sa.Column("recovered_share", sa.Float(), nullable=True),
        sa.Column("report", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("arrays_key", sa.Text(), nullable=True),
        sa.Column("provenance", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "num_nonnulls(report, arrays_key) = CASE WHEN refusal IS NULL THEN 2 ELSE 0 END",
            name=op.f("ck_recoveries_outcome"),
        ),
        sa.ForeignKeyConstraint(["generator_id"], ["generators.id"], name=op.f("fk_recoveries_generator_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_recoveries_job_id")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_recoveries")),
        info={"append_only": True},
    )
    op.create_index("ix_recoveries_newest", "recoveries", ["generator_id", sa.literal_column("job_id DESC")])


def _allow(queues: tuple[str, ...]) -> None:
    named = ", ".join(f"'{queue}'" for queue in queues)
    op.drop_constraint(op.f("ck_jobs_queue"), "jobs", type_="check")
    op.create_check_constraint(op.f("ck_jobs_queue"), "jobs", f"queue IN ({named})")


def downgrade() -> None:
    """Take back; jobs of the queue that goes, go with it."""
    op.drop_index("ix_recoveries_newest", table_name="recoveries")
    op.drop_table("recoveries")
    op.execute("DELETE FROM jobs WHERE queue = 'recover'")
    _allow(QUEUES)
    op.drop_constraint(op.f("fk_jobs_generator_id"), "jobs", type_="foreignkey")
    op.drop_index(op.f("ix_jobs_generator_id"), table_name="jobs")
    op.drop_column("jobs", "generator_id")
    op.drop_index("ix_generators_newest", table_name="generators")
    op.drop_table("generators")
