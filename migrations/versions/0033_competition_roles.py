"""Roles belong to a competition; whoever organized or reviewed does so in every competition there is, but in those that
they have entered. Reviewers' claims of entries."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "competition_roles",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=True),
        sa.Column("offered_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("role IN ('organizer', 'reviewer')", name=op.f("ck_competition_roles_role")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_competition_roles_account_id")),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_competition_roles_author_id")),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_competition_roles_competition_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_competition_roles")),
    )
    op.create_index(op.f("ix_competition_roles_account_id"), "competition_roles", ["account_id"], unique=False)
    op.create_index(
        "uq_competition_roles_person",
        "competition_roles",
        ["competition_id", "account_id"],
        unique=True,
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_table(
        "review_claims",
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_review_claims_account_id")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_review_claims_competition_id")),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_review_claims_submission_ref")),
        sa.PrimaryKeyConstraint("competition_id", "account_id", name=op.f("pk_review_claims")),
    )
    op.execute(
        """
        INSERT INTO competition_roles (competition_id, account_id, role, offered_at, accepted_at)
        SELECT competitions.id, accounts.id, accounts.role, now(), now()
        FROM competitions CROSS JOIN accounts
        WHERE accounts.role IN ('organizer', 'reviewer') AND NOT EXISTS (
            SELECT FROM memberships
            WHERE memberships.competition_id = competitions.id AND memberships.account_id = accounts.id
        )
        """
    )


def downgrade() -> None:
    """Take back."""
    op.drop_table("review_claims")
    op.drop_table("competition_roles")
