"""Rulings in the view of scores; the feed of what changes boards, and the triggers that write it."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from migrations.views import scores

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# An act that touches more than a thousand entries names none of them.
ADDED = {
    "measurements": """
        SELECT track.competition_id, track.id, 'entries',
               CASE WHEN count(*) <= 1000 THEN array_agg(added.submission_ref) END
        FROM added JOIN tracks AS track ON track.id = added.track_id GROUP BY track.id""",
    "thresholds": """
        SELECT track.competition_id, track.id, 'threshold', NULL::bigint[]
        FROM added JOIN tracks AS track ON track.id = added.track_id GROUP BY track.id""",
    "rulings": """
        SELECT submission.competition_id, NULL::bigint, 'ruling', NULL::bigint[]
        FROM added JOIN submissions AS submission ON submission.ref = added.submission_ref GROUP BY 1""",
    "labels": """
        SELECT submission.competition_id, NULL::bigint, 'label', NULL::bigint[]
        FROM added JOIN submissions AS submission ON submission.ref = added.submission_ref GROUP BY 1""",
    "pick_sets": """
        SELECT track.competition_id, track.id, 'picks', NULL::bigint[]
        FROM added JOIN teams AS team ON team.id = added.team_id
        JOIN tracks AS track ON track.competition_id = team.competition_id AND track.kind = 'private'
        GROUP BY track.id""",
    "team_merges": "SELECT competition_id, NULL::bigint, 'merge', NULL::bigint[] FROM added GROUP BY 1",
    "publications": "SELECT competition_id, NULL::bigint, 'publication', NULL::bigint[] FROM added GROUP BY 1",
}
CHANGED = {
    "submissions": """
        SELECT now_.competition_id, NULL::bigint, 'entries', CASE WHEN count(*) <= 1000 THEN array_agg(now_.ref) END
        FROM added AS now_ JOIN removed AS before ON before.ref = now_.ref
        WHERE 'scored' IN (now_.status, before.status)
          AND (now_.status, now_.late, now_.copied_share, now_.team_id, now_.accepted_at)
              IS DISTINCT FROM
              (before.status, before.late, before.copied_share, before.team_id, before.accepted_at)
        GROUP BY 1""",
    "teams": """
        SELECT now_.competition_id, NULL::bigint, 'team', NULL::bigint[]
        FROM added AS now_ JOIN removed AS before ON before.id = now_.id
        WHERE (now_.name, now_.benchmark) IS DISTINCT FROM (before.name, before.benchmark) GROUP BY 1""",
    "tracks": "SELECT competition_id, id, 'track', NULL::bigint[] FROM added",
    "competitions": "SELECT id, NULL::bigint, 'competition', NULL::bigint[] FROM added GROUP BY 1",
}


def upgrade() -> None:
    """Apply."""
    op.execute(scores("ruled"))
    op.create_table(
        "board_changes",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column(
            "xid", sa.BigInteger(), server_default=sa.text("(pg_current_xact_id()::text)::bigint"), nullable=False
        ),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("track_id", sa.BigInteger(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("submission_refs", postgresql.ARRAY(sa.BigInteger()), nullable=True),
        sa.CheckConstraint(
            "kind IN ('entries', 'threshold', 'ruling', 'label', 'picks', 'merge', 'team', 'publication',"
            " 'competition', 'track')",
            name=op.f("ck_board_changes_kind"),
        ),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_board_changes_competition_id")),
        sa.ForeignKeyConstraint(["track_id"], ["tracks.id"], name=op.f("fk_board_changes_track_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_board_changes")),
        info={"append_only": True},
    )
    op.create_index("ix_board_changes_news", "board_changes", ["competition_id", "xid"], unique=False)
    for table, rows in ADDED.items():
        _watch(table, rows, "INSERT", "NEW TABLE AS added")
    for table, rows in CHANGED.items():
        _watch(table, rows, "UPDATE", "NEW TABLE AS added OLD TABLE AS removed")


def _watch(table: str, rows: str, act: str, transition: str) -> None:
    """Write ``rows`` into the feed after each statement that does ``act`` to ``table``. As whoever does it: the feed
    may be added to by all."""
    op.execute(
        f"CREATE FUNCTION note_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" INSERT INTO board_changes (competition_id, track_id, kind, submission_refs) {rows};"
        " RETURN NULL; END $$"
    )
    op.execute(
        f"CREATE TRIGGER note_{table} AFTER {act} ON {table} REFERENCING {transition}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION note_{table}()"
    )


def downgrade() -> None:
    """Take back."""
    for table in (*CHANGED, *ADDED):
        op.execute(f"DROP TRIGGER note_{table} ON {table}")
        op.execute(f"DROP FUNCTION note_{table}()")
    op.drop_index("ix_board_changes_news", table_name="board_changes")
    op.drop_table("board_changes")
    op.execute("DROP VIEW scores")
    op.execute(scores("merged_teams"))
