"""Evidence beside scores, and the jobs that find it."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

QUEUES = ("check", "score", "prepare", "compare", "release", "ratings")
MORE = (*QUEUES, "evidence")

EXAMINE_WHAT_IS_SCORED = """
    INSERT INTO jobs (queue, submission_ref, track_id, team_id, state, priority, turn, due_at, attempts, created_at)
    SELECT DISTINCT 'evidence', measurements.submission_ref, tracks.id, submissions.team_id, 'waiting', 1,
           measurements.submission_ref, now(), 0, now()
    FROM measurements
    JOIN submissions ON submissions.ref = measurements.submission_ref
    JOIN tracks ON tracks.id = measurements.track_id
    WHERE tracks.kind <> 'former' AND submissions.blob_key IS NOT NULL
"""


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "evidence",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("track_id", sa.BigInteger(), nullable=False),
        sa.Column("preparation_id", sa.BigInteger(), nullable=False),
        sa.Column("measurement_id", sa.BigInteger(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("findings", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("details", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("provenance", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        *_numbers(),
        sa.CheckConstraint(
            "partly_copied_share BETWEEN 0 AND 1 AND near_copies_share BETWEEN 0 AND 1", name=op.f("ck_evidence_shares")
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_evidence_job_id")),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_evidence_submission_ref")),
        sa.ForeignKeyConstraint(["track_id"], ["tracks.id"], name=op.f("fk_evidence_track_id")),
        sa.ForeignKeyConstraint(["preparation_id"], ["preparations.id"], name=op.f("fk_evidence_preparation_id")),
        sa.ForeignKeyConstraint(["measurement_id"], ["measurements.id"], name=op.f("fk_evidence_measurement_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evidence")),
        sa.UniqueConstraint("job_id", name=op.f("uq_evidence_job_id")),
        info={"append_only": True},
    )
    op.create_index(
        "ix_evidence_newest", "evidence", ["track_id", "submission_ref", sa.literal_column("id DESC")], unique=False
    )
    for column in ("submission_ref", "measurement_id"):
        op.create_index(op.f(f"ix_evidence_{column}"), "evidence", [column], unique=False)
    _allow(MORE)
    op.execute(EXAMINE_WHAT_IS_SCORED)


def _numbers() -> list[sa.Column[float] | sa.Column[int]]:
    wholes = ("copied_cells", "near_copies_mirrored", "thumbnail_mirrored", "repeats_pairs")
    shares = (
        "z_u", "u_share", "z_u_p", "c_t", "c_t_error", "copied_cells_share",
        "partly_copied_share", "partly_copied_expected", "partly_copied_p",
        "near_copies_share", "near_copies_expected", "near_copies_p",
        "thumbnail_share", "thumbnail_expected", "thumbnail_p",
        "repeats_share", "repeats_expected_pairs", "repeats_p",
        "authenticity_share", "authenticity_expected", "authenticity_p",
    )  # fmt: skip
    return [
        *(sa.Column(name, sa.Integer(), nullable=True) for name in wholes),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("identical", "mirrored_twins")),
        *(sa.Column(name, sa.Float(), nullable=True) for name in shares),
    ]


def _allow(queues: tuple[str, ...]) -> None:
    named = ", ".join(f"'{queue}'" for queue in queues)
    op.drop_constraint(op.f("ck_jobs_queue"), "jobs", type_="check")
    op.create_check_constraint(op.f("ck_jobs_queue"), "jobs", f"queue IN ({named})")


def downgrade() -> None:
    """Take back; jobs of the queue that goes, go with it."""
    op.drop_table("evidence")
    op.execute("DELETE FROM jobs WHERE queue = 'evidence'")
    _allow(QUEUES)
