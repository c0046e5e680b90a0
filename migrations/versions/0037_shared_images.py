"""Hashes of the images of entries, comparisons of entries by them, and the images that two entries share."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "hashed_entries",
        sa.Column("submission_ref", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("blob_key", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_hashed_entries_submission_ref")),
        sa.PrimaryKeyConstraint("submission_ref", name=op.f("pk_hashed_entries")),
        sa.UniqueConstraint("blob_key", name=op.f("uq_hashed_entries_blob_key")),
        info={"append_only": True},
    )
    op.create_table(
        "image_comparisons",
        sa.Column("submission_ref", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("compared", sa.Integer(), nullable=False),
        sa.Column("common", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_ref"], ["submissions.ref"], name=op.f("fk_image_comparisons_submission_ref")
        ),
        sa.PrimaryKeyConstraint("submission_ref", name=op.f("pk_image_comparisons")),
        info={"append_only": True},
    )
    op.create_table(
        "shared_images",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("other_ref", sa.BigInteger(), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("images", sa.Integer(), nullable=False),
        sa.Column("equal", sa.Integer(), nullable=False),
        sa.Column("share", sa.Float(), nullable=False),
        sa.Column("examples", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("equal BETWEEN 0 AND images", name=op.f("ck_shared_images_counts")),
        sa.CheckConstraint("submission_ref > other_ref", name=op.f("ck_shared_images_order")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_shared_images_competition_id")),
        sa.ForeignKeyConstraint(["other_ref"], ["submissions.ref"], name=op.f("fk_shared_images_other_ref")),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_shared_images_submission_ref")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shared_images")),
        sa.UniqueConstraint("submission_ref", "other_ref", name=op.f("uq_shared_images_submission_ref_other_ref")),
        info={"append_only": True},
    )
    op.create_index(op.f("ix_shared_images_competition_id"), "shared_images", ["competition_id"])
    op.create_index(op.f("ix_shared_images_other_ref"), "shared_images", ["other_ref"])


def downgrade() -> None:
    """Take back."""
    for name in ("shared_images", "image_comparisons", "hashed_entries"):
        op.drop_table(name)
