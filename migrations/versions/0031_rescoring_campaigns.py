"""Rescoring campaigns: their jobs and measurements, and what was decided about them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from migrations.concurrent_indexes import create_index
from migrations.views import scores

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

QUEUES = ("check", "score", "prepare", "compare", "release", "ratings", "evidence", "recover")
NOTE = """
    INSERT INTO board_changes (competition_id, track_id, kind, submission_refs)
    SELECT track.competition_id, track.id, 'entries', NULL::bigint[]
    FROM added JOIN rescoring_campaigns AS campaign ON campaign.id = added.campaign_id
    JOIN tracks AS track ON track.id = campaign.track_id
    WHERE added.kind IN ('switch', 'undo') GROUP BY track.id
"""


def upgrade() -> None:
    """Apply."""
    if not sa.inspect(op.get_bind()).has_table("rescoring_campaigns"):  # else an earlier run has failed below
        _expand()
    with op.get_context().autocommit_block():  # which lets others write meanwhile
        op.execute("ALTER TABLE jobs VALIDATE CONSTRAINT fk_jobs_campaign_id")
        op.execute("ALTER TABLE measurements VALIDATE CONSTRAINT fk_measurements_campaign_id")
        op.execute("ALTER TABLE jobs VALIDATE CONSTRAINT ck_jobs_queue")
    for table in ("jobs", "measurements"):
        create_index(f"ix_{table}_campaign_id", table, ["campaign_id"])


def _expand() -> None:
    _create_campaigns()
    _create_acts()
    for table in ("jobs", "measurements"):
        op.add_column(table, sa.Column("campaign_id", sa.BigInteger(), nullable=True))
        op.create_foreign_key(
            op.f(f"fk_{table}_campaign_id"),
            table,
            "rescoring_campaigns",
            ["campaign_id"],
            ["id"],
            postgresql_not_valid=True,
        )
    _allow((*QUEUES, "rescore"), not_valid=True)
    op.execute(scores("rescored"))


def _create_campaigns() -> None:
    op.create_table(
        "rescoring_campaigns",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("track_id", sa.BigInteger(), nullable=False),
        sa.Column("preparation_id", sa.BigInteger(), nullable=False),
        sa.Column("former_preparation_id", sa.BigInteger(), nullable=False),
        sa.Column("submission_refs", postgresql.ARRAY(sa.BigInteger()), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_rescoring_campaigns_author_id")),
        sa.ForeignKeyConstraint(
            ["preparation_id"], ["preparations.id"], name=op.f("fk_rescoring_campaigns_preparation_id")
        ),
        sa.ForeignKeyConstraint(
            ["former_preparation_id"], ["preparations.id"], name=op.f("fk_rescoring_campaigns_former_preparation_id")
        ),
        sa.ForeignKeyConstraint(["track_id"], ["tracks.id"], name=op.f("fk_rescoring_campaigns_track_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rescoring_campaigns")),
        info={"append_only": True},
    )
    op.create_index(op.f("ix_rescoring_campaigns_track_id"), "rescoring_campaigns", ["track_id"], unique=False)


def _create_acts() -> None:
    op.create_table(
        "rescoring_acts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "kind IN ('pause', 'resume', 'cancel', 'switch', 'undo')", name=op.f("ck_rescoring_acts_kind")
        ),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_rescoring_acts_author_id")),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["rescoring_campaigns.id"], name=op.f("fk_rescoring_acts_campaign_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rescoring_acts")),
        info={"append_only": True},
    )
    op.create_index(
        "ix_rescoring_acts_newest", "rescoring_acts", ["campaign_id", sa.literal_column("id DESC")], unique=False
    )
    op.execute(
        f"CREATE FUNCTION note_rescoring_acts() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {NOTE};"
        " RETURN NULL; END $$"
    )
    op.execute(
        "CREATE TRIGGER note_rescoring_acts AFTER INSERT ON rescoring_acts REFERENCING NEW TABLE AS added"
        " FOR EACH STATEMENT EXECUTE FUNCTION note_rescoring_acts()"
    )


def _allow(queues: tuple[str, ...], *, not_valid: bool) -> None:
    named = ", ".join(f"'{queue}'" for queue in queues)
    op.drop_constraint(op.f("ck_jobs_queue"), "jobs", type_="check")
    op.create_check_constraint(op.f("ck_jobs_queue"), "jobs", f"queue IN ({named})", postgresql_not_valid=not_valid)


def downgrade() -> None:
    """Take back; what campaigns have measured goes, with their jobs."""
    op.execute("DROP VIEW scores")
    op.execute(scores("ruled"))
    op.execute("DELETE FROM evidence WHERE measurement_id IN (SELECT id FROM measurements WHERE campaign_id > 0)")
    op.execute("DELETE FROM measurements WHERE campaign_id > 0")
    op.execute("DELETE FROM jobs WHERE queue = 'rescore'")
    _allow(QUEUES, not_valid=False)
    for table in ("jobs", "measurements"):
        op.drop_constraint(op.f(f"fk_{table}_campaign_id"), table, type_="foreignkey")
        op.drop_index(op.f(f"ix_{table}_campaign_id"), table_name=table)
        op.drop_column(table, "campaign_id")
    op.execute("DROP TRIGGER note_rescoring_acts ON rescoring_acts")
    op.execute("DROP FUNCTION note_rescoring_acts()")
    op.drop_index("ix_rescoring_acts_newest", table_name="rescoring_acts")
    op.drop_table("rescoring_acts")
    op.drop_index(op.f("ix_rescoring_campaigns_track_id"), table_name="rescoring_campaigns")
    op.drop_table("rescoring_campaigns")
