"""One's own results: late entries, pictures of images, final picks, attached code."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "pick_sets",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=False),
        sa.Column("submission_refs", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_pick_sets_author_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_pick_sets_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pick_sets")),
        info={"append_only": True},
    )
    op.create_index("ix_pick_sets_newest", "pick_sets", ["team_id", sa.literal_column("id DESC")], unique=False)
    op.create_table(
        "code_attachments",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("blob_key", sa.Text(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('zip', 'notebook')", name=op.f("ck_code_attachments_kind")),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_code_attachments_author_id")),
        sa.ForeignKeyConstraint(
            ["submission_ref"], ["submissions.ref"], name=op.f("fk_code_attachments_submission_ref")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_code_attachments")),
        info={"append_only": True},
    )
    op.create_index(
        "ix_code_attachments_newest",
        "code_attachments",
        ["submission_ref", sa.literal_column("id DESC")],
        unique=False,
    )
    # What is there already was taken before the close, by competitions that took nothing after it.
    for table, column in (("submissions", "late"), ("competitions", "late_submissions")):
        op.add_column(table, sa.Column(column, sa.Boolean(), nullable=False, server_default=sa.false()))
        op.alter_column(table, column, server_default=None)
    op.add_column("submissions", sa.Column("sprite_key", sa.Text(), nullable=True))


def downgrade() -> None:
    """Take back."""
    op.drop_column("submissions", "sprite_key")
    op.drop_column("competitions", "late_submissions")
    op.drop_column("submissions", "late")
    op.drop_index("ix_code_attachments_newest", table_name="code_attachments")
    op.drop_table("code_attachments")
    op.drop_index("ix_pick_sets_newest", table_name="pick_sets")
    op.drop_table("pick_sets")
