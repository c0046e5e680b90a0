"""The kaggle client's wire: addresses that take an upload's bytes, and files that participants download."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "data_files",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("offered", sa.Boolean(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("crc32", sa.BigInteger(), nullable=False),
        sa.Column("blob_key", sa.Text(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("bytes > 0", name=op.f("ck_data_files_bytes")),
        sa.CheckConstraint("crc32 BETWEEN 0 AND 4294967295", name=op.f("ck_data_files_crc32")),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_data_files_author_id")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_data_files_competition_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_data_files")),
        info={"append_only": True},
    )
    op.create_index(
        "ix_data_files_newest", "data_files", ["competition_id", "name", sa.literal_column("id DESC")], unique=False
    )
    op.create_index(op.f("ix_data_files_sha256"), "data_files", ["sha256"], unique=False)
    op.add_column("uploads", sa.Column("put_digest", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    """Take back."""
    op.drop_column("uploads", "put_digest")
    op.drop_index(op.f("ix_data_files_sha256"), table_name="data_files")
    op.drop_index("ix_data_files_newest", table_name="data_files")
    op.drop_table("data_files")
