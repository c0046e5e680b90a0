"""Changes of shown tracks that participants do not see are a kind of their own, so that no ETag of theirs tells."""

from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

KINDS = (
    "entries", "threshold", "ruling", "label", "picks", "merge", "team", "publication", "competition", "track", "shown"
)  # fmt: skip
HIDDEN = "hidden-shown"
NOTES = {
    "shown_measurements": """
        SELECT shown.competition_id, NULL::bigint, {kind}, NULL::bigint[]
        FROM added JOIN shown_tracks AS shown ON shown.id = added.shown_track_id GROUP BY 1, 3""",
    "removed_shown_tracks": """
        SELECT shown.competition_id, NULL::bigint, {kind}, NULL::bigint[]
        FROM added AS shown JOIN removed AS before ON before.id = shown.id
        WHERE shown.removed_at IS DISTINCT FROM before.removed_at GROUP BY 1, 3""",
    "new_shown_tracks": """
        SELECT shown.competition_id, NULL::bigint, {kind}, NULL::bigint[] FROM added AS shown GROUP BY 1, 3""",
}
"""By the name of the trigger: what adds rows to the change feed of boards."""
BY_VISIBILITY = f"CASE shown.visibility WHEN 'everybody' THEN 'shown' ELSE '{HIDDEN}' END"


def upgrade() -> None:
    """Apply."""
    _allow((*KINDS, HIDDEN), not_valid=True)
    _note(BY_VISIBILITY)
    with op.get_context().autocommit_block():  # which lets others write meanwhile
        op.execute("ALTER TABLE board_changes VALIDATE CONSTRAINT ck_board_changes_kind")


def _allow(kinds: tuple[str, ...], *, not_valid: bool) -> None:
    named = ", ".join(f"'{kind}'" for kind in kinds)
    op.drop_constraint(op.f("ck_board_changes_kind"), "board_changes", type_="check")
    op.create_check_constraint(
        op.f("ck_board_changes_kind"), "board_changes", f"kind IN ({named})", postgresql_not_valid=not_valid
    )


def _note(kind: str) -> None:
    for name, rows in NOTES.items():
        op.execute(
            f"CREATE OR REPLACE FUNCTION note_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" INSERT INTO board_changes (competition_id, track_id, kind, submission_refs) {rows.format(kind=kind)};"
            " RETURN NULL; END $$"
        )


def downgrade() -> None:
    """Take back."""
    _note("'shown'")
    op.execute("DELETE FROM board_changes WHERE kind = 'hidden-shown'")
    _allow(KINDS, not_valid=False)
