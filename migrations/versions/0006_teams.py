"""Teams grow and merge: members as a history, names, merges, invitations, a largest size."""

import sqlalchemy as sa
from alembic import op

from migrations.views import scores

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("competitions", sa.Column("max_team_size", sa.Integer(), nullable=False, server_default="5"))
    op.alter_column("competitions", "max_team_size", server_default=None)
    # Until now people joined and stayed.
    op.add_column("memberships", sa.Column("joined", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.alter_column("memberships", "joined", server_default=None)
    op.drop_constraint(op.f("uq_memberships_competition_id_account_id"), "memberships", type_="unique")
    op.create_index(
        "ix_memberships_newest",
        "memberships",
        ["competition_id", "account_id", sa.literal_column("id DESC")],
        unique=False,
    )
    op.create_index(
        "ix_teams_name",
        "teams",
        ["competition_id", sa.literal_column("lower(NORMALIZE(name, NFKC))")],
        unique=False,
    )
    _create_renamings()
    _create_merges()
    _create_invitations()
    op.execute(scores("merged_teams"))


def _create_renamings() -> None:
    op.create_table(
        "team_renamings",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=False),
        sa.Column("before", sa.Text(), nullable=False),
        sa.Column("after", sa.Text(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_team_renamings_account_id")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_team_renamings_competition_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_team_renamings_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team_renamings")),
        info={"append_only": True},
    )
    for column in ("competition_id", "team_id"):
        op.create_index(op.f(f"ix_team_renamings_{column}"), "team_renamings", [column], unique=False)


def _create_merges() -> None:
    op.create_table(
        "team_merges",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=False),
        sa.Column("into_team_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("team_id <> into_team_id", name=op.f("ck_team_merges_two")),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_team_merges_account_id")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_team_merges_competition_id")),
        sa.ForeignKeyConstraint(["into_team_id"], ["teams.id"], name=op.f("fk_team_merges_into_team_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_team_merges_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team_merges")),
        info={"append_only": True},
    )
    op.create_index("ix_team_merges_newest", "team_merges", ["team_id", sa.literal_column("id DESC")], unique=False)
    for column in ("competition_id", "into_team_id"):
        op.create_index(op.f(f"ix_team_merges_{column}"), "team_merges", [column], unique=False)


def _create_invitations() -> None:
    op.create_table(
        "team_invitations",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=True),
        sa.Column("invited_team_id", sa.BigInteger(), nullable=True),
        sa.Column("invited_by", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("answered_by", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "(account_id IS NULL) <> (invited_team_id IS NULL)", name=op.f("ck_team_invitations_invited")
        ),
        sa.CheckConstraint("(state = 'open') = (answered_at IS NULL)", name=op.f("ck_team_invitations_answered")),
        sa.CheckConstraint(
            "state IN ('open', 'accepted', 'declined', 'withdrawn')", name=op.f("ck_team_invitations_state")
        ),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_team_invitations_account_id")),
        sa.ForeignKeyConstraint(["answered_by"], ["accounts.id"], name=op.f("fk_team_invitations_answered_by")),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_team_invitations_competition_id")
        ),
        sa.ForeignKeyConstraint(["invited_by"], ["accounts.id"], name=op.f("fk_team_invitations_invited_by")),
        sa.ForeignKeyConstraint(["invited_team_id"], ["teams.id"], name=op.f("fk_team_invitations_invited_team_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_team_invitations_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team_invitations")),
    )
    for column in ("account_id", "invited_team_id"):
        op.create_index(op.f(f"ix_team_invitations_{column}"), "team_invitations", [column], unique=False)
    for name, column in (("account", "account_id"), ("team", "invited_team_id")):
        op.create_index(
            f"uq_team_invitations_{name}",
            "team_invitations",
            ["team_id", column],
            unique=True,
            postgresql_where=sa.text("state = 'open'"),
        )


def downgrade() -> None:
    """Take back. What was merged parts again, and a person's first team is theirs."""
    op.execute(scores("first"))
    for table in ("team_invitations", "team_merges", "team_renamings"):
        op.drop_table(table)
    op.drop_index("ix_teams_name", table_name="teams")
    op.drop_index("ix_memberships_newest", table_name="memberships")
    later = "SELECT 1 FROM memberships AS first WHERE first.competition_id = memberships.competition_id"
    op.execute(
        f"DELETE FROM memberships WHERE NOT joined OR EXISTS ({later}"  # noqa: S608 - no part of it comes from outside
        " AND first.account_id = memberships.account_id AND first.id < memberships.id AND first.joined)"
    )
    op.create_unique_constraint(
        op.f("uq_memberships_competition_id_account_id"), "memberships", ["competition_id", "account_id"]
    )
    op.drop_column("memberships", "joined")
    op.drop_column("competitions", "max_team_size")
