"""The tables of version 0.2.0, their view and functions, and the triggers that write the change feed of boards."""

from pathlib import Path

from alembic import op

revision = "0100"
down_revision = None
branch_labels = None
depends_on = None

# A statement that changes more than a thousand entries names none of them. Changes that participants do not see have
# their own kind, so that they do not change participants' ETags.
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
    "data_files": "SELECT competition_id, NULL::bigint, 'competition', NULL::bigint[] FROM added GROUP BY 1",
    "announcements": "SELECT competition_id, NULL::bigint, 'competition', NULL::bigint[] FROM added GROUP BY 1",
    "rescoring_acts": """
        SELECT track.competition_id, track.id, 'entries', NULL::bigint[]
        FROM added JOIN rescoring_campaigns AS campaign ON campaign.id = added.campaign_id
        JOIN tracks AS track ON track.id = campaign.track_id
        WHERE added.kind IN ('switch', 'undo') GROUP BY track.id""",
    "shown_measurements": """
        SELECT shown.competition_id, NULL::bigint,
               CASE shown.visibility WHEN 'everybody' THEN 'shown' ELSE 'hidden-shown' END, NULL::bigint[]
        FROM added JOIN shown_tracks AS shown ON shown.id = added.shown_track_id GROUP BY 1, 3""",
    "shown_tracks": """
        SELECT shown.competition_id, NULL::bigint,
               CASE shown.visibility WHEN 'everybody' THEN 'shown' ELSE 'hidden-shown' END, NULL::bigint[]
        FROM added AS shown GROUP BY 1, 3""",
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
    "shown_tracks": """
        SELECT shown.competition_id, NULL::bigint,
               CASE shown.visibility WHEN 'everybody' THEN 'shown' ELSE 'hidden-shown' END, NULL::bigint[]
        FROM added AS shown JOIN removed AS before ON before.id = shown.id
        WHERE shown.removed_at IS DISTINCT FROM before.removed_at GROUP BY 1, 3""",
}
NAMES = {("shown_tracks", "INSERT"): "new_shown_tracks", ("shown_tracks", "UPDATE"): "removed_shown_tracks"}


def upgrade() -> None:
    """Apply."""
    op.execute(Path(__file__).with_suffix(".sql").read_text())
    for table, rows in ADDED.items():
        _watch(table, rows, "INSERT", transition="NEW TABLE AS added")
    for table, rows in CHANGED.items():
        _watch(table, rows, "UPDATE", transition="NEW TABLE AS added OLD TABLE AS removed")


def _watch(table: str, rows: str, act: str, *, transition: str) -> None:
    """Write ``rows`` into the feed after each statement that does ``act`` to ``table``, with the role of that
    statement: every role may add to the feed.
    """
    name = NAMES.get((table, act), table)
    op.execute(
        f"CREATE FUNCTION note_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" INSERT INTO board_changes (competition_id, track_id, kind, submission_refs) {rows};"
        " RETURN NULL; END $$"
    )
    op.execute(
        f"CREATE TRIGGER note_{name} AFTER {act} ON {table} REFERENCING {transition}"
        f" FOR EACH STATEMENT EXECUTE FUNCTION note_{name}()"
    )
