"""Shown tracks: numbers of entries that are shown and not ranked; their measurements, jobs and changes of boards."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from migrations.concurrent_indexes import create_index

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

KINDS = (
    "entries", "threshold", "ruling", "label", "picks", "merge", "team", "publication", "competition", "track"
)  # fmt: skip
NOTES = {
    "shown_measurements": (
        "INSERT ON shown_measurements",
        "NEW TABLE AS added",
        """
        SELECT shown.competition_id, NULL::bigint, 'shown', NULL::bigint[]
        FROM added JOIN shown_tracks AS shown ON shown.id = added.shown_track_id GROUP BY 1""",
    ),
    "removed_shown_tracks": (
        "UPDATE ON shown_tracks",
        "NEW TABLE AS added OLD TABLE AS removed",
        """
        SELECT now_.competition_id, NULL::bigint, 'shown', NULL::bigint[]
        FROM added AS now_ JOIN removed AS before ON before.id = now_.id
        WHERE now_.removed_at IS DISTINCT FROM before.removed_at GROUP BY 1""",
    ),
    "new_shown_tracks": (
        "INSERT ON shown_tracks",
        "NEW TABLE AS added",
        "SELECT competition_id, NULL::bigint, 'shown', NULL::bigint[] FROM added GROUP BY 1",
    ),
}
"""By the name of the trigger: what adds rows to the change feed of boards."""


def upgrade() -> None:
    """Apply."""
    if not sa.inspect(op.get_bind()).has_table("shown_tracks"):  # else an earlier run has failed below
        _expand()
    with op.get_context().autocommit_block():  # which lets others write meanwhile
        op.execute("ALTER TABLE board_changes VALIDATE CONSTRAINT ck_board_changes_kind")
        op.execute("ALTER TABLE jobs VALIDATE CONSTRAINT fk_jobs_shown_track_id")
    create_index("ix_jobs_shown_track_id", "jobs", ["shown_track_id"])


def _expand() -> None:
    _create_tracks()
    _create_measurements()
    _allow((*KINDS, "shown"), not_valid=True)
    for name, (act, transition, rows) in NOTES.items():
        _watch(name, act, transition, rows)
    op.add_column("jobs", sa.Column("shown_track_id", sa.BigInteger(), nullable=True))
    op.create_foreign_key(
        op.f("fk_jobs_shown_track_id"), "jobs", "shown_tracks", ["shown_track_id"], ["id"], postgresql_not_valid=True
    )


def _create_tracks() -> None:
    op.create_table(
        "shown_tracks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("constants", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("extractor", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("visibility", sa.Text(), nullable=False),
        sa.Column("preparation_id", sa.BigInteger(), nullable=True),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("reference IN ('public', 'private')", name=op.f("ck_shown_tracks_reference")),
        sa.CheckConstraint("visibility IN ('everybody', 'organizers')", name=op.f("ck_shown_tracks_visibility")),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_shown_tracks_author_id")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_shown_tracks_competition_id")),
        sa.ForeignKeyConstraint(["preparation_id"], ["preparations.id"], name=op.f("fk_shown_tracks_preparation_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shown_tracks")),
    )
    op.create_index(
        "uq_shown_tracks_name",
        "shown_tracks",
        ["competition_id", "name"],
        unique=True,
        postgresql_where=sa.text("removed_at IS NULL"),
    )
    op.create_index(op.f("ix_shown_tracks_preparation_id"), "shown_tracks", ["preparation_id"], unique=False)


def _create_measurements() -> None:
    op.create_table(
        "shown_measurements",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("shown_track_id", sa.BigInteger(), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("scorer_version", sa.Text(), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("standard_error", sa.Float(), nullable=True),
        sa.Column("provenance", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_shown_measurements_job_id")),
        sa.ForeignKeyConstraint(
            ["shown_track_id"], ["shown_tracks.id"], name=op.f("fk_shown_measurements_shown_track_id")
        ),
        sa.ForeignKeyConstraint(
            ["submission_ref"], ["submissions.ref"], name=op.f("fk_shown_measurements_submission_ref")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shown_measurements")),
        sa.UniqueConstraint("job_id", name=op.f("uq_shown_measurements_job_id")),
        info={"append_only": True},
    )
    op.create_index(
        "ix_shown_measurements_newest",
        "shown_measurements",
        ["shown_track_id", "submission_ref", sa.literal_column("id DESC")],
        unique=False,
    )
    op.create_index(
        op.f("ix_shown_measurements_submission_ref"), "shown_measurements", ["submission_ref"], unique=False
    )


def _allow(kinds: tuple[str, ...], *, not_valid: bool) -> None:
    named = ", ".join(f"'{kind}'" for kind in kinds)
    op.drop_constraint(op.f("ck_board_changes_kind"), "board_changes", type_="check")
    op.create_check_constraint(
        op.f("ck_board_changes_kind"), "board_changes", f"kind IN ({named})", postgresql_not_valid=not_valid
    )


def _watch(name: str, act: str, transition: str, rows: str) -> None:
    op.execute(
        f"CREATE FUNCTION note_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" INSERT INTO board_changes (competition_id, track_id, kind, submission_refs) {rows};"
        " RETURN NULL; END $$"
    )
    op.execute(
        f"CREATE TRIGGER note_{name} AFTER {act} REFERENCING {transition}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION note_{name}()"
    )


def downgrade() -> None:
    """Take back; what was measured on shown tracks goes, with its jobs and changes of boards."""
    op.drop_table("shown_measurements")
    op.execute("DELETE FROM jobs WHERE shown_track_id > 0")
    op.drop_index(op.f("ix_jobs_shown_track_id"), "jobs")
    op.drop_constraint(op.f("fk_jobs_shown_track_id"), "jobs", type_="foreignkey")
    op.drop_column("jobs", "shown_track_id")
    op.drop_table("shown_tracks")
    for name in NOTES:
        op.execute(f"DROP FUNCTION note_{name}()")
    op.execute("DELETE FROM board_changes WHERE kind = 'shown'")
    _allow(KINDS, not_valid=False)
