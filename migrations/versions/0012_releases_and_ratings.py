"""Data releases, quality ratings, and jobs that make both."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


QUEUES = ("check", "score", "prepare", "compare")
MORE = (*QUEUES, "release", "ratings")


def upgrade() -> None:
    """Apply."""
    _create_releases()
    _create_studies()
    _create_ratings()
    _extend_jobs()


def _create_studies() -> None:
    op.create_table(
        "rating_studies",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("submission_refs", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("images", sa.Integer(), nullable=False),
        sa.Column("grids", sa.Integer(), nullable=False),
        sa.Column("side", sa.Integer(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("packed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("images >= 0 AND grids >= 0 AND images + grids > 0", name=op.f("ck_rating_studies_counts")),
        sa.CheckConstraint("side BETWEEN 2 AND 10 AND wanted > 0", name=op.f("ck_rating_studies_shape")),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_rating_studies_author_id")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_rating_studies_competition_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rating_studies")),
    )
    op.create_index(op.f("ix_rating_studies_competition_id"), "rating_studies", ["competition_id"], unique=False)


def _create_releases() -> None:
    op.create_table(
        "releases",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("images", sa.Text(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("files", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("sha256", sa.Text(), nullable=True),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("images IN ('none', 'ranked', 'all')", name=op.f("ck_releases_images")),
        sa.CheckConstraint("(finished_at IS NULL) = (files IS NULL)", name=op.f("ck_releases_finished")),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_releases_author_id")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_releases_competition_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_releases")),
    )
    op.create_index(
        "ix_releases_competition", "releases", ["competition_id", sa.literal_column("created_at DESC")], unique=False
    )
    op.create_table(
        "release_acts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("release_id", sa.Text(), nullable=False),
        sa.Column("shown", sa.Boolean(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_release_acts_author_id")),
        sa.ForeignKeyConstraint(["release_id"], ["releases.id"], name=op.f("fk_release_acts_release_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_release_acts")),
        info={"append_only": True},
    )
    op.create_index(
        "ix_release_acts_newest", "release_acts", ["release_id", sa.literal_column("id DESC")], unique=False
    )


def _create_ratings() -> None:
    op.create_table(
        "raters",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("study_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=True),
        sa.Column("digest", sa.LargeBinary(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(account_id IS NULL) <> (digest IS NULL)", name=op.f("ck_raters_known")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_raters_account_id")),
        sa.ForeignKeyConstraint(["study_id"], ["rating_studies.id"], name=op.f("fk_raters_study_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_raters")),
        sa.UniqueConstraint("digest", name=op.f("uq_raters_digest")),
        sa.UniqueConstraint("study_id", "account_id", name=op.f("uq_raters_study_id_account_id")),
    )
    op.create_table(
        "rating_items",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("study_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("images", postgresql.ARRAY(sa.Integer()), nullable=False),
        sa.Column("blob_key", sa.Text(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.CheckConstraint("kind IN ('realism', 'diversity')", name=op.f("ck_rating_items_kind")),
        sa.ForeignKeyConstraint(["study_id"], ["rating_studies.id"], name=op.f("fk_rating_items_study_id")),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_rating_items_submission_ref")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rating_items")),
        info={"append_only": True},
    )
    op.create_index("ix_rating_items_study", "rating_items", ["study_id", "kind", "id"], unique=False)
    op.create_table(
        "ratings",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("item_id", sa.BigInteger(), nullable=False),
        sa.Column("rater_id", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.SmallInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("value BETWEEN 1 AND 5", name=op.f("ck_ratings_value")),
        sa.ForeignKeyConstraint(["item_id"], ["rating_items.id"], name=op.f("fk_ratings_item_id")),
        sa.ForeignKeyConstraint(["rater_id"], ["raters.id"], name=op.f("fk_ratings_rater_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ratings")),
        sa.UniqueConstraint("rater_id", "item_id", name=op.f("uq_ratings_rater_id_item_id")),
        info={"append_only": True},
    )
    op.create_index("ix_ratings_item", "ratings", ["item_id", sa.literal_column("id DESC")], unique=False)


def _extend_jobs() -> None:
    op.add_column("jobs", sa.Column("release_id", sa.Text(), nullable=True))
    op.add_column("jobs", sa.Column("study_id", sa.BigInteger(), nullable=True))
    op.create_index(op.f("ix_jobs_release_id"), "jobs", ["release_id"], unique=False)
    op.create_index(op.f("ix_jobs_study_id"), "jobs", ["study_id"], unique=False)
    op.create_foreign_key(op.f("fk_jobs_study_id"), "jobs", "rating_studies", ["study_id"], ["id"])
    op.create_foreign_key(op.f("fk_jobs_release_id"), "jobs", "releases", ["release_id"], ["id"])
    op.create_index(
        "ix_jobs_failed", "jobs", ["finished_at"], unique=False, postgresql_where=sa.text("state = 'failed'")
    )
    _allow(MORE)


def _allow(queues: tuple[str, ...]) -> None:
    named = ", ".join(f"'{queue}'" for queue in queues)
    op.drop_constraint(op.f("ck_jobs_queue"), "jobs", type_="check")
    op.create_check_constraint(op.f("ck_jobs_queue"), "jobs", f"queue IN ({named})")


def downgrade() -> None:
    """Take back; jobs of the queues that go, go with them."""
    op.execute("DELETE FROM jobs WHERE queue IN ('release', 'ratings')")
    _allow(QUEUES)
    op.drop_index("ix_jobs_failed", table_name="jobs")
    op.drop_constraint(op.f("fk_jobs_release_id"), "jobs", type_="foreignkey")
    op.drop_constraint(op.f("fk_jobs_study_id"), "jobs", type_="foreignkey")
    op.drop_index(op.f("ix_jobs_study_id"), table_name="jobs")
    op.drop_index(op.f("ix_jobs_release_id"), table_name="jobs")
    op.drop_column("jobs", "study_id")
    op.drop_column("jobs", "release_id")
    op.drop_index("ix_ratings_item", table_name="ratings")
    op.drop_table("ratings")
    op.drop_index("ix_rating_items_study", table_name="rating_items")
    op.drop_table("rating_items")
    op.drop_index("ix_release_acts_newest", table_name="release_acts")
    op.drop_table("release_acts")
    op.drop_table("raters")
    op.drop_index("ix_releases_competition", table_name="releases")
    op.drop_table("releases")
    op.drop_index(op.f("ix_rating_studies_competition_id"), table_name="rating_studies")
    op.drop_table("rating_studies")
