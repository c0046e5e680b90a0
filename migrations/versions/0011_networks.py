"""Comparing extractors on labelled entries, and choosing another one for the private track."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

QUEUES = ("check", "score", "prepare")


def _queues(*queues: str) -> None:
    op.drop_constraint(op.f("ck_jobs_queue"), "jobs", type_="check")
    op.create_check_constraint(op.f("ck_jobs_queue"), "jobs", f"queue IN ({', '.join(map(repr, queues))})")


def _kinds(*kinds: str) -> None:
    op.drop_constraint(op.f("ck_tracks_kind"), "tracks", type_="check")
    op.create_check_constraint(op.f("ck_tracks_kind"), "tracks", f"kind IN ({', '.join(map(repr, kinds))})")


def upgrade() -> None:
    """Apply."""
    op.add_column("tracks", sa.Column("replaced_at", sa.DateTime(timezone=True), nullable=True))
    op.drop_constraint(op.f("uq_tracks_competition_id_kind"), "tracks", type_="unique")
    _kinds("public", "private", "former")
    op.create_check_constraint(op.f("ck_tracks_former"), "tracks", "(kind = 'former') = (replaced_at IS NOT NULL)")
    op.create_index(
        "uq_tracks_kind",
        "tracks",
        ["competition_id", "kind"],
        unique=True,
        postgresql_where=sa.text("kind <> 'former'"),
    )
    _queues(*QUEUES, "compare")
    op.create_table(
        "comparisons",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("preparation_ids", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("coarse", sa.Boolean(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_comparisons_author_id")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_comparisons_competition_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comparisons")),
        info={"append_only": True},
    )
    op.create_index(op.f("ix_comparisons_competition_id"), "comparisons", ["competition_id"], unique=False)
    op.create_table(
        "compared_distances",
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("preparation_id", sa.BigInteger(), nullable=False),
        sa.Column("memorization_distance", sa.Float(), nullable=False),
        sa.Column("distance_se", sa.Float(), nullable=True),
        sa.Column("provenance", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "memorization_distance >= 0 AND memorization_distance <= 2", name=op.f("ck_compared_distances_distance")
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_compared_distances_job_id")),
        sa.ForeignKeyConstraint(
            ["submission_ref"], ["submissions.ref"], name=op.f("fk_compared_distances_submission_ref")
        ),
        sa.ForeignKeyConstraint(
            ["preparation_id"], ["preparations.id"], name=op.f("fk_compared_distances_preparation_id")
        ),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_compared_distances")),
        info={"append_only": True},
    )
    op.create_index(
        "ix_compared_distances_newest",
        "compared_distances",
        ["preparation_id", "submission_ref", sa.literal_column("job_id DESC")],
        unique=False,
    )


def downgrade() -> None:
    """Take back. Refused by the database while there is a comparison's job or a former track: they have no place in
    the tables of before."""
    op.drop_table("compared_distances")
    op.drop_table("comparisons")
    _queues(*QUEUES)
    op.drop_index("uq_tracks_kind", table_name="tracks")
    op.drop_constraint(op.f("ck_tracks_former"), "tracks", type_="check")
    _kinds("public", "private")
    op.create_unique_constraint(op.f("uq_tracks_competition_id_kind"), "tracks", ["competition_id", "kind"])
    op.drop_column("tracks", "replaced_at")
